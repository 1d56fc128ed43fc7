"""Forecasts of installations from dependencies, which apt verifies before it proceeds.

A simulation takes about as long as the installation. So the packages are derived from the dependencies, as far as these
leave no choice. That is still a guess: a hook compares it with apt's plan right before the installation
(``DPkg::Pre-Install-Pkgs``, apt.conf(5)), and apt does nothing if they differ.
"""

from __future__ import annotations

import os
import re
import shlex
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.residue import temporary_folder

from ._versions import meets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Changes = dict[str, dict[str, str]]
Fields = dict[str, str]

FIELDS = ("Package", "Version", "Pre-Depends", "Depends", "Recommends", "Provides")
_CHOICE = re.compile(r"(?P<name>[^\s(:\[<]+)(?::\w+)?\s*(?:\((?P<operator>[<>=]+)\s*(?P<version>[^)\s]+)\s*\))?")
_NEEDED = ("Pre-Depends", "Depends")

_COMPARE = (
    "sed '1,/^$/d' | while read -r name old old_arch old_kind way new rest; do echo \"$name $old $way $new\"; done"
    " | LC_ALL=C sort -u | cmp -s - {folder}/expected && : > {folder}/agreed"
)
"""The hook of apt: it reads a line for each package, and fails if the lines are not the expected ones."""


class _Choice(NamedTuple):
    """One alternative of a dependency: a name, and the condition on its version ("" for any)."""

    name: str
    operator: str
    version: str

    def fits(self, version: str | None) -> bool:
        """Whether a version meets the condition. None: no such package; "": provided without a version."""
        if version is None:
            return False
        return not self.operator or bool(version and meets(version, self.operator, self.version))

    def is_met_by(self, name: str, fields: Fields) -> bool:
        """Whether a package satisfies or provides this alternative."""
        return (name == self.name and self.fits(fields["Version"])) or self.fits(
            _provided(fields.get("Provides", "")).get(self.name)
        )


_Taken = tuple[list[_Choice], str]
"""The alternatives of a dependency, and the package that the package manager chooses."""


class Offer(NamedTuple):
    """The content of the sources: the `FIELDS` of packages, and the packages that provide each other name."""

    packages: Mapping[str, Fields]
    providers: Mapping[str, Iterable[str]]


class Shop:
    """The offer of the sources. Queries are slow, so one query fetches everything that an order can need.

    ``ask`` returns the offer of packages and of their transitive dependencies.
    """

    def __init__(self, ask: Callable[[Sequence[str]], Offer]) -> None:
        self._ask = ask
        self._packages: dict[str, Fields | None] = {}
        self._providers: dict[str, frozenset[str]] = {}

    def learn(self, names: Iterable[str]) -> None:
        """Query packages, unless they are known."""
        new = [name for name in dict.fromkeys(names) if name not in self._packages]
        if new:
            offer = self._ask(new)
            self._packages.update(dict.fromkeys([*new, *offer.providers]))
            self._packages.update(offer.packages)
            self._providers.update((name, frozenset(them)) for name, them in offer.providers.items())

    def get(self, name: str) -> Fields | None:
        """Return the fields of a package, None if there is no such package."""
        self.learn([name])
        return self._packages[name]

    def providers(self, name: str) -> frozenset[str]:
        """Return the packages that provide a name, if there is no package of that name."""
        self.learn([name])
        return self._providers.get(name, frozenset())


class System(NamedTuple):
    """The system state that determines the result of an installation.

    ``installed`` has versions by name, ``provided`` the field ``Provides`` of each installed package; ``recommends``:
    recommended packages are installed too; ``shop`` is the offer of the sources.
    """

    installed: Mapping[str, str]
    provided: Iterable[str]
    recommends: bool
    shop: Shop


