"""Messages between the language server and its compiler: one JSON text a line."""

from __future__ import annotations

from typing import Any

import msgspec


class Job(msgspec.Struct, frozen=True):
    """A request to compile the tree. ``options`` come from the command line; ``texts`` replace files, by path.

    ``sls`` are files to compile by themselves, by path, if the highstate has them not. With ``catalog`` the compiler
    describes all states; with ``changed`` the disk may have changed since the last job. A job with another number makes
    those before it out of date.
    """

    number: int
    options: dict[str, Any]
    texts: dict[str, str]
    sls: tuple[str, ...] = ()
    catalog: bool = False
    changed: bool = True


class Argument(msgspec.Struct, frozen=True):
    """An argument of a state; ``default`` is None if a value is required."""

    name: str
    type: str
    default: str | None
    meaning: str


class Function(msgspec.Struct, frozen=True):
    """A state function and its documentation."""

    doc: str
    arguments: tuple[Argument, ...]
    example: str = ""
    file: str = ""


class Catalog(msgspec.Struct, frozen=True, tag="catalog"):
    """All state functions, by name."""

    functions: dict[str, Function]


class Rendered(msgspec.Struct, frozen=True):
    """A state of the compiled tree. ``line`` counts from 1, 0 if unknown.

    ``refers`` has the module and the target of each of its requisites.
    """

    id: str
    state: str
    name: str
    sls: str
    file: str
    line: int
    refers: tuple[tuple[str, str], ...] = ()


class Seen(msgspec.Struct, frozen=True, tag="seen"):
    """The keys of this host's pillar and grains (``a:b`` for a key within a key), without values."""

    pillar: tuple[str, ...] = ()
    grains: tuple[str, ...] = ()


class Compiled(msgspec.Struct, frozen=True, tag="compiled"):
    """The states of the tree after rendering."""

    states: tuple[Rendered, ...] = ()


class Finding(msgspec.Struct, frozen=True):
    """A finding of check or lint. ``line`` counts from 1, 0 if unknown; ``mistake``: check fails with it."""

    rule: str
    message: str
    file: str
    line: int
    hint: str
    mistake: bool
    code: str = ""


class Found(msgspec.Struct, frozen=True, tag="found"):
    """The findings of the tree: all, or (not ``whole``) the ones that do not need the order of its states."""

    findings: tuple[Finding, ...]
    whole: bool = True


class Fix(msgspec.Struct, frozen=True):
    """A change that resolves the finding of a rule in a line: ``text`` replaces lines.

    ``line`` counts from 1; ``start`` and ``end`` are the lines that it replaces, from 0, ``end`` excluded.
    """

    rule: str
    file: str
    line: int
    title: str
    start: int
    end: int
    text: str


class Fixes(msgspec.Struct, frozen=True, tag="fixes"):
    """The fixes for open files; the tree compiles with each."""

    fixes: tuple[Fix, ...]


Answer = Catalog | Seen | Compiled | Found | Fixes
"""An answer of the compiler."""


class Reply(msgspec.Struct, frozen=True):
    """An answer to the job ``number``, or the end of its answers: ``done``, with the error if something broke."""

    number: int
    answer: Answer | None = None
    done: bool = False
    problem: str = ""
