"""The ``cron`` states: jobs and variables of users' crontabs, with Salt's arguments and rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem, residue
from asyncstate.data.values import unfit as _unfit
from asyncstate.dunders import (
    Row,
    __env__,
    __salt__,
    changed,
    entry_of,
    failed,
    is_dry_run,
    make_row,
    unchanged,
    would_change,
)
from asyncstate.errors import AsyncStateError, CommandExecutionError

from ._cron_entries import keys_of as _keys_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FIELDS = ("minute", "hour", "daymonth", "month", "dayweek")
_TABS = ("/var/spool/cron", "/var/spool/cron/crontabs", "/var/spool/cron/tabs")
"""Folders of the users' crontabs on various systems."""
_WHO_MAY = ("path:/etc/cron.allow", "path:/etc/cron.deny")


def present(
    name: str,
    user: str = "root",
    minute: Any = "*",
    hour: Any = "*",
    daymonth: Any = "*",
    month: Any = "*",
    dayweek: Any = "*",
    comment: str | None = None,
    commented: bool = False,
    identifier: Any = False,
    special: str | None = None,
) -> Row:
    """Make sure that the command ``name`` is in a user's crontab, at these times.

    A time may be ``random``, chosen once. ``identifier`` finds the job again when its command changes; it defaults to
    the command. ``commented`` keeps the job but does not run it; ``special`` is ``@daily``, ``@reboot`` …
    """
    name = name.strip()
    identifier = name if identifier is False else identifier
    about = {"comment": comment, "commented": commented, "identifier": identifier}
    times = dict(zip(_FIELDS, (minute, hour, daymonth, month, dayweek), strict=True))
    wanted = {"spec": special} if special is not None else {key: str(value).lower() for key, value in times.items()}
    if is_dry_run():
        words = [str(value) for value in wanted.values()]
        if problem := _refusal(user, (name, str(identifier or ""), *words), words):
            return _set_row(name, f"Cron {name}", user, problem)
        status = _status(user, name, identifier, {**wanted, "comment": comment, "commented": commented is True})
        return _dry_run_row(name, f"Cron {name}", status)
    try:
        if special is None:
            done = __salt__["cron.set_job"](user=user, cmd=name, **times, **about)
        else:
            done = __salt__["cron.set_special"](user=user, special=special, cmd=name, **about)
    except CommandExecutionError as error:
        done = str(error)
    return _set_row(name, f"Cron {name}", user, done)


def absent(name: str, user: str = "root", identifier: Any = False, special: str | None = None, **kwargs: Any) -> Row:
    """Make sure that a command, or the job of an identifier, is not in a user's crontab. Times are not compared.

    ``minute``, ``hour``, ``daymonth``, ``month``, ``dayweek``, ``comment`` and ``commented`` may stay as they were in
    ``cron.present``.
    """
    name = name.strip()
    identifier = name if identifier is False else identifier
    if is_dry_run():
        return _dry_run_removal_row(name, f"Cron {name}", _find(user, name, identifier, special) is None)
    if special is None:
        done = __salt__["cron.rm_job"](user, name, identifier=identifier)
    else:
        done = __salt__["cron.rm_special"](user, name, special=special, identifier=identifier)
    return _removal_row(name, f"Cron {name}", user, done)


def env_present(name: str, value: Any = None, user: str = "root") -> Row:
    """Make sure that a variable of a user's crontab has this value."""
    if is_dry_run():
        text = '""' if value is None or value == "" else str(value)
        if problem := _refusal(user, (name, text), (name,)):
            return _set_row(name, f"Cron env {name}", user, problem)
        found = [each["value"] for each in __salt__["cron.list_tab"](user)["env"] if each["name"] == name]
        status = "absent" if not found else "present" if found[0] == text else "update"
        return _dry_run_row(name, f"Cron env {name}", status)
    try:
        done = __salt__["cron.set_env"](user, name, value=value)
    except CommandExecutionError as error:
        done = str(error)
    return _set_row(name, f"Cron env {name}", user, done)


def env_absent(name: str, user: str = "root") -> Row:
    """Make sure that a variable is not in a user's crontab."""
    name = name.strip()
    if is_dry_run():
        known = [each["name"] for each in __salt__["cron.list_tab"](user)["env"]]
        return _dry_run_removal_row(name, f"Cron env {name}", name not in known)
    return _removal_row(name, f"Cron env {name}", user, __salt__["cron.rm_env"](user, name))


