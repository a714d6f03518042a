"""The page: complete, safe, small, and whole on disk."""

import importlib.util
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelFisherDiscriminant, KernelMeanClassifier, KernelPCA, KernelRidge, ParzenDensity
from mercer.kernels import Gaussian, Linear, NegativeDistance, Precomputed, Spectrum
from mercer.reports import Report, report
from mercer.reports.report import certified
from mercer.reports.subject import NotApplicable, Subject
from mercer.solvers import ConjugateGradient

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
y = np.sin(X[:, 0])
labels = np.where(y > 0, "b", "a")
TEXTS = ["".join(rng.choice(list("ACGT"), rng.integers(3, 9))) for _ in range(40)]
TABLE = pd.DataFrame({"u": X[:, 0], "gene": TEXTS, "unread": X[:, 1]})
VOID = {"meta", "br", "img", "hr", "input", "link", "mspace", "use", "path", "image"}

HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "javascript:alert(1)",
    "\u202egnp.exe\u2066",
    "</style></title></svg><svg onload=alert(1)>",
    "{{ 7919 * 7927 }}{% raw %}",
    "$\\frac{1$ &amp; \x00\x1b[31m",
    "x" * 10_000,
)


class Page(HTMLParser):
    """Tags, attributes and text of a page, checked for balance."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def check(page):
    """Everything that holds of every page."""
    text = page.html
    parsed = Page(text)
    assert not parsed.open
    assert not {"script", "iframe", "object", "embed", "form", "link", "img", "base"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    addresses = [value for name, value in parsed.attributes if name.endswith(("href", "src"))]
    assert all(value.startswith(("#", "data:image/png")) for value in addresses)
    assert "Content-Security-Policy" in text
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in text
    assert 'name="viewport"' in text
    assert "@media print" in text
    assert "prefers-color-scheme: dark" in text
    assert len(text.encode()) < 2_000_000
    ids = [value for name, value in parsed.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for value in addresses if value.startswith("#")} <= set(ids)
    return parsed


CASES = {
    "ridge": (KernelRidge(Gaussian(1.0), alpha=0.1), X, y),
    "weights": (KernelRidge(Linear(), fit_intercept=True), X, y),
    "iterative": (KernelRidge(Gaussian(1.0), solver=ConjugateGradient()), X, y),
    "outputs": (KernelRidge(Gaussian(1.0)), X, np.c_[y, -y]),
    "means": (KernelMeanClassifier(), X, labels),
    "three": (KernelMeanClassifier("rbf"), X, np.digitize(y, [-0.5, 0.5])),
    "density": (ParzenDensity(), X, None),
    "strings": (KernelRidge(Spectrum(2).normalized()), TEXTS, y),
    "table": (KernelRidge(Gaussian("median").on(["u"]) * Spectrum(1).on("gene")), TABLE, y),
    "precomputed": (KernelMeanClassifier(Precomputed()), Gaussian(1.0)(X), labels),
    "pipeline": (make_pipeline(StandardScaler(), KernelRidge()), X, y),
}


@pytest.mark.parametrize("name", CASES)
def test_every_estimator_on_every_domain(name):
    model, data, target = CASES[name]
    page = report(model.fit(data) if target is None else model.fit(data, target), data, target, cv=3)
    parsed = check(page)
    assert not [reason for _, reason in page.facts.omitted if "could not be computed" in reason]
    headings = " ".join(parsed.texts)
    for heading in (
        "Data",
        "Kernel",
        "Parameters",
        "How good it is",
        "Gram matrix",
        "Conditioning",
        "How to reproduce it",
    ):
        assert heading in headings
    assert page.facts.scores is not None
    assert "gram" in page.facts.figures


@pytest.mark.parametrize("name", ["ridge", "weights", "means", "density", "strings", "precomputed"])
def test_without_data_a_page_is_made_of_the_model_alone(name):
    model, data, target = CASES[name]
    page = report(model.fit(data) if target is None else model.fit(data, target))
    check(page)
    assert ("Data", "no data were given to the report") in page.facts.omitted
    assert "Left out" in page.html


def test_golden_hostile_names():
    table = pd.DataFrame({name: rng.normal(size=40) for name in HOSTILE})
    table["kinds"] = rng.choice(HOSTILE, 40)
    target = np.array(HOSTILE, dtype=object)[rng.integers(0, 3, 40)]
    model = KernelMeanClassifier(Gaussian(1.0).on(list(HOSTILE))).fit(table, target)
    page = report(model, table, target, title=HOSTILE[0], notes=HOSTILE, cv=2)
    parsed = check(page)
    joined = " ".join(parsed.texts)
    assert "<script>alert(1)</script>" in joined  # there as text
    assert "{{ 7919 * 7927 }}" in joined
    assert str(7919 * 7927) not in joined
    for bad in ("\u202e", "\u2066", "\x00", "\x1b"):
        assert bad not in page.html
    assert "x" * 3000 not in page.html
    assert len(page.html) < 500_000


def test_hostile_strings_as_data():
    model = KernelRidge(Spectrum(1)).fit(list(HOSTILE), np.arange(len(HOSTILE), dtype=float))
    check(report(model, list(HOSTILE), np.arange(len(HOSTILE), dtype=float)))


def test_many_samples_are_thinned_and_it_is_said():
    many = rng.normal(size=(300, 2))
    page = report(KernelRidge(Gaussian(1.0)).fit(many, many[:, 0]), many, many[:, 0], max_samples=50)
    assert (page.facts.n_samples, page.facts.n_used) == (300, 50)
    assert "50 of 300 samples" in page.html
    assert page.facts.data.n_samples == 300


def test_one_failing_section_does_not_take_the_page_with_it(monkeypatch):
    monkeypatch.setattr(sys.modules["mercer.reports.report"], "describe", lambda subject: 1 / 0)
    page = report(KernelRidge(Gaussian(1.0)).fit(X, y), X, y)
    check(page)
    assert ("Data", "could not be computed: ZeroDivisionError: division by zero") in page.facts.omitted


def test_without_matplotlib_a_line_says_how_to_get_pictures(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "matplotlib" else find(name, *a))
    page = report(KernelRidge(Gaussian(1.0)).fit(X, y), X, y)
    check(page)
    assert page.facts.figures == {}
    assert "pip install mercer[plot]" in page.html


def test_saving_is_whole_and_does_not_overwrite(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    page = report(KernelRidge(Gaussian(1.0)).fit(X, y), path=path)
    assert path.read_text(encoding="utf-8") == page.html
    with pytest.raises(FileExistsError, match="force=True"):
        page.save(path)
    with pytest.raises(FileExistsError):
        report(KernelRidge(Gaussian(1.0)).fit(X, y), path=path)
    assert page.save(path, force=True) == path
    with pytest.raises(FileNotFoundError, match="no folder"):
        page.save(tmp_path / "nowhere" / "report.html")

    def full(fd):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        Report("other", page.facts).save(path, force=True)
    assert path.read_text(encoding="utf-8") == page.html
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_notebooks_show_the_page_in_a_frame_of_its_own():
    page = report(KernelRidge(Gaussian(1.0)).fit(X, y), title='"><script>')
    frame = page._repr_html_()
    assert frame.startswith('<iframe sandbox srcdoc="&lt;!DOCTYPE html&gt;')
    assert "<script" not in frame
    assert Page(frame).tags == ["iframe"]


def test_the_summary_is_text():
    page = report(KernelRidge(Gaussian(1.0), alpha=0.1).fit(X, y), X, y, title="Sine", notes=["alpha by hand"])
    text = str(page)
    assert text.startswith(
        "Sine\n  model: KernelRidge(Gaussian(1.0), alpha=0.1)\n  verdict: Of samples it has not seen"
    )
    assert "\n  samples: 40 (2 columns)\n" in text
    assert "leave-one-out: R²" in text
    assert "alpha by hand" in page.html
    assert repr(page).startswith("<Report 'Sine'")


def test_cross_validation_can_be_left_out():
    page = report(KernelRidge(Gaussian(1.0)).fit(X, y), X, y, cv=None)
    assert ("Cross-validation", "cv=None was given") in page.facts.omitted
    assert page.facts.left_out is not None
    check(page)


def test_a_model_that_was_found_is_judged_by_what_it_held_out():
    """No folds, the answer first, the data last, and nothing said that is not so."""
    rows = np.arange(0, 40, 2)
    model = KernelMeanClassifier(Gaussian((1.0, 3.0))).fit(X, labels)
    model.held_ = SimpleNamespace(rows=rows, predictions=np.roll(labels[rows], 1), probabilities=None)
    model.verdict_, model.story_ = "Hardly better than a guess.", ["classes, as asked"]
    model.leaderboard_ = [SimpleNamespace(name="a <b>", score=0.9, standard_error=0.1, seconds=0.5, size=40)]
    page = report(model, X, labels)
    text = " ".join(check(page).texts)
    wanted = ["scores", "reasons", "worst", "kernel", "gram", "parameters", "done", "reproduce", "data"]
    assert [name for name in re.findall(r'<section id="(\w+)"', page.html) if name in wanted] == wanted
    assert text.index("Hardly better than a guess.") < text.index("How good it is") < text.index("a <b>")
    assert "model = mercer.automatic(X, y)" in text
    right = np.mean(np.roll(labels[rows], 1) == labels[rows])
    assert page.facts.scores.folds == () and page.facts.scores.mean["accuracy"] == right
    assert "1, 3" not in text and {row.lengths for row in page.facts.importance.rows} == {"1", "3"}
    for untrue in ("nothing in it was learned", "differ in scale", "training samples, by", "the 1 training"):
        assert untrue not in text
    assert report(model, X, labels, cv=2).facts.scores.folds
    assert report(model, X, labels, cv=None).facts.scores is None


def test_a_formula_is_printed_once():
    kernel = sum((Gaussian(1.0 + i).on([i % 2]) for i in range(5)), Gaussian(9.0).on([0, 1]))
    page = report(KernelRidge(kernel).fit({0: X[:, 0], 1: X[:, 1]}, y))
    assert [part.times for part in page.facts.kernel.parts] == [1, 6, 6] and page.html.count("<math") == 3
    assert "and 5 more of the kind" in page.html


def test_the_formula_is_mathematics():
    assert "<math" in report(KernelRidge(Gaussian(1.0)).fit(X, y)).html


def test_the_page_shows_bounds_and_the_verdict():
    page = report(SVC(Gaussian(1.0)).fit(X, labels), X, labels, cv=None)
    assert '<section id="certificate">' in page.html
    assert "PAC-Bayes, prior at zero" in page.html
    assert "certificate: " in str(page)
    assert "certificate" in page.facts.figures


def test_numbers_of_the_certificate_are_those_of_the_model():
    model = KernelRidge(Gaussian(1.0)).fit(X, X[:, 0])
    assert certified(Subject.of(model, X, X[:, 0])).best == model.certificate(X, X[:, 0], cv=None).best


def test_pipelines_are_told_what_is_not_paid_for():
    model = make_pipeline(StandardScaler(), SVC(Gaussian(1.0))).fit(X, labels)
    assert any("pipeline" in note for note in certified(Subject.of(model, X, labels)).notes)


def test_models_without_bounds_have_no_section():
    with pytest.raises(NotApplicable, match="no bounds for KernelPCA"):
        certified(Subject.of(KernelPCA(Gaussian(1.0)).fit(X), X))
    with pytest.raises(NotApplicable, match="positive definite"):
        certified(Subject.of(SVC(NegativeDistance()).fit(X, labels), X, labels))
    with pytest.raises(NotApplicable, match="training samples"):
        certified(Subject.of(KernelFisherDiscriminant(Gaussian(1.0)).fit(X, labels)))
