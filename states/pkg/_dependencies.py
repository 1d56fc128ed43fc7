"""Which of several package states needs which package of one common call, from the dependencies of the packages.

Only what is certain counts: a dependency with a single name that is newly installed, and a choice whose first name is,
while the system has no other of them, before or afterwards: the package manager tries them in their order. Where
anything else could have led to a package, another choice, a virtual package, an upgrade, there is no answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ._shares import Changes

FIELDS = ("Pre-Depends", "Depends", "Recommends", "Provides")
_NAME = re.compile(r"[^\s(:\[<]+")

About = dict[str, dict[str, str]]
"""The fields of each package."""


def divide(
    wanted: Sequence[Iterable[str]], expected: Changes, about: About, there: Iterable[str], *, recommends: bool
) -> list[Changes] | None:
    """Return the share of each state in ``expected``, what a call for all of ``wanted`` changes; None if in doubt.

    A package goes to the first state that asks for it, or needs it for what it asks for. ``there`` are the names of the
    installed packages and what these provide; ``recommends``: recommended packages come too.
    """
    if expected.keys() - about.keys():
        return None
    certain = ("Pre-Depends", "Depends", "Recommends") if recommends else ("Pre-Depends", "Depends")
    virtual: dict[str, set[str]] = {name: set() for name in there}
    for package, fields in about.items():
        for choices in _clauses(fields, ("Provides",)):
            virtual.setdefault(choices[0], set()).add(package)
    taken: set[str] = set()
    shares = []
    for names in wanted:
        waiting = list(names)
        doubts: set[str] = set()
        share: Changes = {}
        while waiting:
            name = waiting.pop()
            if name in taken:
                continue
            if name not in expected:
                return None
            taken.add(name)
            share[name] = expected[name]
            for choices in _clauses(about[name], certain):
                if _brings(choices, expected, virtual):
                    waiting.append(choices[0])
                else:
                    doubts.update(choices)
        if any({name, *virtual.get(name, ())} & expected.keys() - taken for name in doubts):
            return None
        shares.append(share)
    return shares if len(taken) == len(expected) else None


def _brings(choices: list[str], expected: Changes, virtual: Collection[str]) -> bool:
    """Whether it is certain that a dependency brings the package that it names first."""
    name, *others = choices
    if name not in expected or expected[name]["old"] or name in virtual:
        return False
    return not any(other in expected or other in virtual for other in others)


def _clauses(fields: Mapping[str, Any], which: Iterable[str]) -> Iterator[list[str]]:
    for field in which:
        for clause in fields.get(field, "").split(","):
            names = [match[0] for match in map(_NAME.match, map(str.strip, clause.split("|"))) if match]
            if names:
                yield names
