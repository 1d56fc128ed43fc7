"""SELinux contexts of files."""

from __future__ import annotations

import os
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__, is_dry_run
from asyncstate.errors import CommandExecutionError

_PARTS = ("user", "role", "type", "range")
_OPTIONS = {"user": "-u", "role": "-r", "type": "-t", "range": "-l"}


def restorecon(path: str, recursive: bool = False) -> bool:
    """Give ``path`` the context that the policy assigns to it; False if restorecon failed."""
    filesystem.require_unshared(path, "restorecon")
    return not __salt__["cmd.retcode"](["restorecon", "-FR" if recursive else "-F", path], python_shell=False)


def get_selinux_context(path: str) -> str:
    """Return ``user:role:type:range`` of ``path``, or an error text if it has none."""
    answer = __salt__["cmd.run_all"](["stat", "-c", "%C", path], python_shell=False, ignore_retcode=True)
    if answer["retcode"] == 0:
        return str(answer["stdout"])
    return f"No selinux context information is available for {path}"


def set_selinux_context(
    path: str,
    user: str | None = None,
    role: str | None = None,
    type: str | None = None,
    range: str | None = None,
    persist: bool = False,
) -> str | bool:
    """Set parts of the context and return the whole; False if no part is given or chcon failed.

    ``persist`` also writes it into the policy.
    """
    wanted = {key: value for key, value in zip(_PARTS, (user, role, type, range), strict=True) if value}
    if not wanted:
        return False
    if persist:
        added = __salt__["selinux.fcontext_add_policy"](path, sel_type=type, sel_user=user, sel_level=range)
        if added.get("retcode") != 0:
            raise CommandExecutionError(f"Problem setting fcontext: {added}")
    filesystem.require_unshared(path, "chcon")
    command = ["chcon"]
    for key, value in wanted.items():
        command += [_OPTIONS[key], value]
    if __salt__["cmd.retcode"]([*command, path], python_shell=False):
        return False
    return get_selinux_context(path)


def context_difference(name: str, wanted: dict[str, str | None]) -> tuple[dict[str, str], dict[str, str]] | None:
    """Return the parts of the context that differ, the present and the wanted ones; None if there is no context."""
    present = get_selinux_context(name).split(":", 3)
    if len(present) != len(_PARTS):
        return None
    now = dict(zip(_PARTS, present, strict=True))
    new = {key: value for key, value in wanted.items() if value and value != now[key]}
    return {key: now[key] for key in new}, new


def require_relabelled(name: str, wanted: dict[str, str | None]) -> None:
    """Raise PathRefused if chcon would run on a path that other users could redirect.

    Called in dry runs, and before a file is written.
    """
    if not any(wanted.values()):
        return
    place = name
    while len(place) > 1 and not filesystem.lexists(place):
        place = os.path.dirname(place)
    if filesystem.judges() and context_difference(place, wanted) is None:
        raise CommandExecutionError("Failed to get selinux attributes")
    if place == name:
        difference = context_difference(name, wanted)
        if difference is None or not difference[1]:
            return
    filesystem.require_unshared(name, "chcon")


def check_context(name: str, ret: dict[str, Any], notes: list[str], **wanted: str | None) -> None:
    """Set the given parts ``user``, ``role``, ``type``, ``range``; add the result to ``ret`` and ``notes``."""
    difference = context_difference(name, wanted)
    if difference is None:
        ret["result"] = False
        notes.append("Failed to get selinux attributes")
        return
    old, new = difference
    if not new:
        return
    filesystem.require_unshared(name, "chcon")
    report = {"Old": _describe(old), "New": _describe(new)}
    if is_dry_run():
        notes.append(f"File {name} selinux context to be updated")
        ret["result"] = None
        ret["changes"]["selinux"] = report
        return
    if "type" not in new:
        new = {**new, "type": get_selinux_context(name).split(":", 3)[2]}
    set_selinux_context(name, **new, persist=True)
    left = context_difference(name, wanted)
    if left is None:
        ret["result"] = False
        notes.append("Failed to set selinux attributes")
        return
    notes.append(f"The file {name} is set to be changed")
    for key in left[1]:
        notes.append(f"Unable to update se{key} context")
        ret["result"] = False
    ret["changes"]["selinux"] = report


def _describe(parts: dict[str, str]) -> str:
    return " ".join(f"{key.title()}: {parts[key]}" for key in _PARTS if key in parts)
