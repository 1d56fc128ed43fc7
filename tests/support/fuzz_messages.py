"""Hypothesis strategies for what other programs say: workers of Salt, operators, hosts. Valid messages, spoiled.

Words in them name what lies outside of the roots, as in `fuzz_records.outward`.
"""

from __future__ import annotations

import copy

import msgspec
from fuzz_records import OUTWARD, TREE, VALUES, as_file, places, torn
from hypothesis import strategies as st

from asyncstate.borrow import wire
from asyncstate.fleet import subjects
from asyncstate.fleet.nkeys import OPERATOR, KeyPair
from asyncstate.fleet.ssh import frames

RUN, HOST = "r1", "a1"
SEED = KeyPair(OPERATOR, bytes(32)).seed
FILES = {**TREE, "salt/__env__/main.sls": "a: test.nop\n", "pillar/__env__/top.sls": "base: {}\n"}

_FAILURE = {"type": "Odd", "family": "", "builtin": "ValueError", "text": "odd", "trace": "Traceback: odd\n"}
_SIGNATURE = {"parameters": [("name", 1, False, None), ("kwargs", 4, False, None)], "doc": "Says it."}
_WORKER = (
    {"ok": True},
    {"ok": {"file": "x.py", "functions": {"present": _SIGNATURE, "mod_aggregate": _SIGNATURE}}},
    {"ask": "running"},
    {"ask": {"row": "a"}},
    {"ok": {"name": "n", "result": True, "changes": {}}, "retcode": 0, "context": {"a": 1}, "gone": ["b"]},
    {"ok": {"name": "m"}, "args": [{"name": "m"}, [{"name": "m"}]], "retcode": 0, "context": {}, "gone": []},
    {"error": _FAILURE, "retcode": 1, "context": {}, "gone": []},
)
"""What a worker says to `fuzz_peers.borrower`: set up, a module, two questions, a call, a hook, an exception."""

_ODD = (*VALUES, 1 << 40, "open", "eval", "type", "/etc/passwd", [["../beside/file"]], b"\xff" * 9)
_FURTHER = (
    "../../beside",
    "_modules/../../../../beside/bait.sls",
    "_modules/../../../../beside/new.py",
    "../../../beside/base/main.sls",
    "../home/tree",
)
"""What leads out of the folder in which a runner keeps the operator's tree."""


def spoiled_message(draw, value, most=3):
    """Return a message of which a few values are others, or are gone; half of those texts lead out of the roots."""
    value = {"": copy.deepcopy(value)}
    for _ in range(draw(st.integers(0, most))):
        found = [place for place in places(value) if place] or [("",)]
        place = draw(st.sampled_from(found))
        place = place[: draw(st.integers(1, len(place)))] if draw(st.integers(0, 3)) == 0 else place
        inner = value
        for key in place[:-1]:
            inner = inner[key]
        if isinstance(inner, tuple):
            continue
        if draw(st.integers(0, 5)):
            inner[place[-1]] = copy.deepcopy(draw(st.sampled_from((*OUTWARD, *_FURTHER)) | st.sampled_from(_ODD)))
        elif place != ("",):
            del inner[place[-1]]
    return value[""]


@st.composite
def answers(draw):
    """What a worker of Salt says, spoiled, to a program that calls its functions."""
    said = b"".join(wire.encode(spoiled_message(draw, message, most=1)) for message in _WORKER)
    said = draw(torn(said)) if draw(st.integers(0, 2)) == 0 else said
    kind = draw(st.sampled_from(("states", "modules")))
    files = {**FILES, "salt/x.py": "def present(name):\n    return {}\n", "answers": as_file(said)}
    return {"files": files, "call": "fuzz_peers.borrower", "words": [kind, "present", "mod_aggregate", "present"]}


_OFFER = {
    "run": RUN,
    "host": HOST,
    "sls": ["main"],
    "issued": 1000.0,
    "patience": 5.0,
    "options": {
        "test": True,
        "concurrency": 2,
        "exclude": ["id:d"],
        "saltenv": "base",
        "pillar": {"a": 1},
        "pillarenv": "base",
        "top": "top.sls",
    },
}
_OPERATOR = {
    frames.BEGIN: [{"host": HOST, "settings": {"journal": "off"}, "environments": ["base"], "lease": 5.0}],
    "listing": [
        {
            "files": ["main.sls", "_modules/mine.py"],
            "dirs": [".", "_modules"],
            "empty_dirs": [],
            "links": {},
            "states": ["main"],
        }
    ],
    "fetch": [
        {"data": b"def a():\n    return 1\n", "mode": 0o644, "last": True},
        {"data": b"a: {test.nop: []}\n", "mode": 0o644, "last": True},
    ],
    "get": [None],
    "put": [None],
    "publish": [None],
    "pillar": [{"pillar": {"a": 1}, "secrets": ["x"]}],
    "watch": [[subjects.offer(HOST, RUN), b"", 1], [subjects.go(HOST, RUN), b"{}", 2]],
    "entries": [[]],
}
"""What an operator says to `fuzz_peers.runner`, by the word that asks for it."""
_HOST = (
    [1, "listing", ["base"]],
    [2, "fetch", ["base", "main.sls", 0]],
    [3, "pillar", [{"os": "Debian"}, RUN]],
    [4, "watch", [subjects.offer(HOST)]],
    [5, "get", [subjects.offer(HOST, RUN)]],
    [6, "put", [subjects.plan(HOST, RUN), b"{}"]],
    [7, "publish", [subjects.report(HOST, RUN), b"{}", "1"]],
    [4, "close", []],
)


