"""Lines in, lines out; what is not known or fails is said, and limits are set."""

import io
import json

import pytest

from mercer.studio import child_work
from mercer.studio.child_work import WORK, serve_lines


def answers(kind, *asked):
    sink = io.BytesIO()
    serve_lines(kind, io.BytesIO(b"".join(json.dumps(one).encode() + b"\n" for one in asked)), sink)
    return [json.loads(line) for line in sink.getvalue().splitlines()]


def test_questions_are_answered_in_order():
    first, second = answers(
        "live",
        {"id": 3, "do": "parameters", "with": {"kernel": "Gaussian(2.0)"}},
        {"id": 4, "do": "parameters", "with": {"kernel": "Gaussian(-2.0)"}},
    )
    assert first["id"] == 3 and first["done"]["expression"] == "Gaussian(2.0)"
    assert second["error"]["kind"] == "ParameterError" and "-2.0" in second["error"]["message"]


@pytest.mark.parametrize("do", ["system", "__import__", "open", ""])
def test_only_what_is_listed_is_done(do):
    [told] = answers("live", {"id": 1, "do": do, "with": {}})
    assert told["error"]["code"] == 1


def test_what_is_told_on_the_way_comes_first(monkeypatch):
    monkeypatch.setitem(WORK["file"], "fit", ("score_surface", "surface"))
    monkeypatch.setattr(
        "mercer.studio.score_surface.surface", lambda fields, tell: tell({"share": 0.5}) or {"x": float("nan")}
    )
    assert answers("file", {"id": 1, "do": "fit", "with": {}}) == [
        {"id": 1, "told": {"share": 0.5}},
        {"id": 1, "done": {"x": None}},
    ]


def test_limits_are_set_and_renewed(monkeypatch):
    resource = pytest.importorskip("resource")
    found = {}
    monkeypatch.setattr(resource, "setrlimit", lambda what, limits: found.update({what: limits}))
    renew = child_work._limit("live")
    assert found[resource.RLIMIT_AS][0] <= child_work.MEMORY["live"]
    renew()
    used = resource.getrusage(resource.RUSAGE_SELF)
    assert 0 < found[resource.RLIMIT_CPU][0] - used.ru_utime - used.ru_stime <= child_work.SECONDS["live"] + 1
