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


async def under_way(one, *more):
    """A question that is being answered without end, and others that wait behind it."""
    await one.ask("x", {}, 20)
    tasks = [asyncio.create_task(one.ask(do, {}, 50)) for do in ("sleep", *more)]
    await asyncio.sleep(0)
    while one.working is not tasks[0]:
        await asyncio.sleep(0.01)
    return tasks


def test_a_forgotten_question_leaves_the_queue_at_once(child):
    """The one before it is still being answered: nothing else lets it go."""

    async def work():
        one = child("live")
        first, second, third = await under_way(one, "die", "x")
        pid = one.pid
        one.forget(second)
        await asyncio.wait((second,))
        assert second.cancelled() and one.pid == pid and not first.done() and not third.done()
        one.stop()
        with pytest.raises(ChildError, match="Stopped"):
            await first
        assert (await third)["pid"] == one.pid  # the process of which it was asked: no "die" came before it
        await one.end()

    run(work)


def test_a_forgotten_question_that_is_being_answered_has_a_little_time(child, monkeypatch):
    monkeypatch.setattr(child_process, "LEFT", 0.1)

    async def work():
        one = child("live")
        (first,) = await under_way(one)
        one.forget(first)
        with pytest.raises(ChildError, match="was stopped"):
            await first
        assert one.pid is None and await one.ask("x", {}, 20)
        one.forget(first)  # nothing to forget
        await one.end()

    run(work)


def test_a_forgotten_question_gets_no_more_time_than_it_had(child, monkeypatch):
    monkeypatch.setattr(child_process, "LEFT", 1000.0)

    async def work():
        one = child("live")
        (first,) = await under_way(one)
        last = one.limit.when()
        one.forget(first)
        assert one.limit.when() == last
        await one.close()

    run(work)


def test_a_forgotten_first_question_may_start_the_process(child, monkeypatch):
    monkeypatch.setattr(child_process, "LEFT", 0.0)

    async def work():
        one = child("live")
        first = asyncio.create_task(one.ask("x", {}, 20))
        while one.limit is None:
            await asyncio.sleep(0)
        one.forget(first)
        assert await first
        await one.end()

    run(work)


def test_a_closed_one_answers_nobody_and_starts_nothing(child):
    async def work():
        one = child("live")
        first, *waiting = await under_way(one, "x", "x")
        await one.close()
        assert first.cancelled() and one.pid is None
        for task in (*waiting, asyncio.create_task(one.ask("x", {}, 20))):
            with pytest.raises(ChildError, match="Stopped"):
                await task
        assert one.pid is None

    run(work)
