"""The ``user`` execution module for the shadow tools: useradd, usermod, userdel."""

from __future__ import annotations

import logging
import shutil
from typing import Any

from asyncstate.dunders import __grains__, __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.user import UserInterface

from . import _account_files, _busybox
from . import _user_database as database
from ._account_reading import current, getent, info, list_groups, list_users, primary_group

log = logging.getLogger(__name__)

__virtualname__ = UserInterface(__name__)()

__all__ = [
    "add",
    "chfullname",
    "chgid",
    "chgroups",
    "chhome",
    "chhomephone",
    "chother",
    "chroomnumber",
    "chshell",
    "chuid",
    "chworkphone",
    "current",
    "delete",
    "getent",
    "info",
    "list_groups",
    "list_users",
    "primary_group",
    "rename",
]

_MAIL_SPOOL_MISSING = 12
_SPOOLS = ("var/mail", "var/spool/mail")


def __virtual__() -> bool | tuple[bool, str]:
    """Load unless BusyBox manages the accounts."""
    if shutil.which("useradd") is None and _busybox.has_applet("adduser"):
        return False, "user: useradd is not installed, BusyBox manages accounts here"
    return True


def add(
    name: str,
    uid: Any = None,
    gid: Any = None,
    groups: Any = None,
    home: str | None = None,
    shell: str | None = None,
    unique: bool = True,
    system: bool = False,
    fullname: str = "",
    roomnumber: str = "",
    workphone: str = "",
    homephone: str = "",
    other: str = "",
    createhome: bool = True,
    loginclass: str | None = None,
    nologinit: bool = False,
    root: str | None = None,
    usergroup: bool | None = None,
    local: bool = False,
) -> bool:
    """Create a user; True if that worked, even if setting groups or description failed (the next run sets those).

    With ``usergroup`` None, the system decides whether a group of the same name is made. ``local`` uses luseradd.
    """
    options: list[Any] = []
    if shell:
        options += ["-s", shell]
    if uid not in {None, ""}:
        options += ["-u", uid]
        options += [] if unique else ["-o"]  # useradd refuses -o for a number of its own choice
    if gid not in {None, ""}:
        options += ["-g", gid]
    elif usergroup:
        options += [] if local else ["-U"]
    elif groups is not None and name in groups and _user_groups_are_usual():
        options += ["-g", name]
    if usergroup is False:
        options.append("-n" if local else "-N")
    if not createhome:
        options.append("-M")
    elif not local:
        options.append("-m")
    if nologinit:
        options.append("-l")
    if home is not None:
        options += ["-d", home]
    if system:
        options.append("-r")
    if not _succeeds("luseradd" if local else "useradd", *options, *_below(None if local else root), "--", name):
        return False
    if groups:
        chgroups(name, groups, root=root)
    gecos = {"fullname": fullname, "roomnumber": roomnumber, "workphone": workphone, "homephone": homephone}
    gecos = {key: str(value) for key, value in {**gecos, "other": other}.items() if value}
    if gecos:
        _describe(name, gecos, root)
    return True


def delete(name: str, remove: bool = False, force: bool = False, root: str | None = None, local: bool = False) -> bool:
    """Remove a user; ``remove`` also removes home and mail, ``force`` removes even a user who is logged in."""
    options = ["-r"] if remove else []
    if force and not local:
        options.append("-f")
    done = _run("luserdel" if local else "userdel", *options, *_below(None if local else root), "--", name)
    if done["retcode"] == _MAIL_SPOOL_MISSING and __grains__.get("os_family") == "Debian":
        return any(spool in done["stderr"] for spool in _SPOOLS)
    return bool(done["retcode"] == 0)


def rename(name: str, new_name: str, root: str | None = None) -> bool:
    """Rename a user. CommandExecutionError if there is one of the new name, or none of the old."""
    if info(new_name, root):
        raise CommandExecutionError(f"User '{new_name}' already exists")
    database.required(name, root)
    return _modify(["-l", new_name], name, root) and bool(info(new_name, root))


