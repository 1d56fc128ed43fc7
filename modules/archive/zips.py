"""Zip archives."""

from __future__ import annotations

import os
import stat
import zipfile
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __env__, __salt__, check_cancelled, current
from asyncstate.errors import CommandExecutionError, InvocationError

from .names import expanded, listed, local_copy, trimmed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .tars import Members


def members(name: str, cached: str) -> Members:
    """Return what is in a zip, and the directories it only implies."""
    dirs: set[str] = set()
    files, links = [], []
    try:
        with zipfile.ZipFile(cached) as archive:
            for member in archive.infolist():
                path = member.filename
                if stat.S_ISLNK(member.external_attr >> 16):
                    links.append(path)
                elif path.endswith("/"):
                    dirs.add(path)
                else:
                    files.append(path)
                folder = path.rstrip("/").rpartition("/")[0]
                if folder:
                    dirs.add(f"{folder}/")
    except zipfile.BadZipFile as error:
        raise CommandExecutionError(f"{name} is not a ZIP file") from error
    return list(dirs), files, links


def unzip(
    zip_file: str,
    dest: str,
    excludes: Any = None,
    options: str | None = None,
    template: str | None = None,
    runas: str | None = None,
    trim_output: Any = False,
    password: Any = None,
    extract_perms: bool = True,
) -> list[str]:
    """Unpack a zip into ``dest`` and return the names in it, the first ``trim_output`` of them (True: 100).

    With ``runas`` what is unpacked belongs to that user.
    """
    zip_file, dest = _rendered([zip_file, dest], template)
    left_out = listed(excludes)
    uid, gid = _account(runas)
    secret = None if password is None else str(password).encode()
    names = []
    try:
        with zipfile.ZipFile(zip_file) as archive:
            for member in archive.infolist():
                if member.filename in left_out:
                    continue
                check_cancelled()
                path = _unpack(archive, member, dest, secret, extract_perms=extract_perms)
                if uid != -1:
                    os.lchown(path, uid, gid)
                names.append(member.filename)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError) as error:
        raise CommandExecutionError(f"Exception encountered unpacking zipfile: {error}") from error
    return trimmed(names, trim_output)


def _unpack(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, dest: str, secret: bytes | None, *, extract_perms: bool
) -> str:
    root = os.path.realpath(dest)
    path = os.path.join(root, member.filename.rstrip("/"))
    _stay_inside(root, os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)), member.filename)
    mode = member.external_attr >> 16
    if stat.S_ISLNK(mode):
        target = archive.read(member, secret).decode()
        _stay_inside(root, os.path.realpath(os.path.join(os.path.dirname(path), target)), member.filename)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            os.remove(path)
        os.symlink(target, path)
        return path
    if os.path.islink(path):
        os.remove(path)
    archive.extract(member, root, secret)
    if extract_perms and mode & 0o777:
        os.chmod(path, mode & 0o777)
    return path


def _stay_inside(root: str, path: str, member: str) -> None:
    if os.path.commonpath([root, os.path.normpath(path)]) != root:
        raise CommandExecutionError(f"Refusing to unpack {member}: it would leave {root}")


def _account(runas: str | None) -> tuple[int, int]:
    if not runas:
        return -1, -1
    info = __salt__["user.info"](runas)
    if not info:
        raise InvocationError(f"User '{runas}' does not exist")
    return info["uid"], info["gid"]


def _rendered(names: list[str], template: str | None) -> list[str]:
    if not template:
        return names
    render = current.get().loaders.render_template
    return [str(render(name, template, {}, str(__env__))) for name in names]


def zip_(
    zip_file: str,
    sources: Any,
    template: str | None = None,
    cwd: str | None = None,
    runas: str | None = None,
    zip64: bool = False,
) -> list[str]:
    """Pack files and directories (globs, names with commas between them) into a zip; returns the names in it.

    Names are relative to ``cwd``, else to ``/``. With ``runas`` the zip belongs to that user.
    """
    if cwd is not None and not os.path.isabs(cwd):
        raise InvocationError("cwd must be absolute")
    (zip_file,) = _rendered([zip_file], template)
    found = expanded(sources)
    if not cwd and any(not os.path.isabs(source) for source in found):
        raise InvocationError("Relative paths require the 'cwd' parameter")
    uid, gid = _account(runas)
    names: list[str] = []
    try:
        with zipfile.ZipFile(zip_file, "w", zipfile.ZIP_DEFLATED, zip64) as archive:
            for source in found:
                for path in _below(os.path.join(cwd or "/", source)):
                    base = cwd if cwd and path.startswith(cwd) else "/"
                    name = os.path.relpath(path, base)
                    archive.write(path, name)
                    names.append(f"{name}/" if os.path.isdir(path) else name)
    except (OSError, zipfile.LargeZipFile, ValueError) as error:
        raise CommandExecutionError(f"Exception encountered creating zipfile: {error}") from error
    if uid != -1:
        os.chown(zip_file, uid, gid)
    return names


def _below(path: str) -> Iterator[str]:
    """Yield a path, and everything below it if it is a directory."""
    if not os.path.exists(path):
        return
    if not os.path.isdir(path):
        yield path
        return
    for folder, _, files in os.walk(path):
        check_cancelled()
        yield folder
        for name in files:
            yield os.path.join(folder, name)


def is_encrypted(
    name: str, clean: bool = False, saltenv: str = "base", source_hash: str | None = None, use_etag: bool = False
) -> bool:
    """Tell whether a zip needs a password. CommandExecutionError if it is none."""
    cached = local_copy(name, saltenv, source_hash, use_etag)
    try:
        with zipfile.ZipFile(cached) as archive:
            encrypted = any(member.flag_bits & 1 for member in archive.infolist())
    except zipfile.BadZipFile as error:
        raise CommandExecutionError(f"{name} is not a ZIP file") from error
    if clean and cached != name and not name.startswith("salt://"):
        os.remove(cached)
    return encrypted
