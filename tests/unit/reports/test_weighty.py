"""Parts of texts, sequences, trees and graphs that weigh most."""

import numpy as np
import pytest

from mercer import SVC, KernelMeanClassifier, KernelRidge
from mercer.kernels import BlendedSpectrum, Gaussian, PartialTree, Spectrum, Subtree, TfIdf, WeisfeilerLehman
from mercer.reports.subject import NotApplicable, Subject
from mercer.reports.weighty import feature_weights, weighty

rng = np.random.default_rng(0)
KIND = np.array(["bad", "good"])[np.arange(24) % 2]
TEXTS = [f"a {word} film about {rng.choice(['love', 'war'])}" for word in np.where(KIND == "good", "lovely", "dull")]
GENES = ["".join(rng.choice(list("CG"), 6)) + ("TATA" if kind == "good" else "AATT") for kind in KIND]
TREES = [f"(S (NP we) (VP {'sing' if kind == 'good' else 'cry'}) (CD {i % 3}))" for i, kind in enumerate(KIND)]
GRAPHS = [{"edges": [(0, 1), (1, 2)], "labels": "CCO" if kind == "good" else "CCN"} for kind in KIND]


def parts(model, X, y=KIND):
    found = weighty(Subject.of(model.fit(X, y), X, y))
    return found, {label: [name for name, _, _ in rows] for label, rows in found.classes}


@pytest.mark.parametrize("machine", [SVC, KernelMeanClassifier])
def test_words_of_two_classes(machine):
    found, named = parts(machine(TfIdf().normalized()), TEXTS)
    assert named["good"][0] == "lovely" and named["bad"][0] == "dull" and found.what == "words"
    (one, *_) = found.examples
    strongest = max(one.pieces, key=lambda piece: piece[1])[0]
    assert strongest in ("lovely", "dull") and one.gap == " "


def test_the_shares_add_up_to_the_function():
    """What all parts add to the upper half beyond what they add to all is the difference of the mean predictions."""
    model = KernelRidge(Spectrum(2), alpha=1.0).fit(GENES, np.arange(24.0))
    subject = Subject.of(model, GENES, np.arange(24.0))
    weights, keys = feature_weights(model.expansion_)
    F, _ = model.kernel_.features(model.kernel_.pack(GENES), keys)
    np.testing.assert_allclose(F @ weights[:, 0], model.predict(GENES), rtol=1e-8, atol=1e-8)
    upper = F @ weights[:, 0] >= np.median(F @ weights[:, 0])
    shares = weights[:, 0] * np.asarray(F[upper].mean(axis=0) - F.mean(axis=0)).ravel()
    f = model.predict(GENES)
    assert shares.sum() == pytest.approx(f[upper].mean() - f.mean())
    (_, up), _ = weighty(subject).classes
    assert [share for _, share, _ in up] == pytest.approx(np.sort(shares[weights[:, 0] > 0])[::-1][: len(up)])


@pytest.mark.parametrize("kernel", [Spectrum(3).normalized(), BlendedSpectrum(3)])
def test_substrings(kernel):
    found, named = parts(SVC(kernel), GENES)
    assert any(name in "TATA" for name in named["good"][:3]) and any(name in "AATT" for name in named["bad"][:3])
    assert found.examples[0].gap == "" and "".join(text for text, _ in found.examples[0].pieces) in GENES


def test_neighbourhoods_of_graphs():
    found, named = parts(SVC(WeisfeilerLehman(2).normalized()), GRAPHS)
    assert any("O" in name for name in named["good"][:1]) and any("N" in name for name in named["bad"][:1])
    assert any(name.startswith(("C(", "O(")) for name in named["good"])
    strongest = max(found.examples[0].pieces, key=lambda piece: piece[1])[0]
    assert strongest in ("O", "N", "C") and len(found.examples[0].pieces) == 3


@pytest.mark.parametrize("kernel", [Subtree().normalized(), PartialTree().normalized()])
def test_subtrees_with_counts_and_without(kernel):
    _, named = parts(SVC(kernel), TREES)
    assert any("sing" in name for name in named["good"][:3]) and any("cry" in name for name in named["bad"][:3])


def test_three_classes_have_parts_each():
    y = np.array(["x", "y", "z"])[np.arange(24) % 3]
    texts = [f"the {'red' if k == 'x' else 'green' if k == 'y' else 'blue'} one {i % 4}" for i, k in enumerate(y)]
    _, named = parts(SVC(TfIdf().normalized()), texts, y)
    assert {label: names[0] for label, names in named.items()} == {"x": "red", "y": "green", "z": "blue"}


@pytest.mark.parametrize("beside", [False, True])
def test_a_column_of_texts(beside):
    """Alone in a table, or beside numbers: its term of the function has weights of its own."""
    kernel = TfIdf().normalized().on("text")
    table = {"text": TEXTS} | ({"u": rng.normal(size=24).tolist()} if beside else {})
    _, named = parts(SVC(Gaussian(1.0).on(["u"]) + 2.0 * kernel if beside else kernel), table)
    assert named["good"][0] == "lovely" and named["bad"][0] == "dull"


def test_vectors_have_no_parts():
    X = rng.normal(size=(24, 2))
    with pytest.raises(NotApplicable, match="not texts"):
        parts(SVC(Gaussian(1.0)), X)
