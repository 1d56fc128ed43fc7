"""The checked arguments of ``git.latest``, and the commit in the remote repository."""

from __future__ import annotations

import os
import re
import string
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from asyncstate import filesystem
from asyncstate.dunders import __env__, __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

from .repository import Repository
from .rows import bare_message, fail, key_paths, redacted, text_or_none

_NOT_IN_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{")


@dataclass
class Request:
    """The arguments of ``git.latest`` as text; `check` ends the state if they are invalid."""

    name: str
    target: Any
    rev: Any
    branch: Any
    user: Any
    password: Any
    update_head: bool
    force_checkout: bool
    force_clone: bool
    force_fetch: bool
    force_reset: Any
    submodules: bool
    bare: bool
    mirror: bool
    remote: Any
    fetch_tags: bool
    sync_tags: bool
    depth: Any
    identity: Any
    https_user: Any
    https_pass: Any
    refspec_branch: str
    refspec_tag: str
    output_encoding: str | None
    address: str = ""
    """The remote address with user and password, in the form stored in the repository."""

    def check(self) -> None:
        """Convert the arguments to text; end the state if they are invalid."""
        for argument in ("remote", "target"):
            if not getattr(self, argument):
                raise fail(f"'{argument}' argument is required")
        if not self.rev:
            raise fail(f"'{self.rev}' is not a valid value for the 'rev' argument")
        if self.force_reset not in (True, False, "remote-changes"):
            raise fail("'force_reset' must be one of True, False, or 'remote-changes'")
        self.rev, self.target, self.remote = str(self.rev), str(self.target), str(self.remote)
        if not os.path.isabs(self.target):
            raise fail(f"target '{self.target}' is not an absolute path")
        for argument in ("branch", "user", "password", "https_user", "https_pass"):
            setattr(self, argument, text_or_none(getattr(self, argument)))
        self.identity = key_paths(self.identity, "identity")
        if filesystem.is_file(self.target):
            raise fail(f"Target '{self.target}' exists and is a regular file, cannot proceed")
        self.address = address(self.name, self.https_user, self.https_pass)
        if filesystem.judges():
            self._judge()
        self.bare = self.bare or self.mirror
        if self.rev != "HEAD" and self.bare:
            raise fail("'rev' is not compatible with the 'mirror' and 'bare' arguments")

    def _judge(self) -> None:
        """End the state if git would refuse a value only after cloning."""
        if self.depth is not None and self.depth < 1:
            raise fail(f"fatal: depth {self.depth} is not a positive number")
        if self.branch is not None and not _is_branch(self.branch):
            raise fail(f"fatal: '{self.branch}' is not a valid branch name")

    @property
    def shown(self) -> str:
        """The given remote address, without a password."""
        return redacted(self.name)

    @property
    def repository(self) -> Repository:
        """The repository at the target."""
        return Repository(self.target, self.user, self.password, self.identity, self.output_encoding)

    @property
    def credentials(self) -> dict[str, str | None]:
        """User and password for https."""
        return {"https_user": self.https_user, "https_pass": self.https_pass}

    @property
    def refspecs(self) -> list[str]:
        """The refspecs to fetch."""
        if not self.fetch_tags:
            return []
        branches, tags = self.refspec_branch, self.refspec_tag
        return [f"refs/heads/{branches}:refs/remotes/{self.remote}/{branches}", f"+refs/tags/{tags}:refs/tags/{tags}"]

    def needs_branch(self, current: str | None) -> bool:
        """Return whether a branch other than ``current`` has to be checked out."""
        return self.branch is not None and self.branch != current


@dataclass
class Wanted:
    """A commit of the remote repository.

    ``kind`` is ``branch``, ``tag``, ``sha1`` or "". ``upstream`` is the branch to track, None to leave it as it is,
    False for none. ``place`` is its name in comments.
    """

    commit: str | None = None
    kind: str = ""
    upstream: Any = False
    place: str = ""
    has_head: bool = False
    default_branch: str | None = None

    def is_at(self, commit: str | None) -> bool:
        """Return whether ``commit`` is the wanted one, which may be given by its first digits."""
        if commit is None or self.commit is None:
            return commit is self.commit
        return commit.startswith(self.commit) if self.kind == "sha1" else commit == self.commit


def address(url: str, user: str | None, password: str | None) -> str:
    """Return ``url`` with user and password in it; end the state if it is no https URL."""
    if user is None and password is None:
        return url
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise fail("Basic Auth only supported for HTTPS")
    login = quote(user or "", safe="") + ("" if password is None else ":" + quote(password, safe=""))
    return urlunsplit(parts._replace(netloc=f"{login}@{parts.netloc}"))


def _is_branch(name: str) -> bool:
    """Return whether git accepts a name for a branch, by the rules of ``git check-ref-format --branch``."""
    parts = name.split("/")
    wrong = name in {"@", "HEAD"} or name.startswith("-") or name.endswith(".") or _NOT_IN_BRANCH.search(name)
    return not wrong and not any(not part or part.startswith(".") or part.endswith(".lock") for part in parts)


def resolve(request: Request) -> Wanted:
    """Resolve the commit in the remote repository; end the state if there is none."""
    try:
        refs = __salt__["git.remote_refs"](
            request.name,
            user=request.user,
            password=request.password,
            identity=request.identity,
            saltenv=str(__env__),
            output_encoding=request.output_encoding,
            **request.credentials,
        )
    except (CommandExecutionError, InvocationError) as error:
        raise fail(f"Failed to check remote refs: {bare_message(error)}") from error
    wanted = _named(request, refs)
    wanted.has_head = "HEAD" in refs
    heads = [name for name, commit in refs.items() if name.startswith("refs/heads/") and commit == refs.get("HEAD")]
    wanted.default_branch = heads[0].removeprefix("refs/heads/") if heads else None
    if request.depth is not None and wanted.kind not in {"branch", "tag"}:
        raise fail("When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote repository")
    if wanted.commit is None and not request.bare and request.rev != "HEAD":
        raise fail(f"No revision matching '{request.rev}' exists in the remote repository")
    return wanted


def _named(request: Request, refs: dict[str, str]) -> Wanted:
    rev = request.rev
    if request.bare:
        return Wanted()
    if rev == "HEAD":
        head = refs.get("HEAD")
        return Wanted(head, "sha1", None, f"remote HEAD ({head[:7]})") if head else Wanted()
    commit = refs.get(f"refs/heads/{rev}")
    if commit:
        upstream = f"{request.remote}/{rev}"
        return Wanted(commit, "branch", upstream, f"{upstream} ({commit[:7]})")
    # An annotated tag is an object of its own; the commit it points to is listed with ^{}.
    commit = refs.get(f"refs/tags/{rev}^{{}}") or refs.get(f"refs/tags/{rev}")
    if commit:
        return Wanted(commit, "tag", False, f"{rev} ({commit[:7]})")
    if len(rev) <= 40 and all(digit in string.hexdigits for digit in rev):
        request.rev = rev.lower()
        return Wanted(request.rev, "sha1", False, request.rev[:7])
    return Wanted()
