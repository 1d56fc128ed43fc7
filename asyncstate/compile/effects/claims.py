"""What states want of things other than the text of a file: that they are there or gone, run, or have a property.

Two states whose claims to one thing cannot both hold clash. Footprints name the things where they can, so that lists of
names count, too. Elsewhere a thing is known by the name of the state, and by arguments that tell it from others.
"""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.compile.effects.below import removes, wanted
from asyncstate.compile.effects.resources import PATH, TREE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from asyncstate.compile.effects.declared import Footprint
    from asyncstate.compile.low.salt_sources import SaltSources
    from asyncstate.model.chunk import LowChunk

_THERE, _GONE = "there", "gone"
_FILE, _FOLDER, _LINK = "file", "directory", "link"
_BY_RESOURCE = {
    "user.present": ("user:", _THERE),
    "user.absent": ("user:", _GONE),
    "group.present": ("group:", _THERE),
    "group.absent": ("group:", _GONE),
    "pkg.installed": ("package:", _THERE),
    "pkg.latest": ("package:", _THERE),
    "pkg.removed": ("package:", _GONE),
    "pkg.purged": ("package:", _GONE),
    "service.running": ("service:", _THERE),
    "service.dead": ("service:", _GONE),
    "kmod.present": ("kmod:", _THERE),
    "kmod.absent": ("kmod:", _GONE),
    "mount.mounted": ("mount:", _THERE),
    "mount.unmounted": ("mount:", _GONE),
    "docker_container.running": ("docker:container:", _THERE),
    "docker_container.stopped": ("docker:container:", _GONE),
    "docker_container.absent": ("docker:container:", _GONE),
    "docker_image.present": ("docker:image:", _THERE),
    "docker_image.absent": ("docker:image:", _GONE),
    "docker_network.present": ("docker:network:", _THERE),
    "docker_network.absent": ("docker:network:", _GONE),
}
"""Functions, the resources that they make or start, or remove or end, and which of both."""
_BY_NAME = {
    "present": ("", _THERE),
    "absent": ("", _GONE),
    "env_present": ("variable ", _THERE),
    "env_absent": ("variable ", _GONE),
    "fstab_present": ("fstab entry ", _THERE),
    "fstab_absent": ("fstab entry ", _GONE),
    "install": ("alternative ", _THERE),
    "remove": ("alternative ", _GONE),
    "config_set": ("setting ", _THERE),
    "config_unset": ("setting ", _GONE),
    "managed": ("", _THERE),
}
_POSTGRES = ("db_host", "db_port", "maintenance_db", "dbname", "object_name", "object_type", "privileges")
_WHOSE: dict[str, tuple[str, ...]] = {
    "alias": (),
    "alternatives": ("path",),
    "cron": ("user", "identifier"),
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
    "pkg.installed": ("version",),
    "sysctl.present": ("value",),
    "user.present": ("uid", "gid", "home", "shell", "fullname", "groups"),
}
"""Functions that give a thing properties, and the arguments that say which."""
_OF_THE_MACHINE = frozenset({"keyboard.system", "locale.system", "timezone.system"})
_MAKES = {
    **dict.fromkeys(("managed", "serialize", "touch", "append", "prepend", "decode"), _FILE),
    **dict.fromkeys(("directory", "recurse"), _FOLDER),
    **dict.fromkeys(("copy", "hardlink", "rename"), _THERE),
    "symlink": _LINK,
    "absent": _GONE,
}
"""What functions of ``file`` leave at their path."""
_OWNED = frozenset({"managed", "serialize", "directory"})
_FOLDERS = frozenset({"file.directory", "file.recurse"})
_FILL = {"git.latest": "target", "git.cloned": "target", "archive.extracted": "name", "virtualenv.managed": "name"}
"""Other functions that fill a folder, and the argument that names it."""
_TIMES = frozenset({"minute", "hour", "daymonth", "month", "dayweek"})
_NO_VERSION = re.compile(r"[<>=!*,\s]|^latest$")
_ACCOUNTS = frozenset({"user", "group"})
_NUMBERS = frozenset({"uid", "gid", "user", "group"})
_LISTS = frozenset({"groups", "members", "opts", "fs_mntops"})
_LET_ONE_DECIDE = "let one state decide; unless, onchanges and the like say when the other one runs"
_LET_IT_REQUIRE = "let the state with clean: True require the other one, whose file it then keeps, or exclude it"
_ANY = "random"
"""What a time of a cron job is that nobody has chosen."""


