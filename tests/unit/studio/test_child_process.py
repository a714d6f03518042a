"""A child of a few lines in the place of the real one: answers, words on the way, death, time, stop."""

import asyncio
import sys
import time

import pytest

from mercer.studio import child_process
from mercer.studio.child_process import Child, ChildError

SCRIPT = """
import json, os, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    put = lambda **said: print(json.dumps({"id": asked["id"], **said}), flush=True)
    do = asked["do"]
    if do == "die": os._exit(3)
    if do == "sleep": time.sleep(60)
    if do == "tell": put(told={"share": 1})
    if do == "noise": print("not json", flush=True)
    if do == "error": put(error={"kind": "K", "code": 2, "message": "no"})
    else: put(done={"pid": os.getpid()})
"""


@pytest.fixture
def child(monkeypatch, tmp_path):
    script = tmp_path / "child.py"
    script.write_text(SCRIPT)
    real = asyncio.create_subprocess_exec

    def started(*command, **options):
        assert command[:2] == (sys.executable, "-P") and options["start_new_session"]
        return real(sys.executable, "-I", str(script), **options)

    monkeypatch.setattr(child_process.asyncio, "create_subprocess_exec", started)
    return Child


def run(work):
    return asyncio.run(work())


def test_it_answers_and_lives_on(child):
    async def work():
        one, told = child("live"), []
        first, second = await one.ask("x", {}, 20), await one.ask("tell", {}, 20, told.append)
        with pytest.raises(ChildError, match="no") as caught:
            await one.ask("error", {}, 20)
        third = await one.ask("x", {}, 20)
        await one.end()
        assert first == second == third and told == [{"share": 1}] and caught.value.kind == "K" and one.pid is None

    run(work)


@pytest.mark.parametrize("do", ["die", "noise"])
def test_one_that_ends_is_started_anew(child, do):
    async def work():
        one = child("live")
        before = await one.ask("x", {}, 20)
        with pytest.raises(ChildError, match="ended on its own"):
            await one.ask(do, {}, 20)
        after = await one.ask("x", {}, 20)
        await one.end()
        assert before != after

    run(work)


def test_one_that_takes_too_long_is_ended(child):
    async def work():
        one = child("live")
        await one.ask("x", {}, 20)
        with pytest.raises(ChildError, match=r"longer than 0\.2 seconds"):
            await one.ask("sleep", {}, 0.2)
        assert one.pid is None

    run(work)


def test_the_first_answer_may_take_longer(child, monkeypatch):
    """Time for libraries and loops; but it ends, too."""

    async def work():
        one = child("live")
        assert await one.ask("x", {}, 0.0)  # no time at all is enough, with that for the start
        monkeypatch.setattr(child_process, "STARTING", 0.1)
        await one.end()
        with pytest.raises(ChildError, match="was stopped"):
            await one.ask("sleep", {}, 0.1)

    run(work)


def test_it_can_be_stopped(child):
    async def work():
        one = child("file")
        await one.ask("x", {}, 20)
        task = asyncio.create_task(one.ask("sleep", {}, 50))
        await asyncio.sleep(0.05)
        begun = time.monotonic()
        one.stop()
        with pytest.raises(ChildError, match="Stopped"):
            await task
        assert time.monotonic() - begun < 20 and one.pid is None
        one.stop()  # nothing to stop

    run(work)
