"""Hypothesis strategies for the Python of plugins that do anything: what they return, raise and are."""

from __future__ import annotations

from fuzz_sls import WORDS, pick
from hypothesis import strategies as st

_HEAD = """
import asyncio, sys, threading, time
class Hostile:
    def _no(self, *a, **k): raise BaseException("no")
    __str__ = __repr__ = __eq__ = __hash__ = __len__ = __iter__ = __bool__ = __getattr__ = __call__ = __format__ = __lt__ = _no
class Text(str):
    def __str__(self): raise ValueError("str")
    def __eq__(self, other): raise ValueError("eq")
    __hash__ = str.__hash__
class Mapping(dict):
    def items(self): raise ValueError("items")
    def __iter__(self): raise ValueError("iter")
class Number(int):
    def __bool__(self): raise ValueError("bool")
    def __str__(self): raise ValueError("str")
class Meta(type):
    def __instancecheck__(cls, other): raise ValueError("instance")
    def __getattribute__(cls, name): raise ValueError("class")
class OfMeta(metaclass=Meta): pass
class Error(Exception):
    def __str__(self): raise BaseException("str")
    __repr__ = __str__
def cyclic():
    a = {}; a["a"] = [a]; return a
def deep(n=3000):
    a = "x"
    for _ in range(n): a = {"a": [a]}
    return a
def bomb():
    a = ["x"]
    for _ in range(40): a = [a] * 9
    return a
async def waiting(value=None):
    await asyncio.sleep(0); return value
def row(name="x", **more): return {"name": name, "result": True, "changes": {}, "comment": "", **more}
"""
VALUES = WORDS["returned"]
_RAISED = WORDS["raised"]
_KEYS = WORDS["keys of rows"]
_HOOKS = {
    "mod_init": "low",
    "mod_watch": "name, **kwargs",
    "mod_aggregate": "low, chunks, running",
    "mod_aggregate_split": "low, chunks, ret",
    "mod_footprint": "low",
    "mod_prefetch": "low",
    "mod_prerequisite": "low",
}
_SIGNATURES = WORDS["signatures"]
_FLAWS = WORDS["flaws"]


@st.composite
def bodies(draw, row=False):
    """The body of a function."""
    kind = draw(st.integers(0, 9))
    value = pick(draw, VALUES)
    if kind < 2:
        return f"raise {pick(draw, _RAISED)}"
    if kind < 6 and row:
        return f"return row({pick(draw, _KEYS)}={value})".replace("row(name=", "row(")
    if kind == 6:
        return f"yield {value}"
    if kind == 7 and row:
        return f"return row(sub_state_run=[row(low={{'name': {value}, 'state': 'x', 'fun': 'y', '__id__': 'z'}}), {value}])"
    return f"return {value}"


@st.composite
def _function(draw, name, signature, *, row=False):
    asynchronous = draw(st.integers(0, 4)) == 0
    return f"{'async ' if asynchronous else ''}def {name}({signature}):\n    {draw(bodies(row))}\n"


@st.composite
def plugin_files(draw):
    """The files of plugins, by their paths in the case."""
    text = _HEAD + draw(
        _function("here", draw(st.sampled_from(_SIGNATURES[:2]) | st.sampled_from(_SIGNATURES)), row=True)
    )
    for hook in draw(st.lists(st.sampled_from(sorted(_HOOKS)), max_size=3, unique=True)):
        text += draw(_function(hook, pick(draw, (_HOOKS[hook], _HOOKS[hook], ""))))
    if draw(st.integers(0, 4)) == 0:
        text += draw(_function("__virtual__", ""))
    if draw(st.integers(0, 9)) == 0:
        text += draw(_function("__init__", "opts"))
    if draw(st.integers(0, 4)) == 0:
        text += pick(draw, _FLAWS)
    files = {"salt/_states/odd.py": text}
    if draw(st.booleans()):
        files["salt/_modules/odd.py"] = _HEAD + draw(_function("value", "*args, **kwargs"))
    if draw(st.integers(0, 3)) == 0:
        files["salt/_grains/odd.py"] = _HEAD + draw(_function("some", pick(draw, ("", "grains"))))
    if draw(st.integers(0, 5)) == 0:
        files["salt/_renderers/odd.py"] = _HEAD + draw(_function("render", "data, saltenv='base', sls='', **kwargs"))
        files["salt/other.sls"] = "#!odd\nx\n"
        files["salt/top.sls"] = "base: {'*': [main, other]}\n"
    return files


_CALLED = """
def here(name, **kwargs):
    return row(name, changes={"is": "new"})
"""
_HOOK_TREE = """
{% for n in range(4) %}
a{{ n }}: {odd.here: [{aggregate: true}, {x: {{ n }}}]}
{% endfor %}
b0: {odd.here: [{watch: [{odd: a0}]}, {prereq: [{odd: a3}]}]}
b1: {odd.here: [{listen: [{odd: a1}]}, {onchanges: [{odd: a2}]}]}
"""
_SOUND = {
    "mod_init": "return True",
    "mod_watch": "return row(name, changes={'watched': True})",
    "mod_aggregate": "return low",
    "mod_aggregate_split": "return {}",
    "mod_footprint": "return {'reads': [], 'writes': ['path:/nowhere']}",
    "mod_prefetch": "return []",
    "mod_prerequisite": "return None",
}


@st.composite
def hook_files(draw):
    """A state module with hooks, one of which does anything, and a tree that has each of them called."""
    odd_one = pick(draw, sorted(_HOOKS))
    text = _HEAD + _CALLED
    for hook in dict.fromkeys((odd_one, *draw(st.lists(st.sampled_from(sorted(_HOOKS)), max_size=3)))):
        if hook == odd_one:
            text += draw(_function(hook, _HOOKS[hook], row=hook == "mod_watch"))
        else:
            text += f"def {hook}({_HOOKS[hook]}):\n    {_SOUND[hook]}\n"
    return {"salt/_states/odd.py": text, "salt/main.sls": _HOOK_TREE}
