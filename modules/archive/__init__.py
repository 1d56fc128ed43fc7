"""The ``archive`` execution module: listing, packing and unpacking tar and zip, in Python or by programs.

Nothing is ever unpacked outside the destination: an absolute path, a ``..`` or a link that leads outside is an error.
"""

from __future__ import annotations

import shlex
import shutil
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

from . import tars as _tars
from . import zips as _zips
from .names import expanded as _expanded
from .names import guess_format as _guess_format
from .names import listed as _listed
from .names import local_copy as _local
from .names import placed as _placed
from .names import positive as _positive
from .names import stripped as _stripped
from .names import trimmed as _trimmed
from .tars import extract_tar
from .zips import is_encrypted, unzip, zip_

if TYPE_CHECKING:
    from collections.abc import Iterable

__func_alias__ = {"list_": "list", "zip_": "zip"}


def list_(
    name: str,
    archive_format: str | None = None,
    options: str | None = None,
    strip_components: Any = None,
    clean: bool = False,
    verbose: bool = False,
    saltenv: str = "base",
    source_hash: str | None = None,
    use_etag: bool = False,
) -> Any:
    """Return the paths in an archive (a path or a URL), sorted; directories end in a slash.

    With ``verbose``: ``dirs``, ``files``, ``links`` and ``top_level_dirs``, ``top_level_files``, ``top_level_links``,
    by the paths below a destination at which they would be unpacked; those that begin with ``..`` would not be.
    ``options`` is the command that decompresses a tar if Python cannot.
    """
    kind = archive_format or _guess_format(urlsplit(name).path or name)
    if kind is None:
        raise CommandExecutionError("Unable to guess archive format, please pass an 'archive_format' argument.")
    strip = _positive(strip_components)
    cached = _local(name, saltenv, source_hash, use_etag)
    if kind == "tar":
        members = _tars.members(name, cached, options)
    elif kind == "zip":
        members = _zips.members(name, cached)
    elif kind == "rar":
        members = _list_rar(name, cached)
    else:
        raise CommandExecutionError(f"Unsupported archive format '{kind}'")
    if clean and cached != name and not name.startswith("salt://"):
        filesystem.remove(cached)
    dirs, files, links = (_stripped(paths, strip) for paths in members)
    if not verbose:
        return sorted(dirs + files + links)
    dirs, files, links = ([name for name in map(_placed, paths) if name] for paths in (dirs, files, links))
    everything = dirs + files + links
    top = [path for path in dirs if path.count("/") == 1]
    if all("/" in path for path in everything):  # an archive need not list the directory its files are in
        roots = {path.split("/")[0] + "/" for path in everything}
        if len(roots) == 1 and not roots <= set(top):
            top += roots
    return {
        "dirs": dirs,
        "files": files,
        "links": links,
        "top_level_dirs": top,
        "top_level_files": [path for path in files if "/" not in path],
        "top_level_links": [path for path in links if "/" not in path],
    }


def _list_rar(name: str, cached: str) -> tuple[list[str], list[str], list[str]]:
    program = shutil.which("unrar") or shutil.which("rar")
    if not program:
        raise CommandExecutionError("rar command not available, is it installed?")
    dirs: list[str] = []
    files: list[str] = []
    path = ""
    for line in __salt__["cmd.run"]([program, "lt", cached], python_shell=False).splitlines():
        key, _, value = line.strip().partition(": ")
        if key == "Name":
            path = value
        elif key == "Type" and path:
            (dirs if value == "Directory" else files).append(f"{path}/" if value == "Directory" else path)
    if not dirs and not files:
        raise CommandExecutionError(f"Failed to list {name}, is it a rar file?")
    return dirs, files, []


def _run(command: list[str], **options: Any) -> list[str]:
    output: str = __salt__["cmd.run"](command, python_shell=False, **options)
    return output.splitlines()


def check_members(name: str, dest: str, archive_format: str, password: Any = None, removed: Iterable[str] = ()) -> None:
    """Raise CommandExecutionError if `extract_tar` or `unzip` would refuse a member of a tar or zip.

    The paths ``removed`` will be gone by then.

    CLI Example::

        asyncstate call archive.check_members /root/app.tar.gz /srv/app tar
    """
    if archive_format == "zip":
        _zips.check_zip(name, dest, password, removed)
    else:
        _tars.check_tar(name, dest, removed)


