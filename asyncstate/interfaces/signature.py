"""Compatibility of signatures: whether a function can be called in every way its interface allows."""

from __future__ import annotations

import inspect
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def signature_of(func: Callable[..., Any]) -> Signature | None:
    """Return the signature of a provider's function; None if it cannot be read."""
    try:
        return inspect.signature(func)
    except (TypeError, ValueError):
        return None


def conflicts(declared: Signature, actual: Signature | None) -> list[str]:
    """Return why a call that ``declared`` allows would fail or differ with ``actual``; [] if they are compatible.

    Additional optional parameters are no conflict, nor are ``*args`` or ``**kwargs`` instead of parameters.
    """
    return [] if actual is None else list(_conflicts(declared, actual))


def differing_defaults(declared: Signature, actual: Signature | None) -> list[str]:
    """Return the parameters whose default values differ: no conflict, but perhaps a mistake."""
    if actual is None:
        return []
    pairs = ((p, actual.parameters.get(name)) for name, p in declared.parameters.items())
    return [
        f"{ours.name}: {ours.default!r}, not {declared_.default!r}"
        for declared_, ours in pairs
        if ours is not None
        and Parameter.empty not in {type(declared_.default), type(ours.default)}
        and declared_.default is not Parameter.empty
        and ours.default is not Parameter.empty
        and declared_.default != ours.default
    ]


def _conflicts(declared: Signature, actual: Signature) -> Iterator[str]:
    ours = actual.parameters
    takes_more = any(p.kind is Parameter.VAR_POSITIONAL for p in ours.values())
    takes_any_name = any(p.kind is Parameter.VAR_KEYWORD for p in ours.values())
    positions = [p.name for p in ours.values() if p.kind in _BY_POSITION]
    place = 0
    for wanted in declared.parameters.values():
        if wanted.kind is Parameter.VAR_POSITIONAL:
            if not takes_more:
                yield f"does not take *{wanted.name}"
            continue
        if wanted.kind is Parameter.VAR_KEYWORD:
            if not takes_any_name:
                yield f"does not take **{wanted.name}"
            continue
        if wanted.kind in _BY_POSITION:
            found = positions[place] if place < len(positions) else None
            place += 1
            if wanted.kind is Parameter.POSITIONAL_ONLY:
                if found is None and not takes_more:
                    yield f"lacks parameter {wanted.name!r}"
                continue
            if found is None and not takes_more and wanted.name in ours:
                yield f"takes {wanted.name!r} by name only"
                continue
            if found not in {None, wanted.name}:
                yield f"has {found!r} in the place of {wanted.name!r}"
                continue
        mine = ours.get(wanted.name)
        if mine is None or mine.kind not in _BY_NAME:
            if not takes_any_name:
                yield f"lacks parameter {wanted.name!r}"
        elif mine.default is Parameter.empty and wanted.default is not Parameter.empty:
            yield f"requires {wanted.name!r}, which is optional"
    named = [p.name for p in declared.parameters.values() if p.kind in _BY_NAME]
    yield from _demands([*named, *positions[:place]], ours)


def _demands(given: list[str], ours: Mapping[str, Parameter]) -> Iterator[str]:
    for name, mine in ours.items():
        if mine.kind in {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD} or mine.default is not Parameter.empty:
            continue
        if name not in given:
            yield f"requires {name!r}, which the interface does not know"
