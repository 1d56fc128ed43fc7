"""Hypothesis strategies for messages of hosts to an operator's program: all of two hosts in a run, spoiled."""

from __future__ import annotations

import asyncio
import copy
import json
from functools import cache

from fuzz_messages import spoiled_message
from fuzz_records import OUTWARD, TREE, torn
from hypothesis import strategies as st

from asyncstate.extras.fleet.nkeys import OPERATOR, KeyPair

SEED = KeyPair(OPERATOR, bytes(32)).seed
RUN = "0123456789abcdef"
"""The ID of the run that is recorded, as long as any other: in a run of another ID, it is replaced by that one."""


@cache
def recorded() -> tuple[dict[str, bytes], list[tuple[str, bytes]]]:
    """Return what a server has after a run: the value of each key, and the messages of its streams."""
    from fake_host import VirtualLoop
    from fake_station import FakeHostOfFleet
    from fleets import Fleet
    from memory_board import MemoryServer

    from asyncstate.extras.fleet import subjects
    from asyncstate.extras.fleet.controller.controller import Controller, Request
    from asyncstate.extras.fleet.protocol import HostEvent, LogPage, encode
    from asyncstate.extras.fleet.signing import OperatorSigner, OperatorVerifier
    from asyncstate.model.result import Outcome

    states = [("a", "a1", []), ("b", "b1", [("require", "a", False)]), ("c", "a1", [("watch", "b", False)])]
    fleet = Fleet(states, args={"a": {"fleet_order": 1}, "b": {"fleet_order": 2}})
    good = Outcome(result=True, changed=True)

    async def run():
        server = MemoryServer()
        verifier = OperatorVerifier([KeyPair.from_seed(SEED).public])
        hosts = [FakeHostOfFleet(name, fleet.plan(name), lambda _: good) for name in fleet.hosts]
        agents = [host.start(server, verifier) for host in hosts]
        await asyncio.sleep(1)
        line = json.dumps({"time": 1.7e9, "level": "info", "logger": "x", "message": "m", "run": RUN})
        board = server.board("a1")
        await board.put(subjects.log("a1", "1"), encode(LogPage(host="a1", boot="b", number=1, lines=(line,))))
        await board.publish(subjects.event("a1"), encode(HostEvent(host="a1", tag="t", data={"a": 1})), id="1")
        request = Request(target="*", sls=("main",), deadline=30.0)
        end = await Controller(server.board(), OperatorSigner(SEED), RUN, request, wall=lambda: 1000.0).drive()
        assert end.exit_code == 0
        for agent in agents:
            agent.cancel()
        keys = {entry.key: entry.value.replace(b'"interval":5.0', b'"interval":0.2') for entry in server.values(">")}
        return keys, [(message.subject, message.data) for message in server.past(">", 0)]

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(run())


_OF_OPERATOR = ("run", "held", "to", "pulse")
_APPLY = ("apply", "main", "--deadline", "1", "--patience", "1", "--target")
_COMMANDS = (
    (*_APPLY, "*"),
    (*_APPLY, "*", "--out", "json"),
    (*_APPLY, "*", "--out", "jsonl", "--progress", "plain"),
    (*_APPLY, "*", "--out", "github", "--report", "r.html", "--metrics", "m", "--junit", "j.xml"),
    (*_APPLY, "G@role:a or E@b", "--state-output", "mixed", "--diff", "--progress", "live"),
    (*_APPLY, "a1 or b1", "--batch", "100%", "--max-failures", "1", "--on-lost", "wait"),
    ("show", RUN),
    ("show", RUN, "--out", "json", "--report", "r.html"),
    ("show", RUN, "--out", "github"),
    ("attach", RUN),
    ("attach", RUN, "--out", "jsonl"),
    ("status",),
    ("status", "--out", "json"),
    ("logs", "a1"),
    ("logs", "a1", "--out", "jsonl"),
    ("runs", "--out", "json"),
    ("graph", "--run", RUN),
    ("graph", "--run", RUN, "--format", "html"),
    ("graph", "--target", "*"),
)


def host_case(words, keys, messages):
    """Return a case: a command line of a fleet, and what its server has or hosts say."""
    said = {
        "keys": {key: value.hex() for key, value in keys.items()},
        "messages": [(subject, data.hex()) for subject, data in messages],
    }
    files = {**TREE, "said": json.dumps(said)}
    return {"files": files, "call": "fuzz_fleet_peers.operator", "words": [SEED, RUN, "fleet", *words]}


def valid_hosts():
    """Yield a case for each command in which nothing is spoiled."""
    keys, messages = recorded()
    for words in _COMMANDS:
        case = host_case(words, _begun(keys) if words[0] == "attach" else keys, messages)
        yield {**case, "call": "fuzz_fleet_peers.accepted", "words": ["operator", *case["words"]]}


def _begun(keys):
    """Return the keys of a run whose controller has died."""
    record = json.loads(keys[f"run.{RUN}"])
    kept = {name: value for name, value in record.items() if name not in ("ended", "exit_code")}
    return {**keys, f"run.{RUN}": json.dumps(kept).encode()}


def _spoil(draw, data):
    if draw(st.integers(0, 5)) == 0:
        return draw(torn(data))
    message = json.loads(data)
    if draw(st.booleans()):
        for state in message.get("states") or ():
            state[5] = draw(st.sampled_from(OUTWARD))
        for event in message.get("events") or ():
            _aim(draw, event)
    return json.dumps(spoiled_message(draw, message), default=repr).encode("utf-8", "surrogatepass")


def _aim(draw, event):
    """Let what an event says of files and SLS lead out of the roots."""
    for name in ("file", "sls", "__sls__", "name", "path"):
        for inner in (event, event.get("row"), event.get("chunk")):
            if isinstance(inner, dict) and name in inner:
                inner[name] = draw(st.sampled_from(OUTWARD))


@st.composite
def hosts(draw):
    """What two hosts say of themselves and their part of a run, spoiled, to each command that an operator has."""
    keys, messages = copy.deepcopy(recorded())
    theirs = [key for key in keys if not key.startswith(_OF_OPERATOR)]
    for key in draw(st.lists(st.sampled_from(theirs), max_size=3, unique=True)):
        keys[key] = _spoil(draw, keys[key])
    for at in draw(st.lists(st.integers(0, len(messages) - 1), max_size=3, unique=True)):
        messages[at] = messages[at][0], _spoil(draw, messages[at][1])
    for at in draw(st.lists(st.integers(0, len(messages) - 1), max_size=1)):
        messages.insert(draw(st.integers(0, len(messages))), messages[at])
    words = draw(st.sampled_from(_COMMANDS))
    return host_case(words, _begun(keys) if words[0] == "attach" or draw(st.booleans()) else keys, messages)
