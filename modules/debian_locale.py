"""The ``locale`` execution module where systemd does not run: /etc/default/locale."""

from __future__ import annotations

import shutil

from asyncstate.dunders import __grains__, __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.locale import LocaleInterface

from . import _init_system, _locale_generation
from ._locale_generation import avail, gen_locale, list_avail

__virtualname__ = LocaleInterface(__name__)()

__all__ = ["avail", "gen_locale", "get_locale", "list_avail", "set_locale"]

_FILE = "/etc/default/locale"


def __virtual__() -> bool | tuple[bool, str]:
    """Load on Debian and its derivatives, unless localectl can do it."""
    if __grains__.get("os_family") != "Debian":
        return False, "locale: not of Debian's family"
    if _init_system.booted_with_systemd() and shutil.which("localectl"):
        return False, "locale: systemd runs, localectl sets the locale"
    return True


def get_locale() -> str:
    """Return the locale of the system, "" if none is set."""
    return _locale_generation.variable(_FILE)


def set_locale(locale: str) -> bool:
    """Set the locale of the system."""
    if shutil.which("update-locale") is None:
        raise CommandExecutionError('Cannot set locale: "update-locale" was not found.')
    _locale_generation.parse(locale)
    __salt__["cmd.run_all"](["update-locale"], python_shell=False)
    _locale_generation.set_variable(_FILE, locale, quote='"')
    return True
