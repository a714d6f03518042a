"""Doors: raw data are packed once, packed samples go through as they are."""

from mercer.domains import Strings
from mercer.domains.doors import packed, packed_pair


class Counting:
    """How often something was packed."""

    calls = 0

    def __call__(self, X):
        self.calls += 1
        return Strings.pack(X)


def test_samples_go_through_as_they_are():
    S, pack = Strings.pack(["a"]), Counting()
    assert packed(S, pack) is S and pack.calls == 0
    assert packed_pair(S, S, pack) == (S, S) and pack.calls == 0


def test_raw_data_are_packed_and_the_same_data_once():
    pack, X = Counting(), ["a", "b"]
    A, B = packed_pair(X, X, pack)
    assert A is B and isinstance(A, Strings) and pack.calls == 1
    A, B = packed_pair(A, ["c"], pack)
    assert A is not B and isinstance(B, Strings) and pack.calls == 2
