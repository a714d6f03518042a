"""Facts about a fitted model."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelMeanClassifier, KernelRidge, MultipleKernelClassifier, ParzenDensity
from mercer.gram import Auto, FastGauss
from mercer.kernels import Gaussian, Kernel, Linear, NegativeDistance, Spectrum
from mercer.plots.spectrum_display import spectrum
from mercer.reports import model_section as facts
from mercer.reports.subject import NotApplicable, Subject

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
y = np.sin(X[:, 0])
RIDGE = Subject.of(KernelRidge(Gaussian("median"), alpha=0.5).fit(X, y), X, y)


def test_the_weights_of_several_kernels():
    """The largest share of the decision first; a kernel without a weight has none."""
    kernels = {"first": Gaussian(1.0).on(0), "second": Gaussian(1.0).on(1)}
    model = MultipleKernelClassifier(kernels).fit(X, X[:, 1] > 0)
    found = facts.kernel_facts(Subject.of(model, X, X[:, 1] > 0))
    assert found.n_weights == 2 and found.weights[0][0] == "second"
    assert sum(share for _, _, share in found.weights) == pytest.approx(1.0)
    assert {name: weight for name, weight, _ in found.weights} == dict(
        zip(model.kernel_names_, model.weights_.tolist(), strict=True)
    )
    assert facts.kernel_facts(RIDGE).weights == ()
    said = " ".join(facts.deeds(Subject.of(model, X, X[:, 1] > 0)))
    assert f"Of 2 kernels {len(model.support_kernels_)} got a weight" in said and "No kernel was given" not in said


def test_the_tree_of_a_composite_kernel():
    kernel = 2.0 * Gaussian(1.0) + Linear() ** 2
    found = facts.kernel_facts(Subject.of(KernelRidge(kernel).fit(X, y), X, y))
    assert [(part.depth, part.name) for part in found.parts] == [
        (0, "Sum"),
        (1, "Scaled"),
        (2, "Gaussian"),
        (1, "Power"),
        (2, "Linear"),
    ]
    assert all(part.math.startswith("<math") for part in found.parts)
    assert found.text == repr(kernel)


def test_validity_in_words():
    validity = dict(facts.kernel_facts(RIDGE).validity)
    assert validity["definiteness"] == "strictly positive definite"
    assert validity["universal"].startswith("yes")
    conditional = KernelMeanClassifier(NegativeDistance()).fit(X, y > 0)
    validity = dict(facts.kernel_facts(Subject.of(conditional)).validity)
    assert "conditionally positive definite of order 1" in validity["definiteness"]


def test_a_kernel_of_somebody_else_needs_no_formula():
    class Own(Gaussian):
        formula = r"\whatever{<b>}"

    part = facts.kernel_facts(Subject.of(KernelRidge(Own(1.0)).fit(X, y))).parts[0]
    assert part.math == ""
    assert part.latex == r"\whatever{<b>}"
    assert isinstance(Own(1.0), Kernel)


def test_parameters_that_were_given_come_first():
    rows = facts.parameter_facts(RIDGE)
    by_name = {row.name: row for row in rows}
    assert not rows[0].is_default
    assert by_name["alpha"].value == "0.5"
    assert by_name["kernel"].fitted == repr(RIDGE.model.kernel_)
    assert by_name["gram"].is_default
    assert by_name["gram"].fitted == "Dense()"


def test_coefficients_of_ridge_regression():
    found = facts.coefficient_facts(RIDGE)
    a = np.abs(RIDGE.model.dual_coef_)
    place = int(np.argmax(a))
    assert found.n == 30
    assert found.largest[0][0] == place
    assert found.sizes[0] == a[place]
    assert np.sum(found.sizes[: found.half]) >= 0.5 * a.sum() > np.sum(found.sizes[: found.half - 1])


def test_targets_of_other_samples_are_not_shown():
    assert facts.coefficient_facts(RIDGE).largest[0][1] != ""
    more = Subject.of(RIDGE.model, np.vstack([X, X]), np.r_[y, y])
    assert facts.coefficient_facts(more).largest[0][1] == ""


def test_zero_coefficients_are_counted():
    weighted = KernelRidge(Gaussian(1.0)).fit(X, y, sample_weight=np.r_[np.zeros(4), np.ones(26)])
    subject = Subject.of(weighted, X, y)
    assert facts.coefficient_facts(subject).n_zero == 4
    assert any("4 samples with a coefficient of exactly zero" in deed for deed in facts.deeds(subject))


def test_several_outputs_have_the_length_of_their_rows():
    subject = Subject.of(KernelRidge(Gaussian(1.0)).fit(X, np.c_[y, -y]), X, np.c_[y, -y])
    found = facts.coefficient_facts(subject)
    assert found.outputs == 2
    assert found.sizes[0] == pytest.approx(np.linalg.norm(subject.model.dual_coef_, axis=1).max())


def test_weights_of_columns_of_a_linear_function():
    model = KernelRidge(Linear(), alpha=1e-6).fit(X, 3.0 * X[:, 1] - X[:, 0])
    weights = facts.coefficient_facts(Subject.of(model, X, y)).weights
    assert [name for name, _ in weights] == ["column 1", "column 0"]
    assert [value for _, value in weights] == pytest.approx([3.0, -1.0], abs=1e-4)


def test_support_vectors_in_the_layout_of_scikit_learn():
    class Machine(KernelRidge):
        pass

    model = Machine(Gaussian(1.0)).fit(X, y)
    model.support_ = np.array([4, 7, 9])
    model.dual_coef_ = np.array([[0.5, -2.0, 1.0]])
    found = facts.coefficient_facts(Subject.of(model, X, y))
    assert found.what == "support vectors"
    assert [row[0] for row in found.largest] == [7, 9, 4]


def test_a_model_without_coefficients_says_so():
    with pytest.raises(NotApplicable, match="keeps no coefficients"):
        facts.coefficient_facts(Subject.of(LinearRegression().fit(X, y), X, y))
    with pytest.raises(NotApplicable, match="no fitted kernel"):
        facts.kernel_facts(Subject.of(LinearRegression().fit(X, y), X, y))


def test_conditioning():
    found = facts.condition_facts(RIDGE, spectrum(RIDGE.kernel, RIDGE.samples, 0.5))
    values = np.linalg.eigvalsh(RIDGE.kernel(X))
    assert found.largest == pytest.approx(values[-1])
    assert found.condition_ridge == pytest.approx((values[-1] + 0.5) / (values[0] + 0.5))
    assert found.jitter == 0.0
    assert found.residual == RIDGE.model.solution_.residual
    assert found.status == "The tolerance was reached."


def test_what_was_done():
    deeds = " ".join(facts.deeds(RIDGE))
    assert "Gaussian('median') became Gaussian(" in deeds
    assert "Dense(), chosen by the rule of Auto()" in deeds
    assert "Cholesky(" in deeds
    assert "Nothing was added to the diagonal" in deeds
    assert "neither centred nor scaled" in deeds
    default = " ".join(facts.deeds(Subject.of(KernelRidge().fit(X, y))))
    assert "No kernel was given" in default
    word = " ".join(facts.deeds(Subject.of(KernelRidge("rbf").fit(X, y))))
    assert "The word 'rbf' was read as Gaussian(" in word
    piped = make_pipeline(StandardScaler(), KernelRidge()).fit(X, y)
    assert "went through StandardScaler" in " ".join(facts.deeds(Subject.of(piped, X, y)))


def test_deeds_of_other_estimators():
    assert facts.deeds(Subject.of(ParzenDensity().fit(X)))
    texts = ["ab", "bc", "ca", "aa", "bb"]
    strings = facts.deeds(Subject.of(KernelRidge(Spectrum(1)).fit(texts, [0.0, 1.0, 2.0, 3.0, 4.0])))
    assert any("held by its weights in feature space" in deed for deed in strings)


def test_approximations_and_residuals_are_told():
    points, values = rng.uniform(size=(300, 2)), rng.normal(size=300)
    fast = KernelRidge(Gaussian(0.2), alpha=10.0, gram=FastGauss(1e-6, method="hermite")).fit(points, values)
    deeds = " ".join(facts.deeds(Subject.of(fast)))
    assert "fast Gauss transform 'hermite'" in deeds and "off by at most" in deeds
    assert "to a residual of" in deeds and "its tolerance is" in deeds
    points, values = rng.uniform(size=(1200, 2)), rng.normal(size=1200)
    chosen = KernelRidge(Gaussian(1.0), gram=Auto(tol=0.01), memory="10MB").fit(points, values)
    deeds = " ".join(facts.deeds(Subject.of(chosen)))
    assert "of the trace of the Gram matrix is left out" in deeds
    assert "The choice of Auto(): IncompleteCholesky" in deeds and "allowed 0.01" in deeds and "instead of" in deeds
