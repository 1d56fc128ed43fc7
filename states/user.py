"""The ``user`` states: accounts of this machine, with Salt's arguments and rows."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data.date import days_since_1970
from asyncstate.data.values import unfit_account as _unfit_account
from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import CommandExecutionError

from . import _resources
from ._local_accounts import missing_tool as _missing_tool

if TYPE_CHECKING:
    from collections.abc import Mapping

Changes = dict[str, Any]

log = logging.getLogger(__name__)

_NO_NUMBER = (1 << 32) - 1
"""Numbers that the system does not accept for an account."""
_REDACTED = "XXX-REDACTED-XXX"
_GECOS = ("fullname", "roomnumber", "workphone", "homephone", "other")
_AGES = {"date": "lstchg", "mindays": "min", "maxdays": "max", "inactdays": "inact", "warndays": "warn"}
_AGE_WORDS = {
    "date": "last change date to",
    "mindays": "minimum days to",
    "maxdays": "maximum days to",
    "inactdays": "inactive days to",
    "warndays": "warn days to",
    "expire": "expire days to",
}
_DEFAULTS = ("path:/etc/login.defs", "path:/etc/default/useradd", "path:/etc/skel/**")
_UP_TO_DATE = "User {} is present and up to date"
_HASHES = {"1": "md5", "2a": "blowfish", "2b": "blowfish", "5": "sha256", "6": "sha512"}


def present(
    name: str,
    uid: Any = None,
    gid: Any = None,
    usergroup: bool | None = None,
    groups: str | list[str] | None = None,
    optional_groups: str | list[str] | None = None,
    remove_groups: bool = True,
    home: str | None = None,
    createhome: bool = True,
    persist_home: bool = False,
    password: str | None = None,
    hash_password: bool = False,
    enforce_password: bool = True,
    empty_password: bool = False,
    shell: str | None = None,
    unique: bool = True,
    system: bool = False,
    fullname: Any = None,
    roomnumber: Any = None,
    workphone: Any = None,
    homephone: Any = None,
    other: Any = None,
    loginclass: str | None = None,
    date: Any = None,
    mindays: Any = None,
    maxdays: Any = None,
    inactdays: Any = None,
    warndays: Any = None,
    expire: Any = None,
    win_homedrive: Any = None,
    win_profile: Any = None,
    win_logonscript: Any = None,
    win_description: Any = None,
    nologinit: bool = False,
    allow_uid_change: bool = False,
    allow_gid_change: bool = False,
    password_lock: bool | None = None,
    local: bool = False,
) -> Row:
    """Make sure that a user exists with these attributes; those not given stay as they are.

    ``groups`` must exist; ``optional_groups`` that do not exist are skipped. The user leaves all other groups unless
    ``remove_groups`` is False. ``password`` is a hash, or with ``hash_password`` a plain text to hash. The arguments
    ``win_*`` and ``loginclass`` have no effect on Linux.
    """
    if password and hash_password:
        password = _hashed(name, password)
    gecos = dict(zip(_GECOS, (fullname, roomnumber, workphone, homephone, other), strict=True))
    gecos = {key: str(value) for key, value in gecos.items() if value is not None}
    uid, gid = _given(uid), _given(gid)
    ages = {"date": date, "mindays": mindays, "maxdays": maxdays, "inactdays": inactdays, "warndays": warndays}
    try:
        ages = {key: None if _given(value) is None else days_since_1970(value) for key, value in ages.items()}
        expire = days_since_1970(expire) if expire else None
        _require_fit({"uid": uid, "gid": gid}, {"home": home, "shell": shell}, {**gecos, "password": password or ""})
    except ValueError as error:
        return failed(name, str(error))
    groups, optional = _names(groups), _names(optional_groups)
    missing = [each for each in groups or () if not __salt__["group.info"](each)]
    if missing and filesystem.judges():
        return failed(name, f"The following group(s) are not present: {','.join(missing)}")
    if groups is not None:
        groups = [each for each in groups if each not in missing]
    optional = None if optional is None else [each for each in optional if __salt__["group.info"](each)]
    wanted = {
        "uid": None if uid is None else int(uid),
        "gid": name if usergroup and __salt__["file.group_to_gid"](name) != "" else gid,
        "groups": groups,
        "optional_groups": optional,
        "remove_groups": remove_groups,
        "home": home,
        "createhome": createhome,
        "password": password,
        "enforce_password": enforce_password,
        "empty_password": empty_password,
        "password_lock": password_lock,
        "shell": shell,
        "gecos": gecos,
        "ages": ages,
        "expire": expire,
        "root": {"root": "/"} if local else {},
    }
    changes = _differences(name, wanted)
    _require_own_homes(name, changes, wanted, persist_home=persist_home)
    if changes is None:
        problem = _homeless(home) if createhome else ""
        if filesystem.foretells():
            problem = problem or _unfit_account(name) or _unfit_numbers(wanted, unique=unique)
            problem = problem or ("" if local or gid is not None else _taken_group(name, groups, usergroup))
        if problem:
            return failed(name, f"Failed to create new user {name}: {problem}")
        if problem := _missing_tool("useradd", local=local):
            return failed(name, problem)
        if is_dry_run():
            pending = f" (pending groups: {','.join(missing)})" if missing else ""
            return would_change(name, f"User {name} set to be added{pending}")
        options = {"unique": unique, "system": system, "nologinit": nologinit, "usergroup": usergroup, "local": local}
        return _create(name, wanted, {**options, "uid": uid, "gid": gid, "loginclass": loginclass})
    forbidden = _forbidden(name, changes, wanted, uid=allow_uid_change, gid=allow_gid_change)
    if forbidden:
        return failed(name, forbidden)
    if changes and filesystem.judges():
        problem = _unfit_numbers({"uid": None, "gid": None, **changes}, unique=True)
        if problem := problem or _homeless(changes.get("homeDoesNotExist")):
            return failed(name, f"Failed to change user {name}: {problem}")
    if changes and is_dry_run():
        return would_change(name, _announcement(changes, missing))
    if changes:
        return _update(name, changes, wanted, persist_home=persist_home)
    return unchanged(name, _UP_TO_DATE.format(name))


def absent(name: str, purge: bool = False, force: bool = False, local: bool = False) -> Row:
    """Make sure that a user does not exist. ``purge`` removes their files too, ``force`` a user who is logged in."""
    user = __salt__["user.info"](name, **({"root": "/"} if local else {}))
    if not user:
        return unchanged(name, f"User {name} is not present")
    if purge and user["home"]:
        filesystem.require_own_place(user["home"], "userdel")
    if problem := _missing_tool("userdel", local=local):
        return failed(name, problem)
    if filesystem.foretells() and not force and user["uid"] in {0, os.geteuid()}:
        return failed(name, f"Failed to remove user {name}: processes run as it")
    if is_dry_run():
        return would_change(name, f"User {name} set for removal")
    before = __salt__["user.list_groups"](name)
    if not __salt__["user.delete"](name, purge, force, local=local):
        return failed(name, f"Failed to remove user {name}")
    gone = [group for group in before if not __salt__["group.info"](group)]
    changes = {**{f"{group} group": "removed" for group in gone}, name: "removed"}
    return changed(name, f"Removed user {name}", changes)


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a user state: the files of all accounts, the user, its group and home.

    A new user depends on its groups and its shell, on the defaults for accounts and the skeleton of a home.
    """
    name = str(low.get("name", ""))
    numbers = [f"{kind}:{low[key]}" for kind, key in (("user", "uid"), ("group", "gid")) if _is_number(low.get(key))]
    home = _resources.local(low.get("home")) or f"~{name}"
    writes = [*_resources.ACCOUNTS, f"user:{name}", f"group:{name}", *numbers, f"path:{home}"]
    if low.get("fun") == "absent":
        purged = [f"path:~{name}/**", f"path:/var/mail/{name}", f"cron:{name}"] if low.get("purge") else []
        return {"reads": [], "writes": [*writes[:-1], *purged]}
    if low.get("persist_home"):
        writes += [f"path:~{name}/**", f"path:{home}/**"]
    given = [low[key] for key in ("groups", "optional_groups") if isinstance(low.get(key), (str, list))]
    groups = [group for value in given for group in _names(value) or ()]
    if isinstance(low.get("gid"), str) and not _is_number(low["gid"]):
        groups.append(low["gid"])
    reads = [f"group:{group}" for group in groups if group != name]
    reads += [*_resources.files(low.get("shell")), *_DEFAULTS]
    return {"reads": reads, "writes": writes}


