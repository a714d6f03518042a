"""What pieces of samples add to a decision."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import BagOfWords, BlendedSpectrum, Spectrum, WeisfeilerLehman
from mercer.reports.marks import marked
from mercer.reports.subject import Subject
from mercer.reports.weighty import feature_weights

rng = np.random.default_rng(0)
Y = rng.normal(size=12)
WORDS = [" ".join(rng.choice(["a", "bee", "sea"], 5)) for _ in range(12)]
GRAPHS = [{"edges": [(0, 1), (1, 2), (2, i % 2)], "labels": rng.choice(list("CNO"), 3).tolist()} for i in range(12)]
CASES = {
    "words": (BagOfWords(), WORDS),
    "substrings": (Spectrum(2), WORDS),
    "lengths": (BlendedSpectrum(2), WORDS),
    "nodes": (WeisfeilerLehman(2), GRAPHS),
}


@pytest.mark.parametrize("name", CASES)
def test_the_pieces_add_up_to_the_function(name):
    """Every part that is counted is shared among the pieces it is made of, so that their sum is f."""
    kernel, X = CASES[name]
    model = KernelRidge(kernel, alpha=1.0).fit(X, Y)
    weights, keys = feature_weights(model.expansion_)
    F, _ = model.kernel_.features(model.kernel_.pack(X), keys)
    both = np.column_stack([weights[:, 0], -weights[:, 0]])
    for one in marked(Subject.of(model, X, Y), keys, both, ["up", "down"], [0, 3, 7]):
        values = np.array([strength for _, strength in one.pieces])
        f = abs(float((F @ weights)[one.sample, 0]))
        assert values.sum() * one.largest == pytest.approx(f, rel=1e-8, abs=1e-10)
        assert ("for up" in one.title) == ((F @ weights)[one.sample, 0] > 0)


def test_long_samples_are_cut():
    texts = ["ab" * 200, "ba" * 3]
    model = KernelRidge(Spectrum(1)).fit(texts, [0.0, 1.0])
    weights, keys = feature_weights(model.expansion_)
    (one,) = marked(Subject.of(model, texts, np.array([0.0, 1.0])), keys, weights, ["up"], [0])
    assert one.cut and len(one.pieces) == 160 and one.gap == ""
