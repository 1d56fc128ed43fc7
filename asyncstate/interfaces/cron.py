"""The interface of ``cron``: the users' scheduled jobs."""

from __future__ import annotations

from typing import Any

from asyncstate.interfaces import Interface


class CronInterface(Interface):
    """Crontabs. Functions that change one return "new", "updated", "present", "removed", "absent" or an error text."""

    __modulename__ = "cron"

    def raw_cron(self, user: str) -> str:
        """Return the text of a user's crontab, "" without one."""
        return ""

    def list_tab(self, user: str) -> dict[str, Any]:
        """Return a crontab by kind of line: ``pre``, ``crons``, ``special`` and ``env``."""
        return {"pre": [""], "crons": [{"cmd": ""}], "special": [{"cmd": "", "spec": ""}], "env": [{"name": ""}]}

    def ls(self, user: str) -> dict[str, Any]:
        """Return what `list_tab` returns."""
        return self.list_tab(user)

    def get_entry(self, user: str, identifier: str | None = None, cmd: str | None = None) -> Any:
        """Return the job of an identifier, or else of a command; False if there is none."""
        return None

    def set_job(
        self,
        user: str,
        minute: Any,
        hour: Any,
        daymonth: Any,
        month: Any,
        dayweek: Any,
        cmd: str,
        commented: bool = False,
        comment: str | None = None,
        identifier: Any = None,
    ) -> str:
        """Add or change a job."""
        return ""

    def set_special(
        self,
        user: str,
        special: str,
        cmd: str,
        commented: bool = False,
        comment: str | None = None,
        identifier: Any = None,
    ) -> str:
        """Add or change a job that runs at a special time such as ``@reboot`` or ``@daily``."""
        return ""

    def rm_job(
        self,
        user: str,
        cmd: str,
        minute: Any = None,
        hour: Any = None,
        daymonth: Any = None,
        month: Any = None,
        dayweek: Any = None,
        identifier: Any = None,
    ) -> str:
        """Remove a job."""
        return ""

    def rm(self, user: str, cmd: str, *args: Any, **kwargs: Any) -> str:
        """Do what `rm_job` does."""
        return ""

    def rm_special(self, user: str, cmd: str, special: str | None = None, identifier: Any = None) -> str:
        """Remove a job that runs at a special time."""
        return ""

    def set_env(self, user: str, name: str, value: Any = None) -> str:
        """Set a variable of a crontab."""
        return ""

    def rm_env(self, user: str, name: str) -> str:
        """Remove a variable of a crontab."""
        return ""

    def write_cron_file(self, user: str, path: str) -> bool:
        """Make the content of a file a user's crontab."""
        return True

    def write_cron_file_verbose(self, user: str, path: str) -> dict[str, Any]:
        """Make the content of a file a user's crontab; returns the result of the crontab program."""
        return {"retcode": 0, "stderr": ""}
