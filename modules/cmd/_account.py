"""The account that a command runs as: its IDs, and its environment after a login."""

from __future__ import annotations

import grp
import logging
import os
import pwd
import uuid
from typing import Any

from asyncstate.errors import CommandExecutionError
from asyncstate.process.child import run_child

log = logging.getLogger(__name__)

LOGIN_TIMEOUT = 10.0
"""Timeout in seconds for a login shell to print its environment."""
LOGIN_LIMIT = 1 << 20
"""Limit of its output in bytes: a user's profile may write without end."""


class Account:
    """A user, a group, or both, looked up just before the command runs."""

    def __init__(self, runas: str | int | None, group: str | int | None) -> None:
        """Look up the names; a falsy value, such as "", means no change of account.

        Raises CommandExecutionError, with Salt's message, for an unknown name.
        """
        self.entry = _user(runas) if runas else None
        self._gid = _group(group) if group else None

    @property
    def name(self) -> str:
        """The user's login name, or "" when only the group changes."""
        return self.entry.pw_name if self.entry is not None else ""

    @property
    def is_other_user(self) -> bool:
        """Whether the command changes its user."""
        return self.entry is not None and self.entry.pw_uid != os.geteuid()

    def popen_arguments(self) -> dict[str, Any]:
        """Return the arguments of ``Popen`` that switch the child to this account; none for IDs it already has."""
        arguments: dict[str, Any] = {}
        if self.entry is not None and self.is_other_user:
            gid = self.entry.pw_gid if self._gid is None else self._gid
            arguments["user"] = self.entry.pw_uid
            arguments["group"] = gid
            arguments["extra_groups"] = os.getgrouplist(self.entry.pw_name, gid)
        elif self._gid is not None and self._gid != os.getegid():
            arguments["group"] = self._gid
        return arguments


def login_environment(account: Account, shell: str) -> dict[str, str]:
    """Return the variables that ``su - user`` sets, profile files included; {}, with a log line, if su fails.

    Only for a user other than the current one: a command that runs as the same user has its environment already.
    """
    mark = uuid.uuid4().hex
    script = f"printf %s {mark}; env -0; printf %s {mark}"
    argv = ["su", "-s", shell, "-", account.name, "-c", script]
    try:
        done = run_child(argv, cwd="/", env=dict(os.environ), timeout=LOGIN_TIMEOUT, limit=LOGIN_LIMIT)
    except (OSError, CommandExecutionError) as error:
        log.error("Environment could not be retrieved for user '%s': %s", account.name, error)  # noqa: TRY400
        return {}
    parts = done.stdout.split(mark.encode())
    if len(parts) != 3:
        log.error("Environment could not be retrieved for user '%s': stderr=%r", account.name, done.stderr)
        return {}
    pairs = (entry.partition(b"=") for entry in parts[1].split(b"\0") if entry)
    return {os.fsdecode(key): os.fsdecode(value) for key, _, value in pairs}


def _user(runas: str | int) -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(runas) if isinstance(runas, int) else pwd.getpwnam(runas)
    except KeyError:
        raise CommandExecutionError(f"User '{runas}' is not available") from None


def _group(group: str | int) -> int:
    try:
        return group if isinstance(group, int) else grp.getgrnam(str(group)).gr_gid
    except KeyError:
        raise CommandExecutionError(f"Group '{group}' is not available") from None
