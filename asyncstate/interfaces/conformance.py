"""The conformance of a provider to its interface: its functions, their signatures, and the values that they return.

A signature conforms if the function can be called in every way that the interface allows. A returned value conforms if
it has the form that the interface declares: a dict lists required keys with values of the expected type, a list holds
one element as the form of all, a type allows its instances. None, {} and [] allow any content.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from enum import StrEnum
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from asyncstate.interfaces import InterfaceError, all_match, functions_of
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.interfaces import Declared, Interface

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class Status(StrEnum):
    """The relation of a provider's function to the interface."""

    OK = "ok"
    MISSING = "missing"
    DECLINED = "not implemented"
    """Missing on purpose: the provider gives the reason."""
    UNSUPPORTED = "unsupported"
    NOT_APPLICABLE = "not applicable"
    INCOMPATIBLE = "incompatible"
    DEPRECATED = "deprecated"


class Finding(Value):
    """One function: ``details`` are incompatibilities, ``notes`` what else its author should know."""

    function: str
    status: Status
    declared: Declared | None = None
    details: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def check_conformance(
    interface: Interface,
    exports: Mapping[str, Callable[..., Any]],
    grains: Mapping[str, Any],
    declined: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Compare ``exports`` with ``interface`` on a machine with ``grains``: first its functions, then all others.

    ``declined`` are the functions that the provider declares not implemented, each with the reason. Raises
    InterfaceError if a function is both expected and not applicable here.
    """
    declared = functions_of(interface)
    findings = [
        _declined(finding, declined[finding.function]) if declined and finding.function in declined else finding
        for finding in (_finding(interface, each, exports.get(name), grains) for name, each in declared.items())
    ]
    beyond = [Finding(name, Status.DEPRECATED) for name in sorted(exports) if name not in declared]
    return findings + beyond


def declined_by(namespace: object) -> dict[str, str]:
    """Return the functions that a provider lacks on purpose, with its reasons, from ``__smi_not_implemented__``.

    The name holds a mapping of names to reasons, or a list of names.
    """
    declared = getattr(namespace, "__smi_not_implemented__", ())
    if isinstance(declared, Mapping):
        return {str(name): str(why) for name, why in declared.items()}
    return {str(name): "" for name in ([declared] if isinstance(declared, str) else declared)}


def _declined(finding: Finding, why: str) -> Finding:
    if finding.status is Status.MISSING:
        return finding.replaced(status=Status.DECLINED, notes=(why,) if why else ())
    if finding.status in {Status.OK, Status.INCOMPATIBLE}:
        return finding.replaced(notes=(*finding.notes, "is there, though __smi_not_implemented__ names it"))
    return finding


def _finding(
    interface: Interface, declared: Declared, func: Callable[..., Any] | None, grains: Mapping[str, Any]
) -> Finding:
    name = declared.name
    supported = all_match(declared.supported, grains)
    if all_match(declared.not_applicable, grains):
        if supported:
            raise InterfaceError(
                f"{type(interface).__name__}.{name} is declared both supported and not applicable on this machine"
            )
        return Finding(name, Status.NOT_APPLICABLE, declared)
    if func is None:
        lacking = supported or not declared.supported
        return Finding(name, Status.MISSING if lacking else Status.UNSUPPORTED, declared)
    actual = signature_of(func)
    problems = tuple(conflicts(declared.signature, actual))
    return Finding(name, Status.INCOMPATIBLE if problems else Status.OK, declared, problems)


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


def mismatches(declared: Any, actual: Any) -> list[str]:
    """Return where ``actual`` does not have the form of ``declared``, [] if it does. Neither is changed."""
    return list(_mismatches(declared, actual, ""))


def _mismatches(declared: Any, actual: Any, place: str) -> Iterator[str]:
    where = place or "the value"
    if declared is None or declared == {}:
        return
    if isinstance(declared, Mapping):
        if not isinstance(actual, Mapping):
            yield f"{where} is {_kind(actual)}, not dict"
            return
        for key, form in declared.items():
            inner = f"{place}[{key!r}]"
            if key in actual:
                yield from _mismatches(form, actual[key], inner)
            else:
                yield f"{inner} is missing"
    elif isinstance(declared, (list, tuple)):
        if not isinstance(actual, (list, tuple)):
            yield f"{where} is {_kind(actual)}, not list"
            return
        for index, item in enumerate(actual if declared else ()):
            yield from _mismatches(declared[0], item, f"{place}[{index}]")
    else:
        wanted = declared if isinstance(declared, type) else type(declared)
        if not _is_a(actual, wanted):
            yield f"{where} is {_kind(actual)}, not {wanted.__name__}"


def _is_a(actual: Any, wanted: type) -> bool:
    if isinstance(actual, bool):
        return wanted in {bool, object}
    return isinstance(actual, wanted) or (wanted is float and isinstance(actual, int))


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__
