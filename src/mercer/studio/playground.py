"""The playground: points on a plane, a kernel, and a machine that learns from them.

Five tasks on one canvas: classes, a curve through points (the first coordinate explains the second), the region where
most points are, clusters, and kernel principal components. A second question, `details`, is asked when nothing moves:
the feature space of two components, the Gram matrix and its spectrum.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer.estimators  # whose names are imported when they are used
from mercer.arrays import Floats
from mercer.errors import ParameterError
from mercer.kernels import Kernel
from mercer.plots.gram_display import arranged
from mercer.spec import Spec
from mercer.studio.form_fields import Form
from mercer.studio.pixels import grid_of, packed_floats
from mercer.studio.snippets import command, data_file, python_rows

__all__ = ["details", "parameters", "play"]

HALF = 5.0  # the plane is the square from -5 to 5
TASKS = ("classes", "curve", "region", "clusters", "components")
LABELS = "abcdef"
SHOWN = 200  # samples of the Gram matrix and its spectrum
CURVE = 200  # points of a curve


@dataclass(frozen=True)
class _Asked:
    """A request of the playground."""

    task: str
    X: Floats
    labels: list[str]
    kernel: Kernel
    estimator: str
    side: int

    @property
    def inputs(self) -> Floats:
        """What the machine sees of the points."""
        return self.X[:, :1] if self.task == "curve" else self.X


def _asked(fields: Any) -> _Asked:
    form = Form(fields)
    task, rows = form.choice("task", TASKS), form.points(width=3, least=2)
    codes = rows[:, 2]
    if np.any(codes != np.floor(codes)) or codes.min() < 0 or codes.max() >= len(LABELS):
        raise ParameterError(f"The third number of a point is its class, 0 to {len(LABELS) - 1}. Correct it.")
    kernel = form.kernel()
    return _Asked(
        task,
        rows[:, :2],
        [LABELS[int(code)] for code in codes],
        kernel,
        _estimator(task, form, kernel),
        form.whole("side", 8, 160),
    )


def _estimator(task: str, form: Form, kernel: Kernel) -> str:
    """Return the machine as the language of mercer writes it."""
    if task == "classes":
        return f"SVC({kernel!r}, C={form.number('C', 1e-6, 1e9)!r})"
    if task == "curve":
        C, epsilon = form.number("C", 1e-6, 1e9), form.number("epsilon", 0.0, 10.0)
        return f"SVR({kernel!r}, C={C!r}, epsilon={epsilon!r})"
    if task == "region":
        return f"OneClassSVM({kernel!r}, nu={form.number('nu', 0.001, 1.0)!r})"
    if task == "clusters":
        return f"KernelKMeans({kernel!r}, n_clusters={form.whole('clusters', 1, 6)!r}, random_state=0)"
    return f"KernelPCA({kernel!r}, n_components={form.whole('component', 1, 6)!r})"


def play(fields: Any) -> dict[str, Any]:
    """Return what a machine learns from the points: its surface or curve, and which points matter."""
    asked = _asked(fields)
    begun = time.perf_counter()
    model = mercer.parse(asked.estimator)
    shown = _SHOW[asked.task](model, asked)
    return {
        "expression": repr(asked.kernel),
        "estimator": asked.estimator,
        **shown,
        "milliseconds": round(1e3 * (time.perf_counter() - begun), 1),
        "python": _python(asked),
        "command": _commands(asked),
    }


def _classes(model: Any, asked: _Asked) -> dict[str, Any]:
    labels = np.array(asked.labels)
    if len(set(asked.labels)) < 2:
        raise ParameterError("All points are of one class; two or more are needed. Choose another colour and click.")
    model.fit(asked.X, labels)
    own = np.asarray(model.decision_function(asked.X))
    grid = np.asarray(model.decision_function(grid_of(-HALF, HALF, asked.side)))
    classes = [str(label) for label in model.classes_]
    wrong = model.predict(asked.X) != labels
    inside = np.where(labels == classes[1], own, -own) < 1.0 - 1e-6 if own.ndim == 1 else wrong
    support = np.asarray(model.support_)
    said = f"{len(classes)} classes, {len(asked.X)} points, {len(support)} support vectors, {int(wrong.sum())} wrong"
    return {
        "surface": packed_floats(grid.reshape(asked.side, asked.side, -1)),
        "classes": classes,
        "support": support.tolist(),
        "violated": np.flatnonzero(inside).tolist(),
        "wrong": np.flatnonzero(wrong).tolist(),
        "numbers": own.tolist(),
        "words": f"Decision surface of a support vector machine: {said}, {int(inside.sum())} inside the margin.",
    }


def _curve(model: Any, asked: _Asked) -> dict[str, Any]:
    y = asked.X[:, 1]
    model.fit(asked.inputs, y)
    xs = np.linspace(-HALF, HALF, CURVE)
    own = np.asarray(model.predict(asked.inputs))
    outside = np.abs(y - own) > model.epsilon + 1e-6
    said = f"{len(y)} points, {len(model.support_)} support vectors, {int(outside.sum())} outside the tube"
    return {
        "curve": {"x": xs.tolist(), "y": np.asarray(model.predict(xs[:, None])).tolist(), "tube": model.epsilon},
        "support": np.asarray(model.support_).tolist(),
        "violated": np.flatnonzero(outside).tolist(),
        "wrong": [],
        "numbers": own.tolist(),
        "words": f"Support vector regression: a curve with a tube of half-width {model.epsilon:g}; {said}.",
    }


def _region(model: Any, asked: _Asked) -> dict[str, Any]:
    model.fit(asked.X)
    own = np.asarray(model.decision_function(asked.X))
    grid = np.asarray(model.decision_function(grid_of(-HALF, HALF, asked.side)))
    out = own < -1e-6 * max(1.0, float(np.abs(own).max()))
    said = f"{len(own)} points, {len(model.support_)} support vectors, {int(out.sum())} outside"
    return {
        "surface": packed_floats(grid.reshape(asked.side, asked.side, 1)),
        "support": np.asarray(model.support_).tolist(),
        "violated": np.flatnonzero(out).tolist(),
        "wrong": [],
        "numbers": own.tolist(),
        "words": f"Region of most points by a one-class machine: {said}.",
    }


def _clusters(model: Any, asked: _Asked) -> dict[str, Any]:
    if len(asked.X) < model.n_clusters:
        raise ParameterError(f"{len(asked.X)} points for {model.n_clusters} clusters. Add points.")
    model.fit(asked.X)
    grid = np.asarray(model.predict(grid_of(-HALF, HALF, asked.side)))
    sizes = np.bincount(model.labels_, minlength=model.n_clusters)
    return {
        "regions": packed_floats(grid.reshape(asked.side, asked.side)),
        "assigned": model.labels_.tolist(),
        "support": [],
        "violated": [],
        "wrong": [],
        "numbers": model.labels_.tolist(),
        "words": f"Kernel k-means: {len(sizes)} clusters of {', '.join(map(str, sizes))} points.",
    }


def _components(model: Any, asked: _Asked) -> dict[str, Any]:
    if len(asked.X) <= model.n_components:
        raise ParameterError(f"{len(asked.X)} points for {model.n_components} components. Add points.")
    model.fit(asked.X)
    last = np.asarray(model.transform(grid_of(-HALF, HALF, asked.side)))[:, -1]
    own = np.asarray(model.transform(asked.X))
    share = float(model.explained_variance_ratio_[-1])
    return {
        "surface": packed_floats(last.reshape(asked.side, asked.side, 1)),
        "support": [],
        "violated": [],
        "wrong": [],
        "numbers": own[:, -1].tolist(),
        "words": f"Kernel principal component {own.shape[1]}, which explains {share:.1%} of the variance.",
    }


_SHOW: dict[str, Callable[[Any, _Asked], dict[str, Any]]] = {
    "classes": _classes,
    "curve": _curve,
    "region": _region,
    "clusters": _clusters,
    "components": _components,
}


# beside the plane -------------------------------------------------------------------------------------------


def details(fields: Any) -> dict[str, Any]:
    """Return the points in the space of two components, the Gram matrix of some of them, and its spectrum."""
    asked = _asked(fields)
    S = asked.kernel.pack(asked.inputs)
    kernel = asked.kernel.learn(S)
    y = np.array(asked.labels) if asked.task == "classes" else None
    found = arranged(kernel, S, y, max_samples=SHOWN)
    values = np.linalg.eigvalsh(found.gram)[::-1]
    two = min(2, len(S) - 1)
    axes = mercer.estimators.KernelPCA(asked.kernel, n_components=two).fit(asked.inputs)
    places = np.asarray(axes.transform(asked.inputs))
    share = np.asarray(axes.explained_variance_ratio_)
    least = float(values[-1])
    return {
        "gram": packed_floats(found.gram),
        "groups": [list(group) for group in found.groups],
        "index": found.index.tolist(),
        "note": found.note,
        "spectrum": values.tolist(),
        "places": places.tolist(),
        "shares": share.tolist(),
        "words": {
            "gram": f"Gram matrix, {found.note}; values from {found.gram.min():.3g} to {found.gram.max():.3g}.",
            "spectrum": f"Eigenvalues of the Gram matrix, from {values[0]:.3g} down to {least:.3g}.",
            "places": f"The points in feature space: {two} components, {share.sum():.1%} of the variance.",
        },
    }


def parameters(fields: Any) -> dict[str, Any]:
    """Return what a kernel's text means: as mercer writes it, its parts as blocks, its facts."""
    kernel = Form(fields).kernel(of=None)
    return {
        "expression": repr(kernel),
        "blocks": _block(kernel),
        "domain": getattr(kernel.domain, "__name__", "any"),
        "definite": bool(getattr(kernel, "positive_definite", True)),
    }


