"""The ``mount`` execution module: active mounts and the entries of fstab, on Linux."""

from __future__ import annotations

import glob
import os
import re
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data import formats
from asyncstate.data.mounts import field as _field
from asyncstate.data.mounts import first_field as _first_field
from asyncstate.data.values import fields_of as _fields_of
from asyncstate.data.values import unfit as _unfit
from asyncstate.dunders import __context__, __grains__, __opts__, __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.process.lineage import program_of

from . import _fstab, _mount_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOUNTINFO = "/proc/self/mountinfo"
_MOUNTS = "/proc/self/mounts"
_SWAPS = "/proc/swaps"
_LOOP_FILES = "/sys/block/loop*/loop/backing_file"
_CACHE = "mounts"
_BLKID = "mount.blkid"


def __virtual__() -> bool | tuple[bool, str]:
    """Load on Linux."""
    if __grains__.get("kernel") == "Linux":
        return True
    return False, "The mount module cannot be loaded: only Linux is supported."


def active(extended: bool = False) -> dict[str, Any]:
    """Return the active mounts by mount point: ``device``, ``alt_device``, ``fstype``, ``opts``.

    ``extended`` adds facts from mountinfo and blkid: ``superopts``, ``root``, ``device_uuid``, ``device_label`` …
    """
    return _from_mountinfo() if extended else _from_mounts()


def is_mounted(name: str) -> bool:
    """Return whether something is mounted at a path."""
    return _field(name) in active()


def fstab(config: str = "/etc/fstab") -> dict[str, Any]:
    """Return the entries of fstab by mount point: ``device``, ``fstype``, ``opts`` (a list), ``dump``, ``pass``."""
    return _fstab.entries(config)


def in_fstab(name: str, device: str | None = None, config: str = "/etc/fstab") -> bool:
    """Return whether fstab has an entry for mount point ``name``, of ``device`` if that is given."""
    wanted = {"name": _field(name), **({} if device is None else {"device": _first_field(device)})}
    return _fstab.has(config, wanted)


def set_fstab(
    name: str,
    device: str,
    fstype: str,
    opts: Any = "defaults",
    dump: Any = 0,
    pass_num: Any = 0,
    config: str = "/etc/fstab",
    test: bool = False,
    match_on: Any = "auto",
    not_change: bool = False,
    **kwargs: Any,
) -> str:
    """Put this entry into fstab; return "new", "change" or "present".

    ``match_on`` names the fields that identify the entry; with ``not_change`` an existing one stays as it is.
    """
    options = ",".join(opts) if isinstance(opts, list) else str(opts)
    entry = {
        "name": _field(name),
        "device": _first_field(device),
        "fstype": fstype,
        "opts": _field(options),
        "dump": str(dump),
        "pass_num": str(pass_num),
    }
    if not name or not device:
        raise CommandExecutionError(f"an entry of {config} needs a mount point and a device")
    words = [options.replace("\\ ", ""), fstype, *(entry[key] for key in ("dump", "pass_num"))]
    if problem := _unfit(f"an entry of {config}", [options, *entry.values()], words):
        raise CommandExecutionError(problem)
    keys = _fstab.criteria(match_on, fstype)
    return _fstab.put(config, entry, keys, test=test, keep=not_change)


def rm_fstab(name: str, device: str | None = None, config: str = "/etc/fstab") -> bool:
    """Remove the entries of mount point ``name``, and of ``device`` if that is given, from fstab."""
    _fstab.drop(config, _field(name), None if device is None else _first_field(device))
    return True


def mount(
    name: str,
    device: Any = False,
    mkmnt: bool = False,
    fstype: str = "",
    opts: Any = "defaults",
    user: str | None = None,
    util: str = "mount",
) -> bool | str:
    """Mount a device, or fstab's entry for a path; return True or the program's error.

    ``mkmnt`` makes the folder; it goes again if nothing can be mounted.
    """
    if util != "mount":
        return False
    filesystem.require_own_place(name, "mount", user)
    made: list[str] = []
    folder = os.path.normpath(name)
    while mkmnt and folder and not os.path.exists(folder):
        made.append(folder)
        folder = os.path.dirname(folder)
    if made:
        __salt__["file.mkdir"](name, user=user)
    what = [*_options(opts, fstype), str(device), name] if device else [name]
    done = _done(["mount", *what], user)
    if done is not True:
        _remove_empty(made)
    return done


def _remove_empty(folders: list[str]) -> None:
    for folder in folders:
        try:
            filesystem.rmdir(folder)
        except OSError:  # another program has put a file there
            return


