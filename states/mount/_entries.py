"""The mount states that only edit fstab."""

from __future__ import annotations

import os
from typing import Any

from asyncstate import filesystem
from asyncstate.data.mounts import field
from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, make_row, unchanged, would_change
from asyncstate.errors import CommandExecutionError

from .._paths import unwritable  # noqa: TID252 - as `states` for type checkers
from ._foretold import unmountable

_FSTAB = "/etc/fstab"


def refused_entry(entry: tuple[Any, ...], *, match_on: Any = "auto") -> str:
    """Return the reason why fstab cannot have an entry, "" if it can; checked before mounting."""
    if str(entry[1]).endswith("="):
        return f"{entry[1]!r} names no device"
    try:
        __salt__["mount.set_fstab"](*entry, test=True, match_on=match_on)
    except CommandExecutionError as error:
        return str(error)
    return ""


def fstab_present(
    name: str,
    fs_file: str,
    fs_vfstype: str,
    fs_mntops: str | list[str] = "defaults",
    fs_freq: Any = 0,
    fs_passno: Any = 0,
    mount_by: str | None = None,
    config: str = "/etc/fstab",
    mount: bool = True,
    match_on: Any = "auto",
    not_change: bool = False,
    fs_mount: bool = True,
) -> Row:
    """Make sure that fstab has the device ``name`` at ``fs_file``; ``mount`` mounts a new entry.

    ``mount_by`` (``device``, ``label``, ``uuid``, ``partlabel``, ``partuuid``) is the kind of name written for the
    device. With ``not_change`` an existing entry stays as it is. ::

        /dev/sdb1:
          mount.fstab_present:
            - fs_file: /srv
            - fs_vfstype: ext4
    """
    fs_file = _folder(fs_file)
    device = _device_by(name, mount_by)
    if not device:
        return failed(name, f"Device {name} cannot be converted to {mount_by}")
    if filesystem.judges():
        entry = (fs_file, device, fs_vfstype, fs_mntops, fs_freq, fs_passno, config)
        problem = f"{fs_file} is no absolute path" if mount and not fs_file.startswith("/") else ""
        if problem := problem or refused_entry(entry, match_on=match_on):
            return failed(name, problem)
    arguments = {
        "name": fs_file,
        "device": device,
        "fstype": fs_vfstype,
        "opts": fs_mntops,
        "dump": fs_freq,
        "pass_num": fs_passno,
        "config": config,
        "match_on": match_on,
        "not_change": not_change,
    }
    if is_dry_run():
        status = __salt__["mount.set_fstab"](**arguments, test=True)
        problem = "" if status == "present" else unwritable(config, "File not writable")
        if not problem and filesystem.foretells() and mount and status == "new":
            problem = _unmountable_entry(fs_file, device, fs_vfstype, fs_mntops, config)
        return failed(name, problem) if problem else _would_write(name, status, fs_file, config, mount=mount)
    done = __salt__["mount.set_fstab"](**arguments)
    if done == "present":
        return unchanged(name, f"{fs_file} entry was already in {config}.")
    changes = {"persist": done}
    if done == "change":
        return changed(name, f"{fs_file} entry updated in {config}.", changes)
    added = f"{fs_file} entry added in {config}."
    if not mount:
        return changed(name, added, changes)
    complaint = __salt__["mount.mount"](fs_file)
    is_mounted = complaint is True
    outcome = f"Mounted {name} on {fs_file}" if is_mounted else _error(complaint)
    return make_row(name, f"{added}\n{outcome}", changes, result=is_mounted)


def fstab_absent(name: str, fs_file: str, mount_by: str | None = None, config: str = "/etc/fstab") -> Row:
    """Make sure that fstab does not have the device ``name`` at ``fs_file``. An active mount stays.

    ::

        /dev/sdb1:
          mount.fstab_absent:
            - fs_file: /srv
    """
    fs_file = _folder(fs_file)
    device = _device_by(name, mount_by)
    if not __salt__["mount.in_fstab"](fs_file, device, config):
        return unchanged(name, f"{fs_file} entry is already missing in {config}.")
    if is_dry_run():
        if problem := unwritable(config, "File not writable"):
            return failed(name, problem)
        return would_change(name, f"{fs_file} entry will be removed from {config}.")
    __salt__["mount.rm_fstab"](name=fs_file, device=device, config=config)
    return changed(name, f"{fs_file} entry removed from {config}.", {"persist": "removed"})


def _would_write(name: str, status: str, fs_file: str, config: str, *, mount: bool) -> Row:
    if status == "present":
        return unchanged(name, f"{fs_file} entry is already in {config}.")
    verb = "written" if status == "new" else "updated"
    comments = [f"{fs_file} entry will be {verb} in {config}."]
    if status == "new" and mount:
        comments.append(f"Will mount {name} on {fs_file}")
    return would_change(name, "\n".join(comments))


def _unmountable_entry(fs_file: str, device: str, fstype: str, options: Any, config: str) -> str:
    """Return the error with which a new entry is not mounted, "" if it may be; the program reads /etc/fstab alone."""
    if os.path.realpath(config) != os.path.realpath(_FSTAB) and not __salt__["mount.in_fstab"](fs_file, config=_FSTAB):
        return f"{fs_file} would not be found in {_FSTAB}"
    active = __salt__["mount.active"](extended=True).get(field(fs_file))
    if active and device.startswith("/") and os.path.realpath(device) == active["device"]:
        return f"{device} already mounted on {fs_file}."
    return unmountable(fs_file, device, fstype, options.split(",") if isinstance(options, str) else list(options))


def _folder(path: str) -> str:
    return path if path == "/" else path.rstrip("/")


def _error(complaint: str) -> str:
    return f"Error while mounting {complaint.partition(':')[2] or complaint}"


def _device_by(name: str, kind: str | None) -> str | None:
    """Return a device's name of a kind: ``UUID=…`` for ``uuid``; None if blkid does not know it."""
    if not kind or (kind == "device" and name.startswith("/")) or name.startswith(f"{kind.upper()}="):
        return name
    if not name.startswith("/") and "=" not in name:
        return None  # neither a device nor a tag, such as tmpfs
    token = [name] if name.startswith("/") else ["-t", name]
    what = ["-o", "device"] if kind == "device" else ["-s", kind.upper(), "-o", "value"]
    answer = __salt__["cmd.run_all"](["blkid", *what, *token], python_shell=False, ignore_retcode=True)
    found = answer["stdout"].split()
    if answer["retcode"] != 0 and answer["stderr"]:
        raise CommandExecutionError(f"blkid failed: {answer['stderr']}")
    if len(found) != 1:
        return None
    return str(found[0]) if kind == "device" else f"{kind.upper()}={found[0]}"
