"""Claims of states to things other than the text of a file: present or absent, running, with a property.

Footprints name the things where they can, so that lists of names count, too. Elsewhere a thing is known by the name of
the state, and by arguments that tell it from others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from asyncstate.dunders.entries import FOUND_BY_POINT
from asyncstate.effects.places import FILE, FILL, FOLDER, GONE, THERE
from asyncstate.effects.resources import PATH, plain_path
from asyncstate.extras.contradictions.claim_values import (
    EXACT,
    HELD,
    NEEDED,
    PERHAPS,
    STARTABLE,
    Marked,
    Members,
    files_written,
    plain,
)
from asyncstate.extras.contradictions.claims_of_paths import of_made, of_options, of_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.effects.declared import Footprint
    from asyncstate.model.chunk import LowChunk

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
    "managed": ("", THERE),
    "held": ("hold of ", THERE),
    "unheld": ("hold of ", GONE),
    "list_present": ("value in ", THERE),
    "list_absent": ("value in ", GONE),
}
_POSTGRES = ("db_host", "db_port", "maintenance_db", "dbname", "object_name", "object_type", "privileges")
_WHOSE: dict[str, tuple[str, ...]] = {
    "alias": (),
    "alternatives": ("path",),
    "cron": ("user",),
    "grains": ("delimiter",),
    "mount": ("fs_file",),
    "pkg": (),
    "ssh_known_hosts": ("user", "config"),
    **dict.fromkeys(("postgres_database", "postgres_group", "postgres_schema", "postgres_user"), _POSTGRES),
    **dict.fromkeys(("postgres_extension", "postgres_privileges", "postgres_tablespace"), _POSTGRES),
}
"""State modules whose things have the name of the state, and the arguments that tell them from others of that name."""
_DEFAULTS = {("cron", "user"): "root", ("grains", "delimiter"): ":"}
"""Defaults of these arguments."""
_SETS = {
    "alias.present": ("target",),
    "alternatives.set": ("path",),
    "cron.env_present": ("value",),
    "cron.present": ("command", "minute", "hour", "daymonth", "month", "dayweek", "special", "commented", "comment"),
    "grains.present": ("value",),
    "group.present": ("gid",),
    "mount.mounted": ("device", "fstype", "opts"),
    "mount.fstab_present": ("fs_vfstype", "fs_mntops"),
    "sysctl.present": ("value",),
    "user.present": (
        *("uid", "gid", "home", "shell", "fullname", "roomnumber", "workphone", "homephone", "other", "password"),
        *("mindays", "maxdays", "inactdays", "warndays", "expire"),
    ),
}
"""Functions that give a thing properties, and the arguments that say which."""
_NUMBERED = {"user.present": "uid", "group.present": "gid"}
"""Functions that give a number to an account, and the argument that says it: another one cannot have it, too."""
_MOUNTS = {"mounted": THERE, "unmounted": GONE}
"""The entry of a device in fstab after a state that mounts or unmounts it, if that is to last."""
ENTRIES = {
    "alias.present": ("name", "target"),
    "cron.env_present": ("name",),
    "cron.file": ("name",),
    "cron.present": ("name",),
    "git.config_set": ("value",),
    "host.only": ("name", "hostnames"),
    "host.present": ("name", "ip"),
    "kmod.present": ("persist",),
    "mount.fstab_present": ("name", "fs_file"),
    "mount.mounted": ("device", "name"),
    "pkgrepo.managed": ("file",),
    "ssh_auth.manage": ("ssh_keys",),
    "ssh_auth.present": ("name",),
    "ssh_known_hosts.present": ("key",),
    "sysctl.present": ("name",),
}
"""Functions that put entries into a file, and arguments without which they do not; most entries have their words."""
REMOVALS: dict[str, tuple[str, ...]] = {
    "alias.absent": (),
    "cron.absent": (),
    "cron.env_absent": (),
    "git.config_unset": (),
    "kmod.absent": ("persist",),
    "mount.fstab_absent": ("fs_file",),
    "mount.unmounted": ("persist",),
    "pkgrepo.absent": (),
    "ssh_known_hosts.absent": (),
}
"""Functions that take entries out of a file, and arguments without which they do not."""
OF_ENTRIES = ENTRIES | REMOVALS
_IN_ONE_OF = frozenset({"cron", "kmod", "sysctl"})
"""State modules whose footprints name several files; the machine uses one of them."""
_ZONE_LINK = "/etc/localtime"
_OF_THE_MACHINE = frozenset({"keyboard.system", "locale.system", "timezone.system"})
_RELATIONS = {
    "user": "groups of user",
    "group": "members of group",
    "host": "addresses of host",
    "address": "names of address",
}
_USUAL = {**dict.fromkeys(("minute", "hour", "daymonth", "month", "dayweek"), "*"), "commented": False}
"""Defaults of these settings."""
_KEY = re.compile(r"(?:(.*?)\s*((?:sk-)?(?:ssh-|ecds)[\w@.-]+)\s+)?(\S+)\s*(.*)")
"""The options, the kind, the key and the comment in a line of a file of keys."""
_ACCOUNTS = ("user:", "group:")
_ALIASES = (
    ("chrony", "chronyd"),
    ("mariadb", "mysql", "mysqld"),
    ("named", "bind9"),
    ("network-manager", "NetworkManager"),
    ("nfs-kernel-server", "nfs-server"),
    ("ntp", "ntpd", "ntpsec"),
    ("redis", "redis-server"),
    ("rsyslog", "syslog"),
    ("ssh", "sshd"),
)
"""Names of services under which distributions know one unit."""
_UNIT_OF = {name: " or ".join(names) for names in _ALIASES for name in names}
_SWAPPED = str.maketrans("./", "/.")
"""The other spelling of a kernel setting."""
_ANY = "random"
"""A value that leaves the choice to the module, so it clashes with no other: the times of cron jobs have it."""


def claims(chunk: LowChunk, footprint: Footprint) -> Iterator[tuple[str, str, Any]]:
    """Yield what a state wants: a thing in words, the resource that it is, and the value that it is to have."""
    if chunk.state in {"pip", "virtualenv"}:
        from asyncstate.extras.contradictions.python_packages import of_pip

        made = [*of_path(chunk), *of_pip(chunk)]
    elif chunk.state in {"file", "x509"} or chunk.function in FILL:
        made = [*of_path(chunk)]
    elif chunk.state == "ini":
        made = [*of_path(chunk), *of_options(chunk)]
    elif chunk.state == "cmd":
        made = [*of_made(chunk)]
    elif chunk.state == "ssh_auth":
        made = [*of_keys(chunk)]
    elif chunk.state == "service":
        made = [*_of_service(chunk)]
    elif chunk.state == "pkgrepo":
        from asyncstate.extras.contradictions.package_sources import of_source

        made = [*of_source(chunk)]
    elif chunk.state == "git":
        from asyncstate.extras.contradictions.git_settings import of_setting

        made = [*of_setting(chunk, footprint)]
    elif chunk.function in _OF_THE_MACHINE:
        made = [(f"the {chunk.state} of the system", chunk.state, plain("name", chunk.name))]
        made += _of_zone(chunk)
    else:
        made = [*_of_relations(chunk), *_of_things(chunk, footprint)]
    if chunk.function in ENTRIES:
        files = files_with_entries(chunk, footprint)
        is_sure = chunk.state == "cron" or (len(files) == 1 and chunk.state != "pkgrepo")  # its line may be elsewhere
        left = FILE if is_sure else Marked(FILE, PERHAPS)
        made += [(file, f"{PATH}{file}", left) for file in files]
    yield from made
    yield from _of_accounts(chunk, footprint, made)


def files_with_entries(chunk: LowChunk, footprint: Footprint) -> tuple[str, ...]:
    """Return the file that a state of another module has entries in, or all that it may be; none if it is not known.

    Where it takes them out, too.
    """
    words = OF_ENTRIES.get(chunk.function)
    if words is None or not all(chunk.args.get(each) for each in words if each != "name"):
        return ()
    if chunk.state == "mount":
        return (str(chunk.args.get("config") or "/etc/fstab"),) if chunk.args.get("persist", True) is True else ()
    if chunk.state == "pkgrepo":
        return (plain_path(str(chunk.args["file"])),) if chunk.args.get("file") else ()
    files = files_written(footprint)
    return files if len(files) == 1 or chunk.state in _IN_ONE_OF else ()


def _of_zone(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    """Yield where the link leads that says the time zone, on machines where not /etc/timezone does."""
    if chunk.state == "timezone":
        yield _ZONE_LINK, f"{PATH}{_ZONE_LINK}", Marked(f"/usr/share/zoneinfo/{chunk.name}", PERHAPS)


def _of_accounts(
    chunk: LowChunk, footprint: Footprint, made: list[tuple[str, str, Any]]
) -> Iterator[tuple[str, str, Any]]:
    """Yield that the users and groups are there without which a state that makes something fails."""
    touched = (*footprint.reads, *footprint.writes, *footprint.makes)
    needed = {name.partition("#")[0] for name in touched if name.startswith(_ACCOUNTS)}
    if chunk.state == "cmd":
        runas = chunk.args.get("runas") if chunk.fun in {"run", "script"} and not made else None
        needed = {f"user:{runas}"} if runas else set()
    elif all(value == GONE for _, _, value in made):
        return
    if chunk.state == "user":
        needed -= {f"group:{group}" for group in _listed(chunk.args.get("optional_groups"))}
        usual = chunk.args.get("usergroup")
        if f"group:{chunk.name}" in needed and chunk.args.get("gid") is None and usual is not False:
            yield f"group {chunk.name}", f"group:{chunk.name}", Marked(THERE, NEEDED if usual is True else PERHAPS)
        needed.discard(f"group:{chunk.name}")
    elif chunk.state == "group":
        needed -= {f"user:{user}" for user in _listed(chunk.args.get("delusers"))}
    for name in sorted(needed - {f"{chunk.state}:{chunk.name}"}):
        yield name.replace(":", " "), name, Marked(THERE, NEEDED)


def _of_relations(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    """Yield which users are to be in which groups, and which names are to have which addresses; or are not to."""
    name, args = str(chunk.name), chunk.args
    if chunk.function == "user.present":
        own, listed = {name, str(args.get("gid"))}, _listed(args.get("groups")) | _listed(args.get("optional_groups"))
        only = listed | own if args.get("remove_groups", True) is True and (listed or "groups" in args) else None
        sure = not any(each.isdecimal() for each in (*own, *listed))  # a number may be that of any of the names
        yield from related("user", name, "group", Members(listed - own, only, sure=sure))
    elif chunk.function == "group.present":
        users, added = _listed(args.get("members")), _listed(args.get("addusers"))
        only = users if args.get("members") is not None else None
        yield from related("group", name, "user", Members(users | added, only, _listed(args.get("delusers"))))
    elif chunk.function == "host.only":
        names = _listed(args.get("hostnames"))
        yield from related("address", name, "host", Members(names, names))
    elif chunk.state == "host":
        given, is_there = _listed(args.get("ip")), chunk.fun == "present"
        only = given if is_there and args.get("clean") is True else None
        for address in given if is_there and args.get("comment") else ():
            yield f"comment of address {address}", f"address:{address}", ("comment", str(args["comment"]))
        yield from related("host", name, "address", Members(given, only) if is_there else Members(without=given))


def related(kind: str, name: str, other_kind: str, others: Members) -> Iterator[tuple[str, str, Members]]:
    """Yield what one has, and that each of these has that one."""
    yield f"{_RELATIONS[kind]} {name}", f"{kind}:{name}", others
    own = frozenset({name})
    for other in others.within | others.without:
        value = Members(own, sure=others.sure) if other in others.within else Members(without=own)
        yield f"{_RELATIONS[other_kind]} {other}", f"{other_kind}:{other}", value


def key_in(line: str) -> re.Match[str] | None:
    """Return the options, kind, key and comment of a line of a file of keys, or of one that begins with a key."""
    return _KEY.fullmatch(line.strip())


def of_keys(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    """Yield which keys a state of ``ssh_auth`` wants in a file, with which words; or does not."""
    args, lines = chunk.args, chunk.args.get("ssh_keys") if chunk.fun == "manage" else [chunk.name]
    if args.get("source"):
        return
    file = f"ssh_auth:{args.get('user')}|{args.get('config') or '.ssh/authorized_keys'}"
    given = args.get("options") or []
    usual = (",".join(map(str, given)) if isinstance(given, list) else str(given), str(args.get("enc", "ssh-rsa")))
    keys = frozenset[str]()
    for found in filter(None, map(key_in, _listed(lines))):
        options, kind, key, comment = found.groups()
        keys |= {key}
        yield f"ssh_auth {key}", f"{file}|{key}", GONE if chunk.fun == "absent" else THERE
        if chunk.fun != "absent":
            shown = (
                options or usual[0],
                kind or usual[1],
                comment or str(args.get("comment") or ""),
            )
            yield f"line of ssh_auth {key}", f"{file}|{key}", ("line", shown)
    if chunk.fun != "absent":
        yield f"keys of user {args.get('user')}", file, Members(keys, keys if chunk.fun == "manage" else None)


def _of_things(chunk: LowChunk, footprint: Footprint) -> Iterator[tuple[str, str, Any]]:
    args, home = chunk.args, chunk.args.get("home")
    number = _NUMBERED.get(chunk.function)
    shared = args.get("unique") is False or args.get("non_unique") is True
    if number and args.get(number) is not None and not shared:
        yield f"{number} {args[number]}", f"{chunk.state}:{args[number]}", ("holder", chunk.name)
    if chunk.function == "user.present" and home and args.get("createhome", True) is True:
        yield plain_path(str(home)), f"{PATH}{plain_path(str(home))}", FOLDER
    if chunk.state == "mount":
        yield from _of_fstab(chunk)
    if chunk.function == "mount.mounted":
        if args.get("mount") is False:
            return
        if isinstance(chunk.name, str) and chunk.name.startswith("/"):
            path, binds = plain_path(chunk.name), "bind" in str(args.get("opts"))
            yield path, f"{PATH}{path}", Marked(THERE if binds else FOLDER, HELD)
            if binds and str(chunk.args.get("device")).startswith("/"):
                device = plain_path(str(chunk.args["device"]))
                yield device, f"{PATH}{device}", Marked(THERE, NEEDED)
    things, value = _named(chunk, footprint)
    versions = _versions(chunk)
    for words, resource in things:
        version = versions.get(resource)
        if value == GONE and resource in versions:  # another version may stay
            yield words, resource, Marked(GONE, PERHAPS)
        elif value:
            yield words, resource, value if version is None else Marked(value, EXACT)
        if version is not None:
            yield f"version of {words}", resource, ("no version" if value == GONE else "version", version)
        if chunk.function == "ssh_known_hosts.present" and args.get("key"):  # one for each kind
            yield f"{args.get('enc')} key of {words}", resource, ("key", str(args["key"]))
        for argument in _SETS.get(chunk.function, ()):
            given = chunk.name if argument == "command" else chunk.args.get(argument, _USUAL.get(argument))
            setting = plain(argument, given)
            if setting is not None and setting != _ANY:
                yield f"{argument} of {words}", resource, (argument, setting)


def _of_fstab(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    """Yield which entry fstab is to have: there is one of a device, or of a mount point, as they are found."""
    found, fstype = chunk.args.get("match_on", "auto"), chunk.args.get("fstype", chunk.args.get("fs_vfstype"))
    device, point = str(chunk.args.get("device")), str(chunk.name)
    if chunk.fun in {"fstab_present", "fstab_absent"}:
        device, point = str(chunk.name), str(chunk.args.get("fs_file"))
    elif chunk.fun not in _MOUNTS or chunk.args.get("persist", chunk.fun == "mounted") is not True:
        return
    else:
        yield f"mount fstab entry {device}", f"mount|fstab entry |{device}|{point}", _MOUNTS[chunk.fun]
    gone = chunk.fun in {"unmounted", "fstab_absent"}
    if chunk.args.get("device") is None or not gone:
        yield f"fstab entry of {point}", f"mount|fstab of {point}", GONE if gone else THERE
    if not gone:
        if found == "auto":
            found = "name" if str(fstype) in FOUND_BY_POINT else "device"
        devices, points = frozenset({device}), frozenset({point})
        yield (
            f"mount point of {device} in fstab",
            f"mount:{device}",
            Members(points, points if found == "device" else None),
        )
        yield f"device of {point} in fstab", f"mount:{point}", Members(devices, devices if found == "name" else None)


def _named(chunk: LowChunk, footprint: Footprint) -> tuple[list[tuple[str, str]], str]:
    """Return what a state names, in words and as a resource, and what becomes of it: "" if it only sets something."""
    if chunk.function in _BY_RESOURCE:
        prefix, value = _BY_RESOURCE[chunk.function]
        names = [name for name in footprint.writes if name.startswith(prefix) and "*" not in name]
        if prefix in _ACCOUNTS:  # their footprints have numbers, too
            names = [f"{prefix}{chunk.name}"]
        return [(name.replace(":", " "), name) for name in names], value
    if chunk.state in _WHOSE and chunk.fun in _BY_NAME:
        what, value = _BY_NAME[chunk.fun]
        whose = [str(chunk.args.get(each, _DEFAULTS.get((chunk.state, each)))) for each in _WHOSE[chunk.state]]
        name = str(chunk.args.get("identifier") or chunk.name)
        whose += [str(chunk.args.get("value"))] if chunk.fun.startswith("list_") else []
        return [(f"{chunk.state} {what}{name}", "|".join((chunk.state, what, name, *whose)))], value
    if chunk.function in _SETS:
        name = str(chunk.name)
        name = name.translate(_SWAPPED) if chunk.state == "sysctl" and "/" in name.partition(".")[0] else name
        return [(f"{chunk.state} {name}", f"{chunk.state}:{name}")], ""
    return [], ""


def _listed(value: Any) -> frozenset[str]:
    """Return the names in a list, or in a text with commas."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    return frozenset(str(each) for each in items if each != "")


