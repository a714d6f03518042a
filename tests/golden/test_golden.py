"""Model files of the past load and predict the numbers that were recorded with them."""

import json
from pathlib import Path

import numpy as np
import pytest

from mercer.io.model_file import SCHEMA, describe, load
from tests.golden.make import models, numbers

FOLDER = Path(__file__).resolve().parent
RECORDED = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("schema*.json")}


@pytest.fixture(scope="module")
def fresh():
    return models()


def test_there_is_a_record_of_every_schema():
    assert set(RECORDED) == {f"schema{number}" for number in range(1, SCHEMA + 1)}
    files = {path.stem for path in FOLDER.glob("*.mercer")}
    assert files == {f"{schema}-{name}" for schema, said in RECORDED.items() for name in said}


@pytest.mark.parametrize(("schema", "name"), [(schema, name) for schema, said in RECORDED.items() for name in said])
def test_golden_files_predict_what_they_did(schema, name, fresh):
    path = FOLDER / f"{schema}-{name}.mercer"
    model, X = fresh[name]
    found, recorded = numbers(load(path), X), np.array(RECORDED[schema][name])
    assert found.shape == recorded.shape
    assert np.abs(found - recorded).max() <= 1e-12 * max(1.0, np.abs(recorded).max())
    assert np.allclose(numbers(model, X), recorded, rtol=1e-9)  # a model fitted today says the same
    assert describe(path)["schema"] == int(schema.removeprefix("schema"))
    assert path.stat().st_size < 20_000