def remount(
    name: str, device: str, mkmnt: bool = False, fstype: str = "", opts: Any = "defaults", user: str | None = None
) -> bool | str:
    """Mount again with other options, or mount if it is not mounted; return True or the program's error message."""
    wanted = _listed(opts)
    if _field(name) not in active():
        return mount(name, device, mkmnt, fstype, wanted, user=user)
    filesystem.require_own_place(name, "mount", user)
    if "remount" not in wanted:
        wanted.append("remount")
    return _done(["mount", *_options(wanted, fstype), device, name], user)


def umount(
    name: str, device: str | None = None, user: str | None = None, util: str = "mount", lazy: bool = False
) -> bool | str:
    """Unmount a path, or one ``device`` there; return True or the program's error message."""
    if _field(name) not in active():
        return f"{name} does not have anything mounted"
    filesystem.require_own_place(name, "umount", user)
    return _done(["umount", *(["-l"] if lazy else []), device or name], user)


def user_of(name: str) -> str:
    """Return in words a mount, a file or a process that keeps the mount at a path from being undone, "" if none does.

    Not seen: shared libraries of a process, an export by NFS, and other uses by the kernel itself.
    """
    mounts = _from_mountinfo()
    here = mounts.get(_field(name))
    if here is None or name == "/":
        return ""
    above = next((path for path, each in mounts.items() if each["parentid"] == here["mountid"]), "")
    if above:
        return f"{above} is mounted on it"
    used = next((file for file in _used_by_the_kernel() if get_mount_from_path(file) == os.path.realpath(name)), "")
    if used:
        return f"{used} is swap space, or the file of a loop device"
    pid = _mount_facts.user_of(int(here["mountid"]))
    return "" if pid is None else f"process {pid} ({program_of(pid)}) uses it"


def _used_by_the_kernel() -> Iterator[str]:
    """Yield the files that are swap space, and those of loop devices."""
    yield from swaps()
    for path in glob.glob(_LOOP_FILES):
        with suppress(CommandExecutionError):  # the device was closed meanwhile
            yield _text(path).strip()


def refused_type(fstype: str, opts: Any = "defaults") -> str:
    """Return why no file system of a type can be mounted with these options, "" if one may be."""
    return _mount_facts.refused_type(fstype, _listed(opts))


def refused_options(fstype: str, opts: Any = "defaults") -> str:
    """Return why no file system of a type can be mounted with these options, "" if one may be, as the kernel says."""
    return _mount_facts.refused_options(fstype, _listed(opts))


def swaps() -> dict[str, Any]:
    """Return the active swap space by device or file: ``type``, ``size``, ``used``, ``priority``."""
    found = {}
    for line in _text(_SWAPS).strip("\n").split("\n")[1:]:
        name, kind, size, used, priority, *_ = _fields_of(line)
        found[name] = {"type": kind, "size": size, "used": used, "priority": priority}
    return found


def swapon(name: str, priority: Any = None) -> dict[str, Any]:
    """Activate swap space: ``stats`` of it and whether it is ``new``, {} if that failed."""
    if name.startswith("-"):
        raise CommandExecutionError(f"{name!r} begins with '-', which swapon would take for an option")
    if name.startswith("/"):
        filesystem.require_unshared(name, "swapon")
    before = swaps()
    if name in before:
        return {"stats": before[name], "new": False}
    __salt__["cmd.run_all"](["swapon", name, *(["-p", str(priority)] if priority else [])], python_shell=False)
    after = swaps()
    return {"stats": after[name], "new": True} if name in after else {}


def swapoff(name: str) -> bool | None:
    """Deactivate swap space; None if it was not active."""
    if name not in swaps():
        return None
    __salt__["cmd.run_all"](["swapoff", name], python_shell=False)
    return name not in swaps()


def is_fuse_exec(cmd: str) -> bool:
    """Return whether a program mounts by FUSE, that is, is linked to that library."""
    path = shutil.which(cmd)
    if not path:
        return False
    if not shutil.which("ldd"):
        raise CommandExecutionError("ldd")
    return "libfuse" in __salt__["cmd.run"](["ldd", path], python_shell=False)


def get_mount_from_path(path: str) -> str:
    """Return the mount point that contains a path."""
    path = os.path.realpath(path)
    while path != "/" and not os.path.ismount(path):
        path = os.path.dirname(path)
    return path


def get_device_from_path(path: str) -> Any:
    """Return the device that contains a path."""
    return active().get(get_mount_from_path(path), {}).get("device")


def read_mount_cache(name: str) -> dict[str, Any]:
    """Return the arguments with which a state last mounted at a path, {} if none did."""
    return dict(_cache().get(name) or {})


def write_mount_cache(real_name: str, device: str, mkmnt: bool, fstype: str, mount_opts: Any) -> bool:
    """Store the arguments of a mount at a path."""
    about = {"device": device, "fstype": fstype, "mkmnt": mkmnt, "opts": mount_opts}
    return _write_cache({**_cache(), real_name: about})


