"""The conformance of a provider to its interface, function by function."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from asyncstate.interfaces.base import functions_of
from asyncstate.interfaces.conditions import all_match
from asyncstate.interfaces.errors import InterfaceError
from asyncstate.interfaces.signature import conflicts, differing_defaults, signature_of
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.interfaces.base import Declared, Interface


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
    """One function: ``details`` are incompatibilities, ``notes`` are differences without harm that may be mistakes."""

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
    status = Status.INCOMPATIBLE if problems else Status.OK
    return Finding(name, status, declared, problems, tuple(differing_defaults(declared.signature, actual)))
