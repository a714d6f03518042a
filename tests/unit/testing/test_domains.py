"""check_domain accepts every domain and notices a wrong one."""

import numpy as np
import pytest

from mercer.domains import Similarities, Strings, Vectors
from mercer.testing import check_domain


@pytest.mark.parametrize(
    ("domain", "X"),
    [
        (Vectors, np.arange(8.0).reshape(4, 2)),
        (Strings, ["a", "", "abc"]),
        (Similarities, np.eye(4)),
    ],
)
def test_the_domains_of_mercer(domain, X):
    check_domain(domain, X)


class Forgetful(Vectors):
    def _rows(self, index):
        rows = super()._rows(index)
        return type(self)(rows.X[:1], rows.names)


def test_a_domain_that_loses_samples():
    with pytest.raises(AssertionError, match="Forgetful"):
        check_domain(Forgetful, np.arange(8.0).reshape(4, 2))
