"""The ``cp`` execution module: files of the state tree, and of web servers.

With the local file client nothing is copied: for a ``salt://`` URL, the path of the file in the file roots is returned.
Downloads are kept below ``<cachedir>/extrn_files``, as in Salt. Functions return "" or False for a missing file.
"""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from asyncstate import filesystem
from asyncstate import prefetch as ahead
from asyncstate.data import urls
from asyncstate.data.patterns import is_included as _is_included
from asyncstate.dunders import __context__, __opts__, runtime_services, tree_files
from asyncstate.errors import CommandExecutionError

from .. import _downloads  # noqa: TID252 - as `modules` for type checkers
from ._names import under as _under
from ._sent_files import push as push
from ._sent_files import push_dir as push_dir
from ._sent_files import recv as recv
from ._sent_files import recv_chunked as recv_chunked

log = logging.getLogger(__name__)

_REMOTE = frozenset({"http", "https", "ftp", "s3", "swift"})
_LOCAL = frozenset({"", "file"})


def cache_file(
    path: str,
    saltenv: str | None = None,
    source_hash: str | None = None,
    verify_ssl: bool = True,
    use_etag: bool = False,
) -> Any:
    """Return a local path for a ``salt://`` URL, a web URL or a path; False (logged) if the tree has no such file.

    A path of this machine is returned unchanged, even if it does not exist.

    A URL is downloaded once in a run, and not at all if the cached copy has ``source_hash``.
    """
    found = _local_path(path, _env(saltenv), source_hash, verify_ssl=verify_ssl)
    if not found:
        log.error("Unable to cache file '%s' from saltenv '%s'.", _downloads.redacted(path), _env(saltenv))
    return found


def prefetch(
    path: str,
    source_hash: str,
    saltenv: str | None = None,
    verify_ssl: bool = True,
    exists: str | None = None,
    has_hash: str | None = None,
) -> bool:
    """Download a URL ahead for a later `cache_file` with the same hash; return whether anything was fetched.

    Only runs use it, and keep the file apart until then. Nothing is done if there is a copy in the cache, if the path
    ``exists``, or if the file ``has_hash`` has the hash. CommandExecutionError if the content has another hash.
    """
    checksum = _checksum(source_hash)
    env = _env(saltenv)
    if checksum is None or (exists and filesystem.exists(exists)) or (has_hash and _has_hash(has_hash, source_hash)):
        return False
    if filesystem.exists(_downloads.extern_path(path, env, __opts__["cachedir"])):
        return False
    _check_scheme(path)
    name = "-".join(checksum)
    with ahead.fetching(_fetched(path, name)):
        folder = ahead.folder("files")
        if not folder or filesystem.exists(os.path.join(folder, name)):
            return False
        _downloads.download(path, os.path.join(folder, name), verify_ssl=verify_ssl, checksum=checksum)
    return True


def cache_files(paths: str | list[str], saltenv: str | None = None) -> list[Any]:
    """Return the results of `cache_file` for several files."""
    names = paths.split(",") if isinstance(paths, str) else paths
    return [cache_file(path, saltenv) for path in names]


def cache_dir(
    path: str,
    saltenv: str | None = None,
    include_empty: bool = False,
    include_pat: str | None = None,
    exclude_pat: str | None = None,
) -> list[str]:
    """Return local paths of all files under a directory of the state tree.

    ``include_pat`` and ``exclude_pat`` are shell patterns, or regular expressions after ``E@``.
    """
    folder, env = _split(path, _env(saltenv))
    folder = folder.rstrip("/")
    prefix = f"{folder}/" if folder else ""
    names = [name for name in tree_files().list_files(env) if name.startswith(prefix)]
    kept = [name for name in names if _is_included(name[len(prefix) :], include_pat, exclude_pat)]
    return [found for name in kept if (found := tree_files().find(name, env))]


def cache_master(saltenv: str | None = None) -> list[str]:
    """Return local paths of all files of an environment."""
    return cache_dir(urls.SALT_SCHEME, saltenv)


