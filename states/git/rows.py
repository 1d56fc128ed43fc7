"""The comments of the git states' rows, and the exception that ends a state early."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data.urls import without_credentials
from asyncstate.dunders import Row, __env__, __salt__, is_dry_run
from asyncstate.errors import AsyncStateError, RunCancelled

if TYPE_CHECKING:
    from collections.abc import Callable


class Outcome(Exception):
    """Ends a state with this result and comment."""

    def __init__(self, comment: str, *, result: bool | None) -> None:
        super().__init__(comment)
        self.comment = comment
        self.result = result


def fail(comment: str, done: list[str] | None = None) -> Outcome:
    """Return the outcome of a failure; ``done`` are the changes before it."""
    if done:
        comment += "\n\nChanges already made: " + sentences(done)
    return Outcome(comment, result=False)


def would_do(comment: str) -> Outcome:
    """Return the outcome of a dry run that found something to do."""
    return Outcome(comment, result=None)


def up_to_date(target: str, done: list[str], *, local_changes: bool = False) -> Outcome:
    """Return the outcome for a repository that needed only the changes in ``done``."""
    comment = f"Repository {target} is up-to-date"
    if local_changes:
        comment += ", but with uncommitted changes. Set 'force_reset' to True to purge uncommitted changes."
    if done:
        comment += f"\n\nChanges {'that would be ' if is_dry_run() else ''}made: {sentences(done)}"
    return Outcome(comment, result=True)


def finished(row: Row, work: Callable[[], None]) -> Row:
    """Do the ``work`` on ``row`` and return it, with the result and comment of an `Outcome` or an error."""
    try:
        work()
    except Outcome as outcome:
        row["result"], row["comment"] = outcome.result, outcome.comment
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        row["result"], row["comment"] = False, bare_message(error)
    return row


def sentences(parts: list[str]) -> str:
    """Join comments into one; if there are several, each ends with a full stop."""
    return ". ".join(parts) + ("." if len(parts) > 1 else "")


def bare_message(error: Exception) -> str:
    """Return git's own message, without the command."""
    return re.sub(r"^Command ['\"].+['\"] failed: ", "", str(error))


def short(commit: str | None) -> str | None:
    """Return the first seven digits of a commit."""
    return None if commit is None else commit[:7]


def redacted(url: str) -> str:
    """Return a URL without its password."""
    return without_credentials(url, http_only=True)


def unknown_arguments(arguments: dict[str, Any]) -> None:
    """End the state if there are unknown arguments."""
    unknown = [f"{name}={value}" for name, value in arguments.items() if not name.startswith("__")]
    if unknown:
        raise fail(f"The following keyword arguments are not valid: {', '.join(unknown)}")


def text_or_none(value: Any) -> str | None:
    """Return ``value`` as text, or None."""
    return None if value is None else str(value)


def key_paths(identity: Any, word: str) -> list[str] | None:
    """Return the private keys as a list of absolute paths and ``salt://`` URLs; end the state for anything else."""
    if not identity:
        return None
    if not isinstance(identity, (str, list)):
        raise fail(f"{word} must be either a list or a string")
    keys = [os.path.expanduser(str(key)) for key in ([identity] if isinstance(identity, str) else identity)]
    for key in keys:
        path = __salt__["cp.cache_file"](key, str(__env__)) if key.startswith("salt://") else key
        if not path:
            raise fail(f"{word} '{key}' does not exist.")
        if not os.path.isabs(str(path)):
            raise fail(f"{word} '{key}' is not an absolute path")
    return keys


def clear_folder(path: str) -> None:
    """Remove the content of a folder, not the folder itself; links are removed, not followed."""
    complaints = []
    for name in filesystem.listdir(path):
        inside = os.path.join(path, name)
        try:
            if filesystem.is_plain_directory(inside):
                filesystem.remove_tree(inside)
            else:
                filesystem.remove(inside)
        except FileNotFoundError:
            continue
        except OSError as error:
            complaints.append(f"  {inside}\n    {error}")
    if complaints:
        raise fail("Unable to remove\n" + "\n".join(complaints))
