"""How strictness and universality follow: from power series, spectra and features, and through the kernel algebra.

Symbols: a_n coefficients of a power series, mu the spectral measure of a stationary kernel, c coefficients with
c' K c = 0, Phi the feature map.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.domains import Samples, Strings, Vectors
from mercer.errors import MercerError
from mercer.kernels.algebra.functions import Exp, Normalized, PolynomialOf, Power
from mercer.kernels.algebra.maps import Composed, Selected
from mercer.kernels.algebra.pair_products import DirectSum, Tensor
from mercer.kernels.algebra.sums import Constant, Product, Sum
from mercer.kernels.composite import Composite, Scaled, Wrapped
from mercer.kernels.kernel import Kernel, feature_count, offers
from mercer.kernels.monomials import monomial_count
from mercer.kernels.power_series import Series
from mercer.kernels.protocols import HasAtoms, HasFeatures, HasReasons, HasSeries, HasSpectralDensity, Reason
from mercer.kernels.vectors.subsets import Anova

__all__ = ["Claim", "Facts", "facts", "too_wide"]
__public__ = ["Claim"]


@dataclass(frozen=True)
class Claim:
    """A statement on a kernel: whether it holds, and why.

    Attributes
    ----------
    holds : bool or None
        None where nothing could be derived.
    reason : str
    seed : str
        Where the theorem is found.
    points : int, optional
        If the kernel is not strict: this many objects, well chosen, have a singular Gram matrix.

    Examples
    --------
    >>> print(Claim(False, "it has one feature", points=2))
    no: it has one feature
    """

    holds: bool | None
    reason: str
    seed: str = ""
    points: int | None = None

    def __str__(self) -> str:
        word = {True: "yes", False: "no", None: "not known"}[self.holds]
        return f"{word}: {self.reason}" + (f" [{self.seed}]" if self.seed else "")


@dataclass(frozen=True)
class Facts:
    """What is derived for one kernel, terms of others included: claims, and why it is definite (reason, seed)."""

    strict: Claim
    universal: Claim
    characteristic: Claim
    definite: tuple[str, str] = ("its class says so: see its documentation", "")


PINKUS, BOCHNER, CLOSURE = "HSS Sec. 2.2.3, Pinkus", "HSS Prop. 9", "HSS Prop. 5"
_NAMES = ("strict", "universal", "characteristic")
_UNKNOWN = Claim(None, "nothing is derived for this kernel")
_NULL = {Vectors: lambda width: np.zeros((1, width or 1)), Strings: lambda width: [""]}


def _same(claim: Claim) -> Facts:
    """The same statement for all three properties."""
    return Facts(claim, replace(claim, points=None), replace(claim, points=None))


def facts(kernel: Kernel, width: int | None = None) -> Facts:
    """Return what is derived for a kernel on data with this many columns: the first rule that applies decides."""
    if kernel.order is None:
        if isinstance(kernel, Composite):
            return _same(Claim(None, "it is not known to be positive definite"))
        return _same(Claim(False, "it is not positive definite", "HSS Def. 3"))
    if beyond := too_wide(kernel, width):
        return _same(beyond)
    if offers(kernel, HasSeries):
        return _from_series(kernel.series(), kernel, width)
    rank = _rank(kernel, width)
    if rank is not None:
        return _from_rank(rank, width)
    ignored = _ignores(kernel, width)
    if ignored:
        return replace(_same(Claim(False, ignored, CLOSURE, 2)), definite=_rule(kernel, width).definite)
    support = _support(kernel) if kernel.order == 0 and kernel.stationary else None
    if support is not None:
        return _from_support(kernel, support)
    found = _rule(kernel, width)
    return _at_zero(kernel, width, found) if found.strict.holds is None else found


def too_wide(kernel: Kernel, width: int | None) -> Claim | None:
    """Return the claim for more columns than a compactly supported function of the distance is a kernel of."""
    limit = getattr(kernel, "dimension", None)
    if width is None or limit is None or width <= limit:
        return None
    return Claim(None, f"it is made for at most {limit} columns", "HSS Prop. 10")


# power series -------------------------------------------------------------------------------------------


def _from_series(series: Series, kernel: Kernel, width: int | None) -> Facts:
    """Pinkus' conditions; degrees are finitely many or progressions, for which those of Muentz always hold."""
    degrees, start = series.degrees, float(series.coefficients(1)[0])
    definite = ("no coefficient of its power series in the dot product is negative", "HSS Prop. 7")
    if degrees.finite:
        rank = None if width is None else sum(monomial_count(width, n) for n in degrees.single)
        return replace(_from_rank(rank, width), definite=definite)
    found = f"the power series has the degrees {degrees}"
    for odd, name, image in ((True, "odd", "x and -x have the same image"), (False, "even", "x and -x are opposite")):
        if degrees.endless(odd=odd):
            continue
        some = [n for n in degrees.single if n % 2 == odd]
        why = f"{found}: " + (image if not some else f"only {len(some)} {name} ones")
        claim = Claim(False, why, PINKUS, 2 * len(some) + 2)
        return Facts(claim, replace(claim, points=None), replace(claim, points=None), definite)
    mean = Claim(None, "it is unbounded: not every distribution has a mean; those on compact sets are distinguished")
    if start > 0 or kernel.order == 1:
        why = f"{found}: infinitely many even and odd ones" + (", and a_0 > 0" if start > 0 else "")
        strict = Claim(True, why, PINKUS)
        if kernel.order == 1:
            return Facts(strict, Claim(None, "it is conditionally positive definite only"), mean, definite)
        diverges = why + "; the sums of 1 / n over both diverge"
        return Facts(strict, Claim(True, diverges, "HSS Sec. 2.2.3, Steinwart, Pinkus"), mean, definite)
    strict = Claim(False, "a_0 = 0: k(0, 0) = 0, the zero vector has no image", PINKUS, 1)
    why = "a_0 = 0: every function of its RKHS is zero at the zero vector; with an intercept it would be"
    universal = Claim(False, why, "HSS Sec. 2.2.3, Lemma 13")
    return Facts(strict, universal, mean, definite)