def cache_local_file(path: str) -> str:
    """Return ``path`` if it exists: a local file needs no copy."""
    return path if filesystem.exists(path) else ""


def cache_dest(url: str, saltenv: str | None = None) -> str:
    """Return where the local copy of a URL is, or would be; a path is its own copy."""
    if url.startswith(urls.SALT_SCHEME):
        path, env = _split(url, _env(saltenv))
        return tree_files().find(path, env) or os.path.join(__opts__["cachedir"], "files", env, path)
    if not urlsplit(url).scheme:
        return url
    return _downloads.extern_path(url, _env(saltenv), __opts__["cachedir"])


def is_cached(path: str, saltenv: str | None = None) -> str:
    """Return the local copy of a URL, "" without one. Files of this machine are never copied."""
    if urlsplit(path).scheme in _LOCAL:
        return ""
    found = cache_dest(path, saltenv)
    return found if filesystem.exists(found) else ""


def get_file(
    path: str,
    dest: str,
    saltenv: str | None = None,
    makedirs: bool = False,
    template: str | None = None,
    gzip: int | None = None,
    **kwargs: Any,
) -> Any:
    """Copy a file of the state tree to ``dest`` and return where it is. ``template`` renders the two paths.

    Returns "" if the tree has no such file, False if ``dest`` has no directory and ``makedirs`` is not set. Raises
    CommandExecutionError for anything but a ``salt://`` URL.
    """
    env = _env(saltenv)
    if template:
        path, dest = (_render(text, template, kwargs, env) for text in (path, dest))
    if not path.startswith(urls.SALT_SCHEME):
        raise CommandExecutionError(f"Unsupported path: {path}")
    source, env = _split(path, env)
    found: str | None = tree_files().find(source, env)
    if not found:
        return ""
    if not dest:
        return found
    target = (
        os.path.join(dest, os.path.basename(source)) if filesystem.is_directory(dest) or dest.endswith("/") else dest
    )
    if not _make_parent(target, makedirs=makedirs):
        return False
    return target if _copy(found, target) else ""


def get_dir(
    path: str,
    dest: str,
    saltenv: str | None = None,
    template: str | None = None,
    gzip: int | None = None,
    **kwargs: Any,
) -> list[str]:
    """Copy a directory of the state tree into ``dest`` and return the files made."""
    env = _env(saltenv)
    if template:
        path, dest = (_render(text, template, kwargs, env) for text in (path, dest))
    folder, env = _split(path, env)
    folder = folder.rstrip("/")
    prefix = f"{folder}/" if folder else ""
    strip = len(os.path.dirname(folder)) + 1 if "/" in folder else 0
    made = []
    for name in tree_files().list_files(env):
        found = tree_files().find(name, env) if name.startswith(prefix) else None
        if found:
            target = os.path.join(dest, name[strip:])
            _make_parent(target, makedirs=True)
            _copy(found, target)
            made.append(target)
    return made


def get_url(
    path: str, dest: Any = "", saltenv: str | None = None, makedirs: bool = False, source_hash: str | None = None
) -> Any:
    """Fetch a URL to ``dest``, or into the cache, and return where it is; with ``dest`` None return the text."""
    env = _env(saltenv)
    scheme = urlsplit(path).scheme
    if scheme == "salt":
        found: Any = get_file(path, dest or "", env, makedirs) or False
    elif scheme in _REMOTE and dest:
        target = os.path.join(dest, path.rsplit("/", 1)[-1] or "index.html") if dest.endswith("/") else dest
        if not _make_parent(target, makedirs=makedirs):
            return ""
        _fetch(path, target)
        return target
    elif scheme in _REMOTE and dest is None:
        _check_scheme(path)
        return _downloads.read(path).decode()
    else:
        found = _local_path(path, env, source_hash)
    if not found:
        log.error("Unable to fetch file %s from saltenv %s.", _downloads.redacted(path), env)
        return found
    return _read(found) if dest is None else found


