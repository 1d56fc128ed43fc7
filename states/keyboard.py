"""The ``keyboard`` states: the layout of the keyboard, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Return the footprint: the files of the layouts; localectl sets the layouts of console and X together."""
    return {"reads": [], "writes": ["keyboard:system", "keyboard:x", *_FILES]}


def _layout(name: str, short: str, long: str, kind: str) -> Row:
    if filesystem.judges() and (problem := __salt__["keyboard.unfit"](name)):
        return failed(name, problem)
    if __salt__[f"keyboard.get_{kind}"]() == name:
        return unchanged(name, f"{short} layout {name} already set")
    if is_dry_run():
        return would_change(name, f"{short} layout {name} needs to be set")
    if not __salt__[f"keyboard.set_{kind}"](name):
        return failed(name, f"Failed to set {long} layout")
    return changed(name, f"Set {long} layout {name}", {"layout": name})
