"""The ``alias`` states: mail aliases, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __opts__, __salt__

if TYPE_CHECKING:
    from collections.abc import Mapping

Row = dict[str, Any]


def present(name: str, target: Any) -> Row:
    """Make sure that mail for ``name`` goes to ``target``, an address or a list of them.

    ::

        root:
          alias.present:
            - target: admin@example.org
    """
    row: Row = {"name": name, "changes": {}, "result": True, "comment": ""}
    if __salt__["aliases.has_target"](name, target):
        return {**row, "comment": f"Alias {name} already present"}
    if __opts__["test"]:
        return {**row, "result": None, "comment": f"Alias {name} -> {target} is set to be added"}
    if __salt__["aliases.set_target"](name, target):
        return {**row, "changes": {"alias": name}, "comment": f"Set email alias {name} -> {target}"}
    return {**row, "result": False, "comment": f"Failed to set alias {name} -> {target}"}


def absent(name: str) -> Row:
    """Make sure that there is no alias ``name``.

    ::

        webmaster:
          alias.absent
    """
    row: Row = {"name": name, "changes": {}, "result": True, "comment": ""}
    if not __salt__["aliases.get_target"](name):
        return {**row, "comment": f"Alias {name} already absent"}
    if __opts__["test"]:
        return {**row, "result": None, "comment": f"Alias {name} is set to be removed"}
    if __salt__["aliases.rm_alias"](name):
        return {**row, "changes": {"alias": name}, "comment": f"Removed alias {name}"}
    return {**row, "result": False, "comment": f"Failed to remove alias {name}"}


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Say that these states come one after the other: all of them rewrite one file."""
    return {"reads": [], "writes": ["path:/etc/aliases"]}
