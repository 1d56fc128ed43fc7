"""The attributes of ext file systems, as lsattr and chattr know them."""

from __future__ import annotations

import re
import shutil
from typing import Any, NamedTuple

from asyncstate import filesystem
from asyncstate.data.values import ATTRIBUTES as _ATTRIBUTES
from asyncstate.dunders import __salt__, is_dry_run
from asyncstate.errors import CommandExecutionError, InvocationError

_LETTERS = re.compile(r"[aAcCdDeijPsStTu]")


class _Difference(NamedTuple):
    added: str
    removed: str


def lsattr(path: str) -> dict[str, list[str]] | None:
    """Return the attribute letters of ``path``, or of everything in a directory; None if there is no lsattr."""
    if not shutil.which("lsattr"):
        return None
    if not filesystem.exists(path):
        raise InvocationError(f"File or directory does not exist: {path}")
    found: dict[str, list[str]] = {}
    for line in __salt__["cmd.run"](["lsattr", path], ignore_retcode=True, python_shell=False).splitlines():
        letters, _, name = line.partition(" ")
        if name and not line.startswith("lsattr: "):
            found[name.strip()] = _LETTERS.findall(letters)
    return found


def chattr(*files: str, **kwargs: Any) -> bool:
    """Add or remove ``attributes`` (``operator`` is "add" or "remove") of ``files``; False if chattr failed."""
    operator, attributes = kwargs.get("operator"), kwargs.get("attributes")
    if operator not in ("add", "remove"):
        raise InvocationError("Need an operator: 'add' or 'remove' to modify attributes.")
    if attributes is None:
        raise InvocationError("Need attributes: [aAcCdDeijPsStTu]")
    for path in files:
        filesystem.require_unshared(path, "chattr")
    command = ["chattr", f"{'+' if operator == 'add' else '-'}{attributes}"]
    if kwargs.get("flags") is not None:
        command.append(f"-{kwargs['flags']}")
    if kwargs.get("version") is not None:
        command.extend(["-v", str(kwargs["version"])])
    return not __salt__["cmd.run"]([*command, *files], python_shell=False)


def require_settable(name: str, attrs: str | None) -> None:
    """Refuse letters that chattr does not know, and a path that other users could redirect: PathRefused.

    Do nothing if there is no attribute to set.
    """
    if attrs is not None and shutil.which("lsattr"):
        filesystem.require_unshared(name, "chattr")
        if filesystem.judges() and not set(attrs) <= set(_ATTRIBUTES):
            raise CommandExecutionError(f"'attrs' must be letters of chattr, {_ATTRIBUTES}, not {attrs!r}")


def attribute_difference(name: str, attrs: str) -> _Difference | None:
    """Return the letters to add and to remove; None if attributes cannot be read. ``e`` (extents) stays as it is."""
    try:
        listed = lsattr(name)
    except InvocationError:
        return None
    if not listed or name not in listed:
        return None
    wanted, present = set(attrs), set(listed[name])
    wanted |= present & {"e"}
    return _Difference("".join(sorted(wanted - present)), "".join(sorted(present - wanted)))


def check_attributes(name: str, ret: dict[str, Any], attrs: str, notes: list[str]) -> None:
    """Set the attributes of ``name`` to ``attrs``, unless it is a dry run; add the result to ``ret`` and ``notes``."""
    difference = attribute_difference(name, attrs)
    if difference is None or not any(difference):
        return
    require_settable(name, attrs)
    changes = {"old": "".join((lsattr(name) or {})[name]), "new": attrs}
    if not is_dry_run():
        for operator, letters in zip(("add", "remove"), difference, strict=True):
            if letters:
                chattr(name, operator=operator, attributes=letters)
        left = attribute_difference(name, attrs)
        if left is None or any(left):
            ret["result"] = False
            notes.append(f"Failed to change attributes to {attrs}")
            changes["new"] = "".join((lsattr(name) or {}).get(name, []))
    if changes["old"] != changes["new"]:
        ret["changes"]["attrs"] = changes
