"""Execution functions that an operator calls on real hosts, on a board in this process."""

import asyncio
import time

import pytest
from memory_board import MemoryServer, Seal

from asyncstate import Settings
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.controller.controller import Controller, Request
from asyncstate.extras.fleet.controller.event_stream import Observer
from asyncstate.extras.fleet.events import HostEvents, events_since
from asyncstate.extras.fleet.host.agent import Agent
from asyncstate.extras.fleet.host.local_station import Gate, LocalStation, RunFiles
from asyncstate.extras.fleet.policy import Policy
from asyncstate.extras.fleet.protocol import Call, HostEvent, HostPlan, Offer, decode, encode
from asyncstate.report.recorded import RecordedReport
from asyncstate.services import Embedding

OWN = """
import os, subprocess, time
from asyncstate.errors import CommandExecutionError, InvocationError

def once(path):
    with open(path, "a") as file:
        file.write("x")
    return "done"

def slow(path):
    once(path)
    while not os.path.exists(path + ".end"):
        time.sleep(0.02)
    return "done"

def secret():
    from asyncstate import dunders
    dunders.hide("kept-here")
    return {"password": "kept-here"}

def status(code):
    __context__["retcode"] = code
    return "said"

def trouble(kind):
    raise {"command": CommandExecutionError, "invocation": InvocationError, "other": KeyError}[kind]("words")
"""


class Gathered(Observer):
    def __init__(self):
        self.reports = {}

    def begun(self, host, attempt):
        self.reports[host] = RecordedReport()

    def event(self, host, event):
        self.reports[host].on_event(event)


class World:
    """A host with its agent, and its operator."""

    def __init__(self, folder):
        self.root = folder / "web1"
        (self.root / "_modules").mkdir(parents=True)
        (self.root / "_modules" / "own.py").write_text(OWN)
        (self.root / "app.sls").write_text(f"slow:\n  own.slow:\n    - name: {folder}/state\n")
        (self.root / "_states").mkdir()
        (self.root / "_states" / "own.py").write_text(
            "def slow(name):\n    __salt__['own.slow'](name)\n"
            "    return {'name': name, 'changes': {}, 'result': True, 'comment': ''}\n"
        )
        self.settings = Settings(
            id="web1",
            file_roots={"base": [str(self.root)]},
            state_dir=str(self.root / "state"),
            cachedir=str(self.root / "cache"),
        )
        self.server = MemoryServer()
        self.seal = Seal()
        self.gathered = Gathered()
        self.task = None

    def start(self, policy=None):
        files = RunFiles(self.settings.state_dir, "web1")
        board = self.server.board("web1")
        station = LocalStation(self.settings, Embedding(events=HostEvents(board, "web1")))
        more = {}
        if policy is not None:
            gate = Gate(files, policy, enrolled=0.0, wall=time.time)
            more = {"accept": gate.accept, "allow": gate.allow}
        self.task = asyncio.create_task(Agent(board, "web1", station, files, self.seal, **more).serve())

    async def ready(self):
        async with asyncio.timeout(60):
            async for _ in self.server.board().watch(subjects.host()):
                return

    async def call(self, function, *arg, run="r1", **kwarg):
        return await self.drive(run, call=Call(function=function, arg=arg, kwarg=kwarg))

    async def drive(self, run, **asked):
        await self.ready()
        request = Request(target="*", **asked)
        return await Controller(self.server.board(), self.seal, run, request, self.gathered).drive()

    def changes(self):
        [row] = self.gathered.reports["web1"].report().rows.values()
        return row["changes"]

    async def stop(self):
        self.task.cancel()
        await asyncio.wait([self.task])


@pytest.fixture
async def world(tmp_path):
    made = World(tmp_path)
    made.start()
    yield made
    await made.stop()


async def until(path):
    async with asyncio.timeout(60):
        while not path.exists():  # noqa: ASYNC110 - a plugin makes it
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("asked", "answer", "status"),
    [
        (Call(function="test.echo", arg=("a",)), "a", 0),
        (Call(function="test.kwarg", kwarg={"a": {"b": [1]}}), {"a": {"b": [1]}}, 0),
        (Call(function="own.status", arg=(3,)), "said", 3),
        (Call(function="test.pong"), "'test.pong' is not available.", 254),
        (Call(function="own.trouble", arg=("command",)), "ERROR: words", 1),
        (Call(function="own.trouble", arg=("invocation",)), "ERROR executing 'own.trouble': words", 1),
        (Call(function="own.trouble", arg=("other",)), "The minion function caused an exception: KeyError: 'words'", 1),
        (Call(function="test.echo", arg=({"result": False},)), {"result": False}, 1),
    ],
)
async def test_what_a_function_answers(world, asked, answer, status):
    end = await world.drive("r1", call=asked)
    assert world.changes() == {"ret": answer, "retcode": status}
    assert end.exit_code == (2 if status else 0)


