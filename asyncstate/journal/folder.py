"""Where the journal is: a folder and a database in the state directory, private and out of reach of other users."""

from __future__ import annotations

import os

from asyncstate import filesystem
from asyncstate.errors import PathRefused

DATABASE = "journal.db"
FOLDER = "journal"
SUFFIX = ".log"


def require_own(state_dir: str) -> None:
    """Refuse, as root, a state directory that others can change. Raises PathRefused; OSError if there is none."""
    if user := filesystem.who_can_change(state_dir):
        raise PathRefused(
            f"Refusing to keep the journal of root in {state_dir}: {user} can change it. Name another `state_dir`, or "
            "give it and its folders to root (chown root, chmod go-w)."
        )


def make_folder(state_dir: str) -> str:
    """Make the folder of the logs, and return its path. Raises OSError, PathRefused."""
    folder = os.path.join(state_dir, FOLDER)
    if not os.path.isdir(folder):
        filesystem.makedirs(state_dir, 0o700)
    require_own(state_dir)
    if not os.path.isdir(folder):
        filesystem.makedirs(folder, 0o700)
    require_own(folder)
    return folder


def log_path(state_dir: str, run: str) -> str:
    """Return the path of the log of a run."""
    return os.path.join(state_dir, FOLDER, f"{run}{SUFFIX}")


def logs_in(state_dir: str) -> list[str]:
    """Return the paths of all logs, of live and of dead runs."""
    folder = os.path.join(state_dir, FOLDER)
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(SUFFIX))
    except (FileNotFoundError, NotADirectoryError):
        return []