def tar(
    options: str,
    tarfile: str,
    sources: Any = None,
    dest: str | None = None,
    cwd: str | None = None,
    template: str | None = None,
    runas: str | None = None,
) -> list[str]:
    """Run ``tar OPTIONS TARFILE [-C DEST] SOURCES`` and return the lines it prints."""
    if not options:
        raise InvocationError("Tar options can not be empty")
    into = ["-C", str(dest)] if dest else []
    command = ["tar", *options.split(), str(tarfile), *into, *_expanded(sources)]
    return _run(command, cwd=cwd, template=template, runas=runas)


def gzip(
    sourcefile: str, template: str | None = None, runas: str | None = None, options: str | None = None
) -> list[str]:
    """Run ``gzip [OPTIONS] FILE`` and return the lines it prints."""
    return _run(["gzip", *([options] if options else []), str(sourcefile)], template=template, runas=runas)


def gunzip(
    gzipfile: str, template: str | None = None, runas: str | None = None, options: str | None = None
) -> list[str]:
    """Run ``gunzip [OPTIONS] FILE`` and return the lines it prints."""
    return _run(["gunzip", *([options] if options else []), str(gzipfile)], template=template, runas=runas)


def cmd_zip(
    zip_file: str, sources: Any, template: str | None = None, cwd: str | None = None, runas: str | None = None
) -> list[str]:
    """Run ``zip -r FILE SOURCES`` and return the lines it prints."""
    return _run(["zip", "-r", str(zip_file), *_expanded(sources)], cwd=cwd, template=template, runas=runas)


def cmd_unzip(
    zip_file: str,
    dest: str,
    excludes: Any = None,
    options: str | None = None,
    template: str | None = None,
    runas: str | None = None,
    trim_output: Any = False,
    password: Any = None,
) -> list[str]:
    """Run ``unzip [OPTIONS] FILE -d DEST`` and return the lines it prints. CommandExecutionError if it fails."""
    if not shutil.which("unzip"):
        raise CommandExecutionError("unzip command not available, is it installed?")
    secret = ["-P", str(password)] if password else []
    without = ["-x", *_listed(excludes)] if excludes is not None else []
    command = ["unzip", *secret, *shlex.split(options or ""), str(zip_file), "-d", str(dest), *without]
    answer = __salt__["cmd.run_all"](
        command,
        template=template,
        runas=runas,
        python_shell=False,
        redirect_stderr=True,
        output_loglevel="quiet" if password else "debug",
    )
    if answer["retcode"] != 0:
        raise CommandExecutionError(answer["stdout"] or answer["stderr"])
    return _trimmed(answer["stdout"].splitlines(), trim_output)


def rar(
    rarfile: str, sources: Any, template: str | None = None, cwd: str | None = None, runas: str | None = None
) -> list[str]:
    """Run ``rar a FILE SOURCES`` and return the lines it prints."""
    return _run(["rar", "a", "-idp", str(rarfile), *_expanded(sources)], cwd=cwd, template=template, runas=runas)


def unrar(
    rarfile: str,
    dest: str,
    excludes: Any = None,
    template: str | None = None,
    runas: str | None = None,
    trim_output: Any = False,
) -> list[str]:
    """Run ``unrar x FILE DEST`` and return the lines it prints."""
    program = shutil.which("unrar") or shutil.which("rar")
    if not program:
        raise CommandExecutionError("rar/unrar command not available, is it installed?")
    without = [word for name in _listed(excludes) for word in ("-x", name)]
    command = [program, "x", "-idp", str(rarfile), *without, str(dest)]
    return _trimmed(_run(command, template=template, runas=runas), trim_output)


__all__ = [
    "check_members",
    "cmd_unzip",
    "cmd_zip",
    "extract_tar",
    "gunzip",
    "gzip",
    "is_encrypted",
    "list_",
    "rar",
    "tar",
    "unrar",
    "unzip",
    "zip_",
]