# finitely many features -----------------------------------------------------------------------------------


def _rank(kernel: Kernel, width: int | None) -> int | None:
    """Return a number of features that suffices, 0 for finitely many whose number is not known; None for no bound."""
    if kernel.feature_limit is not None:
        return kernel.feature_limit
    if isinstance(kernel, (Sum, Product)):
        ranks = [_rank(term, width) for term in kernel.kernels]
        known = [rank for rank in ranks if rank is not None]
        if len(known) < len(ranks):
            return None
        return 0 if 0 in known else int(np.sum(known) if isinstance(kernel, Sum) else np.prod(known, dtype=float))
    if isinstance(kernel, (Scaled, Power, Normalized, PolynomialOf)):
        inner = _rank(kernel.kernel, width)
        if isinstance(kernel, Power):
            return None if inner is None else inner ** int(kernel.exponent)
        extra = isinstance(kernel, Normalized)  # zero samples have a feature of their own
        return inner if not inner else 0 if isinstance(kernel, PolynomialOf) else inner + extra
    if isinstance(kernel, Selected):
        return _rank(kernel.kernel, int(np.size(np.asarray(kernel.columns, dtype=object))))
    if isinstance(kernel, Composed):
        return None if _rank(kernel.kernel, None) is None else 0
    if kernel.domain is Vectors and offers(kernel, HasFeatures):
        return _count(kernel, width)
    return None


def _count(kernel: Kernel, width: int | None) -> int:
    try:
        return 0 if width is None else feature_count(kernel, Vectors.pack(np.zeros((1, width)))) or 0
    except MercerError:
        return 0


