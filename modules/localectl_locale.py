"""The ``locale`` execution module for systemd: the program localectl, and the file it reads."""

from __future__ import annotations

import re
import shutil

from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.locale import LocaleInterface

from . import _init_system, _locale_generation
from ._locale_generation import avail, gen_locale, list_avail

__virtualname__ = LocaleInterface(__name__)()

__all__ = ["avail", "gen_locale", "get_locale", "list_avail", "set_locale"]

_FILE = "/etc/locale.conf"
_HEADING = re.compile(r"^\s*System Locale:\s*", re.MULTILINE)


def __virtual__() -> bool | tuple[bool, str]:
    """Load if systemd runs."""
    if _init_system.booted_with_systemd() and shutil.which("localectl"):
        return True
    return False, "locale: systemd does not run, or there is no localectl"


def get_locale() -> str:
    """Return the locale of the system, "" if none is set."""
    return _variables().get("LANG", "")


def set_locale(locale: str) -> bool:
    """Set the locale of the system; other variables, such as LC_TIME, stay.

    If localectl has no service to talk to, as in some containers, the file is written without it.
    """
    _locale_generation.parse(locale)
    variables = [f"{name}={value}" for name, value in {**_variables(), "LANG": locale}.items()]
    if __salt__["cmd.retcode"](["localectl", "set-locale", *variables], python_shell=False) != 0:
        _locale_generation.set_variable(_FILE, locale)
    return True


def _variables() -> dict[str, str]:
    answer = __salt__["cmd.run_all"](["localectl", "status"], python_shell=False)
    if answer["retcode"] != 0:
        raise CommandExecutionError(f"localectl failed: {answer['stderr']}")
    text = answer["stdout"]
    heading = _HEADING.search(text)
    if heading is None:
        raise CommandExecutionError('Unable to parse result of "localectl"')
    found: dict[str, str] = {}
    for line in text[heading.end() :].splitlines():
        if ": " in line:
            break
        found.update(re.findall(r"(\w+)=(\S+)", line))
    return found
