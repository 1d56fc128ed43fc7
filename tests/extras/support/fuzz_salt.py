"""Hypothesis strategies for what workers of Salt say: valid messages, spoiled."""

from __future__ import annotations

from fuzz_messages import FILES, spoiled_message
from fuzz_records import as_file, torn
from hypothesis import strategies as st

from asyncstate.extras.borrow import wire

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
"""What a worker says to `fuzz_salt_peers.borrower`: set up, a module, two questions, a call, a hook, an exception."""


@st.composite
def answers(draw):
    """What a worker of Salt says, spoiled, to a program that calls its functions."""
    said = b"".join(wire.encode(spoiled_message(draw, message, most=1)) for message in _WORKER)
    said = draw(torn(said)) if draw(st.integers(0, 2)) == 0 else said
    kind = draw(st.sampled_from(("states", "modules")))
    files = {**FILES, "salt/x.py": "def present(name):\n    return {}\n", "answers": as_file(said)}
    return {"files": files, "call": "fuzz_salt_peers.borrower", "words": [kind, "present", "mod_aggregate", "present"]}


def valid_answers():
    """Return a case in which nothing is spoiled, and nothing is refused."""
    said = as_file(b"".join(map(wire.encode, _WORKER[:-1])))
    words = ["borrower", "states", "present", "mod_aggregate"]
    return {"files": {**FILES, "salt/x.py": "", "answers": said}, "call": "fuzz_salt_peers.accepted", "words": words}


FAMILIES = {"answers": answers}
"""Strategies for cases, by the name of what they are about."""