def file(
    name: str,
    source_hash: str = "",
    source_hash_name: str | None = None,
    user: str = "root",
    template: str | None = None,
    context: Any = None,
    replace: bool = True,
    defaults: Any = None,
    backup: str = "",
    **kwargs: Any,
) -> Row:
    """Replace a user's whole crontab by the file ``name`` of the tree; ``replace`` False keeps an existing one.

    The further keywords are those of ``file.managed``.
    """
    groups = __salt__["user.info"](user).get("groups")
    if not groups:
        return failed(name, f"Could not identify group for user {user}")
    now = str(__salt__["cron.raw_cron"](user))
    if not replace and now.strip():
        return unchanged(name, f"User {user} already has a crontab. No changes made")
    options = {"source_hash_name": source_hash_name, "template": template, "context": context, "defaults": defaults}
    # The copy that is compared and changed is in a private folder: users could replace a file of their own.
    options |= {"user": None, "group": None, "mode": "0600", "attrs": None, "saltenv": str(__env__)}
    try:
        with residue.temporary_folder(prefix="asyncstate-cron-") as folder:
            path = os.path.join(folder, "crontab")
            filesystem.replace_text(path, now if now.endswith("\n") else f"{now}\n", mode=0o600)
            return _file_row(name, path, user, source_hash, options, backup, kwargs)
    except (AsyncStateError, OSError) as error:
        return failed(name, f"Unable to manage file: {error}")


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a cron state: the user, the permissions, a source; an entry of the crontab, or all.

    The program crontab refuses a whole crontab for one wrong entry, and names its line. So a state whose entry may be
    refused keeps its place in the order.
    """
    user = low.get("user") or "root"
    name = str(low.get("name", ""))
    source = [f"path:{name}"] if low.get("fun") == "file" and name.startswith("/") else []
    tabs = [f"cron:{user}", *(f"path:{folder}/{user}" for folder in _TABS)]
    keys = _keys_of(low)
    entries = [entry_of(tab, *key) for tab in tabs for key in keys]
    return {"reads": [f"user:{user}#id", *_WHO_MAY, *source], "writes": entries or tabs}


def _file_row(
    name: str, path: str, user: str, source_hash: str, options: dict[str, Any], backup: str, kwargs: Any
) -> Row:
    if is_dry_run():
        result, comment = __salt__["file.check_managed"](
            name=path, source=name, source_hash=source_hash, **options, **kwargs
        )
        return make_row(name, comment, result=result)
    source, source_hash = __salt__["file.source_list"](name, source_hash, options["saltenv"])
    cached, source_sum, trouble = __salt__["file.get_managed"](
        name=path, source=source, source_hash=source_hash, skip_verify=False, **options, **kwargs
    )
    if trouble:
        return failed(name, trouble)
    kept = {key: options[key] for key in ("user", "group", "mode", "attrs", "saltenv")}
    written = __salt__["file.manage_file"](
        name=path, sfn=cached, ret=unchanged(name), source=source, source_sum=source_sum, backup=backup, **kept
    )
    if "diff" in written["changes"]:
        done = __salt__["cron.write_cron_file_verbose"](user, path)
        if done["retcode"] == 0:
            return changed(name, f"Crontab for user {user} was updated", written["changes"])
        return failed(name, f"Unable to update user {user} crontab {path}. Error: {done['stderr']}")
    if written["result"]:
        return unchanged(name, f"Crontab for user {user} is in the correct state")
    return dict(written)


def _refusal(user: str, texts: Sequence[str], words: Sequence[str]) -> str:
    """Return the reason why a run would refuse an entry, "" if it would not; for dry runs."""
    if not filesystem.foretells():
        return ""
    missing = f"User {user} is not available" if __salt__["file.user_to_uid"](user) == "" else ""
    return missing or _unfit("an entry of a crontab", texts, words)


def _find(user: str, cmd: str, identifier: Any, special: str | None) -> dict[str, Any] | None:
    """Return the job that the execution module would identify as this one."""
    tab = __salt__["cron.list_tab"](user)
    for job in tab["crons"] if special is None else tab["special"]:
        known = job["identifier"]
        meant = known == str(identifier) if known else job["cmd"] == cmd
        if meant and special in {None, job.get("spec")}:
            return dict(job)
    return None


def _status(user: str, cmd: str, identifier: Any, wanted: dict[str, Any]) -> str:
    tab = __salt__["cron.list_tab"](user)
    for job in tab["crons"] + tab["special"]:
        known = job["identifier"]
        if (known == str(identifier)) if known else (job["cmd"] == cmd):
            same_kind = ("spec" in job) == ("spec" in wanted)
            full = {**wanted, "cmd": cmd, "identifier": str(identifier) if identifier else None}
            fine = same_kind and not any(_differs(job[key], value) for key, value in full.items())
            return "present" if fine else "update"
    return "absent"


def _differs(old: Any, new: Any) -> bool:
    """Return whether ``old`` does not satisfy ``new``, which may be ``random`` or ``a:b``, a time between the two."""
    if old == new or new is None:
        return False
    ends = [int(end) for end in str(new).split(":") if end.isdigit()]
    if len(ends) == 2 and str(old).isdigit():
        return not min(ends) <= int(old) <= max(ends)
    return bool(new != "random" or old == "*")


def _dry_run_row(name: str, what: str, status: str) -> Row:
    if status == "present":
        return unchanged(name, f"{what} already present")
    verb = "added" if status == "absent" else "updated"
    return would_change(name, f"{what} is set to be {verb}")


def _dry_run_removal_row(name: str, what: str, gone: bool) -> Row:
    comment = f"{what} is absent" if gone else f"{what} is set to be removed"
    return make_row(name, comment, result=True if gone else None)


def _set_row(name: str, what: str, user: str, done: str) -> Row:
    if done == "present":
        return unchanged(name, f"{what} already present")
    if done == "new":
        return changed(name, f"{what} added to {user}'s crontab", {user: name})
    if done == "updated":
        return changed(name, f"{what} updated", {user: name})
    return failed(name, f"{what} for user {user} failed to commit with error \n{done}")


def _removal_row(name: str, what: str, user: str, done: str) -> Row:
    if done == "absent":
        return unchanged(name, f"{what} already absent")
    if done == "removed":
        return changed(name, f"{what} removed from {user}'s crontab", {user: name})
    return failed(name, f"{what} for user {user} failed to commit with error {done}")