def _from_rank(rank: int | None, width: int | None) -> Facts:
    columns = "" if width is None else f" in {width} column{'s' if width > 1 else ''}"
    many = f"{rank} feature{'s' if rank != 1 else ''}{columns}" if rank else "finitely many features"
    seed = "HSS Sec. 2.2.3"
    strict = Claim(
        False, f"it has {many}: the Gram matrix of more objects is singular", seed, rank + 1 if rank else None
    )
    universal = Claim(False, f"it has {many}: its functions are a space of finite dimension", seed)
    means = Claim(False, f"it has {many}: distributions that agree in their means have the same image", seed)
    return Facts(strict, universal, means, ("it is a dot product of features", "STS Theorem 3"))


# columns ------------------------------------------------------------------------------------------------


def _reads(kernel: Kernel) -> frozenset[Hashable] | None:
    """Return the columns that a kernel reads, or None if it reads the objects as a whole."""
    if isinstance(kernel, Selected):
        key = kernel.columns
        return frozenset(key) if isinstance(key, (list, tuple)) else frozenset([key])
    if isinstance(kernel, Composite):
        parts = [_reads(term) for term in kernel.kernels if not isinstance(term, Constant)]
        known = [part for part in parts if part is not None]
        return frozenset().union(*known) if parts and len(known) == len(parts) else None
    return None


def _covers(columns: frozenset[Hashable], width: int | None) -> bool:
    return width is not None and columns >= set(range(width))


def _ignores(kernel: Kernel, width: int | None) -> str:
    columns = _reads(kernel)
    if columns is None or _covers(columns, width):
        return ""
    return f"it reads the columns {sorted(map(str, columns))} only: objects that agree there have the same image"


def _is_additive(kernel: Sum, width: int | None) -> int | None:
    """Return the number of columns if every term leaves out one of them."""
    parts = [_reads(term) or frozenset() for term in kernel.kernels if _reads(term) is not None]
    if len(parts) < len([term for term in kernel.kernels if not isinstance(term, Constant)]):
        return None
    together = frozenset().union(*parts)
    return len(together) if all(part < together for part in parts) else None


# spectra ------------------------------------------------------------------------------------------------


def _support(kernel: Kernel) -> str | None:
    """Return where the spectral measure of a stationary kernel is; measures of sums add, of products convolve."""
    period = _period(kernel)
    if isinstance(kernel, Scaled):
        return _support(kernel.kernel) if kernel.scale > 0 else "atoms"
    if isinstance(kernel, Normalized):
        return _support(kernel.kernel)
    if isinstance(kernel, (Exp, PolynomialOf, Power)):
        inner = _support(kernel.kernel)
        first = not isinstance(kernel, PolynomialOf) or any(c > 0 for c in tuple(kernel.coefficients)[1:])
        wide = inner in ("everything", "open") and first
        return inner if wide else "lattice" if period else None
    if isinstance(kernel, (Sum, Product)):
        found = [_support(term) for term in kernel.kernels]
        wide = next((kind for kind in ("everything", "open") if kind in found), None)
        if wide or None in found:
            return wide
        thin = isinstance(kernel, Sum) or period or found.count("lattice") < 2
        return ("lattice" if "lattice" in found else "atoms") if thin else None
    if kernel.spectral_support is None and offers(kernel, HasSpectralDensity):
        return "open"
    if kernel.spectral_support is None and offers(kernel, HasAtoms):
        return "atoms"
    return kernel.spectral_support


def _period(kernel: Kernel) -> float | None:
    """Return the one period that all parts of a kernel have, or None."""
    leaves = list(_leaves(kernel))
    waves = [leaf for leaf in leaves if leaf.spectral_support == "lattice"]
    periods = {float(getattr(leaf, "period", np.nan)) for leaf in waves}
    plain = all(isinstance(leaf, Constant) for leaf in leaves if leaf not in waves)
    return periods.pop() if plain and len(periods) == 1 else None


def _leaves(kernel: Kernel) -> Iterator[Kernel]:
    if isinstance(kernel, Composite):
        for term in kernel.kernels:
            yield from _leaves(term)
    else:
        yield kernel


