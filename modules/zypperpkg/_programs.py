"""Running zypper, without questions, and reading its XML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __opts__, __salt__
from asyncstate.errors import CommandExecutionError

from .._package_transactions import reason  # noqa: TID252 - as `modules` for type checkers

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

FINE = (0, 100, 101, 102, 103)
"""Exit statuses of success: 100 … 103 mean that there are updates, or that something should be restarted."""

_LOCK_TIMEOUT = 600
_UNKNOWN_CAPABILITY = 104
_DOCTYPE = re.compile(r"<!DOCTYPE|<!ENTITY", re.IGNORECASE)


def call(arguments: list[str], *, env: Any = None, **options: Any) -> dict[str, Any]:
    """Run zypper and return what ``cmd.run_all`` returns.

    If another process holds zypper's lock, this waits, ``zypper_lock_timeout`` (an option, 600) seconds at most.
    """
    patience = str(int(__opts__.get("zypper_lock_timeout", _LOCK_TIMEOUT)))
    environment = {"LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "ZYPP_LOCK_TIMEOUT": patience, "ZYPP_READONLY_HACK": ""}
    if isinstance(env, dict):
        environment.update(env)
    done: dict[str, Any] = __salt__["cmd.run_all"](
        ["zypper", "--non-interactive", *arguments], python_shell=False, env=environment, **options
    )
    return done


def checked(*arguments: str, fine: tuple[int, ...] = FINE) -> str:
    """Run zypper and return its output. Raises CommandExecutionError with zypper's message if it fails."""
    done = call([*arguments])
    if done["retcode"] not in fine:
        raise CommandExecutionError(f"Zypper command failure: {reason(done)}")
    return str(done["stdout"])


def asked(*arguments: str) -> Element | None:
    """Run zypper and return its XML answer; None if it found nothing.

    Raises CommandExecutionError if it fails otherwise, or its answer is not XML.
    """
    from xml.etree.ElementTree import ParseError, fromstring  # noqa: PLC0415 - zypper's own output

    done = call(["--no-refresh", "--xmlout", *arguments], ignore_retcode=True, output_loglevel="trace")
    if done["retcode"] == _UNKNOWN_CAPABILITY:
        return None
    text = str(done["stdout"])
    start = text.find("<?xml")
    if start < 0 or _DOCTYPE.search(text):
        raise CommandExecutionError(f"Zypper command failure: {reason(done)}")
    try:
        root = fromstring(text[start:])  # noqa: S314 - there is no document type, so no entity to expand
    except ParseError as error:
        raise CommandExecutionError(f"Zypper command failure: no XML in its answer: {error}") from error
    if done["retcode"] not in FINE:
        errors = [str(each.text or "").strip() for each in root.iter("message") if each.get("type") == "error"]
        raise CommandExecutionError(f"Zypper command failure: {' '.join(errors) or reason(done)}")
    return root