def chuid(name: str, uid: Any, root: str | None = None) -> bool:
    """Change a user's UID."""
    return _change(name, "uid", uid, ["-u", uid], root)


def chgid(name: str, gid: Any, root: str | None = None) -> bool:
    """Change a user's primary group, given by number or name."""
    group = database.group(gid, root) if isinstance(gid, str) else None
    return _change(name, "gid", group.gr_gid if group else gid, ["-g", gid], root)


def chshell(name: str, shell: str, root: str | None = None) -> bool:
    """Change a user's login shell."""
    return _change(name, "shell", shell, ["-s", shell], root)


def chhome(name: str, home: str, persist: bool = False, root: str | None = None) -> bool:
    """Change a user's home directory, and with ``persist`` move its content."""
    return _change(name, "home", home, [*(["-m"] if persist else []), "-d", home], root)


def chgroups(name: str, groups: Any, append: bool = False, root: str | None = None) -> bool:
    """Put a user into these groups, and with ``append`` False out of all others. A text is split at commas."""
    wanted = groups.split(",") if isinstance(groups, str) else [str(each) for each in groups]
    if set(database.groups_of(name, root)) == set(wanted):
        return True
    done = _run("usermod", *_below(root), *(["-a"] if append else []), "-G", ",".join(wanted), "--", name)
    if done["retcode"] != 0 and "not found in" in done["stderr"]:
        return all(_succeeds("gpasswd", "-a", name, "--", group) for group in wanted)
    return bool(done["retcode"] == 0)


def chfullname(name: str, fullname: Any, root: str | None = None) -> bool:
    """Change a user's full name."""
    return _describe(name, {"fullname": fullname}, root)


def chroomnumber(name: str, roomnumber: Any, root: str | None = None) -> bool:
    """Change a user's room number."""
    return _describe(name, {"roomnumber": roomnumber}, root)


def chworkphone(name: str, workphone: Any, root: str | None = None) -> bool:
    """Change a user's work phone number."""
    return _describe(name, {"workphone": workphone}, root)


def chhomephone(name: str, homephone: Any, root: str | None = None) -> bool:
    """Change a user's home phone number."""
    return _describe(name, {"homephone": homephone}, root)


def chother(name: str, other: Any, root: str | None = None) -> bool:
    """Change the remainder of a user's description."""
    return _describe(name, {"other": other}, root)


def _change(name: str, key: str, value: Any, options: list[Any], root: str | None) -> bool:
    if database.described(database.required(name, root), root)[key] == value:
        return True
    return _modify(options, name, root) and info(name, root).get(key) == value


def _describe(name: str, parts: dict[str, Any], root: str | None) -> bool:
    texts = {key: "" if value is None else str(value) for key, value in parts.items()}
    entry = database.required(name, root)
    wanted = database.gecos_text(entry, **texts)
    if wanted != database.gecos_text(entry):
        _modify(["-c", wanted], name, root)
    return database.gecos_text(database.required(name, root)) == wanted


def _modify(options: list[Any], name: str, root: str | None) -> bool:
    return _succeeds("usermod", *_below(root), *options, "--", name)


def _user_groups_are_usual() -> bool:
    """Return whether useradd makes a group with the user's name, and so needs an option if that exists."""
    try:
        with open("/etc/login.defs", encoding="utf-8", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        return False
    return ["USERGROUPS_ENAB", "yes"] in lines


def _below(root: str | None) -> list[str]:
    return ["-R", root] if root else []


def _succeeds(program: str, *arguments: Any) -> bool:
    return bool(_run(program, *arguments)["retcode"] == 0)


def _run(program: str, *arguments: Any) -> dict[str, Any]:
    if not shutil.which(program):
        raise CommandExecutionError(f"Command '{program}' cannot be found")
    with _account_files.one_at_a_time():
        done: dict[str, Any] = __salt__["cmd.run_all"]([program, *map(str, arguments)], python_shell=False)
    return done
