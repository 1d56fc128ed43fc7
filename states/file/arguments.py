"""Checks of arguments common to most file states."""

from __future__ import annotations

import logging
import os
import pwd
import re
from collections.abc import Iterable, Mapping
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __opts__, __salt__, is_dry_run

_MODE = re.compile("0*[0-7]{1,4}")

log = logging.getLogger(__name__)


def expand(path: str) -> str:
    """Replace a leading ``~``."""
    return os.path.expanduser(path) if path[:1] == "~" else path


def misspelt(name: str) -> str:
    """Return the reason why no file can be made at ``name``, "" if one can: a relative path, or a missing directory's.

    A path that ends in a slash or a period means a directory; the system makes nothing else under such a name.
    """
    if not os.path.isabs(name):
        return f"Specified file {name} is not an absolute path"
    if os.path.basename(name) in {"", ".", ".."} and not filesystem.is_directory(name):
        return f"Specified file {name} is written as a directory, and there is none"
    return ""


def normalize_mode(mode: Any) -> str | None:
    """Return a mode in Salt's form, ``"0644"``, for 644, ``"644"``, ``"0o644"``, ``"00644"``."""
    if mode is None:
        return None
    return str(mode).replace("0o", "0").strip("\"'").lstrip("0").zfill(4)


def impossible_mode(mode: Any) -> str:
    """Return the error if a result of `normalize_mode` is no mode: no file is made without its permissions."""
    if mode is None or _MODE.fullmatch(mode) or (is_dry_run() and not filesystem.foretells()):
        return ""
    return f"Failed to change mode to {mode}"


def owner_of(kwargs: Mapping[str, Any], user: Any) -> Any:
    """Return ``user``, or the value that a tree wrongly gives as ``owner``."""
    if not user and "owner" in kwargs:
        log.warning('Use of argument owner found, "owner" is invalid, please use "user"')
        return kwargs["owner"]
    return user


def missing_accounts(user: Any, group: Any) -> str:
    """Return the missing account; "" if none. As in Salt, a dry run without a forecast only logs it."""
    problem = ""
    if user and __salt__["file.user_to_uid"](user) == "":
        problem = f"User {user} is not available "
    if group and __salt__["file.group_to_gid"](group) == "":
        problem += f"Group {group} is not available"
    if problem and is_dry_run() and not filesystem.foretells():
        log.warning("%s", problem)
        return ""
    return problem


def default_owner(user: Any, group: Any) -> tuple[Any, Any]:
    """Return the owner and group; they default to the user of this run and to the primary group of the owner."""
    if user is None:
        user = __opts__.get("user") or pwd.getpwuid(os.geteuid()).pw_name
    if group is None:
        uid = __salt__["file.user_to_uid"](user)
        try:
            gid = pwd.getpwuid(uid).pw_gid if isinstance(uid, int) else 0
        except KeyError:
            gid = 0
        group = __salt__["file.gid_to_group"](gid)
    return user, group


def preflight(name: str, user: Any, group: Any, *more: str) -> str:
    """Return all mistakes in a link's owner and paths as one text, "" if there are none."""
    problems = []
    if __salt__["file.user_to_uid"](user) == "":
        problems.append(f"User {user} does not exist")
    if __salt__["file.group_to_gid"](group) == "":
        problems.append(f"Group {group} does not exist")
    problems.append(misspelt(name))
    problems = [problem for problem in (*problems, *more) if problem]
    return ". ".join(problems) + ("." if len(problems) > 1 else "")


def unfit_backup(path: str, backupname: str) -> str:
    """Return the reason why nothing at ``path`` can be moved to ``backupname``, "" if it can.

    What is in the way of a backup is removed, and would take with it what is to be kept.
    """
    first, second = sorted((os.path.normpath(path), os.path.normpath(backupname)), key=len)
    if second == first or second.startswith(os.path.join(first, "")):
        return f"Backupname must not be {path}, a folder above it or a path below it: {backupname}"
    return ""


def impossible_times(*moments: Any) -> str:
    """Return the error if no file can have one of these times, in seconds since the epoch; None is now."""
    try:
        for moment in moments:
            int(0 if moment is None else float(moment)).to_bytes(8, "big", signed=True)
    except OverflowError:
        return "timestamp out of range for platform time_t"
    except (TypeError, ValueError):
        return "atime and mtime must be integers"
    return ""


def file_problem(name: str) -> str:
    """Return the reason why there is no file to edit at ``name``, "" if there is one."""
    if not os.path.isabs(name):
        return f"Specified file {name} is not an absolute path"
    if not filesystem.exists(name):
        return f"{name}: file not found"
    return ""


def string_list(value: Any) -> list[str]:
    """Return a string, bytes, a list or another value as strings. Raises UnicodeDecodeError if bytes are not UTF-8."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, bytes):
        return [value.decode()]
    if isinstance(value, Iterable) and not isinstance(value, Mapping):
        return [str(item) for item in value]
    return [str(value)]


def is_remote(source: Any) -> bool:
    """Return whether a source, or one of a list, comes over the network: only then is a ``source_hash`` needed."""
    sources = [source] if isinstance(source, str) else source
    return any(str(item).lower().startswith(("http:", "https:", "ftp:")) for item in sources)


def warn_needless_hash(source: Any, source_hash: Any) -> None:
    """Log that a hash is ignored for a source that is not fetched."""
    if source is not None and source_hash and not is_remote(source):
        log.info("source_hash is only needed with 'http', 'https' or 'ftp'")
