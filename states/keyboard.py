"""The ``keyboard`` states: the layout of the keyboard, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __opts__, __salt__

if TYPE_CHECKING:
    from collections.abc import Mapping

Row = dict[str, Any]

_FILES = ("path:/etc/default/keyboard", "path:/etc/vconsole.conf", "path:/etc/X11/xorg.conf.d/00-keyboard.conf")


def __virtual__() -> Any:
    if "keyboard.get_sys" in __salt__:
        return True
    return False, "keyboard module could not be loaded"


def system(name: str) -> Row:
    """Make sure that the console has the layout ``name``.

    ::

        us:
          keyboard.system
    """
    return _layout(name, "System", "system keyboard", "sys")


def xorg(name: str) -> Row:
    """Make sure that the X server has the layout ``name``.

    ::

        us:
          keyboard.xorg
    """
    return _layout(name, "XOrg", "XOrg keyboard", "x")


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Say where the layouts are: localectl sets the one of the console with that of X, and both in the same files."""
    return {"reads": [], "writes": ["keyboard:system", "keyboard:x", *_FILES]}


def _layout(name: str, short: str, long: str, kind: str) -> Row:
    row: Row = {"name": name, "changes": {}, "result": True, "comment": ""}
    if __salt__[f"keyboard.get_{kind}"]() == name:
        return {**row, "comment": f"{short} layout {name} already set"}
    if __opts__["test"]:
        return {**row, "result": None, "comment": f"{short} layout {name} needs to be set"}
    if not __salt__[f"keyboard.set_{kind}"](name):
        return {**row, "result": False, "comment": f"Failed to set {long} layout"}
    return {**row, "changes": {"layout": name}, "comment": f"Set {long} layout {name}"}
