"""A certificate as a picture: bounds as bars of their terms, measured errors with their intervals beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.plots.canvas import COLOURS, axes
from mercer.theory.certificate import Certificate

__all__ = ["CertificateDisplay"]
__public__ = __all__


@dataclass(eq=False, repr=False)
class CertificateDisplay:
    """Bounds of a certificate and measured errors on one axis; values that hold for any model are shaded.

    Parameters
    ----------
    certificate : Certificate
        As ``model.certificate(X, y)`` returns.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] > 0
    >>> certificate = SVC(Gaussian(2.0)).fit(X, y).certificate(X, y, cv=None, prior=None)
    >>> CertificateDisplay.from_certificate(certificate).labels
    ['margin, learned', 'PAC-Bayes, prior at zero', 'SVM, fixed margin (unpaid)', 'training']
    """

    certificate: Certificate

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_certificate(cls, certificate: Certificate, *, ax: Any = None) -> CertificateDisplay:
        """Draw a certificate.

        Parameters
        ----------
        certificate : Certificate
        ax : matplotlib axes, optional
        """
        return cls(certificate).plot(ax)

    @property
    def labels(self) -> list[str]:
        """The rows of the picture, from top to bottom."""
        found = self.certificate
        names = [bound.name + (" (unpaid)" if bound.name in found.loose else "") for bound in found.bounds]
        return names + [one.name for one in found.estimates]

    def plot(self, ax: Any = None) -> CertificateDisplay:
        """Draw a row for each bound and each estimate."""
        found, rows = self.certificate, self.labels
        self.ax_, self.figure_ = axes(ax, (6.0, 0.9 + 0.34 * len(rows)))
        trivial = max((bound.trivial for bound in found.bounds), default=1.0)
        most = trivial
        for row, bound in enumerate(found.bounds):
            most = max(most, min(float(bound), 2.0 * trivial))
            shade = 0.35 if bound.name in found.loose else 0.8
            if bound.formula == "the sum of the terms":
                left = 0.0
                for place, term in enumerate(bound.terms):
                    self.ax_.barh(row, term.value, left=left, height=0.6, color=COLOURS[place % 7], alpha=shade)
                    left += term.value
            else:
                self.ax_.barh(row, float(bound), height=0.6, color=COLOURS[7], alpha=shade)
            self.ax_.text(min(float(bound), 2.0 * trivial), row, f" {float(bound):.3g}", va="center", fontsize=8)
        for row, one in enumerate(found.estimates, len(found.bounds)):
            self.ax_.plot(
                [one.low, one.high], [row, row], color=COLOURS[1], linewidth=2, alpha=1.0 if one.exact else 0.4
            )
            self.ax_.plot(one.value, row, "o", color=COLOURS[1])
        self.ax_.axvspan(trivial, 1.25 * most, color=COLOURS[7], alpha=0.15, linewidth=0)
        self.ax_.set_yticks(range(len(rows)), rows)
        self.ax_.set(xlim=(0.0, 1.25 * most), ylim=(len(rows) - 0.5, -0.5))
        self.ax_.set_xlabel(f"{found.quantity}; shaded: true of any model")
        self.ax_.set_title(f"{found.n} samples, delta = {found.delta:g}")
        return self

    def __repr__(self) -> str:
        return (
            f"<CertificateDisplay: {len(self.certificate.bounds)} bounds, {len(self.certificate.estimates)} estimates>"
        )
