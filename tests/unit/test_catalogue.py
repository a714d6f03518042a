import pytest

import mercer.kernels
from mercer import catalogue
from mercer.gram import Dense
from mercer.kernels import Kernel

KERNELS = {row.name: row for row in catalogue.kernels()}
ALL = [
    row
    for rows in (
        catalogue.kernels(),
        catalogue.losses(),
        catalogue.grams(),
        catalogue.solvers(),
        catalogue.estimators(),
    )
    for row in rows
]


def test_every_public_kernel_has_a_row():
    exported = (getattr(mercer.kernels, name) for name in mercer.kernels.__all__)
    concrete = {cls.__name__ for cls in exported if isinstance(cls, type) and cls is not Kernel}
    assert concrete <= set(KERNELS)


def test_base_classes_have_no_row():
    assert not {"Kernel", "Loss", "Solver", "GramSpec", "Gram"} & {row.name for row in ALL}


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
def test_rows_say_what_a_class_is(row):
    assert row.summary.endswith(".")
    assert "\n" not in row.summary
    assert row.signature.startswith(f"{row.name}(")
    assert row.cls.__name__ == row.name


@pytest.mark.parametrize("row", catalogue.kernels(), ids=lambda row: row.name)
def test_rows_of_kernels_are_complete(row):
    assert row.formula
    assert row.domain
    assert set(row.properties) == set(catalogue.PROPERTIES)
    assert set(row.offers) == set(catalogue.CAPABILITIES)


def can_be_made(row):
    """Whether no argument must be given."""
    return all(parameter.default is not None for parameter in row.parameters)


@pytest.mark.parametrize("row", [row for row in catalogue.kernels() if can_be_made(row)], ids=lambda row: row.name)
def test_rows_agree_with_an_object(row):
    kernel = row.cls()
    for name, value in row.properties.items():
        assert value is None or getattr(kernel, name) == value
    for name, value in row.offers.items():
        assert value is None or (name in kernel.capabilities) == value


def test_a_row_in_full():
    row = KERNELS["Gaussian"]
    assert row.signature == "Gaussian(length_scale=1.0)"
    assert row.domain == "Vectors"
    assert row.validity == "positive definite"
    assert row.properties["strict"] is True
    assert row.offers == {"features": False, "frequencies": True, "pullback": True, "pullback_inputs": True}
    assert "number" in row.parameters[0].accepts
    assert row.seed.startswith("[HSS] Eq. (30)")


@pytest.mark.parametrize(
    ("name", "validity"),
    [
        ("NegativeDistance", "conditionally positive definite of order 1"),
        ("Sigmoid", "indefinite"),
        ("Sum", "depends on its parameters"),
        ("RadialFunction", "depends on its parameters"),
    ],
)
def test_validity_in_words(name, validity):
    assert KERNELS[name].validity == validity


def test_what_depends_on_parameters_is_left_open():
    assert KERNELS["Sum"].properties["strict"] is None
    assert KERNELS["Sum"].offers["features"] is None
    assert KERNELS["Sum"].domain == "any"


def test_required_arguments_have_no_default():
    nu, length_scale = KERNELS["Matern"].parameters
    assert nu.default is None
    assert str(nu) == "nu"
    assert str(length_scale) == "length_scale=1.0"


def test_grams_say_what_their_operators_offer():
    offers = {row.name: row.offers for row in catalogue.grams()}
    assert offers["Dense"] == {"products": True, "rows": True, "factor": False, "eigenvalues": False}
    assert offers["Features"]["factor"] is True
    assert offers["Auto"] == {"products": True, "rows": None, "factor": None, "eigenvalues": None}
    assert offers["Distributed"] == {"products": True, "rows": True, "factor": None, "eigenvalues": False}


def test_solvers_say_with_which_grams_they_work():
    works = {row.name: row.offers for row in catalogue.solvers()}
    assert works["ConjugateGradient"]["Tiles"] is True
    assert works["Woodbury"]["Dense"] is False
    assert works["Woodbury"]["Features"] is True
    assert works["Woodbury"]["Auto"] is None
    assert works["ConjugateGradient"]["Distributed"] is True
    assert works["PrimalNewton"]["Distributed"] is works["PrimalGradient"]["Distributed"] is None
    assert works["Spectral"]["Kronecker"] is None


def test_estimators_say_what_they_do_after_fit():
    verbs = {row.name: row.offers for row in catalogue.estimators()}
    assert verbs["KernelRidge"]["predict"] is True
    assert verbs["ParzenDensity"]["predict"] is False


def test_losses_have_formulas():
    assert all(row.formula for row in catalogue.losses())


@pytest.mark.parametrize("other", ["RBF", "squared exponential", "k-mer kernel", "L1 loss", "landmarks", "KCCA"])
def test_synonyms_lead_to_a_row(other):
    row = catalogue.named(other.upper())
    assert row is not None
    assert row.name == catalogue.synonyms()[other]


def test_names_are_found_whatever_their_capitals():
    row = catalogue.named("dense")
    assert row is not None
    assert row.cls is Dense
    assert catalogue.named("no such thing") is None
