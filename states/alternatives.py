"""The ``alternatives`` states: which of several programs a common name stands for.

Salt 3008 has these states no more; arguments and rows are those of the releases before it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import __opts__, __salt__

if TYPE_CHECKING:
    from collections.abc import Mapping

Row = dict[str, Any]

__func_alias__ = {"set_": "set"}


def __virtual__() -> Any:
    if "alternatives.auto" in __salt__:
        return True
    return False, "alternatives module could not be loaded"


def install(name: str, link: str, path: str, priority: Any) -> Row:
    """Make sure that ``path`` is one of the alternatives of ``name``, to which ``link`` leads.

    Of those with automatic choice the one with the highest ``priority`` counts. ``path`` must exist. ::

        editor:
          alternatives.install:
            - link: /usr/bin/editor
            - path: /opt/ed/bin/ed
            - priority: 50
    """
    row = {**_row(name, path), "link": link, "priority": priority}
    filesystem.require_own_place(link, "update-alternatives")
    if __salt__["alternatives.check_exists"](name, path):
        return {**row, "comment": f"Alternative {path} for {name} is already registered"}
    if __opts__["test"]:
        comment = f"Alternative will be set for {name} to {path} with priority {priority}"
        return {**row, "result": None, "comment": comment}
    said = __salt__["alternatives.install"](name, link, path, priority)
    if not __salt__["alternatives.check_exists"](name, path):
        return {**row, "result": False, "comment": f"Alternative for {name} not installed: {said}"}
    if __salt__["alternatives.check_installed"](name, path):
        comment = f"Alternative for {name} set to path {path} with priority {priority}"
    else:
        comment = f"Alternative {path} for {name} registered with priority {priority} and not set to default"
    changes = {"name": name, "link": link, "path": path, "priority": priority}
    return {**row, "changes": changes, "comment": comment}


def remove(name: str, path: str) -> Row:
    """Make sure that ``path`` is none of the alternatives of ``name``. There must be another, or have been this one.

    ::

        editor:
          alternatives.remove:
            - path: /opt/ed/bin/ed
    """
    row = _row(name, path)
    if __salt__["alternatives.check_exists"](name, path):
        if __opts__["test"]:
            return {**row, "result": None, "comment": f"Alternative for {name} will be removed"}
        __salt__["alternatives.remove"](name, path)
        current = __salt__["alternatives.show_current"](name)
        if not current:
            return {**row, "comment": f"Alternative for {name} removed"}
        comment = f"Alternative for {name} removed. Falling back to path {current}"
        return {**row, "changes": {"path": current}, "comment": comment}
    current = __salt__["alternatives.show_current"](name)
    if current:
        return {**row, "comment": f"Alternative for {name} is set to it's default path {current}"}
    return {**row, "result": False, "comment": f"Alternative for {name} doesn't exist"}


def auto(name: str) -> Row:
    """Make sure that of the alternatives of ``name`` the one with the highest priority is taken.

    ::

        editor:
          alternatives.auto
    """
    row: Row = {"name": name, "result": True, "changes": {}, "comment": ""}
    if __salt__["alternatives.display"](name).partition("\n")[0].endswith(" auto mode"):
        return {**row, "comment": f"{name} already in auto mode"}
    if __opts__["test"]:
        return {**row, "result": None, "comment": f"{name} will be put in auto mode"}
    return {**row, "changes": {"result": __salt__["alternatives.auto"](name)}}


def set_(name: str, path: str) -> Row:
    """Make sure that ``name`` stands for ``path``, which must be one of its alternatives.

    ::

        editor:
          alternatives.set:
            - path: /usr/bin/vim.basic
    """
    row = _row(name, path)
    if __salt__["alternatives.show_current"](name) == path:
        return {**row, "comment": f"Alternative for {name} already set to {path}"}
    if not __salt__["alternatives.check_exists"](name, path):
        return {**row, "result": False, "comment": f"Alternative {path} for {name} doesn't exist"}
    if __opts__["test"]:
        return {**row, "result": None, "comment": f"Alternative for {name} will be set to path {path}"}
    __salt__["alternatives.set"](name, path)
    if __salt__["alternatives.show_current"](name) != path:
        return {**row, "comment": f"Alternative for {name} not updated"}
    return {**row, "changes": {"path": path}, "comment": f"Alternative for {name} set to path {path}"}


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Say which name this is about, which link leads to it, and which program it is to stand for."""
    path, link = (os.path.normpath(str(low[key])) if low.get(key) else "" for key in ("path", "link"))
    writes = [f"alternatives:{low.get('name', '')}", *([f"path:{link}"] if link else [])]
    return {"reads": [f"path:{path}"] if path else [], "writes": writes}


def _row(name: str, path: str) -> Row:
    return {"name": name, "path": path, "result": True, "changes": {}, "comment": ""}
