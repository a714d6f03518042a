"""Gram matrices: samples in an order that shows which are alike, the spectrum, and what two samples share.

Small collections of strings, texts, trees and graphs are built in, so that a lesson can begin without a file; points
come from the playground.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.domains import Samples
from mercer.errors import ParameterError
from mercer.kernels import Kernel
from mercer.plots.gram_display import arranged
from mercer.plots.spectrum_display import SpectrumDisplay
from mercer.studio.form_fields import Form
from mercer.studio.pixels import INKS, packed_floats, picture
from mercer.studio.sharing import common
from mercer.studio.snippets import command, data_file, python_rows, quoted

__all__ = ["EXAMPLES", "SPECTRUM", "Collection", "look", "pair", "shared", "shown_gram"]

SHOWN = 200
CUT = 200  # letters of a sample that are shown

EXAMPLES: dict[str, dict[str, Any]] = {
    "strings": {
        "kernel": "Spectrum(2).normalized()",
        "samples": [
            "GATTACA",
            "GATTAGA",
            "CATTACA",
            "GATTATA",
            "CCGCGG",
            "CCGAGG",
            "CCGCGC",
            "GCGCGG",
            "TTTATAT",
            "TATATAT",
            "TATTTAT",
        ],
    },
    "texts": {
        "kernel": "TfIdf().normalized()",
        "samples": [
            "the cat sat on the mat",
            "a cat and a dog on a mat",
            "the dog chased the cat",
            "stocks fell as banks reported losses",
            "banks and stocks rose today",
            "losses of banks grew",
            "rain falls on the hills",
            "snow and rain on the hills today",
        ],
    },
    "trees": {
        "kernel": "SubsetTree().normalized()",
        "samples": [
            "(S (NP (N dogs)) (VP (V bark)))",
            "(S (NP (N cats)) (VP (V sleep)))",
            "(S (NP (D the) (N dog)) (VP (V barks)))",
            "(S (NP (D the) (N cat)) (VP (V sees) (NP (D the) (N dog))))",
            "(S (NP (N dogs)) (VP (V see) (NP (N cats))))",
            "(E (E (T x)) (O +) (T y))",
            "(E (E (T x)) (O +) (T (F 2) (O *) (F y)))",
            "(E (T (F x) (O *) (F y)))",
        ],
    },
    "graphs": {
        "kernel": "WeisfeilerLehman(2).normalized()",
        "samples": [
            {"edges": [[0, 1], [1, 2]], "labels": ["C", "C", "O"]},
            {"edges": [[0, 1], [1, 2], [2, 3]], "labels": ["C", "C", "C", "O"]},
            {"edges": [[0, 1], [1, 2], [1, 3]], "labels": ["C", "C", "O", "O"]},
            {"edges": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0]], "labels": ["C"] * 6},
            {"edges": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0]], "labels": ["C"] * 5 + ["N"]},
            {"edges": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0], [5, 6]], "labels": ["C"] * 6 + ["O"]},
            {"edges": [[0, 1], [0, 2], [0, 3]], "labels": ["N", "H", "H", "H"]},
            {"edges": [[0, 1], [0, 2]], "labels": ["O", "H", "H"]},
        ],
    },
}


@dataclass(frozen=True)
class Collection:
    """Samples to be compared.

    Attributes
    ----------
    kind : str
        As `mercer.studio.sharing.common` has it.
    X : raw samples or packed ones
    names : list of str
        What each is called in the picture.
    own : list
        What `common` compares.
    y : list or None
        Classes by which they are ordered.
    """

    kind: str
    X: Any
    names: list[str]
    own: list[Any]
    y: Any = None


def _collection(form: Form) -> Collection:
    source = form.choice("source", ["points", *EXAMPLES])
    if source == "points":
        X = form.points(width=2, least=2)
        return Collection("numbers", X, [f"({a:g}, {b:g})" for a, b in X], X.tolist())
    samples = EXAMPLES[source]["samples"]
    if source == "graphs":
        names = [f"{' '.join(graph['labels'])}, {len(graph['edges'])} edges" for graph in samples]
        return Collection("graphs", samples, names, [graph["labels"] for graph in samples])
    return Collection(source, samples, list(samples), list(samples))


def shown_gram(kernel: Kernel, found: Collection, theme: str) -> dict[str, Any]:
    """Return the ordered Gram matrix of samples and its spectrum."""
    S: Samples = kernel.pack(found.X)
    learned = kernel.learn(S)
    display = arranged(learned, S, found.y, max_samples=SHOWN)
    spectrum = SpectrumDisplay.from_matrix
    values = np.linalg.eigvalsh(display.gram)[::-1]
    drawn = picture(lambda ax: spectrum(display.gram, ax=ax), (4.0, 2.6), theme)
    return {
        "expression": repr(kernel),
        "gram": packed_floats(display.gram),
        "index": display.index.tolist(),
        "names": [found.names[i][:CUT] for i in display.index],
        "groups": [list(group) for group in display.groups],
        "spectrum": values.tolist(),
        "picture": drawn,
        "numbers": [float(np.trace(display.gram)), float(values[0]), float(values[-1])],
        "words": f"Gram matrix of {kernel!r}: {display.note}, from {display.gram.min():.3g} to "
        f"{display.gram.max():.3g}.",
        "spectrum_words": f"Spectrum: {len(values)} eigenvalues, from {values[0]:.4g} to {values[-1]:.4g}.",
    }


def look(fields: Any) -> dict[str, Any]:
    """Return the Gram matrix of points or of an example."""
    form = Form(fields)
    found, kernel = _collection(form), form.kernel(of=None)
    theme = form.choice("theme", list(INKS)) if "theme" in form.fields else "light"
    return {**shown_gram(kernel, found, theme), "python": _python(form, kernel), "command": _commands(form, kernel)}


def shared(fields: Any) -> dict[str, Any]:
    """Return what two samples of the picture have in common, and the kernel's value."""
    form = Form(fields)
    return pair(_collection(form), form)


