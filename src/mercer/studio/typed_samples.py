"""One sample that the user types: the fields for it, and its prediction."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.inputs import Reading
from mercer.cli.predict import new_samples, opened
from mercer.cli.terminal import plain
from mercer.errors import ParameterError
from mercer.io.datasets import Dataset
from mercer.io.model_file import load
from mercer.io.tables import Table
from mercer.studio.form_fields import Form
from mercer.studio.user_files import dataset

__all__ = ["example_of", "inputs_of", "predict"]

CHOICES = 50  # values of a column that are listed as choices


def inputs_of(model: Any, data: Dataset) -> list[dict[str, Any]]:
    """Return the fields to type a sample into, each with a typical value."""
    if not isinstance(data, Table):
        return []
    columns = model.data_["columns"] or [name for name in data.names if name != model.data_["target"]]
    out = []
    for name in columns:
        column, kind = data.parts[name], data.kinds[name]
        if kind == "number":
            out.append(
                {
                    "name": name,
                    "kind": kind,
                    "usual": f"{np.nanmedian(np.asarray(column.values, dtype=float)):.4g}",
                    "choices": [],
                }
            )
            continue
        words = column.words  # of truth values, as the file spells them
        present = [value for value in column.values if value is not None and value == value]
        known = [str(value) if words is None else words[int(value)] for value in present]
        written = Counter(known)
        choices = sorted(written) if kind != "text" and len(written) <= CHOICES else []
        usual = written.most_common(1)[0][0] if choices else known[0]
        out.append({"name": name, "kind": kind, "usual": usual, "choices": choices})
    return out


def example_of(data: Dataset) -> str:
    """Return the first sample as it may be typed; nothing for tables, which have fields."""
    X: Any = data.X
    if data.kind == "sequences":
        return str(X[0])
    if data.kind == "trees":
        return X.brackets(0)
    if data.kind == "graphs":
        links = [{"source": int(a), "target": int(b)} for a, b in X.edges(0)]
        nodes = [{"id": i, "label": plain(label)} for i, label in enumerate(X.node_labels(0))]
        return json.dumps({"directed": bool(X.directed[0]), "nodes": nodes, "links": links})
    return ""


def _typed_format(kind: str, text: str, format: str) -> tuple[str, str]:
    """Return what was typed, and its format: a bare sequence, a tree in brackets, a graph as JSON."""
    text = text.strip()
    if kind == "sequences" and text[:1] not in (">", "@"):
        return f">typed\n{text}\n", "fasta"
    if kind == "trees" and text.startswith("("):
        return f"{text}\n", "penn"
    if kind == "graphs" and text.startswith(("{", "[")):
        return text, "graph-json"
    return f"{text}\n", format


@dataclass(frozen=True, kw_only=True)
class _Typed(Reading):
    """A request of ``mercer predict`` with the sample that was typed."""

    data: Path


def predict(fields: Any) -> dict[str, Any]:
    """Predict one sample that was typed: the fields of a table, or a text in the format of the file."""
    form, room = Form(fields), Path(fields["room"])
    model, data = load(room / "model.mercer"), dataset(fields)
    if isinstance(data, Table):
        given = fields.get("sample")
        names = model.data_["columns"]
        if not isinstance(given, dict) or any(not isinstance(given.get(name), str) for name in names):
            raise ParameterError(f"A text for each of {', '.join(names)[:300]} is needed. Fill in all fields.")
        written = io.StringIO()
        csv.writer(written).writerows([names, [given[name][:10_000] for name in names]])
        text, format = written.getvalue(), "csv"
    else:
        text, format = _typed_format(data.kind, form.text("typed", 100_000), data.format)
    path = room / "typed-sample"
    path.write_text(text, encoding="utf-8")
    request = _Typed(data=path, format=format)
    X = new_samples(opened(request, model, model.data_), model, model.data_)
    out: dict[str, Any] = {"prediction": plain(np.asarray(model.predict(X)))[0]}
    if hasattr(model, "predict_proba"):
        P = np.asarray(model.predict_proba(X))[0]
        out["probabilities"] = {str(label): float(p) for label, p in zip(model.classes_, P, strict=True)}
    return out