def _versions(chunk: LowChunk) -> dict[str, Any]:
    """Return the versions that a state wants of packages, by resource; None where only a run can resolve them."""
    listed = chunk.args.get("pkgs") or [{chunk.name: chunk.args.get("version")}]
    listed = listed if isinstance(listed, list) else []
    pairs = [pair for each in listed if isinstance(each, dict) for pair in each.items()]
    return {f"package:{name}": plain("version", version) for name, version in pairs if version is not None}


def _of_service(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    name = str(chunk.name).removesuffix(".service")
    resource = f"service:{name}"
    at_boot = {"enabled": True, "disabled": False}.get(chunk.fun, chunk.args.get("enable"))
    wanted = [("service {}", {"running": THERE, "dead": GONE}.get(chunk.fun))]
    wanted += [("start of service {} at boot", {True: THERE, False: GONE}[at_boot])] if at_boot in {True, False} else []
    for words, value in wanted:
        if value is not None:
            yield words.format(name), resource, value
            if unit := _UNIT_OF.get(name):  # on this machine, they may be two
                yield words.format(unit), f"service:{unit}", Marked(value, PERHAPS)
    if chunk.fun in {"masked", "unmasked"}:
        yield f"mask of service {name}", resource, THERE if chunk.fun == "masked" else GONE
    elif at_boot is True:
        yield f"mask of service {name}", resource, GONE
    elif chunk.fun == "running":
        yield f"mask of service {name}", resource, GONE if unmasks(chunk) else Marked(GONE, STARTABLE)


def unmasks(chunk: LowChunk) -> bool:
    """Whether a state of a service removes a mask."""
    return chunk.fun == "unmasked" or chunk.args.get("unmask") is True