def _from_support(kernel: Kernel, support: str) -> Facts:
    definite = ("it is the Fourier transform of a measure that is never negative", "HSS Theorem 8")
    if support in ("everything", "open"):
        where = (
            "is positive almost everywhere" if support == "everything" else "has a support that contains an open set"
        )
        why = f"its spectral measure {where}"
        strict = Claim(True, why, BOCHNER)
        universal = Claim(True, f"{why}: a measure on a compact set, whose transform is analytic, cannot hide", BOCHNER)
        if support == "everything":
            means = Claim(True, f"{why}: no two distributions on R^d have the same mean", "HSS Theorem 8")
        else:
            means = Claim(None, "on R^d it is if the support is everything; on compact sets it is, being universal")
        return Facts(strict, universal, means, definite)
    period = _period(kernel)
    points = 2 if period else None
    what = f"points {period:g} apart have the same image" if period else "its functions are almost periodic"
    kind = "sits on a lattice" if support == "lattice" else "is a sum of finitely many point masses"
    return replace(_same(Claim(False, f"its spectral measure {kind}: {what}", BOCHNER, points)), definite=definite)


# an object without an image -----------------------------------------------------------------------------


def _at_zero(kernel: Kernel, width: int | None, found: Facts) -> Facts:
    """Check whether k(0, 0) = 0, or k of the empty string: then it is not strict, and there are no constants."""
    null = _NULL.get(kernel.domain)
    if kernel.order != 0 or kernel.nonzero or kernel.stationary or null is None:
        return found
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            S: Samples = kernel.prepare(kernel.pack(null(width)))
            if kernel.diag(S)[0] != 0:
                return found
    except MercerError:
        return found
    name = "the zero vector" if kernel.domain is Vectors else "the empty string"
    strict = Claim(False, f"{name} has no image: k(x, x) = 0 there", "HSS Def. 3", 1)
    return replace(found, strict=strict, universal=Claim(False, f"all its functions are zero at {name}"))


# the algebra --------------------------------------------------------------------------------------------


@functools.singledispatch
def _rule(kernel: Kernel, width: int | None) -> Facts:
    """Return what the class of a kernel says: with its reasons, or at its word."""
    if offers(kernel, HasReasons):
        return _from_reasons(kernel.reasons(width))
    word = Claim(True, "its class says so: see its documentation")
    if kernel.order:
        outside = Claim(None, "it is conditionally positive definite only: it has no RKHS of its own")
        strict = replace(word, reason=f"on coefficients of order {kernel.order}, as its class says")
        return Facts(strict if kernel.strict else _UNKNOWN, outside, outside)
    return Facts(word if kernel.strict else _UNKNOWN, word if kernel.universal else _UNKNOWN, _UNKNOWN)


def _from_reasons(reasons: Mapping[str, Reason]) -> Facts:
    strict, universal, means = (Claim(*reasons[name]) if name in reasons else _UNKNOWN for name in _NAMES)
    found = Facts(strict, universal, means)
    definite = reasons.get("definite")
    return found if definite is None else replace(found, definite=(definite.reason, definite.seed))


def _through(kernel: Wrapped, width: int | None, why: str, seed: str = CLOSURE) -> Facts:
    """Pass on what is known of the kernel inside."""
    inner = facts(kernel.kernel, width)
    return Facts(
        *(replace(claim, reason=f"{why} {kernel.kernel!r}: {claim.reason}") for claim in _claims(inner)),
        definite=(f"{why} a positive definite kernel", seed),
    )


def _claims(known: Facts) -> tuple[Claim, Claim, Claim]:
    return known.strict, known.universal, known.characteristic


@_rule.register
def _(kernel: Scaled, width: int | None) -> Facts:
    if kernel.scale == 0:
        return _same(Claim(False, "it is zero", points=1))
    return _through(kernel, width, "a positive multiple of")


@_rule.register
def _(kernel: Normalized, width: int | None) -> Facts:
    if not kernel.kernel.nonzero:
        return replace(_same(_UNKNOWN), definite=("the normalisation of a positive definite kernel", CLOSURE))
    return _through(kernel, width, "the normalisation, by positive factors, of")


