"""The ``alias`` states: mail aliases, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, changed, entry_of, failed, is_dry_run, unchanged, would_change

from . import _resources
from ._paths import unwritable as _unwritable

if TYPE_CHECKING:
    from collections.abc import Mapping


def present(name: str, target: Any) -> Row:
    """Make sure that mail for ``name`` goes to ``target``, an address or a list of them.

    ::

        root:
          alias.present:
            - target: admin@example.org
    """
    if __salt__["aliases.has_target"](name, target):
        return unchanged(name, f"Alias {name} already present")
    if is_dry_run():
        return _foretold(would_change(name, f"Alias {name} -> {target} is set to be added"))
    if __salt__["aliases.set_target"](name, target):
        return changed(name, f"Set email alias {name} -> {target}", {"alias": name})
    return failed(name, f"Failed to set alias {name} -> {target}")


def absent(name: str) -> Row:
    """Make sure that there is no alias ``name``.

    ::

        webmaster:
          alias.absent
    """
    if not __salt__["aliases.get_target"](name):
        return unchanged(name, f"Alias {name} already absent")
    if is_dry_run():
        return _foretold(would_change(name, f"Alias {name} is set to be removed"))
    if __salt__["aliases.rm_alias"](name):
        return changed(name, f"Removed alias {name}", {"alias": name})
    return failed(name, f"Failed to remove alias {name}")


def _foretold(row: Row) -> Row:
    """Return the row, or that of a dry run whose run cannot write the file."""
    problem = _unwritable(str(__salt__["config.option"]("aliases.file") or "/etc/aliases"))
    return failed(row["name"], problem) if problem else row


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint: the alias, an entry of the file and of the table made from it."""
    file = _resources.option("aliases.file", "/etc/aliases")
    return {"reads": [], "writes": [entry_of(each, low.get("name", "")) for each in (file, f"{file}.db")]}