def _is_number(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and value.isdecimal())


def _names(value: Any) -> list[str] | None:
    if value is None:
        return None
    return value.split(",") if isinstance(value, str) else [str(each) for each in value]


def _hashed(name: str, password: str) -> str:
    """Hash a password with the salt of the current hash, so that the same password gives the same hash."""
    parts = str(__salt__["shadow.info"](name)["passwd"]).split("$")
    if len(parts) == 4 and parts[1] in _HASHES:
        return str(__salt__["shadow.gen_password"](password, crypt_salt=parts[2], algorithm=_HASHES[parts[1]]))
    return str(__salt__["shadow.gen_password"](password))


def _differences(name: str, wanted: Mapping[str, Any]) -> Changes | None:
    """Return the differences from the wanted values, by argument name; None if there is no such user."""
    user = __salt__["user.info"](name, **wanted["root"])
    if not user:
        return None
    changes: Changes = {}
    if wanted["uid"] and user["uid"] != wanted["uid"]:
        changes["uid"] = wanted["uid"]
    gid = wanted["gid"]
    if gid is not None and user["gid"] not in {gid, __salt__["file.group_to_gid"](gid)}:
        changes["gid"] = gid
    groups = _group_difference(name, user, wanted)
    if groups is not None:
        changes["groups"] = groups
    home = wanted["home"]
    if home and user["home"] != home:
        changes["home"] = home
    if wanted["createhome"] and not os.path.isdir(home or user["home"]):
        changes["homeDoesNotExist"] = home or user["home"]
    if wanted["shell"] and user["shell"] != wanted["shell"]:
        changes["shell"] = wanted["shell"]
    if "shadow.info" in __salt__:
        changes |= _shadow_difference(__salt__["shadow.info"](name), wanted)
    return changes | {key: value for key, value in wanted["gecos"].items() if user[key] != value}