async def test_arguments_that_do_not_fit_are_named(world):
    await world.call("own.once")
    assert world.changes()["retcode"] == 1
    assert world.changes()["ret"].startswith("Passed invalid arguments to own.once: ")
    assert "path" in world.changes()["ret"]


async def test_secrets_in_an_answer_stay_on_the_host(world):
    await world.call("own.secret")
    assert world.changes()["ret"]["password"] != "kept-here"
    assert b"kept-here" not in b"".join(message.data for message in world.server.past(">", 0))


async def test_a_function_is_called_once_whoever_sends_its_offer_again(world, tmp_path):
    await world.call("own.once", str(tmp_path / "once"))
    key = subjects.offer("web1", "r1")
    [offer] = world.server.values(key)
    world.server.put(key, offer.value)
    await world.stop()
    world.start()
    await world.call("test.ping", run="r2")
    assert (tmp_path / "once").read_text() == "x"


async def test_a_function_that_was_cut_off_is_not_called_again(world, tmp_path):
    running = asyncio.create_task(world.call("own.slow", str(tmp_path / "slow")))
    await until(tmp_path / "slow")
    world.task.cancel()
    await asyncio.sleep(0.1)
    (tmp_path / "slow.end").touch()
    await asyncio.wait([world.task])
    world.start()
    end = await running
    assert "whether the function came to its end is not known" in end.hosts["web1"].why
    assert (tmp_path / "slow").read_text() == "x"


async def test_functions_are_called_beside_states_and_beside_each_other(world, tmp_path):
    states = asyncio.create_task(world.drive("r1", sls=("app",)))
    await until(tmp_path / "state")
    slow = asyncio.create_task(world.call("own.slow", str(tmp_path / "slow"), run="r2"))
    await until(tmp_path / "slow")
    quick = await world.call("test.ping", run="r3")
    assert quick.exit_code == 0
    assert not states.done()
    assert not slow.done()
    for name in ("state.end", "slow.end"):
        (tmp_path / name).touch()
    assert [(await each).exit_code for each in (states, slow)] == [0, 0]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Policy(allow_functions=("file.*",)), "does not allow the function own.once"),
        (Policy(allow_sls=("web",)), "allow_functions must name it"),
        (Policy(deny_test_false=True), "allows dry runs only"),
    ],
)
async def test_the_policy_of_a_host_holds_for_functions(tmp_path, policy, words):
    world = World(tmp_path)
    world.start(policy)
    end = await world.call("own.once", str(tmp_path / "once"))
    await world.stop()
    assert words in end.hosts["web1"].why
    assert not (tmp_path / "once").exists()


async def test_a_call_that_no_operator_signed_is_refused(world, tmp_path):
    await world.ready()
    key = subjects.offer("web1", "r9")
    offer = Offer(
        run="r9", host="web1", issued=time.time(), call=Call(function="own.once", arg=(str(tmp_path / "no"),))
    )
    world.server.put(key, Seal("mallory").seal(encode(offer), key))
    await world.call("test.ping")
    assert not (tmp_path / "no").exists()
    [answer] = world.server.values(subjects.plan("web1", "r9"))
    [mistake] = decode(answer.value, HostPlan).mistakes
    assert mistake.message == "this host refuses the offer: the signature is not the operator's, or not for this key"


async def test_operators_hear_what_a_host_fires(world):
    board = world.server.board()
    await world.ready()
    position = await board.position()
    await world.call("event.send", "app/ready", data={"port": 80})
    async with asyncio.timeout(60):
        async for event in events_since(board, position):
            if event.tag == "app/ready":
                assert (event.host, event.data) == ("web1", {"port": 80})
                return


async def test_a_host_says_when_it_is_there(world):
    async with asyncio.timeout(60):
        async for event in events_since(world.server.board(), 0):
            assert (event.host, event.tag) == ("web1", "salt/minion/web1/start")
            return


async def test_what_a_host_says_in_the_name_of_another_is_passed_over():
    server = MemoryServer()
    true = HostEvent(host="db1", tag="t", data={"id": "web1"})
    for event in (HostEvent(host="web1", tag="t"), HostEvent(host="db1", tag="salt/minion/web1/start"), true):
        server.publish(subjects.event("db1"), encode(event), event.tag + event.host)
    server.publish(subjects.event("db1"), b"[", "odd")
    heard = [event async for event in _some(events_since(server.board(), 0), 1)]
    assert heard == [true]


async def _some(events, count):
    async for event in events:
        yield event
        count -= 1
        if not count:
            return
