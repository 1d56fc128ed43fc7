"""``archive.extracted``: the content of a tar, zip or rar archive is unpacked."""

from __future__ import annotations

import os
from typing import Any

from asyncstate import filesystem as _filesystem
from asyncstate.dunders import Row, __env__, __salt__, failed, is_dry_run, make_row
from asyncstate.errors import AsyncStateError, RunCancelled

from .. import _fetches, _resources  # noqa: TID252 - as `states` for type checkers
from .extraction import Extraction as _Extraction
from .source import Refusal as _Refusal
from .source import refuse as _refuse


def extracted(
    name: str,
    source: str | list[Any],
    source_hash: Any = None,
    source_hash_name: str | None = None,
    source_hash_update: bool = False,
    skip_files_list_verify: bool = False,
    skip_verify: bool = False,
    password: Any = None,
    options: Any = None,
    list_options: Any = None,
    force: bool = False,
    overwrite: bool = False,
    clean: bool = False,
    clean_parent: bool = False,
    user: str | int | None = None,
    group: str | int | None = None,
    if_missing: Any = None,
    trim_output: Any = False,
    use_cmd_unzip: bool | None = None,
    extract_perms: bool = True,
    enforce_toplevel: bool = True,
    enforce_ownership_on: str | None = None,
    archive_format: str | None = None,
    use_etag: bool = False,
    signature: Any = None,
    source_hash_sig: Any = None,
    signed_by_any: Any = None,
    signed_by_all: Any = None,
    keyring: str | None = None,
    gnupghome: str | None = None,
    sig_backend: str = "gpg",
    **kwargs: Any,
) -> Row:
    """Unpack an archive (``salt://``, a path, a URL) into directory ``name`` unless everything in it is there already.

    With ``if_missing``, only that path must be there. ``enforce_toplevel`` refuses an archive without a single
    top-level directory. Before unpacking, ``force`` removes paths of the wrong kind, ``clean`` the top-level paths,
    ``clean_parent`` the whole directory; ``overwrite`` unpacks every time. ``user`` and ``group`` own what is unpacked.
    ``source_hash_update`` unpacks again if the hash is new. ``keep_source`` (or ``keep``) False removes the fetched
    archive. ``options`` are those of tar or unzip. No member may be
    written outside ``name``.
    """
    keep_source = bool(kwargs.get("keep_source", kwargs.get("keep", True)))
    job = _Extraction(name, user, group, if_missing, enforce_ownership_on)
    notes: Row = {}
    trust = {
        "source_hash_sig": source_hash_sig,
        "signed_by_any": signed_by_any,
        "signed_by_all": signed_by_all,
        "keyring": keyring,
        "gnupghome": gnupghome,
        "sig_backend": sig_backend,
    }
    try:
        if skip_files_list_verify and skip_verify:
            _refuse('Only one of "skip_files_list_verify" and "skip_verify" can be set to True')
        job.check_paths()
        job.check_accounts()
        if (signature or source_hash_sig) and f"{sig_backend}.verify" not in __salt__:
            _refuse(f"Cannot verify signatures because the {sig_backend} module was not loaded")
        job.choose_source(source, source_hash)
        job.choose_format(archive_format, options, password, use_cmd_unzip)
        job.trim_output = _trim(trim_output)
        job.source_sum = _source_sum(job.source, source_hash, source_hash_name, trust)
        if source_hash_update and not source_hash:
            notes["warnings"] = [
                "The 'source_hash_update' argument is ignored when 'source_hash' is not also specified."
            ]
        if skip_files_list_verify and job.is_known():
            _refuse(
                f"Archive {job.source} existing source sum is the same as the expected one and skip_files_list_verify "
                "argument was set to True. Extraction is not needed",
                result=True,
            )
        job.fetch(source_hash, source_hash_name, skip_verify=skip_verify, use_etag=use_etag, trust=trust)
        if signature:
            job.verify_signature(signature, trust)
        remembers = bool(source_hash) and (skip_files_list_verify or (source_hash_update and not skip_verify))
        job.read_contents(list_options)
        if enforce_toplevel:
            job.check_toplevel()
        if clean and clean_parent:
            _refuse("Only one of 'clean' and 'clean_parent' can be set to True")
        needed, missing = job.compare(force=force, clean=clean, clean_parent=clean_parent)
        needed = needed or overwrite
        by_hash = remembers and source_hash_update and not needed and job.has_new_hash()
        if needed or by_hash:
            job.verify(source_hash, skip_verify=skip_verify)
            job.check_options()
            job.check_members(clean=clean, clean_parent=clean_parent)
            job.remove_differing()
            if is_dry_run():
                if not (clean_parent and _filesystem.lexists(job.name.rstrip("/"))):
                    job.make_folder()
                _refuse(job.announcement(clean=clean, by_hash=by_hash, missing=missing), result=None)
            job.clear(clean=clean, clean_parent=clean_parent)
            job.unpack(extract_perms=extract_perms)
        if remembers:
            job.remember()
        job.own()
        row = job.row(name, unpacked=needed or by_hash, by_hash=by_hash, missing=missing) | notes
    except _Refusal as refusal:
        done = _filesystem.changes_so_far() if refusal.result is False else {}
        return make_row(refusal.source or name, refusal.comment, {**job.changes, **done}, result=refusal.result) | notes
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        return failed(name, str(error), {**job.changes, **_filesystem.changes_so_far()}) | notes
    problem = "" if keep_source else job.forget()
    return row | {"warnings": [*row.get("warnings", ()), problem]} if problem else row


def _trim(trim_output: Any) -> int:
    """Return the number of names that the row lists, 0 for all."""
    if trim_output is True:
        return 100
    try:
        number = int(trim_output or 0)
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        raise _Refusal("Invalid value for trim_output, must be True/False or an integer")
    return number


def _source_sum(source: str, source_hash: Any, source_hash_name: str | None, trust: dict[str, Any]) -> dict[str, str]:
    if not source_hash:
        return {}
    found: dict[str, str] = __salt__["file.get_source_sum"](
        source=source, source_hash=source_hash, source_hash_name=source_hash_name, saltenv=str(__env__), **trust
    )
    return found


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of an extraction: its target tree, the owner, the source and its hash."""
    path = os.path.normpath(str(low.get("name", "")))
    reads = [*_resources.fetched(low.get("source")), *_resources.checks(low), *_resources.accounts(low)]
    reads += [*_resources.files(low.get("if_missing"), low.get("enforce_ownership_on"))]
    made = _resources.folder(path, user=low.get("user"))
    named = f"{low.get('source')} {low.get('archive_format')}"
    programs = ["rar"] if "rar" in named.lower() else ["tar", "unzip"]
    return {"reads": reads, "writes": [f"path:{path}", f"path:{path}/**"], "makes": [made], "programs": programs}


def mod_prefetch(low: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the download of an archive with a hash.

    None with ``skip_files_list_verify``: then an unpacked archive is not fetched again.
    """
    if low.get("skip_files_list_verify"):
        return []
    return _fetches.of_url(low.get("source"), low.get("source_hash"), low, exists=low.get("if_missing"))
