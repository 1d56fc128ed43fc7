"""Reads of the conditions of a state: ``onlyif``, ``unless``, ``creates``, ``check_cmd``."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from asyncstate.effects.resources import ENVIRONMENT, PATH, TREE
from asyncstate.model.chunk import texts_in
from asyncstate.model.requisite import CONDITIONS
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

_ARGUMENTS_OF_STATES = frozenset({"onlyif", "unless"})
"""Conditions whose commands run in the state's folder and shell, as its user and with its variables."""

_READ_BY_MODULES = {
    "cmd": "",
    "config": "",
    "cron": "cron:",
    "environ": ENVIRONMENT,
    "file": "",
    "grains": "",
    "group": "group:",
    "hosts": "path:/etc/hosts",
    "kmod": "kmod:",
    "match": "",
    "pillar": "",
    "pkg": "pkgdb",
    "lowpkg": "pkgdb",
    "service": "service:",
    "sysctl": "sysctl:",
    "test": "",
    "user": "user:",
}
"""The resources that functions of these execution modules read, besides grains and the paths in their arguments."""

_RUN_NOTHING = frozenset("config environ file grains hosts match pillar test".split())
"""Execution modules whose functions start no program."""


class Tested(Value):
    """Reads of conditions. ``unknown``: why they may read more; empty if they cannot.

    ``programs`` are the names of the programs that they run; None: unknown.
    """

    reads: tuple[str, ...] = ()
    unknown: str = ""
    programs: tuple[str, ...] | None = ()


def conditions_read(args: dict[str, Any]) -> Tested | None:
    """Return what the conditions of a state read; None if it has no conditions.

    A path covers the tree below it: a condition may test what is in a folder, or whether the folder exists, which may
    depend on a state that made it for a file. What a command would write counts as read: it tests.
    """
    if args.keys().isdisjoint(CONDITIONS):
        return None
    reads: dict[str, None] = {}
    reasons: dict[str, None] = {}
    programs: dict[str, None] | None = {}
    for condition in CONDITIONS:
        value = args.get(condition)
        for entry in value if isinstance(value, (list, tuple)) else (value,):
            if condition == "creates":
                reads.update(dict.fromkeys(_paths(entry)))
            elif isinstance(entry, (str, dict)):
                if isinstance(entry, str):
                    tested = _command(entry, args if condition in _ARGUMENTS_OF_STATES else {})
                else:
                    tested = _function(entry, args)
                reads.update(dict.fromkeys(tested.reads))
                programs = _all_of(programs, tested)
                if tested.unknown:
                    reasons[f"in its {condition}, {tested.unknown}"] = None
    return Tested(tuple(reads), "; ".join(reasons), None if programs is None else tuple(programs))


def _all_of(programs: dict[str, None] | None, tested: Tested) -> dict[str, None] | None:
    if programs is None or tested.programs is None or tested.unknown:
        return None
    return programs | dict.fromkeys(tested.programs)


def _command(text: str, args: dict[str, Any]) -> Tested:
    folder, user = args.get("cwd"), args.get("runas")
    # Start-up time: a tree without commands needs no shell.
    from asyncstate.data.commands import effects_of  # noqa: PLC0415
    from asyncstate.data.commands.environment import pairs_of  # noqa: PLC0415

    effects = effects_of(
        text,
        folder if isinstance(folder, str) else "",
        user if isinstance(user, str) else "",
        pairs_of(args.get("env")),
    )
    runs_as = (f"user:{user}",) if isinstance(user, str) and user else ()
    touched = (*effects.reads, *effects.writes, *effects.makes)
    programs = None if args.get("root") else effects.programs
    runs_in = [*_paths([args.get("shell"), args.get("prepend_path"), args.get("root")])]
    if isinstance(folder, str) and folder.startswith("/"):
        runs_in.append(f"{PATH}{posixpath.normpath(folder)}")
    return Tested((ENVIRONMENT, *runs_as, *runs_in, *map(_with_all_below, touched)), effects.unknown, programs)


def _function(entry: dict[Any, Any], args: dict[str, Any]) -> Tested:
    """Return what an entry ``fun: MODULE.FUNCTION`` reads."""
    function = entry.get("fun")
    module = str(function).partition(".")[0]
    given = [text for key, value in entry.items() if key != "fun" for text in texts_in(value)]
    reads = ["grains", *(path for text in given for path in _paths(text))]
    unknown = "" if module in _READ_BY_MODULES else f"what {function} reads is not known"
    programs: dict[str, None] | None = {} if module in _RUN_NOTHING else None
    if module == "cmd":
        programs = {}
        for text in given:
            tested = _command(text, args)
            programs = _all_of(programs, tested)
            reads += tested.reads
            unknown = unknown or tested.unknown
    read = _READ_BY_MODULES.get(module, "")
    if read.endswith(":"):
        reads += ["accounts"] if module in {"user", "group"} else []
        reads += [f"{read}{text}" for text in given]
    elif read:
        reads.append(read)
    return Tested(tuple(reads), unknown, None if programs is None else tuple(programs))


def _paths(value: Any) -> Iterator[str]:
    for text in texts_in(value):
        path = text.removeprefix("file://")
        if path.startswith(("/", "~")):
            yield f"{PATH}{path.rstrip('/')}{TREE}"


def _with_all_below(name: str) -> str:
    return f"{name}{TREE}" if name.startswith(PATH) and not name.endswith(TREE) and "#" not in name else name
