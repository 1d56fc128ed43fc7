"""The ``group`` states: groups of this machine, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data.values import unfit_account as _unfit_account
from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import CommandExecutionError

from . import _resources
from ._local_accounts import missing_tool as _missing_tool

if TYPE_CHECKING:
    from collections.abc import Mapping

Changes = dict[str, Any]


def present(
    name: str,
    gid: Any = None,
    system: bool = False,
    addusers: str | list[Any] | None = None,
    delusers: str | list[Any] | None = None,
    members: str | list[Any] | None = None,
    non_unique: bool = False,
    local: bool = False,
) -> Row:
    """Make sure that a group exists.

    ``members`` is the whole list; ``addusers`` and ``delusers`` leave the other members alone. Give one or the other.
    """
    addusers, delusers, members = _names(addusers or None), _names(delusers or None), _names(members)
    conflict = _conflict(addusers, delusers, members)
    if conflict:
        return failed(name, conflict)
    if not gid and (isinstance(gid, bool) or gid != 0):
        gid = None  # an empty value is none, but root's 0 is a value
    if gid is not None and not str(gid).isdigit():
        return failed(name, "Invalid gid")
    wanted = {
        "gid": int(gid) if gid is not None else None,
        "addusers": addusers,
        "delusers": delusers,
        "members": members,
        "root": {"root": "/"} if local else {},
    }
    changes = _differences(name, wanted)
    if changes is None:
        problem = _missing_tool("groupadd", local=local)
        if filesystem.judges():
            problem = problem or _refusal(name, wanted, non_unique=non_unique)
        if problem:
            return failed(name, problem)
        if is_dry_run():
            return would_change(name, f"Group {name} set to be added")
        return _create(name, wanted, system=system, non_unique=non_unique, local=local)
    if not changes:
        return unchanged(name, f"Group {name} is present and up to date")
    comment = "The following group attributes are set to be changed:\n"
    comment += "".join(f"{key}: {value}\n" for key, value in changes.items())
    if filesystem.judges() and (problem := _unknown(changes)):
        return failed(name, f"{comment}{problem}")
    if is_dry_run():
        return would_change(name, comment)
    return _update(name, comment, changes, wanted, non_unique=non_unique)


def absent(name: str, local: bool = False) -> Row:
    """Make sure that there is no such group."""
    found = __salt__["group.info"](name, **({"root": "/"} if local else {}))
    if not found:
        return unchanged(name, "Group not present")
    if problem := _missing_tool("groupdel", local=local):
        return failed(name, problem)
    if filesystem.foretells() and (owner := _primary_of(found["gid"])):
        return failed(name, f"Failed to remove group {name}: it is the primary group of {owner}")
    if is_dry_run():
        return would_change(name, f"Group {name} is set for removal")
    if not __salt__["group.delete"](name, local=local):
        return failed(name, f"Failed to remove group {name}")
    return changed(name, f"Removed group {name}", {name: ""})


def _primary_of(gid: int) -> str:
    """Return a user with this primary group, "" if there is none."""
    return next((str(each["name"]) for each in __salt__["user.getent"]() if each["gid"] == gid), "")


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a group state: the files of all accounts, the group, the groups of its members.

    States that only need the existence and the number of a user do not depend on its groups.
    """
    given = [low[key] for key in ("addusers", "delusers", "members") if isinstance(low.get(key), (str, list))]
    people = [f"user:{each}#groups" for value in given for each in _names(value) or ()]
    names = _resources.accounts(low, (), ("name", "gid"))
    return {
        "reads": ["path:/etc/login.defs"],
        "writes": list(dict.fromkeys([*_resources.ACCOUNTS, *names, *people])),
    }


def _names(value: Any) -> list[str] | None:
    if value is None:
        return None
    return [each for each in value.split(",") if each] if isinstance(value, str) else [str(each) for each in value]


