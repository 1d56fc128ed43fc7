"""Hypothesis strategies for the Python of plugins that do anything: what they return, raise and are."""

from __future__ import annotations

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
VALUES = (
    "None",
    "True",
    "{}",
    "[]",
    "''",
    "'\\ud800'",
    "b'\\xff'",
    "float('nan')",
    "10 ** 5000",
    "object()",
    "Hostile()",
    "Text('x')",
    "Mapping(a=1)",
    "Number(1)",
    "OfMeta",
    "cyclic()",
    "deep()",
    "deep(100000)",
    "bomb()",
    "'x' * 50_000_000",
    "['x'] * 3_000_000",
    "waiting()",
    "waiting(1)",
    "[waiting()]",
    "asyncio.sleep",
    "(i for i in range(3))",
    "iter(int, 1)",
    "{1: {2: 3}, None: 4}",
    "{('a',): 1}",
    "{Text('k'): 1}",
    "{'a': Hostile()}",
    "{1, 'a'}",
    "range(10 ** 12)",
    "lambda *a: 1",
    "sys",
    "threading.Lock()",
    "memoryview(b'x')",
    "ValueError('x')",
    "Exception",
    "type",
    "'\\x1b[31m\\u202e\\n'",
    "{'reads': ['path:/a'], 'writes': ['path:/b/**']}",
    "{'reads': 1, 'writes': [None, 1, 'x', 'path:', 'path:a/../..', 'path:' + '/x' * 3000]}",
    "{'path:/a': 1}",
    "{'result': None}",
    "dict(__low__) if '__low__' in globals() else 1",
)
_RAISED = (
    "ValueError('x')",
    "Error()",
    "KeyboardInterrupt()",
    "SystemExit(3)",
    "SystemExit(Hostile())",
    "BaseException('x')",
)
_RAISED += (
    "GeneratorExit()",
    "StopIteration(1)",
    "asyncio.CancelledError()",
    "RecursionError()",
    "MemoryError()",
    "TimeoutError()",
)
_RAISED += (
    "ValueError('\\udcff')",
    "BaseExceptionGroup('g', [Error(), KeyboardInterrupt()])",
    "UnicodeDecodeError('a', b'', 0, 1, 'x')",
    "OSError(28, 'full')",
)
_KEYS = (
    "name",
    "result",
    "changes",
    "comment",
    "warnings",
    "sub_state_run",
    "extra",
    "skip_watch",
    "skip_req",
    "__x",
    "pchanges",
    "start_time",
    "duration",
)
_HOOKS = {
    "mod_init": "low",
    "mod_watch": "name, **kwargs",
    "mod_aggregate": "low, chunks, running",
    "mod_aggregate_split": "low, chunks, ret",
    "mod_footprint": "low",
    "mod_prefetch": "low",
    "mod_prerequisite": "low",
}
_SIGNATURES = (
    "name, **kwargs",
    "name, x=1",
    "name, x",
    "*args, **kwargs",
    "",
    "name, /, x",
    "name, *, x, y",
    "x, name=None",
)
_FLAWS = (
    "",
    "\n1 / 0\n",
    "\nimport no_such_module\n",
    "\ndef (:\n",
    "\n\x00\n",
    "\n\udcff\n",
    "\nsys.exit(1)\n",
    "\nraise BaseException('import')\n",
    "\n__virtualname__ = 1\n",
    "\n__virtualname__ = 'test'\n",
    "\n__func_alias__ = [1]\n",
    "\n__load__ = 5\n",
    "\n__exclusive__ = Hostile()\n",
    "\n__all__ = [Hostile()]\n",
    "\nhere = Hostile()\n",
    "\nhere = 5\n",
    "\nhere.__signature__ = 5\n",
    "\nhere.__wrapped__ = here\n",
    "\nhere.__doc__ = 5\n",
    "\nhere.__name__ = Text('x')\n",
    "\nhere.__annotations__ = {'x': Hostile()}\n",
    "\n__opts__ = 1\n",
    "\ndel row\n",
    "\nglobals()[Text('k')] = 1\n",
)


@st.composite
def bodies(draw, row=False):
    """The body of a function."""
    kind = draw(st.integers(0, 9))
    value = draw(st.sampled_from(VALUES))
    if kind < 2:
        return f"raise {draw(st.sampled_from(_RAISED))}"
    if kind < 6 and row:
        return f"return row({draw(st.sampled_from(_KEYS))}={value})".replace("row(name=", "row(")
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
        text += draw(_function(hook, draw(st.sampled_from((_HOOKS[hook], _HOOKS[hook], "")))))
    if draw(st.integers(0, 4)) == 0:
        text += draw(_function("__virtual__", ""))
    if draw(st.integers(0, 9)) == 0:
        text += draw(_function("__init__", "opts"))
    if draw(st.integers(0, 4)) == 0:
        text += draw(st.sampled_from(_FLAWS))
    files = {"salt/_states/odd.py": text}
    if draw(st.booleans()):
        files["salt/_modules/odd.py"] = _HEAD + draw(_function("value", "*args, **kwargs"))
    if draw(st.integers(0, 3)) == 0:
        files["salt/_grains/odd.py"] = _HEAD + draw(_function("some", draw(st.sampled_from(("", "grains")))))
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
    odd_one = draw(st.sampled_from(sorted(_HOOKS)))
    text = _HEAD + _CALLED
    for hook in dict.fromkeys((odd_one, *draw(st.lists(st.sampled_from(sorted(_HOOKS)), max_size=3)))):
        if hook == odd_one:
            text += draw(_function(hook, _HOOKS[hook], row=hook == "mod_watch"))
        else:
            text += f"def {hook}({_HOOKS[hook]}):\n    {_SOUND[hook]}\n"
    return {"salt/_states/odd.py": text, "salt/main.sls": _HOOK_TREE}
