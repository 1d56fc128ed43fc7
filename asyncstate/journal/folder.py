"""The folder of the journal: in the state directory, private and out of reach of other users."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from asyncstate import filesystem
from asyncstate.errors import JournalError, PathRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FOLDER = "journal"
SUFFIX = ".log"
"""The suffix of the log of a run under way, or of a killed run."""
ENDED = ".ended"
"""The suffix of the log of an ended run: its last line is its entry, its modification time the start of the run."""
_PLAN = ".plan"
_PLANS = "plans"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def require_own(state_dir: str) -> None:
    """Refuse, as root, a state directory that others can change. Raises PathRefused; OSError if there is none."""
    if user := filesystem.who_can_change(state_dir):
        raise PathRefused(
            f"Refusing to keep the journal of root in {state_dir}: {user} can change it. Name another `state_dir`, or "
            "give it and its folders to root (chown root, chmod go-w)."
        )


def require_folder(state_dir: str) -> None:
    """Raise JournalError if something other than a folder is at the place of the journal."""
    for path in (state_dir, os.path.join(state_dir, FOLDER)):
        if os.path.lexists(path) and not os.path.isdir(path):
            raise JournalError(f"{path} is no folder, so there can be no journal. Move it away.")


def make_folder(state_dir: str) -> str:
    """Make the folder of the logs, and return its path. Raises OSError, PathRefused, JournalError."""
    folder = os.path.join(state_dir, FOLDER)
    if not os.path.isdir(folder):
        require_folder(state_dir)
        filesystem.makedirs(state_dir, 0o700)
    require_own(state_dir)
    if not os.path.isdir(folder):
        filesystem.makedirs(folder, 0o700)
    require_own(folder)
    return folder


def log_path(state_dir: str, run: str) -> str:
    """Return the path of the log of a run that has not ended."""
    return os.path.join(state_dir, FOLDER, f"{run}{SUFFIX}")


def plan_path(log: str) -> str:
    """Return the path of the record of the plan whose run has this log."""
    return os.path.splitext(log)[0] + _PLAN


def logs_in(state_dir: str, *suffixes: str) -> list[str]:
    """Return the paths of the logs of runs under way and killed runs; or of all files with one of ``suffixes``."""
    folder = os.path.join(state_dir, FOLDER)
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(suffixes or SUFFIX))
    except FileNotFoundError:
        return []


def keep_plan(log: str, key: str, pieces: Callable[[], Iterable[bytes]]) -> None:
    """Keep the record of a plan for the run with this log. Blocks. Raises OSError.

    Runs of one plan share one file, with a name for each run and one for its key. Making the hard link both tests that
    the file exists and keeps it, so no process can remove it in between.
    """
    own, plans = plan_path(log), os.path.join(os.path.dirname(log), _PLANS)
    shared = os.path.join(plans, key)
    with suppress(OSError):
        os.link(shared, own)
        return
    with open(os.open(own, _NEW, 0o600), "wb", buffering=0) as file:
        for piece in pieces():
            rest = memoryview(piece)
            while rest:
                rest = rest[file.write(rest) :]
        os.fdatasync(file)
    with suppress(OSError):  # a file system without links: each run has a file of its own
        os.makedirs(plans, 0o700, exist_ok=True)
        os.link(own, shared)


def remove_run(log: str) -> None:
    """Remove a log and its plan's record, which other runs may keep. Raises OSError."""
    with suppress(FileNotFoundError):
        os.unlink(plan_path(log))
    os.unlink(log)


def remove_unused_plans(state_dir: str) -> None:
    """Remove the records of plans that no run has any longer."""
    with suppress(FileNotFoundError), os.scandir(os.path.join(state_dir, FOLDER, _PLANS)) as plans:
        for plan in plans:
            if plan.stat(follow_symlinks=False).st_nlink == 1:
                os.unlink(plan)
