"""Hypothesis strategies for messages of a fleet's parties, operators and hosts: valid ones, spoiled."""

from __future__ import annotations

import copy

import msgspec
from fuzz_hosts import SEED, hosts
from fuzz_messages import FILES, FURTHER, spoiled_message
from fuzz_records import OUTWARD, as_file, torn
from hypothesis import strategies as st

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.ssh import frames

RUN, HOST = "r1", "a1"

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
"""What an operator says to `fuzz_fleet_peers.runner`, by the word that asks for it."""
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
        return {"files": {**FILES, "frames": as_file(data)}, "call": "fuzz_fleet_peers.desk", "words": []}
    said = _said(_sane(spoiled_message(draw, _OFFER, most=1)))
    for listed in draw(st.lists(st.sampled_from(FURTHER), max_size=1)):
        said["listing"][0]["files"].append(listed)
        said[frames.BEGIN][0]["environments"] += draw(st.sampled_from(((), ("../../beside",), ("..",))))
    for word in draw(st.lists(st.sampled_from((*said, frames.BEGIN, "listing", "fetch")), max_size=2)):
        said[word] = [spoiled_message(draw, value, most=2) for value in said[word]]
    packed = {word: [_packed(value) for value in values] for word, values in said.items()}
    for word in draw(st.lists(st.sampled_from(sorted(packed)), max_size=1)):
        packed[word] = [draw(torn(value)) for value in packed[word]]
    return {"files": {**FILES, "operator": _operator_text(packed)}, "call": "fuzz_fleet_peers.runner", "words": []}


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
    return {"files": {**FILES, **files}, "call": "fuzz_fleet_peers.agent", "words": [SEED]}


def _aimed_options(draw):
    names = draw(st.lists(st.sampled_from(("saltenv", "pillarenv", "top", "exclude")), max_size=2, unique=True))
    return {
        name: draw(st.sampled_from(OUTWARD)) if name != "exclude" else [draw(st.sampled_from(OUTWARD))]
        for name in names
    }


def valid():
    """Yield a case of each kind in which nothing is spoiled, and nothing is refused."""
    kinds = {
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
        yield {"files": files, "call": "fuzz_fleet_peers.accepted", "words": [name, *words]}
    operator = _operator_text({word: list(map(_packed, values)) for word, values in _said(_OFFER).items()})
    yield {"files": {**FILES, "operator": operator}, "call": "fuzz_fleet_peers.accepted", "words": ["runner"]}


FAMILIES = {"streams": streams, "offers": offers, "hosts": hosts}
"""Strategies for cases, by the name of what they are about."""