def _conflict(addusers: list[str] | None, delusers: list[str] | None, members: list[str] | None) -> str:
    if members is not None and (addusers is not None or delusers is not None):
        return 'Error: Conflicting options "members" with "addusers" and/or "delusers" can not be used together. '
    if set(addusers or ()) & set(delusers or ()):
        return "Error. Same user(s) can not be added and deleted simultaneously"
    return ""


def _differences(name: str, wanted: Mapping[str, Any]) -> Changes | None:
    """Return the differences from the wanted values, by argument name; None if there is no such group."""
    group = __salt__["group.info"](name, **wanted["root"])
    if not group:
        return None
    changes: Changes = {}
    has = group["members"]
    if wanted["gid"] and group["gid"] != wanted["gid"]:
        changes["gid"] = wanted["gid"]
    if wanted["members"] is not None and set(has) != set(wanted["members"]):
        changes.update({"members": wanted["members"]} if wanted["members"] else {"delusers": set(has)})
    missing = [each for each in wanted["addusers"] or () if each not in has]
    if missing:
        changes["addusers"] = missing
    extra = [each for each in wanted["delusers"] or () if each in has]
    if extra:
        changes["delusers"] = extra
    return changes


def _update(name: str, comment: str, changes: Changes, wanted: Mapping[str, Any], *, non_unique: bool) -> Row:
    try:
        if "gid" in changes:
            __salt__["group.chgid"](name, changes["gid"], non_unique=non_unique)
        if "members" in changes:
            __salt__["group.members"](name, ",".join(changes["members"]))
        for user in changes.get("addusers", ()):
            __salt__["group.adduser"](name, user)
        for user in changes.get("delusers", ()):
            __salt__["group.deluser"](name, user)
    except CommandExecutionError as error:
        comment += f"{error}\n"
    left = _differences(name, wanted)
    if left:
        return failed(name, f"{comment}Some changes could not be applied", {"Failed": left})
    return changed(name, comment, {"Final": "All changes applied successfully"})


def _refusal(name: str, wanted: Mapping[str, Any], *, non_unique: bool) -> str:
    """Return the error of a run that cannot make the wanted group, "" if it can."""
    if problem := _unfit_account(name) or (
        f"no group has gid {wanted['gid']}" if (wanted["gid"] or 0) >= 1 << 32 else ""
    ):
        return f"Failed to create new group {name}: {problem}"
    unknown = _unknown(wanted)
    comment = f"Group {name} cannot be made with these members. {unknown}" if unknown else ""
    return _taken(name, wanted["gid"], non_unique=non_unique) or comment


def _taken(name: str, gid: int | None, *, non_unique: bool) -> str:
    if gid is None or non_unique:
        return ""
    owner = next((each["name"] for each in __salt__["group.getent"]() if each["gid"] == gid), None)
    return "" if owner is None else f"Group {name} is not present but gid {gid} is already taken by group {owner}"


def _unknown(wanted: Mapping[str, Any]) -> str:
    """Return the users to add that do not exist, "" if all do."""
    people = [*(wanted.get("members") or ()), *(wanted.get("addusers") or ())]
    unknown = [each for each in people if __salt__["file.user_to_uid"](each) == ""]
    return f"These users do not exist: {', '.join(unknown)}" if unknown else ""


def _create(name: str, wanted: Mapping[str, Any], *, system: bool, non_unique: bool, local: bool) -> Row:
    if not __salt__["group.add"](name, gid=wanted["gid"], system=system, non_unique=non_unique, local=local):
        return failed(name, f"Failed to create new group {name}")
    people = wanted["addusers"] or wanted["members"]
    if people:
        __salt__["group.members"](name, ",".join(people))
    left = _differences(name, wanted)
    if left:
        comment = f"Group {name} has been created but, some changes could not be applied"
        return failed(name, comment, {"Failed": left})
    return changed(name, f"New group {name} created", __salt__["group.info"](name, **wanted["root"]))
