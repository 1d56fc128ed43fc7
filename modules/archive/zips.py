"""Zip archives."""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import __env__, __salt__, check_cancelled, runtime_services
from asyncstate.errors import CommandExecutionError, InvocationError

from .containment import NOT_FOR_OTHERS, Destination
from .names import expanded, listed, local_copy, trimmed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .tars import Members


def members(name: str, cached: str) -> Members:
    """Return the members of a zip, and the directories that it only implies."""
    dirs: set[str] = set()
    files, links = [], []
    try:
        with filesystem.open_read(cached) as stream, zipfile.ZipFile(stream) as archive:
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
    return list(dirs - {f"{link}/" for link in links}), files, links


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

    A missing ``dest`` is made. With ``runas`` the files belong to that user.
    """
    zip_file, dest = _rendered([zip_file, dest], template)
    left_out = listed(excludes)
    uid, gid = _account(runas)
    secret = None if password is None else str(password).encode()
    names = []
    try:
        with filesystem.open_read(zip_file) as stream, zipfile.ZipFile(stream) as archive:
            wanted = [member for member in archive.infolist() if member.filename not in left_out]
            if not wanted:
                return []
            owner = filesystem.KEEP if uid == -1 else filesystem.Access(uid, gid)
            _make_folder(dest, owner)
            place = Destination(dest)
            with filesystem.Beneath(dest) as top:
                for member in wanted:
                    check_cancelled()
                    path = _unpack(archive, member, top, place, secret, extract_perms=extract_perms)
                    if uid != -1:
                        top.give(path, owner)
                    names.append(member.filename)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError) as error:
        raise CommandExecutionError(f"Exception encountered unpacking zipfile: {error}") from error
    return trimmed(names, trim_output)


def _make_folder(path: str, owner: filesystem.Access) -> None:
    """Make a folder, and those above it that are missing, for ``owner``."""
    missing = []
    while path and not filesystem.exists(path):
        missing.append(path)
        path = os.path.dirname(path.rstrip("/"))
    for folder in reversed(missing):
        filesystem.mkdir(folder)
        filesystem.give(folder, owner)


def _unpack(
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    top: filesystem.Beneath,
    dest: Destination,
    secret: bytes | None,
    *,
    extract_perms: bool,
) -> str:
    """Unpack one member and return the name it has below ``top``."""
    mode = member.external_attr >> 16
    name, target = _contained(archive, member, dest, secret)
    if target is not None:
        top.symlink(target, name)
        return name
    bits = mode & 0o777 & ~NOT_FOR_OTHERS if extract_perms else 0
    if member.is_dir():
        top.mkdir(name)
        if bits and name not in ("", "."):
            top.give(name, filesystem.Access(mode=bits))
    else:
        with archive.open(member, pwd=secret) as content:
            top.write(name, content, bits or None)
    return name


def _contained(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, dest: Destination, secret: bytes | None
) -> tuple[str, str | None]:
    """Return the name of a member below ``dest``, and the target of a link; neither may lead outside."""
    root = dest.root
    name = member.filename.rstrip("/")
    path = os.path.join(root, name)
    _stay_inside(root, os.path.join(dest.leads_to(os.path.dirname(path)), os.path.basename(path)), member.filename)
    if not dest.reaches(name if member.is_dir() else os.path.dirname(name)):
        raise CommandExecutionError(f"Refusing to unpack {member.filename}: a link on its way leaves {root}")
    if not stat.S_ISLNK(member.external_attr >> 16):
        return name, None
    target = archive.read(member, secret).decode()
    _stay_inside(root, dest.leads_to(os.path.join(os.path.dirname(path), target)), member.filename)
    return name, target


def check_zip(name: str, dest: str, password: Any = None, removed: Iterable[str] = ()) -> None:
    """Raise CommandExecutionError, as `unzip` would, for the first member that would leave ``dest``.

    The paths ``removed`` count as not there.
    """
    secret = None if password is None else str(password).encode()
    place = Destination(dest, removed)
    try:
        with filesystem.open_read(name) as file, zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                check_cancelled()
                path, target = _contained(archive, member, place, secret)
                if not member.is_dir():
                    place.put(path, target or "")
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError) as error:
        raise CommandExecutionError(f"Exception encountered unpacking zipfile: {error}") from error


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
    render = runtime_services().render_template
    return [render(name, template, {}, str(__env__)) for name in names]


def zip_(
    zip_file: str,
    sources: Any,
    template: str | None = None,
    cwd: str | None = None,
    runas: str | None = None,
    zip64: bool = False,
) -> list[str]:
    """Pack files and directories (globs, a list or a text with commas) into a zip; return the names in it.

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
        with filesystem.Replacement(zip_file, 0o666) as new:
            with (
                open(new.fd, "wb", closefd=False) as stream,
                zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, zip64) as archive,
            ):
                own = {_identity(os.fstat(new.fd))}
                if filesystem.lexists(zip_file):
                    own.add(_identity(filesystem.lstat(zip_file)))
                for source in found:
                    for path in _below(os.path.join(cwd or "/", source)):
                        if _identity(filesystem.lstat(path)) in own:
                            continue
                        base = cwd if cwd and path.startswith(cwd) else "/"
                        names.append(_pack(archive, path, os.path.relpath(path, base)))
            new.give(filesystem.Access(uid, gid))
            new.commit(sync=filesystem.lexists(zip_file))
    except (OSError, zipfile.LargeZipFile, ValueError) as error:
        raise CommandExecutionError(f"Exception encountered creating zipfile: {error}") from error
    return names


def _identity(found: os.stat_result) -> tuple[int, int]:
    """Return the identity of a file: the archive, old or new, may be among the packed files."""
    return found.st_dev, found.st_ino


def _pack(archive: zipfile.ZipFile, path: str, name: str) -> str:
    """Put a file or a directory into a zip and return its name there."""
    if filesystem.is_directory(path):
        archive.writestr(zipfile.ZipInfo.from_file(path, f"{name}/"), b"")
        return f"{name}/"
    with filesystem.open_read(path) as content:
        member = zipfile.ZipInfo.from_file(f"/proc/self/fd/{content.fileno()}", name)
        member.compress_type = zipfile.ZIP_DEFLATED
        with archive.open(member, "w") as packed:
            shutil.copyfileobj(content, packed)
    return name


def _below(path: str) -> Iterator[str]:
    """Yield a path, and everything below it if it is a directory."""
    if not filesystem.exists(path):
        return
    if not filesystem.is_directory(path):
        yield path
        return
    for folder, _, files in filesystem.walk(path):
        check_cancelled()
        yield folder
        for name in files:
            yield os.path.join(folder, name)


def is_encrypted(
    name: str, clean: bool = False, saltenv: str = "base", source_hash: str | None = None, use_etag: bool = False
) -> bool:
    """Return whether a zip needs a password. CommandExecutionError if the file is no zip."""
    cached = local_copy(name, saltenv, source_hash, use_etag)
    try:
        with filesystem.open_read(cached) as stream, zipfile.ZipFile(stream) as archive:
            encrypted = any(member.flag_bits & 1 for member in archive.infolist())
    except zipfile.BadZipFile as error:
        raise CommandExecutionError(f"{name} is not a ZIP file") from error
    if clean and cached != name and not name.startswith("salt://"):
        filesystem.remove(cached)
    return encrypted
