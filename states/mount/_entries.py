"""The mount states that are about fstab alone."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import __opts__, __salt__
from asyncstate.errors import CommandExecutionError

from ._row import Row, new_row


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
    """Make sure that fstab has the device ``name`` at ``fs_file``; what is new there is mounted with ``mount``.

    ``mount_by`` (``device``, ``label``, ``uuid``, ``partlabel``, ``partuuid``) writes the device by that name of it.
    With ``not_change`` an entry that is there stays as it is. ::

        /dev/sdb1:
          mount.fstab_present:
            - fs_file: /srv
            - fs_vfstype: ext4
    """
    row: Row = new_row(name)
    fs_file = _folder(fs_file)
    device = _device_by(name, mount_by)
    if not device:
        return {**row, "result": False, "comment": f"Device {name} cannot be converted to {mount_by}"}
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
    if __opts__["test"]:
        return _foretold(row, __salt__["mount.set_fstab"](**arguments, test=True), fs_file, config, mount=mount)
    done = __salt__["mount.set_fstab"](**arguments)
    if done == "present":
        return {**row, "comment": f"{fs_file} entry was already in {config}."}
    row["changes"] = {"persist": done}
    if done == "change":
        return {**row, "comment": f"{fs_file} entry updated in {config}."}
    comments = [f"{fs_file} entry added in {config}."]
    if mount:
        complaint = __salt__["mount.mount"](fs_file)
        row["result"] = complaint is True
        comments.append(f"Mounted {name} on {fs_file}" if complaint is True else _error(complaint))
    return {**row, "comment": "\n".join(comments)}


def fstab_absent(name: str, fs_file: str, mount_by: str | None = None, config: str = "/etc/fstab") -> Row:
    """Make sure that fstab does not have the device ``name`` at ``fs_file``. What is mounted stays mounted.

    ::

        /dev/sdb1:
          mount.fstab_absent:
            - fs_file: /srv
    """
    row = new_row(name)
    fs_file = _folder(fs_file)
    is_there = fs_file in __salt__["mount.fstab"](config)
    if __opts__["test"]:
        what = "will be removed from" if is_there else "is already missing in"
        return {**row, "result": None, "comment": f"{fs_file} entry {what} {config}."}
    if not is_there:
        return {**row, "comment": f"{fs_file} entry is already missing in {config}."}
    __salt__["mount.rm_fstab"](name=fs_file, device=_device_by(name, mount_by), config=config)
    return {**row, "changes": {"persist": "removed"}, "comment": f"{fs_file} entry removed from {config}."}


def _foretold(row: Row, status: str, fs_file: str, config: str, *, mount: bool) -> Row:
    if status == "present":
        return {**row, "comment": f"{fs_file} entry is already in {config}."}
    verb = "written" if status == "new" else "updated"
    comments = [f"{fs_file} entry will be {verb} in {config}."]
    if status == "new" and mount:
        comments.append(f"Will mount {row['name']} on {fs_file}")
    return {**row, "result": None, "comment": "\n".join(comments)}


def _folder(path: str) -> str:
    return path if path == "/" else path.rstrip("/")


def _error(complaint: str) -> str:
    return f"Error while mounting {complaint.partition(':')[2] or complaint}"


def _device_by(name: str, kind: str | None) -> str | None:
    """Return the name of a kind that a device has: ``UUID=…`` for ``uuid``; None if blkid does not know it."""
    if not kind or (kind == "device" and name.startswith("/")) or name.startswith(f"{kind.upper()}="):
        return name
    token = [name] if name.startswith("/") else ["-t", name]
    what = ["-o", "device"] if kind == "device" else ["-s", kind.upper(), "-o", "value"]
    answer = __salt__["cmd.run_all"](["blkid", *what, *token], python_shell=False, ignore_retcode=True)
    found = answer["stdout"].split()
    if answer["retcode"] != 0 and answer["stderr"]:
        raise CommandExecutionError(f"blkid failed: {answer['stderr']}")
    if len(found) != 1:
        return None
    return str(found[0]) if kind == "device" else f"{kind.upper()}={found[0]}"