class Clash(NamedTuple):
    """Two states whose claims to a thing cannot both hold; not ``certain``: perhaps they can.

    ``meant``: their order says so. ``in_turn``: one takes away what the other makes, which an order of theirs may mean.
    ``resource`` is what a state between them would touch, ``hint`` what helps.
    """

    first: LowChunk
    second: LowChunk
    thing: str
    resource: str
    certain: bool = True
    meant: bool = False
    in_turn: bool = False
    hint: str = ""


class _Claim(NamedTuple):
    chunk: LowChunk
    value: Any


def clashes(
    steps: Sequence[LowChunk], chunks: Sequence[LowChunk], known: Sequence[Footprint], sources: SaltSources
) -> Iterator[Clash]:
    """Yield the pairs of states that cannot both have what they want; each pair once, with its first thing.

    ``steps`` are those of the ``chunks``, and parts of them, that are to be compared.
    """
    claims: dict[tuple[str, str], list[_Claim]] = {}
    for chunk in steps:
        for thing, resource, value in _claims(chunk, known[chunk.index]):
            claims.setdefault((thing, resource), []).append(_Claim(chunk, value))
    _add_folders(claims, steps, chunks, sources)
    found: set[tuple[int, int]] = set()
    for (thing, resource), made in claims.items():
        more = _gone_above(claims, resource) if thing.startswith("/") else []
        if len({claim.value for claim in (*made, *more)}) == 1:
            continue
        ordered = sorted((*made, *more), key=lambda claim: claim.chunk.index)
        turns = sum(1 for one, other in pairwise(ordered) if _differ(one.value, other.value))
        for number, first in enumerate(ordered):
            for second in ordered[number + 1 :]:
                pair = (first.chunk.index, second.chunk.index)
                if pair in found or pair[0] == pair[1] or (first in more and second in more):
                    continue
                differ = _differ(first.value, second.value)
                if differ is not False:
                    found.add(pair)
                    values = {first.value, second.value}
                    cleaned = any(isinstance(value, _Cleaned) for value in values)
                    in_turn = (_GONE in values or values == {True, False}) and not cleaned
                    anew = first.value == _GONE and first.chunk.state == "file" and first.chunk.sls == second.chunk.sls
                    yield Clash(
                        first.chunk,
                        second.chunk,
                        thing,
                        resource,
                        certain=differ is True,
                        meant=(turns > 1 or anew) and not cleaned,
                        in_turn=in_turn,
                        hint=_LET_IT_REQUIRE if cleaned else _LET_ONE_DECIDE,
                    )


def _add_folders(
    claims: dict[tuple[str, str], list[_Claim]],
    steps: Sequence[LowChunk],
    chunks: Sequence[LowChunk],
    sources: SaltSources,
) -> None:
    """Add what ``clean`` and ``recurse`` of folders want of what other states make below them."""
    folders: dict[str, list[LowChunk]] = {}
    for chunk in steps:
        if chunk.function in {"file.directory", "file.recurse"} and not chunk.args.keys().isdisjoint(
            {"clean", "recurse"}
        ):
            folders.setdefault(os.path.normpath(chunk.name), []).append(chunk)
    made = [(path, claims[path, resource]) for path, resource in claims if path.startswith("/")] if folders else []
    for path, makers in made:
        resource = f"{PATH}{path}"
        for folder in (each for above in _above(path) for each in folders.get(above, ())):
            if folder.fun == "directory":
                for argument, given in wanted(folder, path, is_folder=makers[0].value == _FOLDER):
                    setting, key = _plain(argument, given), (f"{argument} of {path}", resource)
                    if setting is not None and key in claims:
                        claims[key].append(_Claim(folder, (argument, setting)))
            if any(each.value != _GONE for each in makers) and removes(folder, path, chunks, sources):
                makers.append(_Claim(folder, _Cleaned(_GONE)))