@_rule.register
def _(kernel: Sum, width: int | None) -> Facts:
    terms = [facts(term, width) for term in kernel.kernels]
    additive = _is_additive(kernel, width)
    definite = ("a sum of positive definite kernels", CLOSURE)
    if additive is not None:
        why = "every term leaves out a column: sums of functions of fewer columns miss the corners of a cube"
        return replace(_same(Claim(False, why, CLOSURE, 2**additive)), definite=definite)
    strict, universal, means = (
        _inherited(kernel, name, claims, "its term {0!r} is: {1}", "no term is; what they are together is not known")
        for name, claims in zip(_NAMES, zip(*map(_claims, terms), strict=True), strict=True)
    )
    if kernel.order:
        universal = Claim(None, "it is conditionally positive definite only")
    if means.holds and not kernel.bounded:
        means = Claim(None, "it is unbounded: not every distribution has a mean")
    return Facts(strict, universal, means, definite)


@_rule.register
def _(kernel: Product, width: int | None) -> Facts:
    definite = ("a product of positive definite kernels (Schur)", CLOSURE)
    if _reads(kernel) is not None:  # it covers all columns, or would not be here
        factors = [term for term in kernel.kernels if not isinstance(term, Constant)]
        inner = [_selected(term) if isinstance(term, Selected) else _same(_UNKNOWN) for term in factors]
        good = Claim(True, "a product over all columns, each factor on its own columns", CLOSURE)
        strict, universal = (
            good if kernel.nonzero and all(claim.holds for claim in claims) else _UNKNOWN
            for claims in zip(*(_claims(known)[:2] for known in inner), strict=True)
        )
        return Facts(strict, universal, _UNKNOWN, definite)
    found = []
    for name, claims in zip(
        _NAMES[:2], zip(*(_claims(facts(term, width))[:2] for term in kernel.kernels), strict=True), strict=True
    ):
        one = any(claim.holds for claim in claims)
        why = "another factor may be zero or not continuous somewhere" if one else "no factor is"
        because = "its factor {0!r} is, and no factor vanishes (Oppenheim): {1}"
        found.append(_inherited(kernel, name, claims, because, why))
    return Facts(*found, characteristic=_UNKNOWN, definite=definite)


def _inherited(kernel: Sum | Product, name: str, claims: Sequence[Claim], because: str, otherwise: str) -> Claim:
    """Return the claim of the term from which that of the kernel follows, by the rule of the kernel's class."""
    known = {id(term): claim for term, claim in zip(kernel.kernels, claims, strict=True)}
    source = kernel.source(name, lambda term: known[id(term)].holds)
    if source is None:
        return Claim(None, otherwise)
    claim = known[id(source)]
    return replace(claim, reason=because.format(source, claim.reason))


def _selected(kernel: Selected) -> Facts:
    return facts(kernel.kernel, int(np.size(np.asarray(kernel.columns, dtype=object))))


@_rule.register
def _(kernel: Selected, width: int | None) -> Facts:
    return _selected(kernel)  # of all columns, or it would not be here


@_rule.register
def _(kernel: Power, width: int | None) -> Facts:
    known = _through(kernel, width, "a product with itself of")
    if kernel.exponent == 1:
        return known
    kept = (
        claim if claim.holds else Claim(None, "powers of such a kernel may or may not be") for claim in _claims(known)
    )
    strict, universal, _ = kept
    return Facts(strict, universal, _UNKNOWN, definite=("a power of a positive definite kernel (Schur)", CLOSURE))


@_rule.register
def _(kernel: PolynomialOf, width: int | None) -> Facts:
    inner = facts(kernel.kernel, width)
    strict, universal = (
        replace(claim, reason=f"a power of {kernel.kernel!r} is one of its terms: {claim.reason}")
        if kernel.source(name, lambda _, claim=claim: claim.holds)
        else Claim(None, "no power of the kernel inside is known to be")
        for name, claim in (("strict", inner.strict), ("universal", inner.universal))
    )
    return Facts(strict, universal, _UNKNOWN, ("a polynomial of a kernel, no coefficient negative", CLOSURE))


