"""Comparison of installed versions with wanted ones."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __salt__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Versions = dict[str, str | None]
"""The wanted version of each package, None for any."""

_CONDITION = re.compile(r"^(<=>|!=|>=|<=|>>|<<|<>|>|<|==|=)?\s?([^<>=]+)$")
_MEANING = {"<": (-1,), "<=": (-1, 0), "==": (0,), ">=": (0, 1), ">": (1,), "!=": (-1, 1)}


def fulfils(
    installed: Iterable[str], wanted: str, *, ignore_epoch: bool | None = None, allow_updates: bool = False
) -> bool:
    """Return whether one of the installed versions meets all conditions of ``wanted`` (``1.2``, ``1.*``, ``>=1.2,<2``).

    With ``allow_updates`` a plain version means that one or any newer one.
    """
    conditions = [_split(part) for part in wanted.split(",")] if wanted.strip() else []
    if allow_updates and len(conditions) == 1 and conditions[0][0] == "==":
        conditions = [(">=", conditions[0][1])]
    return any(all(_meets(version, *condition, ignore_epoch) for condition in conditions) for version in installed)


def verify_install(
    desired: Mapping[str, str | None], installed: Mapping[str, list[str]], *, ignore_epoch: bool | None = None
) -> tuple[list[str], list[str]]:
    """Return the desired packages that are installed as wanted, and those that are not."""
    done: list[str] = []
    failed: list[str] = []
    for name, version in desired.items():
        current = current_versions(name.partition("=")[0], installed)
        clean = __salt__["pkg_resource.version_clean"](version)
        fits = bool(current) and (
            version == "latest" or not clean or fulfils(current, clean, ignore_epoch=ignore_epoch)
        )
        (done if fits else failed).append(name)
    return done, failed


def current_versions(
    name: str, installed: Mapping[str, Any], provided: Mapping[str, list[str]] | None = None
) -> list[str]:
    """Return the installed versions of a package, under its normalised name too, or of the package that provides it."""
    found = installed.get(name)
    if not found and "pkg.normalize_name" in __salt__:
        found = installed.get(__salt__["pkg.normalize_name"](name))
    if not found and provided and provided.get(name):
        found = installed.get(provided[name][0])
    return list(found or ())


def _split(text: str) -> tuple[str, str]:
    match = _CONDITION.match(text.strip())
    if not match:
        return "==", text.strip()
    operator = {"": "==", "=": "==", "<<": "<", ">>": ">", "<>": "!="}.get(match[1] or "", match[1] or "")
    return operator, match[2]


def _meets(version: str, operator: str, wanted: str, ignore_epoch: bool | None) -> bool:
    if operator == "==" and fnmatch.fnmatch(version, wanted):
        return True
    if ignore_epoch is None:
        ignore_epoch = operator in {"==", "!="} and ":" not in wanted
    order = __salt__["pkg.version_cmp"](version, wanted, ignore_epoch=ignore_epoch)
    return order in _MEANING.get(operator, ())
