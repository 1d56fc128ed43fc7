"""The failures of a mount that a dry run foretells."""

from __future__ import annotations

import os

from asyncstate.dunders import __salt__

_BY_DISK = "/dev/disk/by-{}/{}"
_TAGS = frozenset({"UUID", "PARTUUID", "PARTLABEL"})
"""Names of devices that are looked for on the disks."""
_NOT_FOUND = 2
"""The exit status of blkid where no device has a tag."""
_NO_TYPE_NEEDED = frozenset({"bind", "rbind", "move", "remount"})


def unmountable(name: str, device: str, fstype: str, options: list[str], *, mkmnt: bool = False) -> str:
    """Return the error with which a run, or the program in it, fails to mount; "" if it may not."""
    exists = os.path.exists(name)
    if not exists and not mkmnt:
        return "Mount directory is not present"
    is_path = device.startswith("/") and not device.startswith("//")
    if is_path and not os.path.exists(device):
        return f"{device} does not exist"
    tag, _, value = device.partition("=")
    if tag.upper() in _TAGS and not _is_on_a_disk(tag.upper(), value.strip('"')):
        return f"Unable to find device with {tag.lower()} {value}."
    needs_no_type = not _NO_TYPE_NEEDED.isdisjoint(options)
    if not needs_no_type:
        problem = str(__salt__["mount.refused_type"](fstype, options) or refused_options(fstype, options))
        if problem:
            return problem
    binds = not {"bind", "rbind"}.isdisjoint(options)
    needs_folder = os.path.isdir(device) if binds else not fstype.startswith("fuse")
    if exists and needs_folder != os.path.isdir(name):
        return f"{name} is {'no' if needs_folder else 'a'} directory"
    return ""


def refused_options(fstype: str, options: list[str]) -> str:
    """Return why a file system cannot have these options, "" if it may."""
    return str(__salt__["mount.refused_options"](fstype, options))


def stuck(name: str) -> str:
    """Return why a mount cannot be undone, "" if it may be."""
    user = __salt__["mount.user_of"](name)
    return f"umount: {name}: target is busy: {user}" if user else ""


def _is_on_a_disk(tag: str, value: str) -> bool:
    if not value or os.path.exists(_BY_DISK.format(tag.lower(), value)):
        return True
    answer = __salt__["cmd.run_all"](["blkid", "-t", f"{tag}={value}", "-o", "device"], python_shell=False)
    return bool(answer["retcode"] != _NOT_FOUND)