@_rule.register
def _(kernel: Exp, width: int | None) -> Facts:
    inner, k = facts(kernel.kernel, width), kernel.kernel
    unknown = Claim(None, f"{k!r} is not known to give different objects different images")
    strict, universal = unknown, unknown
    if kernel.source("strict", lambda _: inner.strict.holds):
        why = f"{k!r} gives different objects different images, and exp(<u, v>) is strict on any inner product space"
        strict = Claim(True, why, PINKUS)
        universal = Claim(None, f"it is if {k!r} is continuous: then {k!r} is injective and continuous")
    if kernel.source("universal", lambda _: inner.universal.holds):
        why = f"{k!r} is continuous and injective: products of functions exp(f) separate points (Stone, Weierstrass)"
        universal = Claim(True, why, "HSS Sec. 2.2.3")
    means = _UNKNOWN
    if inner.characteristic.holds and k.bounded:
        means = replace(
            inner.characteristic, reason=f"{k!r} is a term of the exponential: {inner.characteristic.reason}"
        )
    power = ("a limit of polynomials of a positive definite kernel", CLOSURE)
    schoenberg = ("the exponential of a conditionally positive definite kernel (Schoenberg)", "HSS Sec. 2.2.2")
    return Facts(strict, universal, means, power if k.order == 0 else schoenberg)


@_rule.register
def _(kernel: Composed, width: int | None) -> Facts:
    inner = facts(kernel.kernel)
    why = f"{kernel.kernel!r} is on the images; the whole is where the map is one to one (and continuous)"
    claims = (Claim(None, why if claim.holds else claim.reason) for claim in _claims(inner))
    return Facts(*claims, definite=("a positive definite kernel of images", "STS Theorem 7"))


@_rule.register
def _(kernel: Tensor, width: int | None) -> Facts:
    found = []
    sides = {id(side): _claims(facts(side)) for side in (kernel.left, kernel.right)}
    for place, name in enumerate(_NAMES[:2]):
        claims = [sides[id(side)][place] for side in (kernel.left, kernel.right)]
        wrong = next((claim for claim in claims if claim.holds is False), None)
        both = kernel.source(name, lambda side, place=place: sides[id(side)][place].holds)
        if wrong:
            found.append(
                replace(wrong, reason=f"one member of the pairs held fixed, {wrong.reason}", points=wrong.points)
            )
        elif both:
            found.append(Claim(True, "it is on both members: its Gram matrix is part of a Kronecker product", CLOSURE))
        else:
            found.append(Claim(None, "it is not known of both members"))
    return Facts(*found, characteristic=_UNKNOWN, definite=("a tensor product of positive definite kernels", CLOSURE))


@_rule.register
def _(kernel: DirectSum, width: int | None) -> Facts:
    why = "a sum of functions of one member each misses the corners of a rectangle: signs +, -, -, + give zero"
    return replace(_same(Claim(False, why, CLOSURE, 4)), definite=("a direct sum of kernels", CLOSURE))


@_rule.register
def _(kernel: Anova, width: int | None) -> Facts:
    definite = ("sums and products of a positive definite kernel", CLOSURE)
    base = facts(kernel.base, 1) if kernel.base is not None else _same(_UNKNOWN)
    if width is None or kernel.degree > width:
        return replace(
            _same(Claim(None, f"it depends on the columns: it is a product over {kernel.degree}")), definite=definite
        )
    if kernel.degree < width:
        why = f"it adds functions of {kernel.degree} of {width} columns, which miss the corners of a cube"
        return replace(_same(Claim(False, why, CLOSURE, 2 ** (kernel.degree + 1))), definite=definite)
    why = "a product over all columns: "
    claims = (replace(claim, reason=why + claim.reason) if claim.holds else _UNKNOWN for claim in _claims(base)[:2])
    return Facts(*claims, characteristic=_UNKNOWN, definite=definite)
