"""Hooks of a state module that do what a test asks of them: return, or raise, something odd."""

from __future__ import annotations

from odd_values import ERRORS, odd, odd_names

ODDITIES = [*(("return", name) for name in odd_names), *(("raise", name) for name in ERRORS)]
"""What a hook may do: return or raise an odd thing, by name."""

_asked: dict[str, object] = {}


def ask(hook, deed):
    """Let ``hook`` do ``deed``: one of `ODDITIES`, or a function whose value it returns."""
    _asked.clear()
    _asked[hook] = deed


def act(hook, otherwise=None, part=None):
    """Do what was asked of ``hook``; ``part`` puts an odd value into what it returns otherwise."""
    deed = _asked.get(hook)
    if deed is None:
        return otherwise
    if callable(deed):
        return deed()
    kind, name = deed
    if kind == "raise":
        error = ERRORS[name]()
        raise error
    return odd(name) if part is None else part(odd(name))


MODULE = """
from odd_hooks import act

def row(name, **more):
    return {"name": name, "result": True, "changes": {}, "comment": "done", **more}

def here(name, key="", **kwargs):
    part = None if not key else lambda value: {**row(name), key: value}
    return act("here", row(name), part)

def changed(name, **kwargs):
    return row(name, changes={"is": "new"})

def mod_watch(name, **kwargs):
    return act("mod_watch", row(name, changes={"watched": True}))

def mod_init(low):
    return act("mod_init", True)

def mod_aggregate(low, chunks, running):
    for chunk in chunks:
        chunk["__agg__"] = True
    return act("mod_aggregate", low)

def mod_aggregate_split(low, chunks, ret):
    return act("mod_aggregate_split", {})

def mod_footprint(low):
    return act("mod_footprint", {"reads": [], "writes": ["path:/nowhere"]})
"""
EXECUTION = """
from odd_hooks import act

def value(*args, **kwargs):
    return act("value", True)
"""
GRAINS = """
from odd_hooks import act

def some():
    return act("grains", {"odd": 1})
"""
ASYNC_MODULE = (
    MODULE.replace("\ndef ", "\nasync def ")
    .replace("async def row", "def row")
    .replace("async def mod_footprint", "def mod_footprint")
)
"""The same, on the event loop."""
