"""The effects of a command, from its text, folder, user and environment."""

from __future__ import annotations

import shlex
from functools import lru_cache

from asyncstate.data.commands.caller import READ_SHELLS
from asyncstate.data.commands.found import Found, shown
from asyncstate.data.commands.paths import Folders, named, normal
from asyncstate.data.commands.programs import LOGIN
from asyncstate.data.commands.shell import Shell
from asyncstate.data.commands.syntax import ANY_MARK
from asyncstate.value import Value

_CACHED = 16_384
"""Size of the cache: more than the commands in the states and conditions of a large tree."""
_MOST_CHARACTERS = 100_000


class Effects(Value):
    """The resources that a command touches, by name. ``unknown``: why it may touch more; empty if it cannot.

    ``links`` are (link, its text), ``copies`` are (target, source) of copies and moves that keep links. ``bare``: the
    only reason is a program that names nothing, which other knowledge of its effects can resolve. ``programs`` are the
    names of the programs that it runs, with the folder unless it is a system folder.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    unknown: str = ""
    bare: bool = False
    links: tuple[tuple[str, str], ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    programs: tuple[str, ...] = ()


@lru_cache(maxsize=_CACHED)
def effects_of(text: str, folder: str = "", user: str = "", environment: tuple[tuple[str, str], ...] = ()) -> Effects:
    """Return the effects of a shell command. Never raises.

    It runs in ``folder``; an empty one is the home of ``user``, or ``~``, our own, without a user. ``environment``
    are the variables passed to it.
    """
    if len(text) > _MOST_CHARACTERS:
        return Effects(unknown=f"its text has more than {_MOST_CHARACTERS:,} characters")
    login = f"~{user}"
    home = login if not folder else normal(folder) if folder.startswith(("/", "~")) else f"{login}/{folder}"
    found = Found()
    folders = Folders((home,), login)
    shell = Shell(found, folders, {name: (value,) for name, value in environment})
    shell.run(ANY_MARK.sub("\ufffd", text))
    if user not in {"", "root"}:  # a login environment
        found.reads.update((name.replace("~/", f"{login}/"), None) for name in LOGIN)
    _given(found, environment)
    if found.reads_script:
        found.open("it runs a script that another command prints")
    reads = {name: None for name in found.reads if name not in found.writes}
    reasons, bare = list(found.reasons), False
    if not reasons and found.bare:
        reasons, bare = [_bare(list(found.bare), folder)], True
    return Effects(
        tuple(reads),
        tuple(found.writes),
        tuple(found.makes),
        "; ".join(reasons[:3]),
        bare,
        tuple(found.links),
        tuple(found.copies),
        tuple(found.programs),
    )


def script_effects(
    text: str, arguments: str = "", folder: str = "", user: str = "", environment: tuple[tuple[str, str], ...] = ()
) -> Effects:
    """Return the effects of a script that is started with ``arguments``. Never raises.

    Only scripts of a POSIX shell, with common extensions, are read; the first line names the interpreter.
    """
    first = text.partition("\n")[0]
    if first.startswith("#!"):
        name = next((word for word in first[2:].split() if not (word.startswith("-") or word.endswith("/env"))), "")
        name = name.rpartition("/")[2]
        if name not in READ_SHELLS:
            return Effects(unknown=f"{name or 'an unnamed program'} runs it, not a shell")
    if "\0" in text:
        return Effects(unknown="there is no text that a shell reads")
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = []
    given = tuple((str(number), word) for number, word in enumerate(words, 1))
    return effects_of(text, folder, user, (*environment, *given))


def _given(found: Found, environment: tuple[tuple[str, str], ...]) -> None:
    """Note the paths in the variables passed to a command: as read, or as written if their use is unknown."""
    for name, value in environment:
        for piece in value.split(":"):
            if piece.startswith(("/", "~/")):
                written = not found.all_known and not name.endswith("PATH")
                resource = named(normal(piece), tree=not written)
                if resource:
                    (found.writes if written else found.reads)[resource] = None


def _bare(programs: list[str], folder: str) -> str:
    programs = [shown(program) for program in programs]
    listed = ", ".join(programs[:3])
    if folder:
        return f"nothing but the folder is known of what {listed} touches"
    return f"it names nothing that {listed} touches"
