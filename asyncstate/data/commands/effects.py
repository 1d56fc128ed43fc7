"""Puts the parts together: from the text of a command, with its folder, user and environment, to its effects."""

from __future__ import annotations

import shlex
from functools import lru_cache

from asyncstate.data.commands.caller import READ_SHELLS
from asyncstate.data.commands.found import Found, shown
from asyncstate.data.commands.paths import Folders, named, normal
from asyncstate.data.commands.programs import LOGIN
from asyncstate.data.commands.shell import Shell
from asyncstate.data.commands.syntax import ANY_MARK, TILDE
from asyncstate.value import Value

_CACHED = 16_384
"""How many commands are kept: more than the states and conditions of a large tree have."""
_MOST_CHARACTERS = 100_000


class Effects(Value):
    """What a command touches, as names of resources. ``unknown``: why it may touch more; empty if it does not.

    ``links`` are the links that it makes, each with what it says, ``copies`` what it copies or moves with the links in
    it, each with where it comes from. ``bare``: the reason is only that a program names nothing, so that whoever knows
    what it makes may settle it. ``programs`` are the names of those that it runs, with the folder where that is no
    system folder.
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
    """Return what the text of a shell command touches. Never raises.

    It runs in ``folder``, which is the home of ``user`` where it is empty; without a user that is ``~``, the home of
    who runs us. ``environment`` are the variables that it is given.
    """
    if len(text) > _MOST_CHARACTERS:
        return Effects(unknown=f"its text has more than {_MOST_CHARACTERS:,} characters")
    login = f"~{user}"
    home = login if not folder else normal(folder) if folder.startswith(("/", "~")) else f"{login}/{folder}"
    found = Found()
    folders = Folders((home,), login)
    shell = Shell(found, folders, {name: (value,) for name, value in environment})
    shell.run(ANY_MARK.sub("\ufffd", text))
    if user not in {"", "root"}:  # the environment is that of a login
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
    """Return what a script touches that is started with ``arguments``. Never raises.

    Only those of a POSIX shell are read, and of what a shell like it can do besides; the first line says which it is.
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
    """Note the paths in the variables that a command gets: read, or written if nobody knows what it does with them."""
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


__all__ = ["TILDE", "Effects", "effects_of", "script_effects"]