def _group_difference(name: str, user: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str] | None:
    """Return the groups that the user must have, None if the user has them already.

    Groups are compared by GID, as two may share one. The primary group does not count, nor one of the user's name.
    """
    asked = [*(wanted["groups"] or ()), *(wanted["optional_groups"] or ())]
    remove = wanted["remove_groups"]
    if not remove or (wanted["groups"] is None and not wanted["optional_groups"]):
        asked += user["groups"]
    number = __salt__["file.group_to_gid"]
    primary = number(wanted["gid"]) if wanted["gid"] is not None else user["gid"]
    has = {each: number(each) for each in user["groups"]}
    needs = {each: number(each) for each in asked}
    ignored = {primary, user["gid"]} if primary != user["gid"] else {primary}
    now = {gid for each, gid in has.items() if gid not in ignored and (each != name or name in needs)}
    then = {gid for gid in needs.values() if gid != primary}
    same = now == then if remove else then <= now
    return None if same else sorted({each for each, gid in needs.items() if gid != primary})


def _shadow_difference(shadow: Mapping[str, Any], wanted: Mapping[str, Any]) -> Changes:
    changes: Changes = {}
    password, empty, lock = wanted["password"], wanted["empty_password"], wanted["password_lock"]
    unset = shadow["passwd"] == __salt__["shadow.default_hash"]()
    if password and not empty and (unset or wanted["enforce_password"]) and shadow["passwd"] != password:
        changes["passwd"] = password
    if empty and shadow["passwd"] != "":
        changes["empty_password"] = True
    for argument, value in wanted["ages"].items():
        if value is not None and shadow[_AGES[argument]] != value:
            changes[argument] = value
    if wanted["expire"] and shadow["expire"] != wanted["expire"]:
        changes["expire"] = wanted["expire"]
    if lock is not None and bool(lock) != shadow["passwd"].startswith("!"):
        changes["password_lock"] = lock
    return changes


def _given(number: Any) -> Any:
    """Return a number, None for an empty value other than 0."""
    return number if number or (number == 0 and number is not False) else None


