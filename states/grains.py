"""The ``grains`` states: static grains of this machine, with Salt's arguments and rows.

Every function takes a path of any depth, ``a:b:c``; ``delimiter`` is what separates it in ``name``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data import grains
from asyncstate.dunders import (
    Row,
    __context__,
    __grains__,
    __salt__,
    changed,
    entry_of,
    failed,
    is_dry_run,
    make_row,
    unchanged,
    would_change,
)
from asyncstate.errors import CommandExecutionError

from . import _resources

if TYPE_CHECKING:
    from collections.abc import Mapping

_FILE = "path:/etc/salt/grains"
_DELIMITER = ":"
_MISSING: Any = object()


def exists(name: str, delimiter: str = _DELIMITER) -> Row:
    """Check that a grain is there."""
    name = _path(name, delimiter)
    if __salt__["grains.get"](name, _MISSING) is _MISSING:
        return failed(name, "Grain does not exist")
    return unchanged(name, "Grain exists")


def present(name: str, value: Any, delimiter: str = _DELIMITER, force: bool = False) -> Row:
    """Set a grain. ``force`` allows replacing a list or a mapping, or replacing another value by one."""
    name = _path(name, delimiter)
    existing = __salt__["grains.get"](name, _MISSING)
    if existing == value:
        return unchanged(name, "Grain is already set")
    if problem := _refused(name, value, force=force):
        return failed(name, problem)
    if is_dry_run():
        if existing is _MISSING:
            return would_change(name, f"Grain {name} is set to be added", {"new": name})
        changes = {"changed": {name: value}}
        return would_change(name, f"Grain {name} is set to be changed", changes)
    row: Row = {**__salt__["grains.set"](name, value, force=force), "name": name}
    if row["result"] is True and row["changes"]:
        row["comment"] = f"Set grain {name} to {value}"
    return row


def list_present(name: str, value: Any, delimiter: str = _DELIMITER) -> Row:
    """Make sure that a list grain holds ``value``, or all of a list of values."""
    name = _path(name, delimiter)
    grain = __salt__["grains.get"](name)
    if grain and not isinstance(grain, list):
        return failed(name, f"Grain {name} is not a valid list")
    pending = __context__.setdefault("pending_grains", {}).setdefault(name, [])
    wanted = value if isinstance(value, list) else [value]
    known = [item for item in wanted if item in pending or (grain and item in grain)]
    missing = [item for item in wanted if item not in known]
    if not missing:
        where = f"already in grain {name} (or pending)" if grain else f"already pending in grain {name}"
        return unchanged(name, f"Value {value} is {where}")
    if isinstance(value, list):
        value = missing
    if filesystem.judges() and not grains.takes_items(__grains__, name):
        return failed(name, f"Failed append value {value} to grain {name}")
    pending.extend(missing)
    if is_dry_run():
        comment = (
            f"Value {value} is set to be appended to grain {name}" if grain else f"Grain {name} is set to be added"
        )
        return would_change(name, comment, {"new": grain})
    comment = ""
    if known:
        found = f'value found in "{name}" (or pending)' if grain else f'value already pending in "{name}"'
        comment = f"Removed value {known} from update due to {found}.\n"
    appended = __salt__["grains.append"](name, value)
    now = __salt__["grains.get"](name, [])
    if not isinstance(now, list) or any(item not in now for item in missing):
        return failed(name, f"Failed append value {value} to grain {name}")
    return changed(name, f"{comment}Append value {value} to grain {name}", {"new": appended})


def list_absent(name: str, value: Any, delimiter: str = _DELIMITER) -> Row:
    """Make sure that a list grain does not hold ``value``, or any of a list of values."""
    name = _path(name, delimiter)
    grain = __salt__["grains.get"](name, None)
    if not grain:
        return unchanged(name, f"Grain {name} does not exist")
    if not isinstance(grain, list):
        return failed(name, f"Grain {name} is not a valid list")
    comments = []
    deleted = []
    for item in value if isinstance(value, list) else [value]:
        if item not in grain:
            comments.append(f"Value {item} is absent from grain {name}")
            continue
        if is_dry_run():
            comments.append(f"Value {item} in grain {name} is set to be deleted")
        else:
            __salt__["grains.remove"](name, item)
            comments.append(f"Value {item} was deleted from grain {name}")
        deleted.append(item)
    changes = {"deleted": deleted} if deleted else {}
    return make_row(name, "\n".join(comments), changes, result=None if deleted and is_dry_run() else True)


def absent(name: str, destructive: bool = False, delimiter: str = _DELIMITER, force: bool = False) -> Row:
    """Set a grain to None, or with ``destructive`` remove it. ``force`` allows that for lists and mappings."""
    name = _path(name, delimiter)
    grain = __salt__["grains.get"](name, _MISSING)
    if grain is _MISSING:
        return unchanged(name, f"Grain {name} does not exist")
    to_none = {"grain": name, "value": None} if grain is not None else {}
    changes = {"deleted": name} if destructive is True else to_none
    if not changes and filesystem.judges():
        return unchanged(name, "Grain is already set")
    if problem := _refused(name, None, force=force, destructive=destructive):
        return failed(name, problem)
    if is_dry_run():
        comment = f"Value for grain {name} is set to be deleted (None)" if to_none else ""
        if destructive is True:
            comment = f"Grain {name} is set to be deleted"
        return would_change(name, comment, changes)
    row: Row = {**__salt__["grains.set"](name, None, destructive=destructive, force=force), "name": name}
    if row["result"] and changes:
        row["changes"] = changes
        row["comment"] = (
            f"Grain {name} was deleted" if destructive is True else f"Value for grain {name} was set to None"
        )
    return row


def append(name: str, value: Any, convert: bool = False, delimiter: str = _DELIMITER) -> Row:
    """Append ``value`` to a list grain that exists; ``convert`` turns another value into a list first."""
    name = _path(name, delimiter)
    grain = __salt__["grains.get"](name, None)
    if not grain and name not in __grains__:
        return failed(name, f"Grain {name} does not exist")
    if isinstance(grain, list):
        if value in grain:
            return unchanged(name, f"Value {value} is already in the list for grain {name}")
        planned = f"Value {value} in grain {name} is set to be added"
    elif convert is True:
        planned = f"Grain {name} is set to be converted to list and value {value} will be added"
    else:
        return failed(name, f"Grain {name} is not a valid list")
    if is_dry_run():
        return would_change(name, planned, {"added": value})
    if isinstance(grain, list):
        __salt__["grains.append"](name, value)
    else:
        __salt__["grains.set"](name, [value] if grain is None else [grain, value], force=True)
    return changed(name, f"Value {value} was added to grain {name}", {"added": value})


def _refused(name: str, value: Any, *, force: bool, destructive: bool = False) -> str:
    """Return the reason why a grain is not set, "" if it is; a dry run with Salt's rows does not look."""
    if not filesystem.judges():
        return ""
    try:
        grains.with_value(__grains__, name, value, _DELIMITER, force=force, destructive=destructive)
    except CommandExecutionError as error:
        return str(error)
    return ""


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the grain, with all that is in it, and its entry in the file of grains; if it may be added, all of both.

    Listing the grains shows them in the order of addition.
    """
    fun, name = low.get("fun"), _path(str(low.get("name", "")), str(low.get("delimiter") or _DELIMITER))
    if fun in {"present", "list_present"} or (fun == "append" and low.get("convert")):
        return {"reads": [], "writes": ["grains", *_files()]}
    key = name.partition(_DELIMITER)[0]
    if fun == "exists":
        return {"reads": [entry_of("grains", key)], "writes": []}
    return {"reads": [], "writes": [entry_of(resource, key) for resource in ("grains", *_files())]}


def _files() -> list[str]:
    """Return the possible files of grains: beside the configuration, or Salt's if only that exists."""
    beside = _resources.option("conf_file", _FILE.removeprefix("path:")).rpartition("/")[0]
    return list(dict.fromkeys((f"{beside}/grains", _FILE)))


def _path(name: str, delimiter: str) -> str:
    return name.replace(delimiter, _DELIMITER)