def foreseen(orders: Sequence[Mapping[str, str | None]], system: System) -> list[Changes]:
    """Return the changes of installing each of ``orders``, one after the other.

    An order has the wanted packages, with a version or None for each. The result ends before the first uncertain order:
    a package is in no source, an installed one would change, or the package manager has a choice. It also has one if a
    package of a later order satisfies an earlier order: in a common call it prefers requested packages.
    """
    shop = system.shop
    there = _There(system)
    shop.learn(name for order in orders for name in order)
    found = []
    taken: list[_Taken] = []
    for order in orders:
        asked = {name: fields for name in order if name not in there.versions and (fields := shop.get(name))}
        if any(_has_other(choices, chosen, asked) for choices, chosen in taken):
            break
        brought = _brought(order, shop, there, taken)
        if brought is None:
            break
        found.append({name: {"old": "", "new": fields["Version"]} for name, fields in brought.items()})
        there.add(brought)
    return found


class _There:
    """The packages that will be installed, and the names that they provide."""

    def __init__(self, system: System) -> None:
        self.recommends = system.recommends
        self.versions: dict[str, str] = dict(system.installed)
        self.provided: dict[str, set[str]] = {}
        for text in system.provided:
            self._provide(text)

    def add(self, packages: Mapping[str, Fields]) -> None:
        """Add packages to be installed next."""
        for name, fields in packages.items():
            self.versions[name] = fields["Version"]
            self._provide(fields.get("Provides", ""))

    def _provide(self, text: str) -> None:
        for name, version in _provided(text).items():
            self.provided.setdefault(name, set()).add(version)


def _brought(
    order: Mapping[str, str | None], shop: Shop, there: _There, taken: list[_Taken]
) -> dict[str, Fields] | None:
    """Return the new packages of an order, None if uncertain; add the chosen alternatives to ``taken``."""
    brought: dict[str, Fields] = {}
    for name, version in order.items():
        fields = shop.get(name)
        if name in there.versions:
            if version and version != there.versions[name]:
                return None
            continue
        if fields is None or (version and version != fields["Version"]):
            return None
        brought[name] = fields
    asked = dict(brought)
    waiting = list(brought)
    open_clauses: list[_Taken] = []
    while waiting:
        clauses = [each for name in waiting for each in _clauses(brought[name], recommends=there.recommends)]
        clauses = [each for each in clauses if not _is_met(each[0], there, asked)]
        shop.learn(choice.name for choices, _ in clauses for choice in choices)
        waiting = []
        for choices, needed in clauses:
            chosen = _chosen(choices, shop, there)
            if chosen is None:
                if needed or any(_is_doubtful(choice, shop, there) for choice in choices):
                    return None
                continue
            open_clauses.append((choices, chosen))
            if chosen not in brought:
                fields = shop.get(chosen)
                if fields is None:
                    return None
                brought[chosen] = fields
                waiting.append(chosen)
    if any(_has_other(choices, chosen, brought) for choices, chosen in open_clauses):
        return None
    taken += open_clauses
    return brought


def _is_met(choices: list[_Choice], there: _There, asked: Mapping[str, Fields]) -> bool:
    """Whether a dependency is met by installed packages, or by requested ones, which the package manager prefers."""
    return any(
        choice.fits(there.versions.get(choice.name))
        or any(choice.fits(version) for version in there.provided.get(choice.name, ()))
        or any(choice.is_met_by(name, fields) for name, fields in asked.items())
        for choice in choices
    )


def _chosen(choices: list[_Choice], shop: Shop, there: _There) -> str | None:
    """Return the package that the package manager chooses for a dependency, None if none or uncertain."""
    for choice in choices:
        if _is_doubtful(choice, shop, there):
            return None
        fields = shop.get(choice.name)
        if fields is not None:
            if choice.fits(fields["Version"]):
                return choice.name
        else:
            providers = shop.providers(choice.name)
            if providers:
                return next(iter(providers))
    return None


def _is_doubtful(choice: _Choice, shop: Shop, there: _There) -> bool:
    """Whether an installed package would have to change, or the providers of a name leave a choice."""
    if choice.name in there.versions:
        return True
    if shop.get(choice.name) is not None:
        return False
    providers = shop.providers(choice.name)
    return bool(providers) and (
        len(providers) > 1 or bool(choice.operator) or any(name in there.versions for name in providers)
    )


