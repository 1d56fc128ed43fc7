"""Tar archives, of any compression."""

from __future__ import annotations

import lzma
import os
import shlex
import shutil
import tarfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from asyncstate import filesystem, residue
from asyncstate.dunders import __salt__, check_cancelled
from asyncstate.errors import CommandExecutionError

from .containment import Destination, extract_member, require_contained, set_directory_modes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Members = tuple[list[str], list[str], list[str]]
"""Directories (each with a slash at its end), files, symbolic links."""

_BROKEN = (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError)
_DECOMPRESSORS = (("xz", "xz --decompress --stdout"), ("zstd", "zstd --decompress --stdout"))


@contextmanager
def open_tar(name: str, cached: str, decompress: str | None = None) -> Iterator[tarfile.TarFile]:
    """Open a tar of any compression: if Python cannot decompress it, xz or zstd (or ``decompress``) does."""
    with filesystem.open_read(cached) as stream:
        try:
            archive = tarfile.open(fileobj=stream, mode="r")  # noqa: SIM115 - closed below
        except tarfile.ReadError:
            with (
                _private(cached) as private,
                _decompressed(name, private, decompress) as path,
                tarfile.open(path, "r") as plain,
            ):
                yield plain
            return
        with archive:
            yield archive


@contextmanager
def _private(path: str) -> Iterator[str]:
    """Yield a path for a program to read: a private copy if other users could replace the file."""
    if not filesystem.who_can_change(path):
        yield path
        return
    with residue.temporary_folder(prefix="asyncstate-tar-") as folder:
        copy = os.path.join(folder, os.path.basename(path))
        filesystem.replace_content(copy, None, path, filesystem.Access(mode=0o600))
        yield copy


@contextmanager
def _decompressed(name: str, cached: str, decompress: str | None) -> Iterator[str]:
    commands = [decompress] if decompress else [cmd for tool, cmd in _DECOMPRESSORS if shutil.which(tool)]
    descriptor, path = residue.temporary_file(prefix="asyncstate-tar-")
    os.close(descriptor)
    try:
        for command in commands:
            words = " ".join(map(shlex.quote, [*shlex.split(command), cached]))
            answer = __salt__["cmd.run_all"](f"{words} > {shlex.quote(path)}", python_shell=True, ignore_retcode=True)
            if answer["retcode"] == 0 and tarfile.is_tarfile(path):
                yield path
                return
        raise CommandExecutionError(
            f"Unable to list contents of {name}. If this is an XZ-compressed tar archive, install XZ Utils to enable "
            "listing its contents. If it is compressed using something other than XZ, it may be necessary to specify "
            "CLI options to decompress the archive. See the documentation for details."
        )
    finally:
        filesystem.remove(path)


def members(name: str, cached: str, options: str | None) -> Members:
    """Return the members of a tar; ``options`` is a command that decompresses it."""
    dirs: list[str] = []
    files: list[str] = []
    links: list[str] = []
    try:
        with open_tar(name, cached, options) as archive:
            for member in archive:
                if member.issym():
                    links.append(member.name)
                elif member.isdir():
                    dirs.append(f"{member.name}/")
                else:
                    files.append(member.name)
    except _BROKEN as error:
        raise CommandExecutionError(f"Failed to list contents of {name}: {error}") from error
    return dirs, files, links


def _extracted(archive: tarfile.TarFile, name: str, dest: str, owner: filesystem.Access) -> list[str]:
    names, modes = [], {}
    place = Destination(dest)
    with filesystem.Beneath(dest) as top:
        for member in archive:
            check_cancelled()
            try:
                extract_member(archive, member, top, place)
            except CommandExecutionError as error:
                raise CommandExecutionError(f"Refusing to unpack {name}: {error}") from error
            if member.islnk():
                top.give(member.name, owner)
            names.append(member.name)
            if member.isdir():
                modes[member.name] = member.mode
        set_directory_modes(top, modes)
    return names


def check_tar(name: str, dest: str, removed: Iterable[str] = ()) -> None:
    """Raise CommandExecutionError, as `extract_tar` would, for the first member that would leave ``dest``.

    The paths ``removed`` count as not there.
    """
    place = Destination(dest, removed)
    try:
        with open_tar(name, name) as archive:
            for member in archive:
                check_cancelled()
                try:
                    path = require_contained(member, place)
                except CommandExecutionError as error:
                    raise CommandExecutionError(f"Refusing to unpack {name}: {error}") from error
                if member.issym():
                    place.put(path, member.linkname)
                elif not member.isdir():
                    place.put(path, place.target(member.linkname) if member.islnk() else "")
    except _BROKEN as error:
        raise CommandExecutionError(f"Failed to unpack {name}: {error}") from error


def extract_tar(name: str, dest: str, uid: int = -1, gid: int = -1) -> list[str]:
    """Unpack a tar of any compression into ``dest`` and return the names in it; owners become this process's user.

    Files with several names get ``uid`` and ``gid`` at once: later they would look like hard links planted by a user.

    Raises CommandExecutionError, which names the member that would leave ``dest``; nothing after it is unpacked.
    """
    try:
        with open_tar(name, name) as archive:
            return _extracted(archive, name, dest, filesystem.Access(uid, gid))
    except _BROKEN as error:
        raise CommandExecutionError(f"Failed to unpack {name}: {error}") from error
