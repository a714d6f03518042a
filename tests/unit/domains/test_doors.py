"""Doors: raw data are packed once, packed samples go through as they are."""

from mercer.domains import Strings
from mercer.domains.doors import open_doors, packing


class Counting:
    """What its methods are given, and how often something was packed."""

    packed = 0

    def pack(self, X):
        self.packed += 1
        return Strings.pack(X)

    def one(self, A, factor=1):
        """Take one."""
        return A, factor

    def two(self, A, B, W):
        return A, B, W


open_doors(Counting, {"one": 1, "two": 2, "none": 1}, Counting.pack)


def test_samples_go_through_as_they_are():
    S, counting = Strings.pack(["a"]), Counting()
    assert counting.one(S, factor=2) == (S, 2) and counting.packed == 0
    assert counting.two(S, S, 3) == (S, S, 3) and counting.packed == 0


def test_raw_data_are_packed_and_the_same_data_once():
    counting, X = Counting(), ["a", "b"]
    A, B, W = counting.two(X, X, 3)
    assert A is B and isinstance(A, Strings) and W == 3 and counting.packed == 1
    A, B, _ = counting.two(A, ["c"], 3)
    assert A is not B and counting.packed == 2


def test_names_and_documents_stay():
    assert Counting.one.__doc__ == "Take one." and Counting.one.__name__ == "one"
    assert packing(Counting.pack, 1, Counting.pack).__name__ == "pack"
