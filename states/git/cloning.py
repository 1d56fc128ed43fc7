"""``git.latest`` without an existing repository, and ``git.cloned``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import Row, is_dry_run
from asyncstate.errors import CommandExecutionError

from .rows import Outcome, bare_message, clear_folder, fail, redacted, sentences, would_do

if TYPE_CHECKING:
    from .repository import Repository
    from .request import Request, Wanted

_NO_REMOTE_HEAD = (
    "Remote HEAD refers to a ref that does not exist. This can happen when the default branch on the remote repository "
    "is renamed or deleted. If you are unable to fix the remote repository, you can work around this by setting the "
    "'branch' argument (which will ensure that the named branch is created if it does not already exist)."
)


def make_room(row: Row, name: str, target: str, *, force: bool, predicted: dict[str, Any]) -> None:
    """Empty the target folder of a clone if allowed; ``predicted`` are the changes of a dry run."""
    if not filesystem.is_directory(target):
        return
    if not force:
        if filesystem.listdir(target):
            raise fail(
                f"Target '{target}' exists, is non-empty and is not a git repository. Set the 'force_clone' option to "
                "True to remove this directory's contents and proceed with cloning the remote repository"
            )
        return
    if is_dry_run():
        row["changes"].update(predicted)
        raise would_do(
            f"Target directory {target} exists. Since force_clone=True, the contents of {target} would be deleted, and "
            f"{redacted(name)} would be cloned into this directory."
        )
    clear_folder(target)
    row["changes"]["forced clone"] = True


def clone_latest(request: Request, wanted: Wanted, row: Row) -> None:
    """Clone the wanted repository and fill the row. Raises `Outcome` if that fails."""
    new = f"{request.shown} => {request.target}"
    make_room(
        row, request.name, request.target, force=request.force_clone, predicted={"forced clone": True, "new": new}
    )
    if is_dry_run():
        row["changes"]["new"] = new
        raise would_do(f"Repository {request.shown} would be cloned to {request.target}")
    clone = _Clone(request, wanted)
    try:
        clone.make()
        row["changes"]["new"] = new
        if not request.bare:
            clone.check_out()
        if request.submodules and wanted.commit:
            clone.update_submodules()
    except CommandExecutionError as error:
        raise fail(bare_message(error), clone.done) from error
    row["comment"] = sentences(clone.done)
    revision = clone.repository.head()
    if revision is not None:
        row["changes"]["revision"] = {"old": None, "new": revision}


class _Clone:
    """The steps of cloning; ``done`` has their comments."""

    def __init__(self, request: Request, wanted: Wanted) -> None:
        self.request = request
        self.wanted = wanted
        self.repository = request.repository
        self.done: list[str] = []

    def make(self) -> None:
        request = self.request
        options = ["--mirror"] if request.mirror else ["--bare"] if request.bare else []
        if request.remote != "origin":
            options += ["--origin", request.remote]
        if request.depth is not None:
            options += ["--depth", str(request.depth), "--branch", request.rev]
        try:
            self.repository.do_remotely("clone", request.name, opts=options, **request.credentials)
        except CommandExecutionError as error:
            raise fail(f"Clone failed: {bare_message(error)}", self.done) from error
        kind = " as mirror" if request.mirror else " as bare repository" if request.bare else ""
        self.done.append(f"{request.shown} cloned to {request.target}{kind}")

    def check_out(self) -> None:
        """Bring the new clone to the wanted commit, on the wanted branch."""
        request, wanted, repository = self.request, self.wanted, self.repository
        if not wanted.commit:
            return
        if wanted.kind == "tag" and request.rev not in repository.do("list_tags"):
            raise fail(f"Revision '{request.rev}' does not exist in clone", self.done)
        if request.branch is not None and request.branch not in repository.do("list_branches"):
            start = wanted.commit if request.rev == "HEAD" else wanted.upstream or request.rev
            repository.do("checkout", start, opts=["-b", request.branch])
            self.done.append(f"Branch '{request.branch}' checked out, with {wanted.place} as a starting point")
        head, branch = repository.head(), repository.branch()
        if branch is None and not wanted.has_head:
            raise fail(_NO_REMOTE_HEAD, self.done)
        if not wanted.is_at(head):
            repository.do("reset", opts=["--hard", wanted.commit])
            self.done.append(f"Repository was reset to {wanted.place}")
        self._track(branch)

    def update_submodules(self) -> None:
        try:
            self.repository.update_submodules()
        except CommandExecutionError as error:
            raise fail(f"Failed to update submodules: {bare_message(error)}", self.done) from error

    def _track(self, branch: str | None) -> None:
        upstream, wanted = self.repository.upstream(branch or "HEAD"), self.wanted.upstream
        if upstream and wanted is False:
            self.repository.do("branch", opts=["--unset-upstream"])
            self.done.append("Tracking branch was unset")
        elif wanted and upstream != wanted:
            self.repository.do("branch", opts=["--set-upstream-to", wanted])
            self.done.append(f"Tracking branch was {'updated' if upstream else 'set'} to {wanted}")


def clone_once(
    row: Row, repository: Repository, name: str, branch: str | None, credentials: dict[str, str | None]
) -> None:
    """Do the work of ``git.cloned``: clone if nothing is there, else check out the branch."""
    if filesystem.exists(repository.target):
        try:
            repository.do("status")
        except CommandExecutionError as error:
            raise fail(str(error)) from error
        _change_branch(row, repository, branch)
        return
    with_branch = f" with branch '{branch}'" if branch is not None else ""
    row["changes"]["new"] = f"{redacted(name)} => {repository.target}"
    repository.require_source(name, branch, credentials, "Clone failed: ")
    if is_dry_run():
        raise would_do(f"{redacted(name)} would be cloned to {repository.target}{with_branch}")
    try:
        repository.do_remotely("clone", name, opts=["--branch", branch] if branch is not None else None, **credentials)
    except CommandExecutionError as error:
        row["changes"].clear()
        raise fail(f"Clone failed: {bare_message(error)}") from error
    raise Outcome(f"{redacted(name)} cloned to {repository.target}{with_branch}", result=True)


def _change_branch(row: Row, repository: Repository, branch: str | None) -> None:
    current = None if branch is None else repository.branch()
    if current == branch:
        where = f" and is checked out to branch '{branch}'" if branch else ""
        raise Outcome(f"Repository already exists at {repository.target}{where}", result=True)
    change = {"old": current, "new": branch}
    if is_dry_run():
        row["changes"]["branch"] = change
        raise would_do(f"Branch would be changed to '{branch}'")
    start = [] if repository.reference(str(branch)) else ["-b", str(branch)]
    try:
        repository.do("checkout", rev=f"origin/{branch}" if start else branch, opts=start)
    except CommandExecutionError as error:
        raise fail(f"Failed to change branch to '{branch}': {error}") from error
    row["changes"]["branch"] = change
    raise Outcome(f"Branch changed to '{branch}'", result=True)