def _packed(value):
    try:
        return msgspec.msgpack.encode(value)
    except (OverflowError, UnicodeEncodeError):  # no program sends such a number or text
        return b"\xc1"


@st.composite
def streams(draw):
    """What an operator says to a runner, or a host to an operator's program, spoiled."""
    if draw(st.booleans()):
        sent = [_packed(spoiled_message(draw, frame, most=1)) for frame in _HOST]
        data = b"".join(len(each).to_bytes(4, "big") + each for each in sent)
        data = draw(torn(data)) if draw(st.integers(0, 2)) == 0 else data
        return {"files": {**FILES, "frames": as_file(data)}, "call": "fuzz_peers.desk", "words": []}
    said = _said(_sane(spoiled_message(draw, _OFFER, most=1)))
    for listed in draw(st.lists(st.sampled_from(_FURTHER), max_size=1)):
        said["listing"][0]["files"].append(listed)
        said[frames.BEGIN][0]["environments"] += draw(st.sampled_from(((), ("../../beside",), ("..",))))
    for word in draw(st.lists(st.sampled_from((*said, frames.BEGIN, "listing", "fetch")), max_size=2)):
        said[word] = [spoiled_message(draw, value, most=2) for value in said[word]]
    packed = {word: [_packed(value) for value in values] for word, values in said.items()}
    for word in draw(st.lists(st.sampled_from(sorted(packed)), max_size=1)):
        packed[word] = [draw(torn(value)) for value in packed[word]]
    return {"files": {**FILES, "operator": _operator_text(packed)}, "call": "fuzz_peers.runner", "words": []}


def _said(offer):
    said = copy.deepcopy(_OPERATOR)
    said["watch"][0][1] = msgspec.json.encode(offer)
    return said


def _operator_text(packed):
    return msgspec.json.encode({word: [each.hex() for each in values] for word, values in packed.items()}).decode()


def _sane(value):
    """Return a message as JSON can have it."""
    return msgspec.to_builtins(value, enc_hook=str) if not _has_surrogate(value) else "\x00"


def _has_surrogate(value):
    return "\\udcff" in ascii(value) or "\\xff" in ascii(value)


_GO = {"run": RUN, "host": HOST, "nonce": "@nonce@", "digest": "@digest@", "waits": [], "follows": [], "readers": {}}
_WAITING = {
    "remote": [["b1", 0, ["test", "nop", "z", "z", "main", "main.sls", 1]]],
    "waits": [[1, "require", [0]]],
    "readers": {"0": ["b1"]},
    "follows": [[1, 0]],
    "remote_follows": [[1, 0]],
    "barriers": [[1, [0], [1]]],
}
_ROW = {"run": RUN, "host": "b1", "node": "0", "result": True, "changed": False}


@st.composite
def offers(draw):
    """What an operator has signed for a host, and what another host writes for it, spoiled."""
    offer = spoiled_message(draw, _OFFER)
    if isinstance(offer, dict) and draw(st.booleans()):
        offer["options"] = {**_OFFER["options"], **_aimed_options(draw)}
    if isinstance(offer, dict) and draw(st.integers(0, 5)) == 0:
        offer["call"] = spoiled_message(draw, {"function": "test.echo", "arg": ["x"], "kwarg": {}}, most=1)
    go = spoiled_message(draw, {**_GO, **(_WAITING if draw(st.booleans()) else {})}, most=1)
    messages = {"offer": offer, "go": go, "row": spoiled_message(draw, _ROW, most=1)}
    files = {name: as_file(msgspec.json.encode(_sane(message))) for name, message in messages.items()}
    files["torn"] = as_file(draw(torn(b"\x01" + bytes(64) + msgspec.json.encode(_OFFER))))
    return {"files": {**FILES, **files}, "call": "fuzz_peers.agent", "words": [SEED]}


def _aimed_options(draw):
    names = draw(st.lists(st.sampled_from(("saltenv", "pillarenv", "top", "exclude")), max_size=2, unique=True))
    return {
        name: draw(st.sampled_from(OUTWARD)) if name != "exclude" else [draw(st.sampled_from(OUTWARD))]
        for name in names
    }


def valid():
    """Yield a case of each kind in which nothing is spoiled, and nothing is refused."""
    kinds = {
        "borrower": ({"answers": b"".join(map(wire.encode, _WORKER[:-1]))}, ("states", "present", "mod_aggregate")),
        "desk": ({"frames": b"".join(len(each).to_bytes(4, "big") + each for each in map(_packed, _HOST))}, ()),
        "agent": (
            {
                "offer": msgspec.json.encode(_OFFER),
                "go": msgspec.json.encode(_GO),
                "row": msgspec.json.encode(_ROW),
                "torn": b"",
            },
            (SEED,),
        ),
    }
    for name, (said, words) in kinds.items():
        files = {**FILES, "salt/x.py": "", **{file: as_file(data) for file, data in said.items()}}
        yield {"files": files, "call": "fuzz_peers.accepted", "words": [name, *words]}
    operator = _operator_text({word: list(map(_packed, values)) for word, values in _said(_OFFER).items()})
    yield {"files": {**FILES, "operator": operator}, "call": "fuzz_peers.accepted", "words": ["runner"]}