def _block(spec: Spec) -> dict[str, Any]:
    """Return a kernel as a tree of its class, its plain parameters and the kernels it is made of."""
    parts = [(name, part) for name, part in spec._children() if isinstance(part, Kernel)]
    names = {name.partition("__")[0] for name, _ in parts} | {"terms", "factors"}
    plain = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in spec.get_params(deep=False).items()
        if name not in names and isinstance(value, (int, float, str, list, tuple)) and not isinstance(value, bool)
    }
    return {"name": type(spec).__name__, "parameters": plain, "parts": [_block(part) for _, part in parts]}


# copies -----------------------------------------------------------------------------------------------------


def _python(asked: _Asked) -> str:
    """Return a program that prints the numbers of the view."""
    supervised = asked.task in ("classes", "curve")
    target = {"classes": f'y = np.array(list("{"".join(asked.labels)}"))', "curve": python_rows("y", asked.X[:, 1])}
    last = {
        "classes": "model.decision_function(X)",
        "region": "model.decision_function(X)",
        "curve": "model.predict(X)",
        "clusters": "model.predict(X)",
        "components": "model.transform(X)[:, -1]",
    }[asked.task]
    lines = [
        "import numpy as np",
        "import mercer",
        "",
        python_rows("X", asked.inputs),
        *([target[asked.task]] if supervised else []),
        f"model = mercer.parse({asked.estimator!r})",
        "model.fit(X, y)" if supervised else "model.fit(X)",
        f"print({last}.tolist())",
    ]
    return "\n".join(lines) + "\n"


def _commands(asked: _Asked) -> str:
    """Return commands that print the numbers of the view."""
    columns: dict[str, Any] = {"x": asked.X[:, 0], "y": asked.X[:, 1]}
    target = {"classes": "class", "curve": "y"}.get(asked.task)
    if asked.task == "classes":
        columns["class"] = asked.labels
    fit = ["mercer", "fit", "points.csv", *(("--target", target) if target else ()), "--estimator", asked.estimator]
    fit += ["--folds", "0", "--no-report", "-o", "points.mercer", "--force", "--quiet"]
    scores = ["--scores"] if asked.task in ("classes", "region") else []
    lines = [
        data_file("points.csv", columns),
        command(*fit),
        command("mercer", "predict", "points.mercer", "points.csv", *scores, "--json"),
    ]
    return "\n".join(lines) + "\n"