def _require_fit(numbers: Mapping[str, Any], paths: Mapping[str, Any], texts: Mapping[str, str]) -> None:
    """Raise ValueError, with a sentence, for impossible values: found later, they would leave half an account."""
    for key, number in numbers.items():
        name = key == "gid" and isinstance(number, str) and not number.lstrip("-").isdigit()
        fits = not isinstance(number, bool) and str(number).isdigit() and int(number) < _NO_NUMBER
        if number is not None and not name and not fits:
            raise ValueError(f"{key} must be a whole number from 0 on, not {number!r}")
    for key, path in paths.items():
        if path and not os.path.isabs(path):
            raise ValueError(f"{key} must be an absolute path, not {path!r}")
        if path and ":" in path and filesystem.judges():
            raise ValueError(f"Unsupported char ':' in {path}")
    for key, text in texts.items():
        for mark in ":\n" if key in {"other", "password"} else ":,\n":
            if mark in text:
                raise ValueError(f"Unsupported char {mark!r} in {key if key == 'password' else text}")


def _unfit_numbers(wanted: Mapping[str, Any], *, unique: bool) -> str:
    """Return the reason why no account can have these numbers, "" if one can; clearer than the program's error."""
    uid, gid = wanted["uid"], wanted["gid"]
    group = __salt__["file.gid_to_group"](gid) if isinstance(gid, (int, str)) and gid != "" else None
    if group == "" or isinstance(group, int):
        return f"there is no group {gid}"
    owner = __salt__["file.uid_to_user"](uid) if isinstance(uid, int) and unique else uid
    return "" if owner == uid else f"user {owner} has uid {uid}"


def _require_own_homes(name: str, changes: Changes | None, wanted: Mapping[str, Any], *, persist_home: bool) -> None:
    """Raise PathRefused if other users could redirect the path of a home before it is made or moved."""
    if changes is None:
        homes = [wanted["home"]] if wanted["createhome"] and wanted["home"] else []
    elif "home" in changes and persist_home:
        homes = [__salt__["user.info"](name, **wanted["root"])["home"], changes["home"]]
    else:
        homes = []
    for home in homes:
        filesystem.require_own_place(home, "usermod" if changes else "useradd")


def _homeless(home: str | None) -> str:
    """Return the error if a home cannot be made, which would leave the user without one, "" if it can."""
    if not home or os.path.isdir(home) or not filesystem.judges():
        return ""
    try:
        return "" if filesystem.has_room(home) else f"{home} cannot be made"
    except OSError as error:
        return str(error)


def _taken_group(name: str, groups: list[str] | None, usergroup: bool | None) -> str:
    """Return the reason why no group with the user's name can be made, "" if it can or need not be."""
    if usergroup is False or (not usergroup and name in (groups or ())) or not __salt__["group.info"](name):
        return ""
    usual = r"^\s*USERGROUPS_ENAB\s+yes"
    if not usergroup and not __salt__["file.search"]("/etc/login.defs", usual, ignore_if_missing=True, multiline=True):
        return ""
    return f"there is a group {name}: gid: {name} makes it the primary group"


def _forbidden(name: str, changes: Changes, wanted: Mapping[str, Any], *, uid: bool, gid: bool) -> str:
    """Return Salt's refusal to change the UID or GID without permission, "" if there is nothing to refuse."""
    refused = [key for key, allowed in (("uid", uid), ("gid", gid)) if key in changes and not allowed]
    if not refused:
        return ""
    user = __salt__["user.info"](name, **wanted["root"])
    sentences = [
        f"Changing {key} ({user[key]} -> {changes[key]}) not permitted, set allow_{key}_change to True to force this"
        " change. Note that this will not change file ownership."
        for key in refused
    ]
    return str(CommandExecutionError("Encountered error checking for needed changes", info=sentences))


def _announcement(changes: Changes, missing: list[str]) -> str:
    lines = [f"{key}: {_REDACTED if key == 'passwd' else value}\n" for key, value in changes.items()]
    if missing:
        lines.append(f"groups (pending creation): {','.join(missing)}\n")
    return "The following user attributes are set to be changed:\n" + "".join(lines)


