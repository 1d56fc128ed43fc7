"""Every wait has a bound, or is listed here with the proof that it ends."""

from __future__ import annotations

import ast

from import_graph import parsed
from tables import beside

TABLES = beside(__file__)

WITHOUT_BOUND = {"wait", "join", "acquire", "communicate"}
"""Methods that wait for ever if they are called without arguments."""
FOR_A_RESULT = {"result", "recv", "recv_into", "recvfrom", "recvmsg"}
"""Methods that wait for what another thread or process gives. Sockets have their time limit elsewhere."""
UNLESS = {
    ("os", "wait"): "WNOHANG",
    ("os", "waitpid"): "WNOHANG",
    ("os", "waitid"): "WNOHANG",
    ("fcntl", "flock"): "LOCK_NB|LOCK_UN",
    ("fcntl", "lockf"): "LOCK_NB|LOCK_UN",
    ("asyncio", "wait"): "timeout",
    ("reaper", "wait"): "timeout",
}
"""Functions that wait for ever unless a word is among their arguments."""

REASONS = TABLES["reasons"]
"""File and function -> the bound, or who ends the wait."""


def waits(tree, around=""):
    """Yield the qualified name of the function around each call that may wait for ever."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and may_wait(node, node.func):
            yield around
        named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        yield from waits(node, f"{around}.{node.name}".lstrip(".") if named else around)


def may_wait(call, function):
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    if (owner, function.attr) in UNLESS:
        words = ast.unparse(call).partition("(")[2]
        return not any(word in words for word in UNLESS[owner, function.attr].split("|"))
    if any(word.arg in ("timeout", "blocking") for word in call.keywords):
        return False
    if function.attr == "wait_for" and owner not in ("asyncio", "anyio"):
        return len(call.args) == 1
    return function.attr in FOR_A_RESULT or (function.attr in WITHOUT_BOUND and not call.args)


def test_every_wait_has_a_bound_or_a_reason(checkout):
    found = {
        f"{path.relative_to(checkout)} {around}"
        for folder in ("asyncstate", "states", "modules")
        for path in (checkout / folder).rglob("*.py")
        for around in waits(parsed(path))
    }
    assert sorted(found - REASONS.keys()) == [], "give it a bound, or say here who ends it"
    there = {each for each in REASONS if (checkout / each.split()[0]).exists()}  # extras may be absent
    assert sorted(there - found) == [], "this waits no more"


def test_waits_are_found():
    text = """
class Some:
    def end(self):
        self.thread.join()
        self.event.wait(3)
        ",".join(names)
async def come(future):
    await event.wait()
    fcntl.flock(file, fcntl.LOCK_EX)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    lock.acquire(timeout=3)
    condition.wait_for(ready)
    await asyncio.wait(tasks, timeout=3)
"""
    assert list(waits(ast.parse(text))) == ["Some.end", "come", "come", "come"]
