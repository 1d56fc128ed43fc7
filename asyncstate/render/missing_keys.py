"""Hints for a template that reads a missing key: the nearest key, or the reason why there is no pillar."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from asyncstate.nearest import nearest
from asyncstate.pattern import lazy_pattern
from asyncstate.sources.fileclient import top_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.render.context import RenderContext

_LACKING = lazy_pattern(r"has no attribute '([^'\n]+)'")
_STEP = r"""(?:\.\w+|\[\s*(?:'[^'\n]*'|"[^"\n]*")\s*\])"""
_STEPS = lazy_pattern(_STEP)
_SHOWN = 8


def key_hint(message: str, line: str, context: RenderContext) -> str:
    """Return a hint for a missing key of the pillar or the grains that a line of a template reads; or ""."""
    if "NoneType" in message or "'None' has no attribute" in message:
        return _hint_of_none(line, context)
    lacking = _LACKING.search(message)
    if lacking is None:
        return ""
    for name, data, steps in _chains(line, context):
        for depth, step in enumerate(steps):
            if not isinstance(data, Mapping):
                break
            if step not in data:
                if step != lacking[1]:
                    break
                return _hint(":".join([name, *steps[:depth]]), step, data, context)
            data = data[step]
    return ""


def _hint_of_none(line: str, context: RenderContext) -> str:
    """Return a hint for a ``pillar.get('key')`` that is None, because the key is missing or has no value; or ""."""
    for name, data in (("pillar", context.pillar), ("grains", context.grains)):
        for got in re.finditer(rf"\b{name}((?:{_STEP})*)\.get\(\s*(['\"])([^'\"\n]+)\2\s*\)", line):
            steps = [step.strip(" .[]'\"") for step in _STEPS.findall(got[1])]
            found: Any = data
            for step in steps:
                found = found.get(step) if isinstance(found, Mapping) else None
            if isinstance(found, Mapping) and found.get(got[3]) is None:
                where = ":".join([name, *steps])
                if got[3] in found:
                    return f"{where}:{got[3]} has no value; give it one, or write {got[0]} or []"
                near = nearest(got[3], map(str, found))
                meant = f"did you mean '{near}'? " if near else ""
                return f"{meant}{where} has no key '{got[3]}'; give it, or a default: {got[0][:-1].rstrip()}, [])"
    return ""


def _chains(line: str, context: RenderContext) -> Iterator[tuple[str, Any, list[str]]]:
    """Yield each lookup in the pillar and the grains in a line, ``pillar.a['b']``: name, data and keys."""
    for name, data in (("pillar", context.pillar), ("grains", context.grains)):
        for chain in re.finditer(rf"\b{name}\s*((?:{_STEP})+)", line):
            yield name, data, [step.strip(" .[]'\"") for step in _STEPS.findall(chain[1])]


def _hint(where: str, key: str, data: Mapping[Any, Any], context: RenderContext) -> str:
    if where == "pillar" and context.ordered:
        return "a file of the pillar does not see the pillar, only what the command gives (--pillar)"
    if where == "pillar" and not data:
        return _no_pillar(context.opts)
    keys = sorted(map(str, data))
    there = (
        f"{where} has {', '.join(keys[:_SHOWN])}{' …' if len(keys) > _SHOWN else ''}" if keys else f"{where} is empty"
    )
    near = nearest(key, keys)
    if near:
        return f"did you mean '{near}'? {there}"
    return f"{there}; for a key that may be missing, write {where.replace(':', '.')}.get('{key}', DEFAULT)"


def _no_pillar(opts: Mapping[str, Any]) -> str:
    """Return the reason why there is no pillar at all, with the next step."""
    roots = [str(root) for found in (opts.get("pillar_roots") or {}).values() for root in found]
    listed = ", ".join(dict.fromkeys(roots)) or "pillar_roots is empty"
    if not any(os.path.isdir(root) for root in roots):
        return f"there is no pillar: no folder of pillar_roots exists ({listed}). Name one with --pillar-root DIR"
    top = top_path(opts)
    if not any(os.path.isfile(os.path.join(root, top)) for root in roots):
        return f"the pillar is empty: there is no {top} in {listed}, which assigns pillar files to machines"
    return f"the pillar is empty: {top} in {listed} assigns no file with data to this machine, {opts.get('id')}"
