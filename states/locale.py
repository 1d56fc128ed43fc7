"""The ``locale`` states: compiled locales and the locale of the system, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Mapping


def __virtual__() -> Any:
    if "locale.get_locale" in __salt__:
        return True
    return False, "locale module could not be loaded"


def system(name: str) -> Row:
    """Make sure that programs start with the locale ``name``. It should be `present`.

    ::

        en_US.UTF-8:
          locale.system
    """
    try:
        if __salt__["locale.get_locale"]() == name:
            return unchanged(name, f"System locale {name} already set")
        if is_dry_run():
            return would_change(name, f"System locale {name} needs to be set")
        done = __salt__["locale.set_locale"](name)
    except CommandExecutionError as error:
        return failed(name, f"Failed to set system locale: {error}")
    if not done:
        return failed(name, f"Failed to set system locale to {name}")
    return changed(name, f"Set system locale {name}", {"locale": name})


def present(name: str) -> Row:
    """Make sure that the locale ``name`` is compiled.

    ::

        de_DE.UTF-8:
          locale.present
    """
    if __salt__["locale.avail"](name):
        return unchanged(name, f"Locale {name} is already present")
    looks = filesystem.judges()
    if looks and not __salt__["locale.gen_locale"](name):
        return failed(name, f"Failed to generate locale {name}")
    if is_dry_run():
        return would_change(name, f"Locale {name} needs to be generated")
    return changed(name, f"Generated locale {name}", {"locale": name})


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a locale state: the archive of compiled locales, the one locale of the system."""
    if low.get("fun") == "present":
        reads = ["path:/usr/share/i18n"]
        return {"reads": reads, "writes": ["locale:compiled", "path:/etc/locale.gen", "path:/usr/lib/locale/**"]}
    reads = ["locale:compiled"]
    return {"reads": reads, "writes": ["path:/etc/default/locale", "path:/etc/locale.conf"]}