def is_between(
    first: LowChunk, second: LowChunk, resource: str, chunks: Sequence[LowChunk], known: Sequence[Footprint]
) -> bool:
    """Whether one of these states, between the two and of their SLS, may need what the first has done: steps."""
    if first.sls != second.sls:
        return False
    between = (
        each
        for each in chunks
        if first.index < each.index < second.index and each.sls == first.sls and each.state != "test"
    )
    if resource.startswith("service:"):
        return any(between)
    return any(known[each.index].unknown or _touches(known[each.index], resource) for each in between)


def _touches(footprint: Footprint, resource: str) -> bool:
    for name in footprint.everything():
        own = name.removesuffix(TREE)
        if own == resource or own.startswith((f"{resource}/", f"{resource}#")):
            return True
        if name != own and resource.startswith(f"{own}/"):
            return True
    return False


def _claims(chunk: LowChunk, footprint: Footprint) -> Iterator[tuple[str, str, Any]]:
    """Yield what a state wants: a thing in words, the resource that it is, and the value that it is to have."""
    if chunk.state == "file" or chunk.function in _FILL:
        yield from _of_path(chunk)
    elif chunk.state == "ini":
        yield from _of_options(chunk)
    elif chunk.function in _OF_THE_MACHINE:
        yield f"the {chunk.state} of the system", chunk.state, _plain("name", chunk.name)
    else:
        yield from _of_things(chunk, footprint)


def _of_things(chunk: LowChunk, footprint: Footprint) -> Iterator[tuple[str, str, Any]]:
    if chunk.state == "service":
        yield from _of_service(chunk)
        return
    if chunk.function == "mount.mounted" and chunk.args.get("mount") is False:
        return
    things, value = _named(chunk, footprint)
    for words, resource in things:
        if value:
            yield words, resource, value
        for argument in _SETS.get(chunk.function, ()) if len(things) == 1 else ():
            given = chunk.args.get(argument, "*" if argument in _TIMES else None)
            if argument == "groups" and chunk.args.get("remove_groups", True) is not True:
                continue
            setting = _plain(argument, given)
            if setting is not None and setting != _ANY:
                yield f"{argument} of {words}", resource, (argument, setting)


def _named(chunk: LowChunk, footprint: Footprint) -> tuple[list[tuple[str, str]], str]:
    """Return what a state names, in words and as a resource, and what becomes of it: "" if it only sets something."""
    if chunk.function in _BY_RESOURCE:
        prefix, value = _BY_RESOURCE[chunk.function]
        if value == _GONE and "version" in chunk.args:
            return [], ""
        names = [name for name in footprint.writes if name.startswith(prefix) and "*" not in name]
        if chunk.state in _ACCOUNTS:  # their footprints have numbers, too
            names = [f"{prefix}{chunk.name}"]
        return [(name.replace(":", " "), name) for name in names], value
    if chunk.state in _WHOSE and chunk.fun in _BY_NAME:
        what, value = _BY_NAME[chunk.fun]
        whose = [str(chunk.args.get(each)) for each in _WHOSE[chunk.state]]
        name = str(chunk.args.get("identifier") or chunk.name)
        return [(f"{chunk.state} {what}{name}", "|".join((chunk.state, what, name, *whose)))], value
    if chunk.function in _SETS:
        return [(f"{chunk.state} {chunk.name}", f"{chunk.state}:{chunk.name}")], ""
    return [], ""


