import mercer
from mercer.kernels import Gaussian, Linear, Periodic, Spectrum


def test_formulas_of_sums_and_products():
    kernel = 0.5 * Linear() + (Gaussian(1.0) + Linear()) * Periodic(1.0)
    text = kernel._repr_latex_()
    assert text.startswith(r"$k(x, x') = 0.5 \, \langle x, x' \rangle + (") and text.endswith("$")
    assert text.count(Gaussian(1.0).formula) == 1
    assert r"k_1(x, x') = " + Spectrum(2).formula in Spectrum(2).normalized()._repr_latex_()


class Difference(mercer.kernels.Kernel):
    domain = mercer.domains.Vectors
    tightness = 0

    def block(self, A, B):
        return A.X @ B.X.T

    def latex(self, of):
        return f"{of(Linear())} - {of(Linear())}"


def test_a_kernel_of_a_user_writes_its_own_formula():
    inner = r"\langle x, x' \rangle - \langle x, x' \rangle"
    assert Difference()._repr_latex_() == f"$k(x, x') = {inner}$"
    assert (2.0 * Difference())._repr_latex_() == rf"$k(x, x') = 2 \, ({inner})$"


def test_pictures_are_of_the_kernel():
    shown = Gaussian(2.0)._repr_html_()
    assert "positive definite" in shown and "<polyline" in shown and "Gaussian(2.0)" in shown
    shown = Spectrum(2)._repr_html_()
    assert f">{Spectrum(2)(['kernel'], ['kernels'])[0, 0]:.2g}</td>" in shown
    assert "<svg" not in Gaussian((1.0, 2.0))._repr_html_()  # of two columns: not a curve
    assert "<svg" not in Gaussian("median")._repr_html_()  # of a width that is still to be learned


def made(cls):
    try:
        return cls(*(getattr(cls, "example", None) or ()))
    except TypeError:  # has an argument that must be given
        return None


def test_every_kernel_can_be_shown():
    shown = [made(cls) for _, cls in mercer.all_kernels()]
    shown = [kernel for kernel in shown if kernel is not None]
    assert len(shown) > 40
    assert all(kernel._repr_html_().startswith("<div>") and kernel._repr_latex_() for kernel in shown)
