"""The repository at a state's target, for one user."""

from __future__ import annotations

import os
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __env__, __salt__
from asyncstate.errors import CommandExecutionError

from .rows import bare_message, fail

WITHOUT_SSH = ("https://", "http://", "git://", "file://")


class Repository:
    """Calls the git module for one target, user, key and encoding."""

    def __init__(
        self,
        target: str,
        user: str | None = None,
        password: str | None = None,
        identity: list[str] | None = None,
        output_encoding: str | None = None,
    ) -> None:
        filesystem.require_unshared(target, "git", user)
        if user and filesystem.foretells() and __salt__["file.user_to_uid"](user) == "":
            raise CommandExecutionError(f"User '{user}' is not available")
        self.target = target
        self.as_user = {"user": user, "password": password, "output_encoding": output_encoding}
        self.over_ssh = {**self.as_user, "identity": identity, "saltenv": str(__env__)}

    def do(self, function: str, *arguments: Any, **options: Any) -> Any:
        """Call ``git.<function>`` on the target. Raises CommandExecutionError."""
        return __salt__[f"git.{function}"](self.target, *arguments, **self.as_user, **options)

    def do_remotely(self, function: str, *arguments: Any, **options: Any) -> Any:
        """Call ``git.<function>`` on the target, with the private key."""
        return __salt__[f"git.{function}"](self.target, *arguments, **self.over_ssh, **options)

    def require_source(
        self, url: str, rev: str | None, credentials: dict[str, str | None], failure: str = ""
    ) -> dict[str, str]:
        """In a dry run, end the state if ``url`` could not be cloned, or has no branch or tag ``rev``.

        Return the references of ``url``; none if it was not queried or did not answer. Nothing is queried over ssh,
        which stores the first contact; a host that does not answer now may do so later.
        """
        if not filesystem.foretells() or not url.startswith(("/", *WITHOUT_SSH)):
            return {}
        if os.path.isabs(url) and not filesystem.exists(url):
            raise fail(f"{failure}fatal: repository '{url}' does not exist")
        try:
            refs: dict[str, str] = __salt__["git.remote_refs"](url, **self.over_ssh, **credentials)
        except CommandExecutionError as error:
            if os.path.isabs(url):
                raise fail(f"{failure}{bare_message(error)}") from error
            return {}
        if rev is not None and refs.keys().isdisjoint((f"refs/heads/{rev}", f"refs/tags/{rev}")):
            raise fail(f"{failure}Revision '{rev}' does not exist")
        return refs

    def exists(self, folder: str = ".git") -> bool:
        """Return whether the target is a repository (it has ``folder``) or a worktree of one."""
        return filesystem.is_directory(os.path.join(self.target, folder)) or bool(self.do("is_worktree"))

    def commit(self, rev: str) -> str | None:
        """Return the commit for ``rev`` in the repository, None if there is none."""
        return self._known("rev_parse", rev + "^{commit}")

    def reference(self, name: str) -> str | None:
        """Return the object of the reference ``name`` in the repository, None if there is none."""
        return self._known("rev_parse", name)

    def head(self) -> str | None:
        """Return the checked-out commit."""
        return self._known("revision")

    def branch(self) -> str | None:
        """Return the checked-out branch, ``HEAD`` for none, None before the first commit."""
        return self._known("current_branch")

    def upstream(self, branch: str) -> str | None:
        """Return the branch that ``branch`` tracks."""
        return self._known("rev_parse", branch + "@{upstream}", opts=["--abbrev-ref"])

    def leads_to(self, old: str, new: str) -> bool:
        """Return whether ``new`` is a fast-forward from ``old``."""
        return bool(self.do("merge_base", refs=[old, new], is_ancestor=True, ignore_retcode=True))

    def update_submodules(self) -> None:
        """Bring the submodules, recursively, to the recorded commits."""
        self.do_remotely("submodule", "update", opts=["--init", "--recursive"])

    def _known(self, function: str, *arguments: Any, **options: Any) -> str | None:
        try:
            return str(self.do(function, *arguments, ignore_retcode=True, **options))
        except CommandExecutionError:
            return None