def get_file_str(path: str, saltenv: str | None = None) -> Any:
    """Return the text of a file; False or "" if there is none."""
    found = cache_file(path, saltenv)
    if not found:
        return found
    try:
        return _read(found)
    except OSError:
        return False


def get_template(
    path: str,
    dest: str,
    template: str = "jinja",
    saltenv: str | None = None,
    makedirs: bool = False,
    **kwargs: Any,
) -> str:
    """Render a file into ``dest`` (into the cache if that is empty) and return where it is; "" if it is not there.

    ``context`` holds the variables, and other arguments are variables too.
    """
    env = _env(saltenv)
    found = cache_file(path, env)
    if not found or not filesystem.is_file(found):
        return ""
    variables = {key: value for key, value in kwargs.items() if key not in {"context", "env"}}
    variables.update(kwargs.get("context") or {})
    text = _render(Path(found), template, variables, env)
    if not dest:
        dest = os.path.join(__opts__["cachedir"], "extrn_files", env, _split(path, env)[0].lstrip("/"))
        makedirs = True
    if not _make_parent(dest, makedirs=makedirs):
        return ""
    _replace(dest, text.encode())
    return dest


def envs() -> list[str]:
    """Return the environments of the state tree."""
    return list(tree_files().envs())


def list_states(saltenv: str | None = None) -> list[str]:
    """Return the names of all SLS of an environment."""
    return list(tree_files().list_states(_env(saltenv)))


def list_master(saltenv: str | None = None, prefix: str = "") -> list[str]:
    """Return all files of an environment, or those under a directory."""
    return _under(prefix, tree_files().list_files(_env(saltenv)))


def list_master_dirs(saltenv: str | None = None, prefix: str = "") -> list[str]:
    """Return all directories of an environment, or those whose path begins with ``prefix``."""
    return [name for name in tree_files().list_dirs(_env(saltenv)) if name.startswith(prefix)]


def list_master_symlinks(saltenv: str | None = None, prefix: str = "") -> dict[str, str]:
    """Return all links of an environment, or those under a directory, with their targets."""
    links = tree_files().list_symlinks(_env(saltenv))
    return {name: links[name] for name in _under(prefix, list(links))}


def list_minion(saltenv: str | None = None) -> list[str]:
    """Return all files that are in the cache."""
    root = os.path.join(__opts__["cachedir"], "extrn_files", _env(saltenv))
    return sorted(os.path.join(folder, name) for folder, _, names in filesystem.walk(root) for name in names)


def hash_file(path: str, saltenv: str | None = None) -> Any:
    """Return ``hash_type`` and ``hsum`` of a file; "" if the tree, {} if this machine has none."""
    found = _existing(path, _env(saltenv))
    if not found:
        return "" if path.startswith(urls.SALT_SCHEME) else {}
    kind = __opts__.get("hash_type") or "sha256"
    with filesystem.open_read(found) as file:
        return {"hash_type": kind, "hsum": filesystem.digest(file, kind)}


cache_file_ssh, hash_file_ssh = cache_file, hash_file


def stat_file(path: str, saltenv: str | None = None, octal: bool = True) -> Any:
    """Return the mode of a file, as four octal digits unless ``octal`` is False; None if there is none."""
    found = _existing(path, _env(saltenv))
    if not found:
        return None
    mode = filesystem.stat(found).st_mode
    return oct(mode)[-4:] if octal else mode


def _env(saltenv: str | None) -> str:
    return saltenv or __opts__.get("saltenv") or "base"


def _split(url: str, saltenv: str) -> tuple[str, str]:
    """Return the path of a ``salt://`` URL, and its environment."""
    path, given = urls.parse_salt_url(url)
    return path, given or saltenv


def _existing(path: str, saltenv: str) -> str:
    if path.startswith(urls.SALT_SCHEME):
        name, env = _split(path, saltenv)
        return tree_files().find(name, env) or ""
    return path if filesystem.is_file(path) else ""


