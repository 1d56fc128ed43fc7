"""``git.detached``: a commit checked out on no branch."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import Row, is_dry_run
from asyncstate.errors import CommandExecutionError

from .cloning import make_room
from .rows import bare_message, fail, redacted, sentences, would_do

if TYPE_CHECKING:
    from .repository import Repository


@dataclass
class Detachment:
    """The arguments and the steps of ``git.detached``; ``done`` has the comments of the steps."""

    row: Row
    name: str
    rev: str
    remote: str
    repository: Repository
    credentials: dict[str, str | None]
    force_clone: bool
    force_checkout: bool
    fetch_remote: bool
    hard_reset: bool
    submodules: bool

    def __post_init__(self) -> None:
        self.done: list[str] = []
        self.is_hash = len(self.rev) <= 40 and all(digit in string.hexdigits for digit in self.rev)
        if self.is_hash:
            self.rev = self.rev.lower()

    def make(self) -> None:
        """Do the work and fill the row. Raises `Outcome` if it ends early."""
        target = self.repository.target
        if filesystem.is_file(target):
            raise fail(f"Target '{target}' exists and is a regular file, cannot proceed")
        old, here = None, False
        if self.repository.exists():
            old = self.repository.head()
            here = self.is_hash and self._is_here()
            if not self.is_hash:
                self._set_address()
        else:
            self._clone()
        if self.fetch_remote and not here:
            self._fetch()
        rev = self._object()
        commit = self.repository.commit(rev)
        if self.hard_reset:
            if is_dry_run():
                raise would_do(f"Hard reset to HEAD would be performed on {target}")
            self.repository.do("reset", opts=["--hard", "HEAD"])
            self.done.append("Repository was reset to HEAD before checking out revision")
        new = None if commit == old else self._check_out(old, rev, commit)
        if self.submodules and not is_dry_run():
            self.repository.update_submodules()
            self.done.append("Submodules were updated")
        if new is None:
            self.done.append("Already checked out at correct revision")
        else:
            self.row["changes"]["HEAD"] = {"old": old, "new": new}
        self.row["comment"] = sentences(self.done)

    def _is_here(self) -> bool:
        try:
            self.repository.do("describe", self.rev, ignore_retcode=True)
        except CommandExecutionError:
            return False
        return True

    def _set_address(self) -> None:
        remotes: dict[str, Any] = self.repository.do("remotes", redact_auth=False)
        old = remotes.get(self.remote, {}).get("fetch")
        if old is not None and self.name in old:
            return
        if is_dry_run():
            raise would_do(f"Remote {self.remote} would be set to {redacted(self.name)}")
        self.repository.do("remote_set", url=self.name, remote=self.remote, **self.credentials)
        shown = None if old is None else redacted(old)
        self.done.append(f"Remote {self.remote} updated from '{shown}' to '{redacted(self.name)}'")

    def _clone(self) -> None:
        named = None if self.is_hash or self.rev == "HEAD" else self.rev
        refs = self.repository.require_source(self.name, named, self.credentials)
        if self.rev == "HEAD" and "HEAD" not in refs and self.name[:1] == "/" and filesystem.foretells():
            raise fail("Revision 'HEAD' does not exist")
        target, shown = self.repository.target, redacted(self.name)
        make_room(self.row, self.name, target, force=self.force_clone, predicted={})
        if is_dry_run():
            self._warn_of_history(refs)
            raise would_do(f"Repository {shown} would be cloned to {target}")
        options = ["--no-checkout", *(["--origin", self.remote] if self.remote != "origin" else [])]
        try:
            self.repository.do_remotely("clone", self.name, opts=options, **self.credentials)
        except CommandExecutionError as error:
            raise fail(bare_message(error), self.done) from error
        self.done.append(f"{shown} cloned to {target}")

    def _fetch(self) -> None:
        if is_dry_run():
            if self._is_behind():
                self._warn_of_history({})
                raise would_do(f"Repository remote {self.remote} would be fetched")
            return
        refspecs = [f"refs/heads/*:refs/remotes/{self.remote}/*", "+refs/tags/*:refs/tags/*"]
        try:
            news = self.repository.do_remotely("fetch", remote=self.remote, force=True, refspecs=refspecs)
        except CommandExecutionError as error:
            raise fail(f"Fetch failed:\n\n{error}", self.done) from error
        if news:
            self.done.append(f"Remote {self.remote} was fetched, resulting in updated refs")

    def _warn_of_history(self, refs: dict[str, str]) -> None:
        """Add a warning to the row of a dry run if none of ``refs`` names the commit, which may be missing."""
        if self.is_hash and filesystem.foretells() and not any(commit.startswith(self.rev) for commit in refs.values()):
            said = f"whether {redacted(self.name)} has the commit {self.rev} is known when it was fetched"
            self.row["warnings"] = [said]

    def _is_behind(self) -> bool:
        """Whether the remote has another commit for ``rev`` than was fetched, or ``rev`` is a missing commit."""
        if self.is_hash:
            return True
        try:
            news = self.repository.do_remotely("ls_remote", remote=self.remote)
        except CommandExecutionError as error:
            raise fail(f"Fetch failed:\n\n{error}", self.done) from error
        known = {f"refs/heads/{self.rev}": f"refs/remotes/{self.remote}/{self.rev}"}
        known[f"refs/tags/{self.rev}"] = f"refs/tags/{self.rev}"
        return any(name in news and news[name] != self.repository.reference(here) for name, here in known.items())

    def _object(self) -> str:
        """Return the commit or tag object that ``rev`` names; branches of the remote take precedence over tags."""
        if self.is_hash:
            if self._is_here():
                return self.rev
            raise fail(f"Revision '{self.rev}' does not exist")
        for name in (f"refs/remotes/{self.remote}/{self.rev}", f"refs/tags/{self.rev}"):
            found = self.repository.reference(name)
            if found is not None:
                return found
        raise fail(f"Revision '{self.rev}' does not exist")

    def _check_out(self, old: str | None, rev: str, commit: str | None) -> str | None:
        target = self.repository.target
        if is_dry_run():
            self.row["changes"]["HEAD"] = {"old": old, "new": commit}
            raise would_do(f"Commit ID {rev} would be checked out at {target}")
        self.repository.do("checkout", rev, force=self.force_checkout)
        self.done.append(f"Commit ID {rev} was checked out at {target}")
        return self.repository.head()
