"""What states want of things other than the text of a file: that they are there or gone, run, or have a property.

Footprints name the things where they can, so that lists of names count, too. Elsewhere a thing is known by the name of
the state, and by arguments that tell it from others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.compile.effects.resources import PATH, plain_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.compile.effects.declared import Footprint
    from asyncstate.model.chunk import LowChunk

THERE, GONE = "there", "gone"
FILE, FOLDER, LINK = "file", "directory", "link"
_BY_RESOURCE = {
    "user.present": ("user:", THERE),
    "user.absent": ("user:", GONE),
    "group.present": ("group:", THERE),
    "group.absent": ("group:", GONE),
    "pkg.installed": ("package:", THERE),
    "pkg.latest": ("package:", THERE),
    "pkg.removed": ("package:", GONE),
    "pkg.purged": ("package:", GONE),
    "service.running": ("service:", THERE),
    "service.dead": ("service:", GONE),
    "kmod.present": ("kmod:", THERE),
    "kmod.absent": ("kmod:", GONE),
    "mount.mounted": ("mount:", THERE),
    "mount.unmounted": ("mount:", GONE),
    "docker_container.running": ("docker:container:", THERE),
    "docker_container.stopped": ("docker:container:", GONE),
    "docker_container.absent": ("docker:container:", GONE),
    "docker_image.present": ("docker:image:", THERE),
    "docker_image.absent": ("docker:image:", GONE),
    "docker_network.present": ("docker:network:", THERE),
    "docker_network.absent": ("docker:network:", GONE),
}
"""Functions, the resources that they make or start, or remove or end, and which of both."""
_BY_NAME = {
    "present": ("", THERE),
    "absent": ("", GONE),
    "env_present": ("variable ", THERE),
    "env_absent": ("variable ", GONE),
    "fstab_present": ("fstab entry ", THERE),
    "fstab_absent": ("fstab entry ", GONE),
    "install": ("alternative ", THERE),
    "remove": ("alternative ", GONE),
    "config_set": ("setting ", THERE),
    "config_unset": ("setting ", GONE),
    "managed": ("", THERE),
}
_POSTGRES = ("db_host", "db_port", "maintenance_db", "dbname", "object_name", "object_type", "privileges")
_WHOSE: dict[str, tuple[str, ...]] = {
    "alias": (),
    "alternatives": ("path",),
    "cron": ("user",),
    "git": ("repo", "global", "user"),
    "grains": ("delimiter",),
    "host": ("ip",),
    "mount": ("fs_file",),
    "pkgrepo": (),
    "ssh_auth": ("user", "config"),
    "ssh_known_hosts": ("user", "config"),
    **dict.fromkeys(("postgres_database", "postgres_group", "postgres_schema", "postgres_user"), _POSTGRES),
    **dict.fromkeys(("postgres_extension", "postgres_privileges", "postgres_tablespace"), _POSTGRES),
}
"""State modules whose things have the name of the state, and the arguments that tell them from others of that name."""
_DEFAULTS = {("cron", "user"): "root", ("ssh_auth", "config"): ".ssh/authorized_keys", ("grains", "delimiter"): ":"}
"""What these arguments are where a state does not give them."""
_SETS = {
    "alias.present": ("target",),
    "alternatives.set": ("path",),
    "cron.env_present": ("value",),
    "cron.present": ("minute", "hour", "daymonth", "month", "dayweek", "special", "commented"),
    "git.config_set": ("value",),
    "grains.present": ("value",),
    "group.present": ("gid", "members"),
    "mount.mounted": ("device", "fstype", "opts"),
    "mount.fstab_present": ("fs_vfstype", "fs_mntops"),
    "sysctl.present": ("value",),
    "user.present": ("uid", "gid", "home", "shell", "fullname", "groups"),
}
"""Functions that give a thing properties, and the arguments that say which."""
_OF_THE_MACHINE = frozenset({"keyboard.system", "locale.system", "timezone.system"})
_MAKES = {
    **dict.fromkeys(("managed", "serialize", "append", "prepend", "decode", "hardlink"), FILE),
    **dict.fromkeys(("directory", "recurse"), FOLDER),
    **dict.fromkeys(("copy", "rename", "touch"), THERE),
    "symlink": LINK,
    "absent": GONE,
}
"""What functions of ``file`` leave at their path."""
_THROUGH_A_LINK = {FILE: "follow_symlinks", FOLDER: "allow_symlink"}
"""Arguments that say whether a link to a file, or to a folder, is as good as one."""
_OWNED = frozenset({"managed", "serialize", "directory"})
FILL = {
    **dict.fromkeys(("git.latest", "git.cloned", "git.detached"), "target"),
    **dict.fromkeys(("archive.extracted", "virtualenv.managed"), "name"),
}
"""Functions of other modules that fill a folder, and the argument that names it."""
_SOME_MEMBERS = ("addusers", "delusers")
_TIMES = frozenset({"minute", "hour", "daymonth", "month", "dayweek"})
_COMMIT = re.compile("[0-9a-f]{7,40}")
_PIP_PROGRAM = re.compile(r"(/bin/pip[\d.]*)?/?$")
_PIP_NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^]]*\]\s*)?(?:===?\s*([^\s,;*]+)\s*$)?")
_NO_VERSION = re.compile(r"[<>=!*,\s]|^latest$")
_KEY = re.compile(r"(?:sk-)?(?:ssh-|ecds)[\w@.-]+\s+(\S+)")
"""The key in a whole line of a file of keys."""
_ACCOUNTS = frozenset({"user", "group"})
_NUMBERS = frozenset({"uid", "gid", "user", "group"})
_LISTS = frozenset({"groups", "members", "opts", "fs_mntops"})
_ANY = "random"
"""What a time of a cron job is that nobody has chosen."""


class Claim(NamedTuple):
    """What a state wants a thing to be."""

    chunk: LowChunk
    value: Any


def claims(chunk: LowChunk, footprint: Footprint) -> Iterator[tuple[str, str, Any]]:
    """Yield what a state wants: a thing in words, the resource that it is, and the value that it is to have."""
    if chunk.state == "file" or chunk.function in FILL:
        yield from _of_path(chunk)
    elif chunk.state == "ini":
        yield from _of_options(chunk)
    elif chunk.function in _OF_THE_MACHINE:
        yield f"the {chunk.state} of the system", chunk.state, plain("name", chunk.name)
    else:
        yield from _of_things(chunk, footprint)


def _of_things(chunk: LowChunk, footprint: Footprint) -> Iterator[tuple[str, str, Any]]:
    if chunk.state in {"service", "pip"}:
        yield from _of_service(chunk) if chunk.state == "service" else _of_pip(chunk)
        return
    for argument in _SOME_MEMBERS if chunk.function == "group.present" else ():
        users = plain("members", chunk.args.get(argument))
        if users:
            yield f"members of group {chunk.name}", f"group:{chunk.name}", (argument, users)
    if chunk.function == "host.present":  # with clean, they are all addresses of the host, as members are of a group
        listed = chunk.args.get("ip")
        addresses = frozenset(map(str, listed if isinstance(listed, list) else [listed]))
        argument = "members" if chunk.args.get("clean") is True else "addusers"
        yield f"addresses of host {chunk.name}", f"host:{chunk.name}", (argument, addresses)
    if chunk.function == "mount.mounted" and chunk.args.get("mount") is False:
        return
    things, value = _named(chunk, footprint)
    versions = _versions(chunk) if value and chunk.state == "pkg" else {}
    for words, resource in things:
        if value:
            yield words, resource, value
        version = versions.get(resource)
        if version is not None:
            yield f"version of {words}", resource, ("version", version)
        for argument in _SETS.get(chunk.function, ()) if len(things) == 1 else ():
            given = chunk.args.get(argument, "*" if argument in _TIMES else None)
            if argument == "groups" and chunk.args.get("remove_groups", True) is not True:
                continue
            setting = plain(argument, given)
            if setting is not None and setting != _ANY:
                yield f"{argument} of {words}", resource, (argument, setting)


def _named(chunk: LowChunk, footprint: Footprint) -> tuple[list[tuple[str, str]], str]:
    """Return what a state names, in words and as a resource, and what becomes of it: "" if it only sets something."""
    if chunk.function in _BY_RESOURCE:
        prefix, value = _BY_RESOURCE[chunk.function]
        names = [name for name in footprint.writes if name.startswith(prefix) and "*" not in name]
        if value == GONE and chunk.state == "pkg":  # a package of another version may stay
            versions = _versions(chunk)
            names = [name for name in names if name not in versions]
        if chunk.state in _ACCOUNTS:  # their footprints have numbers, too
            names = [f"{prefix}{chunk.name}"]
        return [(name.replace(":", " "), name) for name in names], value
    if chunk.state in _WHOSE and chunk.fun in _BY_NAME:
        what, value = _BY_NAME[chunk.fun]
        if chunk.state == "ssh_auth" and chunk.args.get("source"):
            return [], ""
        whose = [str(chunk.args.get(each, _DEFAULTS.get((chunk.state, each)))) for each in _WHOSE[chunk.state]]
        name = str(chunk.args.get("identifier") or chunk.name)
        key = _KEY.search(name) if chunk.state == "ssh_auth" else None
        name = key[1] if key else name.split(maxsplit=1)[0] if chunk.state == "ssh_auth" and name.split() else name
        return [(f"{chunk.state} {what}{name}", "|".join((chunk.state, what, name, *whose)))], value
    if chunk.function in _SETS:
        return [(f"{chunk.state} {chunk.name}", f"{chunk.state}:{chunk.name}")], ""
    return [], ""


def _versions(chunk: LowChunk) -> dict[str, Any]:
    """Return the versions that a state says of packages, by resource; None where only a run knows which is meant."""
    listed = chunk.args.get("pkgs") or [{chunk.name: chunk.args.get("version")}]
    listed = listed if isinstance(listed, list) else []
    pairs = [pair for each in listed if isinstance(each, dict) for pair in each.items()]
    return {f"package:{name}": plain("version", version) for name, version in pairs if version is not None}


def _of_service(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    name = str(chunk.name).removesuffix(".service")
    resource = f"service:{name}"
    if chunk.fun in {"running", "dead"}:
        yield f"service {name}", resource, THERE if chunk.fun == "running" else GONE
    at_boot = {"enabled": True, "disabled": False}.get(chunk.fun, chunk.args.get("enable"))
    if isinstance(at_boot, bool):
        yield f"start of service {name} at boot", resource, THERE if at_boot else GONE
    if chunk.fun in {"masked", "unmasked"}:
        yield f"mask of service {name}", resource, THERE if chunk.fun == "masked" else GONE
    elif at_boot is True:
        yield f"mask of service {name}", resource, GONE
    elif chunk.fun == "running":
        yield f"mask of service {name}", resource, Perhaps(GONE) if unmasks(chunk) else Startable(GONE)


def unmasks(chunk: LowChunk) -> bool:
    """Whether a state of a service removes a mask."""
    return chunk.fun == "unmasked" or True in (chunk.args.get("unmask"), chunk.args.get("unmask_runtime"))


def _of_pip(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    where = _PIP_PROGRAM.sub("", str(chunk.args.get("bin_env") or "the system"))
    names = chunk.args.get("pkgs") or [chunk.name]
    for each in names if isinstance(names, list) and chunk.fun in {"installed", "removed"} else ():
        found = _PIP_NAME.match(each) if isinstance(each, str) else None
        if found is None or "/" in each:
            continue
        name = re.sub("[-_.]+", "-", found[1]).lower()
        words, resource = f"Python package {name} of {where}", f"pip:{where}:{name}"
        yield words, resource, THERE if chunk.fun == "installed" else GONE
        if chunk.fun == "installed" and found[2]:
            yield f"version of {words}", resource, ("version", found[2])


def _of_options(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    path, sections = plain_path(str(chunk.name)), chunk.args.get("sections")
    for section, options in sections.items() if isinstance(sections, dict) else ():
        settings = {}
        if chunk.fun == "options_present" and isinstance(options, dict):
            settings = {option: plain("value", value) for option, value in options.items()}
        elif chunk.fun == "options_absent" and isinstance(options, list):
            settings = {option: GONE for option in options if isinstance(option, str)}
        for option, setting in settings.items():
            if setting is not None:
                yield f"option {option} of section {section} in {path}", f"{PATH}{path}", setting


def _of_path(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    args, path = chunk.args, place(chunk)
    left = kind_left(chunk)
    if not left or path is None or args.get("create", True) is not True:
        return
    resource = f"{PATH}{path}"
    if left == LINK:
        yield path, resource, Link(plain("target", args.get("target")) or "")
    elif chunk.fun == "hardlink" or args.get(_THROUGH_A_LINK.get(left, "")) is False:
        yield path, resource, Unlinked(left)
    else:
        yield path, resource, Copied(left) if chunk.fun == "copy" and args.get("force") is True else left
    if chunk.state == "git":
        what, given = ("branch", args.get("branch")) if chunk.fun == "cloned" else ("rev", args.get("rev") or "HEAD")
        if isinstance(given, (str, int, float)):
            yield f"revision of {path}", resource, (what, str(given))
    if chunk.state == "file" and chunk.fun in _OWNED:
        mode = args.get("dir_mode", args.get("mode")) if left == FOLDER else args.get("mode")
        for argument, given in (("mode", mode), ("user", args.get("user")), ("group", args.get("group"))):
            setting = plain(argument, given)
            if setting is not None:
                yield f"{argument} of {path}", resource, (argument, setting)


def place(chunk: LowChunk) -> str | None:
    """Return the path that a state of a file makes or removes, or the folder that another state fills."""
    path = chunk.args.get(FILL.get(chunk.function, "name"), chunk.name)
    return plain_path(path) if isinstance(path, str) and path.startswith("/") else None


def kind_left(chunk: LowChunk) -> str:
    """Return what a state leaves at its `place`: a file, a folder …; "" if that is not known."""
    if chunk.state == "file":
        return _MAKES.get(chunk.fun, "")
    return FOLDER if chunk.function in FILL else ""


class Link(str):
    """A link with its target, "" if that is not known."""

    __slots__ = ()


class Unlinked(str):
    """A file, or a folder, that is to be no link."""

    __slots__ = ()


class Copied(str):
    """What is there takes the place of a folder, too."""

    __slots__ = ()


class Cleaned(str):
    """Gone, unless the folder requires it."""

    __slots__ = ()


class Startable(str):
    """No mask when the service is started; one that runs by then does not mind."""

    __slots__ = ()


class Perhaps(str):
    """A claim that only a run can tell."""

    __slots__ = ()


def plain(argument: str, value: Any) -> Any:
    """Return a setting so that equal ones compare equal; None if it is not given, or its meaning not known here."""
    if argument in _LISTS:
        items = value.split(",") if isinstance(value, str) else value
        return frozenset(map(str, items)) if isinstance(items, list) else None
    if not isinstance(value, (str, int, float)) or (isinstance(value, bool) and argument != "commented"):
        return None
    text = " ".join(str(value).split())
    if argument == "mode":
        return text.lstrip("0") if text.isdecimal() and text.strip("01234567") == "" else None
    if argument == "version" and _NO_VERSION.search(text):
        return None
    if argument in {"user", "group"} and text == "0":
        return "root"
    return text.rstrip("/") if argument in {"home", "target", "device"} else text


def differ(one: Any, other: Any) -> bool | None:
    """Whether two claims to one thing, in the order of their states, cannot both hold; None: only a run can tell."""
    unlike: bool = one != other
    if isinstance(one, tuple) and isinstance(other, tuple):  # settings
        if one[0] in _SOME_MEMBERS or other[0] in _SOME_MEMBERS:
            return _members_differ(dict([one]), dict([other])) or _members_differ(dict([other]), dict([one]))
        return one[1] != other[1] and (None if _kind(*one) != _kind(*other) else True)
    if isinstance(one, (Perhaps, Startable)) or isinstance(other, Perhaps):
        return None if unlike else False
    if not unlike or GONE in {one, other}:
        return unlike
    if isinstance(one, Link) and isinstance(other, Link):
        return True if one and other else None
    if THERE in {one, other}:
        return None if FOLDER in {one, other} and (isinstance(one, Copied) or isinstance(other, Copied)) else False
    if isinstance(one, Link) or isinstance(other, Link):  # a file is written, and a folder is one, through a link
        return True if isinstance(one, Unlinked) or isinstance(other, Unlinked) else None
    return True


def _members_differ(one: dict[str, frozenset[str]], other: dict[str, frozenset[str]]) -> bool:
    """Whether one state takes a user out of a group whom the other one adds, or lists."""
    wanted = one.get("members", one.get("addusers", frozenset()))
    return not wanted.isdisjoint(other.get("delusers", ())) or (
        "members" in other and not one.get("addusers", frozenset()) <= other["members"]
    )


def _kind(argument: str, value: Any) -> object:
    """Return what kind of name a setting has: two of unlike kinds may be names of one thing."""
    if argument in _NUMBERS:
        return str(value).isdecimal()
    if argument == "rev":
        return "HEAD" if value == "HEAD" else len(value) if _COMMIT.fullmatch(value) else "name"
        return "HEAD" if value == "HEAD" else len(value) if _COMMIT.fullmatch(value) else "name"
    return argument