def _local_path(path: str, saltenv: str, source_hash: str | None, *, verify_ssl: bool = True) -> str | bool:
    parts = urlsplit(path)
    if parts.scheme == "salt":
        name, env = _split(path, saltenv)
        found: str | None = tree_files().find(name, env)
        return found or False
    if parts.scheme in _REMOTE:
        return _cached_download(path, saltenv, source_hash, verify_ssl=verify_ssl)
    if "://" in path and parts.scheme != "file":
        raise CommandExecutionError(f"Unsupported url scheme: {path}")
    local = unquote(parts.netloc + parts.path) if parts.scheme == "file" else path
    if not os.path.isabs(local):
        raise CommandExecutionError(f"Path '{local}' is not absolute")
    return local


def _cached_download(url: str, saltenv: str, source_hash: str | None, *, verify_ssl: bool) -> str:
    key = f"cp.cache_file_|-{url}_|-{saltenv}"
    known = __context__.get(key)
    if known and filesystem.is_file(known):
        return str(known)
    path = _downloads.extern_path(url, saltenv, __opts__["cachedir"])
    if not _has_hash(path, source_hash):
        filesystem.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if not _take_prefetched(url, path, source_hash):
            _fetch(url, path, verify_ssl=verify_ssl)
    __context__[key] = path
    return path


def _fetch(url: str, path: str, *, verify_ssl: bool = True) -> None:
    _check_scheme(url)
    _downloads.download(url, path, verify_ssl=verify_ssl)


def _check_scheme(url: str) -> None:
    scheme = urlsplit(url).scheme
    if scheme not in {"http", "https"}:
        raise CommandExecutionError(f"Fetching {scheme}:// URLs is not supported: {_downloads.redacted(url)}")


def _take_prefetched(url: str, path: str, source_hash: str | None) -> bool:
    """Move a prefetched file with this hash to ``path``; return whether there was one.

    Waits for a running prefetch only if it is from this ``url``: another server may be slower.
    """
    checksum = _checksum(source_hash)
    if checksum is None:
        return False
    name = "-".join(checksum)
    ahead.wait(_fetched(url, name))
    folder = ahead.folder("files")
    found = os.path.join(folder, name)
    if not folder or not _has_hash(found, source_hash):
        return False
    try:
        filesystem.rename(found, path)
    except OSError:  # another state took it
        return False
    return True


def _fetched(url: str, name: str) -> str:
    """Return the name of a running download: the same content from two servers is fetched from both."""
    return f"{name} {url}"


def _checksum(source_hash: str | None) -> tuple[str, str] | None:
    """Return the kind and the digits of a hash, None if it is not one."""
    digits = (source_hash or "").rpartition("=")[2].strip().lower()
    kinds = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
    return (kinds[len(digits)], digits) if len(digits) in kinds and digits.isalnum() else None


def _has_hash(path: str, source_hash: str | None) -> bool:
    checksum = _checksum(source_hash)
    if checksum is None or not filesystem.is_file(path):
        return False
    with filesystem.open_read(path) as file:
        return filesystem.digest(file, checksum[0]) == checksum[1]


def _render(source: str | Path, template: str, variables: dict[str, Any], saltenv: str) -> str:
    return runtime_services().render_template(source, template, variables, saltenv)


def _read(path: str) -> str:
    return filesystem.read_bytes(path).decode()


def _make_parent(path: str, *, makedirs: bool) -> bool:
    folder = os.path.dirname(path) or "."
    if filesystem.is_directory(folder):
        return True
    if makedirs:
        filesystem.makedirs(folder)
    return makedirs


def _copy(source: str, target: str) -> bool:
    with filesystem.Replacement(target) as new:
        new.copy_from(source)
        new.give(filesystem.Access(mode=stat.S_IMODE(filesystem.stat(source).st_mode)))
        new.commit(sync=filesystem.lexists(target))
    return True


def _replace(path: str, data: bytes) -> None:
    """Write ``data`` to ``path`` in one step; an existing file keeps its mode."""
    is_new = not filesystem.lexists(path)
    filesystem.replace_content(path, data, access=filesystem.Access(mode=0o600) if is_new else filesystem.KEEP)
