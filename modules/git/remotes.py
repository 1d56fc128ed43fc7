"""The remotes of a repository: their addresses, and fetching from them."""

from __future__ import annotations

import re
from typing import Any

from asyncstate.errors import CommandExecutionError, InvocationError

from .programs import comma_separated, expanded, redacted, run, split_options, with_credentials

_FETCHED = re.compile(r"[\s*]*(?:([0-9a-f]+)\.\.([0-9a-f]+)|\[(?:new (tag|branch)|tag update)\])\s+(.+)->")


def remotes(cwd: str, user: str | None = None, redact_auth: bool = True, **options: Any) -> dict[str, dict[str, str]]:
    """Return the addresses of the remotes, without passwords: ``{"origin": {"fetch": url, "push": url}}``."""
    output = run(["remote", "--verbose"], expanded(cwd, user), user=user, **options)["stdout"]
    found: dict[str, dict[str, str]] = {}
    for line in output.splitlines():
        name, _, rest = line.partition("\t")
        # In a partial clone, a filter follows in brackets.
        match = re.match(r"(.*?)\s+\((fetch|push)\)", rest)
        if match:
            url = match[1]
            found.setdefault(name, {})[match[2]] = redacted(url) if redact_auth else url
    return found


def remote_get(
    cwd: str, remote: str = "origin", user: str | None = None, redact_auth: bool = True, **options: Any
) -> dict[str, str]:
    """Return the addresses of one remote. CommandExecutionError if it is not known."""
    known = remotes(cwd, user=user, redact_auth=redact_auth, **options)
    if remote not in known:
        raise CommandExecutionError(f"Remote '{remote}' not present in git checkout located at {cwd}")
    return known[remote]


def remote_set(
    cwd: str,
    url: str,
    remote: str = "origin",
    user: str | None = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    push_url: str | None = None,
    push_https_user: str | None = None,
    push_https_pass: str | None = None,
    **options: Any,
) -> dict[str, str]:
    """Set the address of a remote; one of the same name is replaced. Returns its addresses, without passwords."""
    address = with_credentials(url, https_user, https_pass)
    push_address = with_credentials(str(push_url), push_https_user, push_https_pass) if push_url else None
    where = expanded(cwd, user)
    if remote in remotes(cwd, user=user, **options):
        run(["remote", "rm", remote], where, user=user, **options)
    run(["remote", "add", remote, address], where, user=user, **options)
    if push_address:
        run(["remote", "set-url", "--push", remote, push_address], where, user=user, **options)
    return remote_get(cwd, remote, user=user, **options)


def fetch(
    cwd: str,
    remote: str | None = None,
    force: bool = False,
    refspecs: Any = None,
    opts: Any = "",
    user: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Fetch from a remote; return what is new: ``new branches``, ``updated branches``, ``new tags``, ``updated tags``.

    Raises CommandExecutionError, for instance if an update is no fast-forward and ``force`` is not set.
    """
    arguments = ["fetch", *(["--force"] if force else [])]
    arguments += [option for option in split_options(opts) if option not in {"-f", "--force"}]
    if str(remote or "").startswith("-"):
        raise InvocationError(f"{remote!r} is no remote: git would take it for an option")
    arguments += [remote] if remote else []
    arguments += comma_separated(refspecs) if refspecs is not None else []
    output = run(arguments, expanded(cwd, user), user=user, redirect_stderr=True, **options)["stdout"]
    found: dict[str, Any] = {}
    for line in output.split("\n"):
        match = _FETCHED.match(line)
        if not match:
            continue
        old, new, kind, name = match[1], match[2], match[3], match[4].rstrip()
        if kind is not None:
            found.setdefault("new tags" if kind == "tag" else "new branches", []).append(name)
        elif old is not None:
            found.setdefault("updated branches", {})[name] = {"old": old, "new": new}
        else:
            found.setdefault("updated tags", []).append(name)
    return found
