"""The ``alternatives`` states: the program behind a common name, chosen from several.

Salt 3008 no longer has these states; arguments and rows are from earlier releases.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change

from . import _resources

if TYPE_CHECKING:
    from collections.abc import Mapping

__func_alias__ = {"set_": "set"}

_FOLDER = "/etc/alternatives"
"""The folder of the links to the chosen alternatives."""


def __virtual__() -> Any:
    if "alternatives.auto" in __salt__:
        return True
    return False, "alternatives module could not be loaded"


def install(name: str, link: str, path: str, priority: int) -> Row:
    """Make sure that ``path`` is one of the alternatives of ``name``, to which ``link`` leads.

    In automatic mode, the alternative with the highest ``priority`` is used. ``path`` must exist. ::

        editor:
          alternatives.install:
            - link: /usr/bin/editor
            - path: /opt/ed/bin/ed
            - priority: 50
    """
    asked = {"link": link, "path": path, "priority": priority}
    filesystem.require_own_place(link, "update-alternatives")
    if __salt__["alternatives.check_exists"](name, path):
        return unchanged(name, f"Alternative {path} for {name} is already registered") | asked
    problem = _refused(link, path) if filesystem.foretells() else ""
    if problem:
        return failed(name, f"Alternative for {name} not installed: {problem}") | asked
    if is_dry_run():
        return would_change(name, f"Alternative will be set for {name} to {path} with priority {priority}") | asked
    output = __salt__["alternatives.install"](name, link, path, priority)
    if not __salt__["alternatives.check_exists"](name, path):
        return failed(name, f"Alternative for {name} not installed: {output}") | asked
    if __salt__["alternatives.check_installed"](name, path):
        comment = f"Alternative for {name} set to path {path} with priority {priority}"
    else:
        comment = f"Alternative {path} for {name} registered with priority {priority} and not set to default"
    return changed(name, comment, {"name": name, **asked}) | asked


def remove(name: str, path: str) -> Row:
    """Make sure that ``path`` is none of the alternatives of ``name``. The state fails if ``name`` has no alternatives.

    ::

        editor:
          alternatives.remove:
            - path: /opt/ed/bin/ed
    """
    if __salt__["alternatives.check_exists"](name, path):
        if is_dry_run():
            return would_change(name, f"Alternative for {name} will be removed") | {"path": path}
        __salt__["alternatives.remove"](name, path)
        current = __salt__["alternatives.show_current"](name)
        if not current:
            return unchanged(name, f"Alternative for {name} removed") | {"path": path}
        comment = f"Alternative for {name} removed. Falling back to path {current}"
        return changed(name, comment, {"path": current}) | {"path": path}
    current = __salt__["alternatives.show_current"](name)
    if current:
        return unchanged(name, f"Alternative for {name} is set to it's default path {current}") | {"path": path}
    return failed(name, f"Alternative for {name} doesn't exist") | {"path": path}


def auto(name: str) -> Row:
    """Make sure that ``name`` is in automatic mode: the alternative with the highest priority is used.

    ::

        editor:
          alternatives.auto
    """
    shown = __salt__["alternatives.display"](name).partition("\n")[0]
    if shown.endswith((" auto mode", " status is auto.")):
        return unchanged(name, f"{name} already in auto mode")
    if filesystem.judges() and not shown.startswith(f"{name} - "):
        return failed(name, shown or f"{name} has no alternatives")
    if is_dry_run():
        return would_change(name, f"{name} will be put in auto mode")
    return changed(name, "", {"result": __salt__["alternatives.auto"](name)})


def set_(name: str, path: str) -> Row:
    """Make sure that ``name`` stands for ``path``, which must be one of its alternatives.

    ::

        editor:
          alternatives.set:
            - path: /usr/bin/vim.basic
    """
    if __salt__["alternatives.show_current"](name) == path:
        return unchanged(name, f"Alternative for {name} already set to {path}") | {"path": path}
    if not __salt__["alternatives.check_exists"](name, path):
        return failed(name, f"Alternative {path} for {name} doesn't exist") | {"path": path}
    if is_dry_run():
        return would_change(name, f"Alternative for {name} will be set to path {path}") | {"path": path}
    __salt__["alternatives.set"](name, path)
    if __salt__["alternatives.show_current"](name) != path:
        return unchanged(name, f"Alternative for {name} not updated") | {"path": path}
    return changed(name, f"Alternative for {name} set to path {path}", {"path": path}) | {"path": path}


def _refused(link: str, path: str) -> str:
    """Return the reason why update-alternatives does not register a new alternative, "" if it does."""
    for what, place in (("link", link), ("path", path)):
        if not os.path.isabs(place):
            return f"alternative {what} is not absolute as it should be: {place}"
    return "" if os.path.exists(path) else f"{path} does not exist"


def mod_footprint(low: Mapping[str, Any]) -> dict[str, Any]:
    """Return the footprint of an alternatives state: the program; the name, and the links that lead to it."""
    name = str(low.get("name", ""))
    path, link = _resources.local(low.get("path")), _resources.local(low.get("link"))
    chosen = f"{_FOLDER}/{name}"
    reads = [*_resources.files(path)]
    links = {chosen: path} if path and low.get("fun") != "remove" else {}
    if link:
        links[link] = chosen
    writes = [f"alternatives:{name}", f"path:{chosen}", *_resources.files(link)]
    programs = ["update-alternatives"]
    return {"reads": reads, "writes": writes, "programs": programs, **({"links": links} if links else {})}