def _has_other(choices: list[_Choice], chosen: str, brought: Mapping[str, Fields]) -> bool:
    """Whether another new package would also do, so that the result depends on the order of processing."""
    return any(
        name != chosen and choice.is_met_by(name, fields) for choice in choices for name, fields in brought.items()
    )


def _clauses(fields: Fields, *, recommends: bool) -> Iterator[tuple[list[_Choice], bool]]:
    """Yield each dependency as its alternatives, and whether it must be met."""
    for field in (*_NEEDED, "Recommends") if recommends else _NEEDED:
        for clause in fields.get(field, "").split(","):
            choices = [_choice(match) for match in map(_CHOICE.match, map(str.strip, clause.split("|"))) if match]
            if choices:
                yield choices, field in _NEEDED


def _choice(match: re.Match[str]) -> _Choice:
    return _Choice(match["name"], match["operator"] or "", match["version"] or "")


def _provided(text: str) -> dict[str, str]:
    """Return the names in a field ``Provides``, and the version of each, "" for none."""
    found = map(_CHOICE.match, map(str.strip, text.split(",")))
    return {match["name"]: match["version"] or "" for match in found if match}


class Word:
    """The comparison that apt makes: ``options`` for apt-get, and whether it found no difference.

    A refusal is no failure to log.
    """

    def __init__(self, folder: str) -> None:
        self._agreed = os.path.join(folder, "agreed")
        command = _COMPARE.format(folder=shlex.quote(folder))
        self.options = [
            "-o",
            f"DPkg::Tools::Options::{command.split()[0]}::Version=3",
            "-o",
            f"DPkg::Pre-Install-Pkgs::={command}",
        ]

    @property
    def agreed(self) -> bool:
        """Whether apt's plan was the expected one, so that apt executed it, or tried to."""
        return os.path.exists(self._agreed)


_word: ContextVar[Word | None] = ContextVar("aptpkg_word", default=None)


def options_of_agreement() -> list[str]:
    """Return the options that limit apt-get to the expected changes, inside a block of `only`."""
    word = _word.get()
    return [] if word is None else word.options


@contextmanager
def only(expected: Changes) -> Iterator[Word]:
    """Limit apt-get to the expected changes or none during the block, by `options_of_agreement`."""
    with temporary_folder("apt-") as folder:
        lines = sorted(
            f"{name} {change['old'] or '-'} {'<' if change['new'] else '>'} {change['new'] or '-'}\n"
            for name, change in expected.items()
        )
        with open(os.path.join(folder, "expected"), "w", encoding="utf-8") as file:
            file.writelines(lines)
        word = Word(folder)
        token = _word.set(word)
        try:
            yield word
        finally:
            _word.reset(token)


def names_of(text: str) -> list[str]:
    """Return the names of the machine's own architecture in the output of ``apt-cache depends --recurse``."""
    names = (line.strip("<>") for line in text.splitlines() if not line.startswith(" "))
    return [name for name in names if ":" not in name]


def facts(text: str) -> dict[str, Fields]:
    """Return the fields of each package in the output of ``apt-cache show --no-all-versions``."""
    found: dict[str, Fields] = {}
    for stanza in text.split("\n\n"):
        fields = {}
        for line in stanza.splitlines():
            key, colon, value = line.partition(": ")
            if colon and key in FIELDS:
                fields[key] = value.strip()
        if "Package" in fields and "Version" in fields:
            found.setdefault(fields["Package"], fields)
    return found


def reverse_provides(text: str) -> dict[str, set[str]]:
    """Return the packages in the sections ``Reverse Provides`` of the output of ``apt-cache showpkg``, by name."""
    found = {}
    for part in f"\n{text}".split("\nPackage: ")[1:]:
        name, _, rest = part.partition("\n")
        _, _, tail = rest.partition("\nReverse Provides: \n")
        found[name.strip()] = {line.split()[0] for line in tail.splitlines() if line.strip()}
    return found
