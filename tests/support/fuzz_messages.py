"""Hypothesis strategies for what other programs say: valid messages, spoiled, such as those of workers of Salt.

Words in them name what lies outside of the roots, as in `fuzz_records.outward`.
"""

from __future__ import annotations

import copy

from fuzz_records import OUTWARD, TREE, VALUES, as_file, places, torn
from hypothesis import strategies as st

from asyncstate.borrow import wire

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
FURTHER = (
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
            inner[place[-1]] = copy.deepcopy(draw(st.sampled_from((*OUTWARD, *FURTHER)) | st.sampled_from(_ODD)))
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


def valid_answers():
    """Return a case in which nothing is spoiled, and nothing is refused."""
    said = as_file(b"".join(map(wire.encode, _WORKER[:-1])))
    words = ["borrower", "states", "present", "mod_aggregate"]
    return {"files": {**FILES, "salt/x.py": "", "answers": said}, "call": "fuzz_peers.accepted", "words": words}
