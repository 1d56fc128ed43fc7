"""The sources of managed files: ``salt://``, a local path, a URL; rendered if it is a template."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from asyncstate import filesystem, residue
from asyncstate.dunders import __opts__, __salt__, runtime_services, tree_files
from asyncstate.errors import AsyncStateError, CommandExecutionError, InvocationError

from .diffs import head, is_binary
from .hashes import get_hash, get_source_sum
from .modes import mode_text
from .urls import is_remote, parse_salt_url, redact

_RENDERED = "asyncstate-rendered-"
_BINARY_HEAD = 2048  # number of bytes that Salt reads of an undecodable template


def find_salt_file(url: str, saltenv: str) -> str | None:
    """Return the real path of ``salt://…`` under the file roots, None if there is no such file."""
    path, named = parse_salt_url(url)
    found = tree_files().find(path, named or saltenv)
    return str(found) if found else None


def local_copy(source: str, saltenv: str, *, verify_ssl: bool = True, use_etag: bool = False) -> str:
    """Return the path of a local copy of ``source``, fetched if necessary; "" if the source does not exist."""
    if source.startswith("salt://"):
        return find_salt_file(source, saltenv) or ""
    if not is_remote(source):
        path = source.removeprefix("file://")
        return path if filesystem.exists(path) else ""
    return str(__salt__["cp.cache_file"](source, saltenv, verify_ssl=verify_ssl, use_etag=use_etag) or "")


def source_mode(source: str, saltenv: str) -> str | None:
    """Return the mode of a ``salt://`` or local source, for ``mode: keep``; None for any other."""
    if is_remote(source):
        return None
    path = local_copy(source, saltenv)
    return mode_text(filesystem.stat(path).st_mode) if path else None


def source_list(source: Any, source_hash: Any, saltenv: str) -> tuple[Any, Any]:
    """Return the first source of a list that exists, with its hash; return a single source as it is.

    A list entry may be ``{source: hash}``. Raises CommandExecutionError if none exists.
    """
    if not isinstance(source, list):
        return source, source_hash
    for single in source:
        if isinstance(single, dict):
            if len(single) != 1:
                continue
            candidate, candidate_hash = next(iter(single.items()))
        else:
            candidate, candidate_hash = single, None
        if isinstance(candidate, str) and _exists(candidate, saltenv):
            return candidate, candidate_hash or source_hash
    raise CommandExecutionError("none of the specified sources were found")


def _exists(source: str, saltenv: str) -> bool:
    if source.startswith("salt://"):
        path, named = parse_salt_url(source)
        saltenv = named or saltenv
        client = tree_files()
        return bool(client.find(path, saltenv)) or path.rstrip("/") in client.list_dirs(saltenv)
    scheme = urlsplit(source).scheme
    if scheme in {"http", "https", "ftp"}:
        return _reachable(source)
    path = source.removeprefix("file://")
    return os.path.isabs(path) and filesystem.exists(path)


def _reachable(url: str) -> bool:
    """Return whether a URL exists, by a request for its headers only."""
    from urllib.error import URLError  # noqa: PLC0415 - costs 20 ms, and few trees have remote sources
    from urllib.request import Request, urlopen  # noqa: PLC0415

    request = Request(url, method="HEAD" if url.startswith("http") else None)  # noqa: S310 - scheme checked above
    try:
        with urlopen(request, timeout=30):  # noqa: S310
            return True
    except (URLError, OSError):
        return False


def apply_template_on_contents(contents: str, template: str, context: Any, defaults: Any, saltenv: str) -> Any:
    """Render text. Returns the text, or ``{"result": False, "comment": …}`` if that fails."""
    try:
        return _render(contents, template, {**(defaults or {}), **(context or {})}, saltenv)
    except AsyncStateError as error:
        return {"result": False, "comment": str(error)}


def render_source(path: str, template: str, context: dict[str, Any], saltenv: str, *, is_local: bool) -> str:
    """Render a file; RenderError has Salt's text. A local file is read here, as another user may own its folder."""
    source = filesystem.read_bytes(path).decode() if is_local else Path(path)
    return _render(source, template, context, saltenv)


def _render(source: str | Path, template: str, context: dict[str, Any], saltenv: str) -> str:
    return runtime_services().render_template(source, template, context, saltenv)


