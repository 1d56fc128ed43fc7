"""``file.cached`` and ``file.not_cached``: remote files kept in the cache directory."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from asyncstate import filesystem
from asyncstate.dunders import Row, __opts__, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError, CommandExecutionError, RunCancelled

from .arguments import is_remote

_LOCAL = ("", "file")


def cached(
    name: str,
    source_hash: Any = "",
    source_hash_name: str | None = None,
    skip_verify: bool = False,
    saltenv: str = "base",
    use_etag: bool = False,
    source_hash_sig: Any = None,
    signed_by_any: Any = None,
    signed_by_all: Any = None,
    keyring: str | None = None,
    gnupghome: str | None = None,
    sig_backend: str = "gpg",
) -> Row:
    """Copy a ``salt://`` or remote file into the cache; for a local file, only check that it is there."""
    if not skip_verify and not source_hash and not use_etag and is_remote(name):
        return failed(
            name,
            f"Unable to verify upstream hash of source file {name}, please set source_hash or set skip_verify "
            "or use_etag to True",
        )
    wanted: dict[str, str] = {}
    if source_hash:
        try:
            wanted = __salt__["file.get_source_sum"](
                source=name,
                source_hash=source_hash,
                source_hash_name=source_hash_name,
                saltenv=saltenv,
                source_hash_sig=source_hash_sig,
                signed_by_any=signed_by_any,
                signed_by_all=signed_by_all,
                keyring=keyring,
                gnupghome=gnupghome,
                sig_backend=sig_backend,
            )
        except CommandExecutionError as error:
            return failed(name, str(error))
    kind = wanted.get("hash_type") or __opts__.get("hash_type") or "sha256"
    parts = urlsplit(name)
    if parts.scheme in _LOCAL:
        return _local(name, os.path.realpath(os.path.expanduser(parts.path)), {} if skip_verify else wanted, kind)
    before = __salt__["cp.is_cached"](name, saltenv=saltenv)
    if is_dry_run() and not (before and parts.scheme == "salt"):
        if parts.scheme == "salt" and filesystem.foretells():
            return failed(name, f"Failed to cache {name}, check minion log for more information")
        return _foretold(name, before, wanted, kind)
    old = __salt__["file.get_hash"](before, kind) if before else None
    try:
        copy = __salt__["cp.cache_file"](name, saltenv=saltenv, source_hash=wanted.get("hsum"), use_etag=use_etag)
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        return failed(name, str(error))
    if not copy:
        return failed(name, f"Failed to cache {name}, check minion log for more information")
    new = __salt__["file.get_hash"](copy, kind)
    changes = {"hash": {"old": old, "new": new}} if old != new else {}
    if not wanted or skip_verify:
        return changed(name, f"File is cached to {copy}", changes)
    if new != wanted["hsum"]:
        comment = f"File is cached to {copy}, but the hash ({new}) does not match the specified hash ({wanted['hsum']})"
        return failed(name, comment, changes)
    return changed(name, f"File is already cached to {copy} with hash {new}", changes)


def _foretold(name: str, copy: Any, wanted: dict[str, str], kind: str) -> Row:
    """Return the row of a dry run for a file that only a real run may fetch."""
    if not copy:
        return would_change(name, f"File will be cached: {name}")
    if not wanted:
        return would_change(name, f"No hash found. File will be cached: {name}")
    if __salt__["file.get_hash"](copy, kind) == wanted["hsum"]:
        return unchanged(name, f"File already cached: {name}")
    return would_change(name, f"Hashes don't match.\nFile will be cached: {name}")


def _local(name: str, path: str, wanted: dict[str, str], kind: str) -> Row:
    if not filesystem.exists(path):
        return failed(name, f"File {path} is not present on the minion")
    if not wanted:
        return unchanged(name, f"File {path} is present on the minion")
    found = __salt__["file.get_hash"](path, kind)
    if found != wanted["hsum"]:
        return failed(
            name,
            f"File {path} is present on the minion, but the hash ({found}) does not match the specified hash "
            f"({wanted['hsum']})",
        )
    return unchanged(name, f"File {path} is present on the minion and has hash {found}")


def not_cached(name: str, saltenv: str = "base") -> Row:
    """Remove the cached copy of a remote file. Local files and files of the file roots are not touched."""
    parts = urlsplit(name)
    if parts.scheme in _LOCAL:
        path = os.path.realpath(os.path.expanduser(parts.path))
        return unchanged(name, f"File {path} is a local path, no action taken")
    copy = __salt__["cp.is_cached"](name, saltenv=saltenv)
    cache = os.path.join(str(__opts__.get("cachedir") or ""), "")
    if not copy or not str(copy).startswith(cache) or cache == "":
        return unchanged(name, f"{name} is not cached")
    if is_dry_run():
        return would_change(name, f"{copy} would be deleted", {"deleted": True})
    try:
        filesystem.remove(copy)
    except OSError as error:
        return failed(name, f"Failed to delete {copy}: {error}")
    return changed(name, f"{copy} was deleted", {"deleted": True})
