"""``git.latest`` for an existing repository: fetch, checkout, reset and merge."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import Row, is_dry_run
from asyncstate.errors import CommandExecutionError

from .rows import (
    Outcome,
    bare_message,
    fail,
    redacted,
    sentences,
    short,
    up_to_date,
    would_do,
)

if TYPE_CHECKING:
    from .request import Request, Wanted

_NO_BRANCH = (
    "Cannot set/unset upstream tracking branch, local HEAD refers to nonexistent branch. This may have been caused by "
    "cloning a remote repository for which the default branch was renamed or deleted. If you are unable to fix the "
    "remote repository, you can work around this by setting the 'branch' argument (which will ensure that the named "
    "branch is created if it does not already exist)."
)


def bring_up_to_date(request: Request, wanted: Wanted, row: Row) -> None:
    """Bring the repository to the wanted commit. Raises `Outcome` at an early end."""
    update = _Update(request, wanted, row)
    try:
        update.look()
        update.set_address()
        if wanted.commit is not None:
            if is_dry_run():
                raise update.dry_run()
            update.move()
        elif request.bare:
            update.fetch_bare()
        update.conclude()
    except CommandExecutionError as error:
        raise fail(bare_message(error), update.done) from error


class _Update:
    """The current state of the repository (`look`), and the steps to the wanted one."""

    def __init__(self, request: Request, wanted: Wanted, row: Row) -> None:
        self.request = request
        self.wanted = wanted
        self.changes: dict[str, Any] = row["changes"]
        self.row = row
        self.repository = request.repository
        self.done: list[str] = []

    def look(self) -> None:
        """Determine the work; end the state if there is none, or if it is not allowed.

        ``base`` is the commit from which the update starts: HEAD, or the head of the branch to check out. ``forward``
        tells whether merging can reach the wanted commit, None if the commit is not known yet.
        """
        request, wanted, repository = self.request, self.wanted, self.repository
        self.branches: list[str] = repository.do("list_branches")
        self.tags: set[str] = set(repository.do("list_tags"))
        self.head, self.branch = repository.head(), repository.branch()
        if not request.bare and wanted.commit is None and self.head is not None:
            raise fail("Remote repository is empty, cannot update from a non-empty to an empty repository")
        self.base, base_branch = self._base()
        self.remotes: dict[str, dict[str, str]] = repository.do("remotes", redact_auth=False)
        self.matches = wanted.is_at(self.head)
        self.dirty = not request.bare and self._has_local_changes()
        if self.dirty and self.matches:
            self._keep_or_reset()
        self.known = self._is_known()
        self.forward: bool | None = False if self.dirty and request.force_reset != "remote-changes" else None
        if self.known:
            self._refuse_to_move_head()
            if self.forward is None:
                self.forward = self._is_forward()
        if self.forward is False and request.force_reset is False:
            raise self._not_fast_forward()
        self.upstream = None if base_branch is None else repository.upstream(base_branch)

    def set_address(self) -> None:
        """Set the address of the remote if it differs."""
        request = self.request
        old = self.remotes.get(request.remote, {}).get("fetch")
        if self.wanted.commit is None or request.address == old:
            return
        new = redacted(request.address)
        if is_dry_run():
            raise self._would_set_address(old, new)
        self.repository.do("remote_set", url=request.name, remote=request.remote, **request.credentials)
        if old is None:
            self.done.append(f"Remote '{request.remote}' set to {new}")
            self.changes["new"] = f"{request.shown} => {request.remote}"
        else:
            self.done.append(f"Remote '{request.remote}' changed from {redacted(old)} to {new}")

    def dry_run(self) -> Outcome:
        """Return the outcome of a dry run."""
        request, wanted = self.request, self.wanted
        actions = [] if self.known else [f"Remote '{request.remote}' would be fetched"]
        if not self.matches and (request.update_head or request.needs_branch(self.branch)):
            self.changes["revision"] = {"old": self.head, "new": wanted.commit}
        actions += self._would_move()
        if not self.upstream and wanted.upstream:
            actions.append(f"Tracking branch would be set to {wanted.upstream}")
        elif self.upstream and wanted.upstream is False:
            actions.append("Tracking branch would be unset")
        elif wanted.upstream and self.upstream != wanted.upstream:
            actions.append(f"Tracking branch would be updated to {wanted.upstream}")
        return self._would_end(actions)

    def move(self) -> None:
        """Fetch, check out the branch, and move it to the wanted commit."""
        request, wanted, repository = self.request, self.wanted, self.repository
        tracking, tracked = self._tracking()
        if tracking is not None and self.branch is None:
            raise fail(_NO_BRANCH, self.done)
        self._compare_tags()
        if not self.known:
            self._fetch_wanted()
        if request.needs_branch(self.branch):
            self._check_out()
        if self.forward is False:
            repository.do("reset", opts=["--hard", wanted.commit])
            self.changes["forced update"] = True
            if self.dirty:
                self.done.append("Uncommitted changes were discarded")
            self.done.append(f"Repository was hard-reset to {wanted.place}")
        elif self.forward and self.dirty and request.force_reset is not False:
            repository.do("discard_local_changes")
            self.done.append("Uncommitted changes were discarded")
        if tracking is not None:
            repository.do("branch", opts=tracking)
            self.done.append(tracked)
        if self.forward and not wanted.is_at(self.base):
            self._fast_forward()
        if request.submodules:
            try:
                repository.update_submodules()
            except CommandExecutionError as error:
                raise fail(f"Failed to update submodules: {bare_message(error)}", self.done) from error

    def fetch_bare(self) -> None:
        """Fetch into a bare repository or a mirror."""
        target = self.request.target
        if is_dry_run():
            message = f"Bare repository at {target} would be fetched"
            raise would_do(message) if self.changes else up_to_date(target, [message])
        news = ", resulting in updated refs" if self._fetch() else ""
        self.done.append(f"Bare repository at {target} was fetched{news}")

    def conclude(self) -> None:
        """Compare the repository with its state before, and fill the row."""
        new = self.repository.head()
        if not self.request.bare and not self.wanted.is_at(new):
            raise fail("Failed to update repository", self.done)
        if new == self.head:
            raise up_to_date(self.request.target, self.done)
        self.row["comment"] = sentences(self.done)
        self.changes["revision"] = {"old": self.head, "new": new}

    def _base(self) -> tuple[str | None, str | None]:
        request = self.request
        if not request.needs_branch(self.branch):
            return self.head, self.branch
        if request.branch not in self.branches:
            return self.wanted.commit, self.branch
        commit = self.repository.commit(request.branch)
        if commit is None:
            raise fail(f"Unable to get position of local branch '{request.branch}': it names no commit")
        return commit, request.branch

    def _has_local_changes(self) -> bool:
        try:
            return bool(self.repository.do("diff", "HEAD", opts=["--name-only"]))
        except CommandExecutionError:
            return False

    def _keep_or_reset(self) -> None:
        """End the state if the repository only has local changes, unless they must be discarded."""
        target = self.request.target
        if self.request.force_reset is not True:
            raise up_to_date(target, self.done, local_changes=True)
        if is_dry_run():
            self.changes["forced update"] = True
            raise would_do(
                f"{target} is up-to-date, but with uncommitted changes. Since 'force_reset' is set to True, these "
                "local changes would be reset. To only reset when there are changes in the remote repository, set "
                "'force_reset' to 'remote-changes'."
            )

    def _is_known(self) -> bool:
        """Return whether no fetch is needed: the commit is here, under the same name as in the remote."""
        request, wanted, repository = self.request, self.wanted, self.repository
        if wanted.commit is None:
            return False
        if wanted.kind == "sha1" and self.base is not None and self.base.startswith(wanted.commit):
            return True
        if repository.commit(wanted.commit) is None:
            return False
        if wanted.kind == "branch":
            return request.remote in self.remotes and repository.reference(wanted.upstream) == wanted.commit
        if wanted.kind != "tag":
            return True
        if request.rev not in self.tags:
            return False
        here = repository.commit(request.rev)
        if here != wanted.commit and not request.force_reset:
            raise fail(
                f"'{request.rev}' is a tag, but the remote SHA1 for this tag ({short(wanted.commit)}) doesn't match "
                f"the local SHA1 ({short(here)}). Set 'force_reset' to True to force this update."
            )
        return here == wanted.commit

    def _refuse_to_move_head(self) -> None:
        """End the state if the commit is here and HEAD must stay where it is."""
        request = self.request
        if self.matches or request.update_head or request.needs_branch(self.branch):
            return
        place = self.wanted.place.capitalize() if request.rev == "HEAD" else self.wanted.place
        raise Outcome(
            f"{place} is already present and local HEAD ({short(self.head)}) does not match, but update_head=False. "
            "HEAD has not been updated locally.",
            result=True,
        )

    def _is_forward(self) -> bool:
        # From no commit, every commit is a fast-forward.
        return self.base is None or self.repository.leads_to(self.base, str(self.wanted.commit))

    def _not_fast_forward(self) -> Outcome:
        """Return the failure that names the argument to force the update."""
        request, old, new = self.request, short(self.base), short(self.wanted.commit)
        span = f"from {old} to {new}" if self.dirty and old != new else f"to {new}"
        after = f" (after checking out local branch '{request.branch}')" if request.needs_branch(self.branch) else ""
        why = "there are uncommitted changes" if self.dirty else "this is not a fast-forward merge"
        also = " (or 'remote-changes')" if self.dirty else ""
        discard = " and discard these changes" if self.dirty else ""
        return fail(
            f"Repository would be updated {span}{after}, but {why}. Set 'force_reset' to True{also} to force this "
            f"update{discard}.{self._branch_advice()}",
            self.done,
        )

    def _branch_advice(self) -> str:
        request, default, local = self.request, self.wanted.default_branch, self.branch
        if request.branch is not None:
            return ""
        if request.rev != "HEAD":
            if local == request.rev:
                return ""
            return (
                f" The desired rev ({request.rev}) differs from the name of the local branch ({local}), if the desired "
                "rev is a branch name then a forced update could possibly be avoided by setting the 'branch' argument "
                f"to '{request.rev}' instead."
            )
        if default is None or local == default:
            return ""
        return (
            f" The default remote branch ({default}) differs from the local branch ({local}). This could be caused by "
            "changing the default remote branch, or if the local branch was manually changed. Rather than forcing an "
            f"update, it may be advisable to set the 'branch' argument to '{default}' instead. To ensure that this "
            f"state follows the '{default}' branch instead of the remote HEAD, set the 'rev' argument to '{default}'."
        )

    @property
    def _merge_action(self) -> str:
        return {None: "updated", False: "hard-reset", True: "fast-forwarded"}[self.forward]

    def _would_set_address(self, old: str | None, new: str) -> Outcome:
        request = self.request
        change = f"changed from {redacted(old)} to {new}" if old is not None else f"set to {new}"
        actions = [f"Remote '{request.remote}' would be {change}"]
        if old is None and filesystem.foretells():
            self.changes["new"] = f"{request.shown} => {request.remote}"
        if not self.known:
            actions.append("Remote would be fetched")
        if not self.matches and request.update_head:
            self.changes["revision"] = {"old": self.head, "new": self.wanted.commit}
            if self.forward is False:
                self.changes["forced update"] = True
            actions.append(f"Repository would be {self._merge_action} to {short(self.wanted.commit)}")
        return self._would_end(actions)

    def _would_move(self) -> list[str]:
        request, wanted = self.request, self.wanted
        if request.needs_branch(self.branch):
            if request.branch in self.branches:
                return [
                    f"Branch '{request.branch}' would be checked out and {self._merge_action} to {short(wanted.commit)}"
                ]
            start = f"New branch '{request.branch}' would be checked out, with {wanted.place} as a starting point"
            return [start, *([f"Tracking branch would be set to {wanted.upstream}"] if wanted.upstream else [])]
        if self.matches:
            return []
        old, new = short(self.head), short(wanted.commit)
        if not request.update_head:
            reason = "but update_head=False, HEAD would not be updated locally"
            return [f"Local HEAD ({old}) does not match {wanted.place} {reason}"]
        if self.forward:
            return [f"Repository would be fast-forwarded from {old} to {new}"]
        how = "hard-reset" if request.force_reset and self.known else "updated"
        return [f"Repository would be {how} from {old} to {new}"]

    def _would_end(self, actions: list[str]) -> Outcome:
        if self.changes:
            return would_do(sentences(actions))
        if actions and not self.matches and not self.request.update_head:
            return Outcome(sentences(actions), result=True)
        return up_to_date(self.request.target, actions)

    def _tracking(self) -> tuple[list[str] | None, str]:
        """Return the options of ``git branch`` to set or unset the tracked branch, None if it is right."""
        wanted = self.wanted.upstream
        if self.upstream and wanted is False:
            return ["--unset-upstream"], "Tracking branch was unset"
        if not wanted or self.upstream == wanted:
            return None, ""
        if self.request.branch is not None and self.request.branch not in self.branches:
            # Checking a new branch out sets what it tracks.
            return None, ""
        verb = "updated" if self.upstream else "set"
        return ["--set-upstream-to", wanted], f"Tracking branch was {verb} to {wanted}"

    def _compare_tags(self) -> None:
        """Delete tags that the remote does not have, and make sure that new ones are fetched."""
        request = self.request
        listed = self.repository.do_remotely("ls_remote", remote=request.remote, opts="--tags", ignore_retcode=True)
        theirs = {name.removeprefix("refs/tags/") for name in listed if "^{}" not in name}
        if theirs == self.tags:
            return
        self.known = False
        new = sorted(tag for tag in theirs - self.tags if fnmatchcase(tag, request.refspec_tag))
        if new and request.fetch_tags:
            self.changes["new_tags"] = new
        if not request.sync_tags:
            return
        deleted = []
        for tag in sorted(self.tags - theirs):
            try:
                self.repository.do("tag", tag, opts="-d")
            except CommandExecutionError as error:
                self.row.setdefault("warnings", []).append(f"Failed to remove local tag '{tag}':\n\n{error}\n\n")
            else:
                deleted.append(tag)
        if deleted:
            self.changes["deleted_tags"] = deleted
            self.done.append(f"The following tags were removed from the local checkout: {', '.join(deleted)}")

    def _fetch(self) -> dict[str, Any]:
        request = self.request
        try:
            news: dict[str, Any] = self.repository.do_remotely(
                "fetch", remote=request.remote, force=request.force_fetch, refspecs=request.refspecs
            )
        except CommandExecutionError as error:
            raise fail(
                "Fetch failed. Set 'force_fetch' to True to force the fetch if the failure was due to not being able "
                f"to fast-forward. Output of the fetch command follows:\n\n{bare_message(error)}",
                self.done,
            ) from error
        return news

    def _fetch_wanted(self) -> None:
        request, wanted = self.request, self.wanted
        if self._fetch():
            self.done.append(f"{request.shown} was fetched, resulting in updated refs")
        try:
            self.repository.do("rev_parse", f"{wanted.commit}^{{commit}}", ignore_retcode=True)
        except CommandExecutionError as error:
            raise fail(
                f"Fetch did not successfully retrieve rev '{request.rev}' from {request.shown}: {error}"
            ) from error
        self._refuse_to_move_head()
        self.forward = self._is_forward()
        refused = not self.forward or self.dirty
        if request.force_reset is False and refused:
            raise self._not_fast_forward()

    def _check_out(self) -> None:
        request, wanted = self.request, self.wanted
        if self.dirty and not request.force_checkout:
            raise fail(
                f"Local branch '{self.branch}' has uncommitted changes. Set 'force_checkout' to True to discard them "
                "and proceed."
            )
        if request.branch in self.branches:
            self.repository.do("checkout", request.branch, force=request.force_checkout)
            self.done.append(f"'{request.branch}' was checked out")
            return
        start = wanted.commit if request.rev == "HEAD" else wanted.upstream or request.rev
        self.repository.do("checkout", start, force=request.force_checkout, opts=["-b", request.branch])
        self.done.append(f"New branch '{request.branch}' was checked out, with {wanted.place} as a starting point")

    def _fast_forward(self) -> None:
        request, wanted, repository = self.request, self.wanted, self.repository
        if not wanted.upstream and request.rev != "HEAD":
            # A tag or commit cannot be merged with: the branch is set to it.
            repository.do("reset", opts=["--hard", request.rev])
            self.done.append(f"Repository was reset to {request.rev} (fast-forward)")
            return
        if not repository.do("symbolic_ref", "HEAD", opts=["--quiet"], ignore_retcode=True):
            raise fail("Unable to fast-forward, HEAD is detached", self.done)
        repository.do("merge", rev=wanted.commit, opts=["--ff-only"])
        self.done.append(f"Repository was fast-forwarded to {wanted.place}")