def keep_rendered(text: str) -> str:
    """Write rendered text to a private temporary file and return its path; `drop_rendered` removes it."""
    descriptor, path = residue.temporary_file(prefix=_RENDERED)
    with open(descriptor, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
    return path


def drop_rendered(path: str) -> None:
    """Remove a file `keep_rendered` made; any other path is left alone."""
    folder, name = os.path.split(path or "")
    if name.startswith(_RENDERED) and folder == tempfile.gettempdir() and filesystem.exists(path):
        filesystem.remove(path)


def drop_cached(source: Any, path: str) -> None:
    """Remove the downloaded copy of a source (``keep_source: False``); never a file of the roots or of the user."""
    cache = __opts__.get("cachedir")
    if source and path and cache and is_remote(str(source)) and path.startswith(os.path.join(cache, "")):
        Path(path).unlink(missing_ok=True)


def get_managed(
    name: str,
    template: str | None,
    source: Any,
    source_hash: Any,
    source_hash_name: str | None,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    saltenv: str,
    context: Any,
    defaults: Any,
    skip_verify: bool = False,
    verify_ssl: bool = True,
    use_etag: bool = False,
    source_hash_sig: Any = None,
    signed_by_any: Any = None,
    signed_by_all: Any = None,
    keyring: str | None = None,
    gnupghome: str | None = None,
    ignore_ordering: bool = False,
    ignore_whitespace: bool = False,
    ignore_comment_characters: Any = None,
    sig_backend: str = "gpg",
    **kwargs: Any,
) -> tuple[str, dict[str, str], str]:
    """Fetch or render a source; return a local path, the expected hash ({} if none is given), and the error.

    A rendered template is a temporary file; `manage_file` removes it.
    """
    if not source:
        return "", {}, ""
    expected: dict[str, str] = {}
    remote = is_remote(source)
    if source.startswith("salt://"):
        path = find_salt_file(source, saltenv) or ""
        if not path:
            return "", {}, f"Source file {source} not found in saltenv '{saltenv}'"
    elif not remote:
        path = source.removeprefix("file://")
        if not filesystem.exists(path):
            return "", {}, f"Local file source {path} does not exist"
        filesystem.require_readable(path)
    if not source.startswith("salt://") and source_hash and not skip_verify:
        try:
            expected = get_source_sum(
                name,
                source,
                source_hash,
                source_hash_name,
                saltenv,
                verify_ssl=verify_ssl,
                source_hash_sig=source_hash_sig,
                signed_by_any=signed_by_any,
                signed_by_all=signed_by_all,
                keyring=keyring,
                gnupghome=gnupghome,
                sig_backend=sig_backend,
            )
        except CommandExecutionError as error:
            return "", {}, str(error)
    elif remote and not skip_verify and not use_etag:
        return (
            "",
            {},
            (
                f"Unable to verify upstream hash of source file {redact(source)}, please set source_hash or set "
                "skip_verify to True"
            ),
        )
    if remote:
        path, problem = _download(
            source, expected, saltenv, skip_verify=skip_verify, verify_ssl=verify_ssl, use_etag=use_etag
        )
        if problem:
            return path, {}, problem
    if path == name:
        raise InvocationError("Source file cannot be the same as destination")
    if not template:
        return path, expected, ""
    variables = {"name": name, "source": source, "user": user, "group": group, "mode": mode, "attrs": attrs, **kwargs}
    try:
        is_local = not remote and not source.startswith("salt://")
        names = {**variables, **(defaults or {}), **(context or {})}
        text = render_source(path, template, names, saltenv, is_local=is_local)
    except AsyncStateError as error:
        return path, {}, str(error)
    except UnicodeDecodeError:
        if not is_binary(head(path, _BINARY_HEAD)):
            raise
        return path, {}, ""  # a binary file is no template and is used as it is
    return keep_rendered(text), {}, ""


def _download(
    source: str, expected: dict[str, str], saltenv: str, *, skip_verify: bool, verify_ssl: bool, use_etag: bool
) -> tuple[str, str]:
    """Return the cached copy of a URL, fetched again unless it has the expected hash; and the error."""
    cached = __salt__["cp.is_cached"](source, saltenv)
    if cached and skip_verify:
        return str(cached), ""
    if cached and expected and not use_etag and get_hash(cached, expected["hash_type"]) == expected["hsum"]:
        return str(cached), ""
    try:
        cached = __salt__["cp.cache_file"](
            source, saltenv, source_hash=expected.get("hsum"), verify_ssl=verify_ssl, use_etag=use_etag
        )
    except (AsyncStateError, OSError) as error:
        return "", f"Failed to cache {redact(source)}: {error}"
    if not cached or not filesystem.exists(cached):
        return "", f"Source file '{redact(source)}' not found"
    return str(cached), ""
