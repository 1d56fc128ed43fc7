"""Archives: listing, packing and unpacking tar and zip, and the programs that do it.

Nothing is ever unpacked outside the destination: an absolute path, a ``..`` or a link that leads out is an error.
"""

from __future__ import annotations

import glob
import os
import shlex
import shutil
import stat
import tarfile
import tempfile
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from asyncstate.dunders import __env__, __salt__, check_cancelled, current
from asyncstate.errors import CommandExecutionError, InvocationError

if TYPE_CHECKING:
    from collections.abc import Iterator

__func_alias__ = {"list_": "list", "zip_": "zip"}

Members = tuple[list[str], list[str], list[str]]
"""Directories (each with a slash at its end), files, symbolic links."""

_TAR_ENDINGS = (
    ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz", ".tar.lzma", ".tlz", ".tar.zst", ".tzst",
)  # fmt: skip
_DECOMPRESSORS = (("xz", "xz --decompress --stdout"), ("zstd", "zstd --decompress --stdout"))


def guess_format(name: str) -> str | None:
    """Return "tar", "zip" or "rar" by the ending of a name, None for any other."""
    name = name.lower()
    if name.endswith(_TAR_ENDINGS):
        return "tar"
    return next((kind for kind in ("zip", "rar") if name.endswith(f".{kind}")), None)


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

    With ``verbose``: ``dirs``, ``files``, ``links`` and ``top_level_dirs``, ``top_level_files``, ``top_level_links``.
    ``options`` is the command that decompresses a tar which Python can't.
    """
    kind = archive_format or guess_format(urlsplit(name).path or name)
    if kind is None:
        raise CommandExecutionError("Unable to guess archive format, please pass an 'archive_format' argument.")
    strip = _positive(strip_components)
    cached = _local(name, saltenv, source_hash, use_etag)
    if kind == "tar":
        members = _list_tar(name, cached, options)
    elif kind == "zip":
        members = _list_zip(name, cached)
    elif kind == "rar":
        members = _list_rar(name, cached)
    else:
        raise CommandExecutionError(f"Unsupported archive format '{kind}'")
    if clean and cached != name and not name.startswith("salt://"):
        os.remove(cached)
    dirs, files, links = (_stripped(paths, strip) for paths in members)
    if not verbose:
        return sorted(dirs + files + links)
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


def _local(name: str, saltenv: str, source_hash: str | None = None, use_etag: bool = False) -> str:
    if os.path.isabs(name):
        if os.path.isfile(name):
            return name
        raise CommandExecutionError(f"Failed to cache {name}")
    cached = __salt__["cp.cache_file"](name, saltenv, source_hash=source_hash, use_etag=use_etag)
    if not cached:
        raise CommandExecutionError(f"Failed to cache {name}")
    return str(cached)


def _positive(strip_components: Any) -> int:
    if not strip_components:
        return 0
    if not str(strip_components).isdecimal() or int(strip_components) <= 0:
        raise CommandExecutionError("'strip_components' must be a positive integer")
    return int(strip_components)


def _stripped(paths: list[str], count: int) -> list[str]:
    """Drop ``count`` directories from the front of each path, and the paths that are not that deep."""
    if not count:
        return sorted(paths)
    parts = (path.split("/", count) for path in paths)
    return sorted(part[count] for part in parts if len(part) > count and part[count])


@contextmanager
def open_tar(name: str, cached: str, decompress: str | None = None) -> Iterator[tarfile.TarFile]:
    """Open a tar, whatever its compression: what Python can't decompress, xz and zstd (or ``decompress``) do."""
    try:
        archive = tarfile.open(cached, "r")  # noqa: SIM115 - closed below
    except tarfile.ReadError:
        with _decompressed(name, cached, decompress) as path, tarfile.open(path, "r") as plain:
            yield plain
        return
    with archive:
        yield archive


@contextmanager
def _decompressed(name: str, cached: str, decompress: str | None) -> Iterator[str]:
    commands = [decompress] if decompress else [cmd for tool, cmd in _DECOMPRESSORS if shutil.which(tool)]
    descriptor, path = tempfile.mkstemp(prefix="asyncstate-tar-")
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
        os.remove(path)


def _list_tar(name: str, cached: str, options: str | None) -> Members:
    dirs: list[str] = []
    files: list[str] = []
    links: list[str] = []
    with open_tar(name, cached, options) as archive:
        for member in archive:
            if member.issym():
                links.append(member.name)
            elif member.isdir():
                dirs.append(f"{member.name}/")
            else:
                files.append(member.name)
    return dirs, files, links


def _list_zip(name: str, cached: str) -> Members:
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


def _list_rar(name: str, cached: str) -> Members:
    program = shutil.which("unrar") or shutil.which("rar")
    if not program:
        raise CommandExecutionError("rar command not available, is it installed?")
    dirs, files = [], []
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


def extract_tar(name: str, dest: str) -> list[str]:
    """Unpack a tar of any compression into ``dest`` and return the names in it; owners become this process's user.

    CommandExecutionError names the member that would leave ``dest``: nothing after it is unpacked.
    """
    try:
        with open_tar(name, name) as archive:
            names = []
            for member in archive:
                check_cancelled()
                archive.extract(member, dest, filter="data")
                names.append(member.name)
            return names
    except tarfile.FilterError as error:
        raise CommandExecutionError(f"Refusing to unpack {name}: {error}") from error
    except (tarfile.TarError, OSError, EOFError) as error:
        raise CommandExecutionError(f"Failed to unpack {name}: {error}") from error


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
    left_out = _listed(excludes)
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
    return _trimmed(names, trim_output)


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


def _trimmed(names: list[str], trim_output: Any) -> list[str]:
    if not trim_output:
        return names
    count = 100 if trim_output is True else int(trim_output)
    return [*names[:count], f"List trimmed after {count} files."] if len(names) > count else names


def _listed(value: Any) -> list[str]:
    """Return names given as a list or with commas between them."""
    if value is None:
        return []
    return (
        [part.strip() for part in value.split(",")] if isinstance(value, str) else [str(part) for part in _many(value)]
    )


def _many(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, set)) else [value]


def _expanded(sources: Any) -> list[str]:
    """Return sources with globs replaced by what they match."""
    found: list[str] = []
    for source in _listed(sources):
        found += glob.glob(source) if glob.has_magic(source) else [source]
    return found


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
    found = _expanded(sources)
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
    cached = _local(name, saltenv, source_hash, use_etag)
    try:
        with zipfile.ZipFile(cached) as archive:
            encrypted = any(member.flag_bits & 1 for member in archive.infolist())
    except zipfile.BadZipFile as error:
        raise CommandExecutionError(f"{name} is not a ZIP file") from error
    if clean and cached != name and not name.startswith("salt://"):
        os.remove(cached)
    return encrypted


def _run(command: list[str], **options: Any) -> list[str]:
    output: str = __salt__["cmd.run"](command, python_shell=False, **options)
    return output.splitlines()


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
