"""What the kernel tells of mounts: the types and options that it takes, and the processes that keep a mount busy."""

from __future__ import annotations

import ctypes
import errno
import grp
import os
import pwd
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from asyncstate.process.lineage import pids

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PROC = "/proc"
_MODULES = "/lib/modules"
_HELPERS = "/sbin:/sbin/fs.d:/sbin/fs:/usr/sbin:/usr/local/sbin"
_LEFT_TO_THE_PROGRAM = frozenset({"", "auto"})
_OF_THE_PROGRAM = frozenset(
    """async atime auto bind comment context defaults defcontext dev diratime dirsync exec fscontext group helper
    iversion lazytime loop loud mand move noatime noauto nodev nodiratime noexec nofail noiversion nolazytime noloop
    nomand norelatime nostrictatime nosuid nosymfollow nouser nousers offset owner _netdev private rbind relatime
    remount ro rootcontext rprivate rshared rslave runbindable rw seclabel shared silent sizelimit slave strictatime
    suid symfollow sync uhelper unbindable user users verity.hashdevice verity.roothash""".split()
)
"""The options for every type of file system of mount(8), and those of its loop devices; SELinux judges contexts."""
_BY_A_HELPER = {"nfs": "addr=", "nfs4": "addr=", "fuse": "fd=", "fuseblk": "fd="}
"""Types that the kernel mounts only with an option that the helper program adds."""
_FSOPEN, _FSCONFIG = 430, 431
"""The numbers of the system calls on every architecture except alpha and mips."""
_OTHER_NUMBERS = ("alpha", "mips")
_CLOEXEC = 1
_SET_FLAG, _SET_STRING = 0, 1
_OF_THE_OPTION = frozenset({errno.EINVAL, errno.ENOENT, errno.ENOTDIR, errno.ERANGE, errno.ELOOP, errno.ENAMETOOLONG})
"""Errors because of an option. Others say that this process may not ask, or that the kernel has no such call."""


def refused_type(fstype: str, options: Iterable[str]) -> str:
    """Return why no file system of a type can be mounted, "" if one may be."""
    kinds = fstype.split(",")
    if not _LEFT_TO_THE_PROGRAM.isdisjoint(kinds) or (kinds[0].startswith("no") and kinds[0] != "none"):
        return ""
    if any(_has_helper(kind) for kind in kinds):
        return ""
    for kind in kinds:
        option = _BY_A_HELPER.get(kind.partition(".")[0])
        if option and not any(each.startswith(option) for each in options):
            return f"There is no program mount.{kind}, which mounts file systems of the type {kind}"
    return "" if any(map(_may_be_known, kinds)) else f"unknown filesystem type '{fstype}'"


def refused_options(fstype: str, options: Iterable[str]) -> str:
    """Return why no file system of a type can be mounted with these options, "" if one may be.

    Only a kernel that has the type loaded is asked, and only for root. What a helper program, such as mount.nfs, makes
    of its options, and what depends on the device, is not known.
    """
    kind = fstype.partition(",")[0].partition(".")[0]
    loaded = kind in _loaded()
    if os.geteuid() != 0 or not loaded or kind in _BY_A_HELPER or "," in fstype or _has_helper(fstype):
        return ""
    return _refused_option(kind, [each for each in options if not _is_of_the_program(each)])


def _is_of_the_program(option: str) -> bool:
    """Whether an option is for every type, or the program mount reads or rewrites it."""
    key, _, value = option.partition("=")
    return option == "" or key in _OF_THE_PROGRAM or key.startswith(("x-", "X-")) or _is_account(key, value)


def _is_account(key: str, value: str) -> bool:
    """Whether a value is the name of a user or group, for which the program gives the number."""
    try:
        return bool(pwd.getpwnam(value) if key == "uid" else key == "gid" and grp.getgrnam(value))
    except KeyError:
        return False


def _loaded() -> set[str]:
    try:
        return {line.split("\t")[-1] for line in _text(f"{_PROC}/filesystems").splitlines()}
    except OSError:
        return set()


def _has_helper(kind: str) -> bool:
    path = f"{_HELPERS}:{os.environ.get('PATH', '')}"
    return any(
        shutil.which(f"mount.{name}", path=path) for name in {kind, kind.partition(".")[0]} if os.sep not in name
    )


def _may_be_known(kind: str) -> bool:
    """Whether the kernel knows a type, or may load a module that does: in a container, one of the host."""
    kind = kind.partition(".")[0]
    known = _loaded()
    if not known:
        return True
    if kind in known or not os.path.exists(f"{_PROC}/modules"):
        return kind in known
    folder = f"{_MODULES}/{os.uname().release}"
    try:
        return f"alias fs-{kind} " in _text(f"{folder}/modules.alias") or f"/{kind}.ko" in _text(
            f"{folder}/modules.dep"
        )
    except OSError:
        return True


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _refused_option(fstype: str, options: Iterable[str]) -> str:
    """Return the kernel's words about the first of these options that a known type of file system refuses, "" for none.

    ``options`` are those of the file system, without the ones that the program mount keeps for itself. A type that
    takes all options as they come refuses them later, when it is mounted, and so do options that depend on the device.
    """
    if os.uname().machine.startswith(_OTHER_NUMBERS):
        return ""
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    context = syscall(_FSOPEN, os.fsencode(fstype), _CLOEXEC)
    if context < 0:
        return ""
    try:
        for option in options:
            key, equals, value = option.partition("=")
            given = os.fsencode(value) if equals else None
            if syscall(_FSCONFIG, context, _SET_STRING if equals else _SET_FLAG, os.fsencode(key), given, 0) < 0:
                number = ctypes.get_errno()
                if number in _OF_THE_OPTION:
                    return f"{fstype} refuses the option {option}: {_words(context) or os.strerror(number)}"
    finally:
        os.close(context)
    return ""


def _words(context: int) -> str:
    """Return the last message that the kernel keeps with a context, "" if it has none."""
    said = ""
    with suppress(OSError):  # it has no more
        while line := os.read(context, 4096).decode(errors="replace").strip():
            said = line
    return said.partition(" ")[2]


def user_of(mount: int) -> int | None:
    """Return a process that has a folder, its program or an open file in the mount of this ID; None if none is seen.

    Shared libraries of a process, and uses by the kernel itself, are not seen.
    """
    return next((pid for pid in pids() if mount in _mounts_of(pid)), None)


def _mounts_of(pid: int) -> Iterator[int]:
    """Yield the IDs of the mounts that a process has its folders, its program and its open files in."""
    for name in ("cwd", "root", "exe"):
        with suppress(OSError):
            descriptor = os.open(f"/proc/{pid}/{name}", os.O_PATH | os.O_CLOEXEC)
            try:
                yield from _mount_of(f"/proc/self/fdinfo/{descriptor}")
            finally:
                os.close(descriptor)
    if pid == os.getpid():
        return  # among its open files are those of this look
    with suppress(OSError):
        for file in os.listdir(f"/proc/{pid}/fdinfo"):
            yield from _mount_of(f"/proc/{pid}/fdinfo/{file}")


def _mount_of(about: str) -> Iterator[int]:
    with suppress(OSError), open(about, "rb") as file:
        if found := file.read().partition(b"mnt_id:")[2].split():
            yield int(found[0])