def _of_service(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    name = str(chunk.name).removesuffix(".service")
    resource = f"service:{name}"
    if chunk.fun in {"running", "dead"}:
        yield f"service {name}", resource, _THERE if chunk.fun == "running" else _GONE
    at_boot = {"enabled": True, "disabled": False}.get(chunk.fun, chunk.args.get("enable"))
    if isinstance(at_boot, bool):
        yield f"start of service {name} at boot", resource, _THERE if at_boot else _GONE
    if chunk.fun in {"masked", "unmasked"}:
        yield f"mask of service {name}", resource, _THERE if chunk.fun == "masked" else _GONE


def _of_options(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    path, sections = os.path.normpath(str(chunk.name)), chunk.args.get("sections")
    for section, options in sections.items() if isinstance(sections, dict) else ():
        settings = {}
        if chunk.fun == "options_present" and isinstance(options, dict):
            settings = {option: _plain("value", value) for option, value in options.items()}
        elif chunk.fun == "options_absent" and isinstance(options, list):
            settings = {option: _GONE for option in options if isinstance(option, str)}
        for option, setting in settings.items():
            if setting is not None:
                yield f"option {option} of section {section} in {path}", f"{PATH}{path}", setting


def _of_path(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    args = chunk.args
    place = args.get(_FILL.get(chunk.function, "name"), chunk.name)
    left = _FOLDER if chunk.state != "file" else _MAKES.get(chunk.fun, "")
    if not (left and isinstance(place, str) and place.startswith("/")) or args.get("create", True) is not True:
        return
    path = os.path.normpath(place)
    if left == _LINK:
        yield path, f"{PATH}{path}", _Link(_plain("target", args.get("target")) or "")
    else:
        yield path, f"{PATH}{path}", _Unlinked(left) if left == _FILE and args.get("follow_symlinks") is False else left
    if chunk.state == "file" and chunk.fun in _OWNED:
        mode = args.get("dir_mode", args.get("mode")) if left == _FOLDER else args.get("mode")
        for argument, given in (("mode", mode), ("user", args.get("user")), ("group", args.get("group"))):
            setting = _plain(argument, given)
            if setting is not None:
                yield f"{argument} of {path}", f"{PATH}{path}", (argument, setting)


class _Link(str):
    """A link with its target, "" if that is not known."""

    __slots__ = ()


class _Unlinked(str):
    """A file that is to be no link."""

    __slots__ = ()


class _Cleaned(str):
    """Gone, unless the folder requires it."""

    __slots__ = ()


def _gone_above(claims: dict[tuple[str, str], list[_Claim]], resource: str) -> list[_Claim]:
    """Return the claims that a folder above a path is gone."""
    return [
        claim
        for path in _above(resource.removeprefix(PATH))
        for claim in claims.get((path, f"{PATH}{path}"), ())
        if claim.value == _GONE and not isinstance(claim.value, _Cleaned)
    ]


def _above(path: str) -> Iterator[str]:
    while (path := os.path.dirname(path)) not in {"/", ""}:
        yield path


def _plain(argument: str, value: Any) -> Any:
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


def _differ(one: Any, other: Any) -> bool | None:
    """Whether two claims to one thing cannot both hold; None: only a run can tell."""
    differ: bool = one != other
    if isinstance(one, tuple) and isinstance(other, tuple):  # settings
        named = one[0] in _NUMBERS and str(one[1]).isdecimal() != str(other[1]).isdecimal()
        return None if named else differ
    if not differ or _GONE in {one, other}:
        return differ
    if isinstance(one, _Link) and isinstance(other, _Link):
        return True if one and other else None
    if _THERE in {one, other}:
        return False
    if isinstance(one, _Link) or isinstance(other, _Link):  # a file is written, and a folder is one, through a link
        return True if isinstance(one, _Unlinked) or isinstance(other, _Unlinked) else None
    return True