def delete_mount_cache(real_name: str) -> bool:
    """Remove the stored arguments of a mount at a path."""
    known = _cache()
    return _write_cache({name: each for name, each in known.items() if name != real_name}) if known else True


def _options(opts: Any, fstype: str) -> list[str]:
    options = ["-o", ",".join(_listed(opts))] if opts is not None else []
    return [*options, *(["-t", fstype] if fstype else [])]


def _listed(opts: Any) -> list[str]:
    return opts.split(",") if isinstance(opts, str) else list(opts)


def _done(command: list[str], user: str | None) -> bool | str:
    *_, before, last = command
    for word in (before, last):
        if word.startswith("-") and word != "-l":
            return f"{word!r} begins with '-', which {command[0]} would take for an option"
    answer = __salt__["cmd.run_all"](command, runas=user, python_shell=False)
    return True if not answer["retcode"] else str(answer["stderr"])


def _from_mounts() -> dict[str, Any]:
    found = {}
    listed = _listed_devices()
    for line in _text(_MOUNTS).strip("\n").split("\n"):
        device, name, fstype, opts, *_ = _fields_of(line)
        about = {"device": device, "alt_device": listed.get(name), "fstype": fstype}
        found[name] = {**about, "opts": _resolved(opts)}
    return found


def _from_mountinfo() -> dict[str, Any]:
    found = {}
    listed, known = _listed_devices(), _block_devices()
    for line in _text(_MOUNTINFO).strip("\n").split("\n"):
        fields, _, rest = line.partition(" - ")
        mount_id, parent, number, root, name, opts, *_ = _fields_of(fields)
        fstype, device, superopts = [*_fields_of(rest), "", ""][:3]
        major, _, minor = number.partition(":")
        block = known.get(device, {})
        found[name] = {
            "mountid": mount_id,
            "parentid": parent,
            "major": major,
            "minor": minor,
            "root": root,
            "opts": _resolved(opts),
            "fstype": fstype,
            "device": device.replace("\\040", "\\ "),
            "alt_device": listed.get(name),
            "superopts": _resolved(superopts),
            "device_uuid": block["UUID"].lower() if "UUID" in block else None,
            "device_label": block.get("LABEL"),
        }
    return found


def _listed_devices() -> dict[str, str]:
    """Return the device of each mount point, from the program mount, which follows links."""
    lines = __salt__["cmd.run_stdout"](["mount", "-l"], python_shell=False).splitlines()
    return {words[2]: words[0] for words in map(str.split, lines) if len(words) > 2}


def _block_devices() -> dict[str, dict[str, str]]:
    """Return blkid's facts about each device, read once in a run."""
    if _BLKID not in __context__:
        found = {}
        if shutil.which("blkid"):
            answer = __salt__["cmd.run_all"](["blkid", "-o", "full"], python_shell=False, ignore_retcode=True)
            for line in answer["stdout"].splitlines():
                device, _, rest = line.partition(": ")
                found[device] = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        __context__[_BLKID] = found
    known: dict[str, dict[str, str]] = __context__[_BLKID]
    return known


def _resolved(opts: str) -> list[str]:
    """Return options with the numbers of users and groups in place of their names."""
    return [_numbered(opt).replace("\\040", "\\ ") for opt in opts.split(",")]


def _numbered(opt: str) -> str:
    key, equals, value = opt.partition("=")
    if key not in {"uid", "gid"} or not equals or value.isdigit():
        return opt
    account = __salt__["user.info" if key == "uid" else "group.info"](value)
    return f"{key}={account.get(key, value) if account else value}"


def _text(path: str) -> str:
    try:
        with filesystem.open_text(path, errors="surrogateescape") as file:
            return file.read()
    except OSError as error:
        raise CommandExecutionError(f"File not readable {path}: {error.strerror}") from error


def _cache_path() -> str:
    return os.path.join(str(__opts__["cachedir"]), _CACHE)


def _cache() -> dict[str, Any]:
    try:
        known = formats.yaml_data(_text(_cache_path()))
    except (CommandExecutionError, ValueError):
        return {}
    return dict((known.get("mounts") if isinstance(known, dict) else None) or {})


def _write_cache(mounts: dict[str, Any]) -> bool:
    import yaml  # noqa: PLC0415 - needed only for the mount cache

    try:
        os.makedirs(str(__opts__["cachedir"]), exist_ok=True)
        filesystem.replace_content(_cache_path(), yaml.safe_dump({"mounts": mounts}).encode(), access=_PRIVATE)
    except OSError as error:
        raise CommandExecutionError(f"Unable to write mount cache: {error.strerror}") from error
    return True


_PRIVATE = filesystem.Access(mode=0o600)
"""Mount options may contain passwords."""
