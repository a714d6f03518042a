"""Criteria as values: what they are given, and what they refuse. Their numbers are compared in test_search."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from mercer import SVC, KernelPCA, KernelRidge
from mercer.choosing import Alignment, CrossValidation, GeneralizedCV, RadiusMarginBound, SpanRule
from mercer.choosing.criteria import Case
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.kernels import Gaussian

X = Vectors.pack(np.random.default_rng(0).normal(size=(12, 2)))
CLASSES, NUMBERS = np.arange(12) % 3, np.linspace(0.0, 1.0, 12)


def test_problems_of_a_case():
    case = Case([SVC()], Gaussian(1.0), X, CLASSES)
    assert [len(index) for index, _ in case.sides()] == [8, 8, 8] and case.targets().shape == (12, 3)
    np.testing.assert_allclose(case.K, Gaussian(1.0)(X))
    np.testing.assert_array_equal(Case([KernelRidge()], Gaussian(1.0), X, NUMBERS).targets(), NUMBERS)


def test_an_intercept_counts_where_the_model_has_one():
    values = [
        GeneralizedCV().values(
            Case([KernelRidge(Gaussian(1.0), alpha=0.1, fit_intercept=b)], Gaussian(1.0), X, NUMBERS)
        )
        for b in (False, True, None)
    ]
    assert values[0] == values[2] != values[1]


@pytest.mark.parametrize("criterion", [GeneralizedCV(), SpanRule(), RadiusMarginBound()])
def test_models_that_have_no_such_criterion(criterion):
    with pytest.raises(CapabilityError, match="CrossValidation"):
        criterion.values(Case([KernelPCA()], Gaussian(1.0), X, CLASSES))


def test_splitters():
    model = SVC()
    assert CrossValidation(3).splitter(model) == 3
    repeated = CrossValidation(3, repeats=2).splitter(model)
    assert repeated.get_n_splits() == 6 and isinstance(repeated.cvargs.get("n_splits"), int)
    fold = KFold(4)
    assert CrossValidation(fold).splitter(model) is fold
    for wrong in ("five", 1, 2.5):
        with pytest.raises(ParameterError, match="folds"):
            CrossValidation(wrong).check()
    assert Alignment(centred=False) != Alignment()
