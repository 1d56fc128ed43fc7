"""``file.mknod``: device nodes and named pipes."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __salt__, failed, is_dry_run, would_change

from .arguments import expand, missing_accounts, misspelt

_KINDS = {
    "c": ("Character device", "a character device", "file.is_chrdev"),
    "b": ("Block device", "a block device", "file.is_blkdev"),
    "p": ("Fifo pipe", "a fifo pipe", "file.is_fifo"),
}
_MAJOR, _MINOR = (1 << 12) - 1, (1 << 20) - 1
"""The largest device numbers in Linux."""


def mknod(
    name: str,
    ntype: str,
    major: int = 0,
    minor: int = 0,
    user: str | int | None = None,
    group: str | int | None = None,
    mode: Any = "0600",
) -> Row:
    """Make a character device (``c``), block device (``b``) or pipe (``p``) with this owner and mode."""
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.mknod")
    problem = misspelt(name)
    if problem:
        return failed(name, problem)
    if ntype not in _KINDS:
        return failed(
            name,
            f"Node type unavailable: '{ntype}'. Available node types are character ('c'), block ('b'), and pipe ('p')",
        )
    for what, number, largest in (("major", major, _MAJOR), ("minor", minor, _MINOR)):
        if ntype != "p" and not (isinstance(number, int) and 0 <= number <= largest):
            return failed(name, f"'{what}' must be a number from 0 to {largest}, not {number}")
    for look_up, account in (("file.user_to_uid", user), ("file.group_to_gid", group)):
        __salt__[look_up](account)  # raises for an invalid account name, before the node is made
    if filesystem.judges() and (problem := missing_accounts(user, group)):
        return failed(name, problem)
    title, kind, test = _KINDS[ntype]
    if filesystem.is_file(name):
        return failed(name, f"File {name} exists and is not {kind}. Refusing to continue")
    if not __salt__[test](name):
        if filesystem.foretells() and filesystem.lexists(name):
            return failed(name, f"File {name} exists and cannot be overwritten")
        try:
            if not filesystem.room_for(name, partial(__salt__["file.makedirs"], name, user, group)):
                return failed(name, f"{os.path.dirname(name)} is not a directory")
            if is_dry_run():
                return would_change(name, f"{title} {name} is set to be created")
            made: Row = __salt__["file.mknod"](name, ntype, major, minor, user, group, mode)
        except OSError as error:
            return failed(name, str(error))
        return made
    if ntype != "p":
        present = __salt__["file.get_devmm"](name)
        if tuple(present) != (major, minor):
            return failed(
                name,
                f"{title} {name} exists and has a different major/minor {present[0]}/{present[1]}. "
                "Refusing to continue",
            )
    checked: Row = __salt__["file.check_perms"](name, None, user, group, mode)[0]
    if not checked["changes"]:
        checked["comment"] = f"{title} {name} is in the correct state"
    return checked