def pair(found: Collection, form: Form) -> dict[str, Any]:
    """Return what two samples have in common, by their numbers."""
    n = len(found.names)
    i, j = form.whole("i", 0, n - 1), form.whole("j", 0, n - 1)
    return {
        "names": [found.names[i][:CUT], found.names[j][:CUT]],
        "kind": found.kind,
        "shared": common(found.kind, found.own[i], found.own[j]),
    }


# copies -----------------------------------------------------------------------------------------------------

SPECTRUM = [
    "S = kernel.pack(X)",
    "K = kernel.learn(S)(S)",
    "values = np.linalg.eigvalsh(K)",
    "print([np.trace(K).item(), values[-1].item(), values[0].item()])",
]


def _python(form: Form, kernel: Kernel) -> str:
    source = form.text("source")
    if source == "points":
        rows = python_rows("X", form.points(width=2))
    else:
        rows = "\n".join(["X = [", *(f"    {sample!r}," for sample in EXAMPLES[source]["samples"]), "]"])
    lines = ["import numpy as np", "import mercer", "", rows, f"kernel = mercer.parse({repr(kernel)!r})", *SPECTRUM]
    return "\n".join(lines) + "\n"


def _commands(form: Form, kernel: Kernel) -> str:
    source = form.text("source")
    if source == "points":
        X = form.points(width=2)
        name, written = "points.csv", data_file("points.csv", {"x": X[:, 0], "y": X[:, 1]})
    else:
        name, written = _example_file(source)
    gram = command("mercer", "gram", name, "--kernel", repr(kernel), "-o", "gram.npy", "--force", "--quiet")
    code = "import numpy as np; K = np.load('gram.npy'); v = np.linalg.eigvalsh(K); "
    code += "print([np.trace(K).item(), v[-1].item(), v[0].item()])"
    return f"{written}\n{gram}\npython -c {quoted(code)}\n"


def _linked(graph: dict[str, Any]) -> dict[str, Any]:
    """Return a graph as files have it: lists of nodes and of links."""
    nodes = [{"id": i, "label": label} for i, label in enumerate(graph["labels"])]
    return {"nodes": nodes, "links": [{"source": a, "target": b} for a, b in graph["edges"]]}


def _example_file(source: str) -> tuple[str, str]:
    samples = EXAMPLES[source]["samples"]
    if source == "strings":
        rows = [f">s{i}\n{text}" for i, text in enumerate(samples)]
        return "strings.fasta", "\n".join(["cat > strings.fasta <<'END'", *rows, "END"])
    if source == "texts":
        return "texts.csv", "\n".join(["cat > texts.csv <<'END'", "text", *samples, "END"])
    if source == "trees":
        return "trees.penn", "\n".join(["cat > trees.penn <<'END'", *samples, "END"])
    if source == "graphs":
        rows = [json.dumps(_linked(graph)) for graph in samples]
        return "graphs.json", "\n".join(["cat > graphs.json <<'END'", "[" + ",\n".join(rows) + "]", "END"])
    raise ParameterError(f"{source!r} is not an example. Choose one of {', '.join(EXAMPLES)}.")
