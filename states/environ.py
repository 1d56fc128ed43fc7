"""The ``environ`` states: environment variables for the commands of this run (see the ``environ`` execution module)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, is_dry_run, unchanged

if TYPE_CHECKING:
    from collections.abc import Mapping


_FAILED = "Failed to set environ variables"


def setenv(
    name: str,
    value: Any,
    false_unsets: bool = False,
    clear_all: bool = False,
    update_minion: bool = False,
    permanent: bool | str = False,
) -> Row:
    """Set the variable ``name``, or all those of a dict ``value``.

    The value False empties a variable, or removes it with ``false_unsets``; ``clear_all`` does the same to every
    variable that is not named. As in Salt, the result of a dry run is True even if something would change. A value that
    cannot be set leaves all variables as they are.
    """
    row = unchanged(name)
    if isinstance(value, str) or value is False:
        wanted = {name: value}
    elif isinstance(value, dict):
        wanted = value
    else:
        row["result"] = False
        row["comment"] = "Environ value must be string, dict or False"
        return row
    row["changes"] = _changes(wanted, false_unsets=false_unsets, clear_all=clear_all)
    if any(not isinstance(each, str) and each is not False for each in wanted.values()):
        row["result"] = False
        row["comment"] = _FAILED
        return row
    if is_dry_run():
        row["comment"] = (
            "Environ values will be changed"
            if row["changes"]
            else "Environ values are already set with the correct values"
        )
        return row
    if not row["changes"]:
        row["comment"] = "Environ values were already set with the correct values"
        return row
    done = __salt__["environ.setenv"](wanted, false_unsets, clear_all, update_minion, permanent)
    if not done:
        row["result"] = False
        row["comment"] = _FAILED
        return row
    row["changes"] = done
    row["comment"] = "Environ values were set"
    return row


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint: the environment, which every later command may depend on."""
    return {"reads": [], "writes": ["environ:process"]}


def _changes(wanted: dict[str, Any], *, false_unsets: bool, clear_all: bool) -> dict[str, Any]:
    current = __salt__["environ.items"]()
    changes: dict[str, Any] = {}
    if clear_all is True:
        emptied = None if false_unsets is True else ""
        changes = {key: emptied for key in current if key not in wanted and current[key] != emptied}
    for key, value in wanted.items():
        now = current.get(key)
        if value is not False:
            if (now or "") != value:
                changes[key] = value
        elif false_unsets is not True:
            if now != "":
                changes[key] = ""
        elif now is not None:
            changes[key] = None
    return changes