def _update(name: str, wanted_changes: Changes, wanted: Mapping[str, Any], *, persist_home: bool) -> Row:
    has_shadow = "shadow.info" in __salt__
    before = __salt__["user.info"](name, **wanted["root"])
    shadow = __salt__["shadow.info"](name) if has_shadow else {}
    trouble = ""
    try:
        _apply(name, wanted_changes, before, remove_groups=wanted["remove_groups"], persist_home=persist_home)
    except CommandExecutionError as error:
        trouble = str(error)
    after = __salt__["user.info"](name, **wanted["root"])
    changes = {key: value for key, value in after.items() if value != before[key]}
    for key, value in (__salt__["shadow.info"](name) if has_shadow else {}).items():
        if shadow[key] != value:
            changes[key] = _REDACTED if key == "passwd" else value
    if trouble:
        return failed(name, trouble, changes)
    left = _differences(name, wanted)
    if left:
        shown = {key: _REDACTED if key == "passwd" else value for key, value in left.items()}
        return failed(name, f"These values could not be changed: {shown}", changes)
    return changed(name, f"Updated user {name}" if changes else _UP_TO_DATE.format(name), changes)


def _apply(name: str, changes: Changes, before: Mapping[str, Any], *, remove_groups: bool, persist_home: bool) -> None:
    """Make the changes in Salt's order: groups last, because they depend on the primary group."""
    if "passwd" in changes:
        __salt__["shadow.set_password"](name, changes["passwd"])
    if changes.get("empty_password"):
        __salt__["shadow.del_password"](name)
    if "password_lock" in changes:
        __salt__["shadow.lock_password" if changes["password_lock"] else "shadow.unlock_password"](name)
    if "date" in changes:
        __salt__["shadow.set_date"](name, changes["date"])
    home = changes.get("homeDoesNotExist")
    if "home" in changes:
        __salt__["user.chhome"](name, changes["home"], persist=persist_home)
    if home and not os.path.isdir(home):
        __salt__["file.mkdir"](home, before["uid"], before["gid"], 0o755)
    for key in ("mindays", "maxdays", "inactdays", "warndays", "expire"):
        if key in changes:
            __salt__[f"shadow.set_{key}"](name, changes[key])
    for key in ("uid", "gid", "shell", *_GECOS):
        if key in changes:
            __salt__[f"user.ch{key}"](name, changes[key])
    if "groups" in changes:
        __salt__["user.chgroups"](name, changes["groups"], not remove_groups)


def _create(name: str, wanted: Mapping[str, Any], options: dict[str, Any]) -> Row:
    groups = [*(wanted["groups"] or ()), *(wanted["optional_groups"] or ())]
    created = __salt__["user.add"](
        name=name,
        groups=groups or wanted["groups"],
        home=wanted["home"],
        shell=wanted["shell"],
        createhome=wanted["createhome"],
        **wanted["gecos"],
        **options,
    )
    if created is not True:
        return failed(name, f"Failed to create new user {name}")
    row = changed(name, f"New user {name} created", __salt__["user.info"](name, **wanted["root"]))
    if not wanted["createhome"]:
        row["changes"]["home"] = ""
    if "shadow.info" in __salt__:
        _set_shadow(row, wanted)
    return row


def _set_shadow(row: Row, wanted: Mapping[str, Any]) -> None:
    """Set the password and the ages of a new user; the row fails if any cannot be set."""
    name = row["name"]

    def put(function: str, key: str, value: Any, sentence: str, shown: str, report: Any) -> None:
        __salt__[f"shadow.{function}"](name, *(() if function == "del_password" else (value,)))
        if __salt__["shadow.info"](name)[key] != value:
            row.update(result=False, comment=f"User {name} created but failed to {sentence}")
        row["changes"][shown] = report

    password, empty = wanted["password"], wanted["empty_password"]
    if password and not empty:
        put("set_password", "passwd", password, f"set password to {_REDACTED}", "password", _REDACTED)
    if empty and not password:
        put("del_password", "passwd", "", "empty password", "password", "")
    for argument, value in {**wanted["ages"], "expire": wanted["expire"] or None}.items():
        key = _AGES.get(argument, argument)
        if value or (value is not None and __salt__["shadow.info"](name)[key] != value):
            put(f"set_{argument}", key, value, f"set {_AGE_WORDS[argument]} {value}", argument, value)
    lock = wanted["password_lock"]
    if lock is not None and bool(lock) != str(__salt__["shadow.info"](name)["passwd"]).startswith("!"):
        __salt__["shadow.lock_password" if lock else "shadow.unlock_password"](name)
