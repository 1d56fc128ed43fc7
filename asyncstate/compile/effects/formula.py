"""The formula rule: within a formula, packages, then what was written after them, then the daemon, keep their places.

A formula is the first part of an SLS name: ``nginx`` for ``nginx``, ``nginx.config`` and ``nginx.sites.www``. Nobody
can list in advance all that a package installs and a daemon reads. Resources of the formula stand for that:

    resource             written by               read by
    formula:F/packages   states of packages       services, and what any package may bring: files, accounts …
    formula:F/programs   states of packages       services, and what runs programs: commands, settings …
    formula:F/daemons    states that run daemons  what a daemon may read when it starts: all but packages

No state reads one that stands for packages without need: none brings what is in ``/home``, ``/srv`` or ``/usr/local``.
A daemon may read anything when it starts, so that what comes later must not be there yet.

Where it is listed what packages bring, a state with a file in ``/etc/x/`` reads, instead of ``formula:F/packages``, two
others: ``formula:F/packages:/etc/x/``, which the packages write that have files there, and
``formula:F/unlisted-packages``, which those write that are in no list. A place in no list may be any package's.
``formula:F/accounts`` is what packages write that make accounts, and the owners of files read that nobody else makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from asyncstate.compile.effects.scoreboard import ALWAYS_THERE, ENTRY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from asyncstate.model.chunk import LowChunk

HOLDERS = frozenset({"pkg", "service"})
"""State modules that the rule is about, whoever wrote them."""

_PATH = "path:"
_PACKAGE = "package:"
_ACCOUNTS = ("user:", "group:")
_COMMANDS = frozenset({"cmd", "module"})

_RUN_NOTHING = frozenset("environ event file grains host ini ini_manage ssh_auth".split())
"""States that edit files and run no program, so that only packages which bring the files concern them."""

_ONLY_DATABASE = frozenset({"held", "unheld", "downloaded"})
"""Package states that change no file of a package."""

_OF_BOOT = frozenset({"enabled", "disabled", "masked", "unmasked"})
"""Service states that start and stop nothing."""

_ACCOUNT_STATES = frozenset({"user", "group"})
"""They run programs, but those that every system has."""

_SOURCES = frozenset({"pkg", "pkgrepo"})
"""States of the package manager that bring no package: its database orders them."""

_OF_PACKAGES = tuple(f"/{top}/" for top in "bin boot etc lib lib32 lib64 libx32 opt run sbin usr var".split())
"""The folders in which packages have files: the Filesystem Hierarchy Standard leaves them no others."""

_LISTED = ("/etc/", "/var/")
_BASE = frozenset((*ALWAYS_THERE, "/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/hosts"))
"""Folders and files that no package brings. What packages add to the files of accounts is a resource of its own."""

_SHELLS = frozenset(
    f"{folder}/{name}"
    for folder in ("/bin", "/usr/bin", "/sbin", "/usr/sbin")
    for name in ("sh", "bash", "dash", "false", "true", "nologin")
)
"""Programs that every system has whose packages are listed."""

_NOT_OF_PACKAGES = ("/usr/local/", "/var/local/", "/var/tmp/")  # noqa: S108 - compared, not used
_SERVED = ("/srv/ftp/", "/srv/tftp/", "/srv/git/")
"""The parts of ``/srv`` that daemons make when they are installed, against the standard."""


class Held(NamedTuple):
    """The resources of a formula that a state reads and writes, beside its own."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class _Formula:
    """The names of the resources of one formula."""

    def __init__(self, name: str) -> None:
        self.packages = f"formula:{name}/packages"
        self.programs = f"formula:{name}/programs"
        self.unlisted = f"formula:{name}/unlisted-packages"
        self.accounts = f"formula:{name}/accounts"
        self.daemons = f"formula:{name}/daemons"
        self.brought = (self.packages, self.programs)

    def at(self, place: str) -> str:
        """Return the resource that stands for what listed packages bring at a place."""
        return f"{self.packages}:{place}"


class Brings(Protocol):
    """What a package brings with all it depends on."""

    @property
    def places(self) -> Iterable[str]:
        """Where it has files."""

    @property
    def accounts(self) -> bool:
        """Whether it makes accounts."""


class PackageLists(Protocol):
    """What is listed of the packages of a system."""

    def brings(self, package: str, /) -> Brings | None:
        """Return what a package brings, or None if it is in no list."""

    def place(self, path: str, /) -> str | None:
        """Return the place that a path belongs to, or None if no package is listed there."""


class FormulaRule:
    """What states hold of their formulas. It is asked for each chunk in serial order.

    ``strict``: states with unknown effects, and commands, keep their place among all states of their formula.
    ``has_account("user:www")`` says which accounts this machine has.
    """

    def __init__(
        self,
        *,
        strict: bool,
        lists: PackageLists | None = None,
        has_account: Callable[[str], bool] | None = None,
    ) -> None:
        self._strict = strict
        self._lists = lists
        self._formulas: dict[str, _Formula] = {}
        self._has_account = has_account
        self._made_accounts = {"user:root", "group:root", "user:0", "group:0"}

    def holds(self, chunk: LowChunk, *, unknown: bool) -> bool:
        """Whether a state with unknown effects, or a command, keeps its place among all states of its formula."""
        return self._strict and (unknown or chunk.state in _COMMANDS)

    def of(self, chunk: LowChunk, reads: Iterable[str], writes: Iterable[str], *, asks: bool, unknown: bool) -> Held:
        """Return what a state holds of its formula. It ``asks`` if it has conditions, which may run any program."""
        formula = self._formula(chunk)
        if self.holds(chunk, unknown=unknown):
            return Held(writes=(*formula.brought, formula.unlisted, formula.accounts, formula.daemons))
        brings = chunk.state == "pkg" and chunk.fun not in _ONLY_DATABASE
        runs = chunk.state == "service" and chunk.fun not in _OF_BOOT
        if chunk.state in _ACCOUNT_STATES:
            self._made_accounts.update(name for name in writes if name.startswith(_ACCOUNTS))
        if brings:
            return Held(writes=self._brought(formula, writes))
        if runs:
            return Held(formula.brought, (formula.daemons,))
        if chunk.state == "service":
            return Held(formula.brought)
        if chunk.state in _SOURCES:
            return Held()
        return Held(tuple(self._read(chunk.state, formula, (*reads, *writes), asks=asks)))

    def _brought(self, formula: _Formula, writes: Iterable[str]) -> tuple[str, ...]:
        """Return what a package state writes: where its packages are listed to have files, or that they are not."""
        names = [name.removeprefix(_PACKAGE) for name in writes if name.startswith(_PACKAGE)]
        lists = self._lists
        listed = [lists.brings(name) for name in names] if lists is not None else []
        known = [each for each in listed if each is not None]
        if not known or len(known) < len(names):
            return (*formula.brought, formula.unlisted, formula.accounts)
        places = sorted({place for each in known for place in each.places})
        accounts = (formula.accounts,) if any(each.accounts for each in known) else ()
        return (*formula.brought, *accounts, *map(formula.at, places))

    def _read(self, state: str, formula: _Formula, touched: tuple[str, ...], *, asks: bool) -> Iterator[str]:
        yield formula.daemons
        if asks or not (state in _RUN_NOTHING or state in _ACCOUNT_STATES):
            yield formula.programs
        else:
            yield from self._of_packages(formula, touched)
            if state in _ACCOUNT_STATES:
                yield formula.accounts

    def _of_packages(self, formula: _Formula, touched: tuple[str, ...]) -> dict[str, None]:
        """Return what stands for the packages that may bring paths, and the owners of files."""
        found: dict[str, None] = {}
        for name in touched:
            if name.startswith(_PATH):
                path, tree, _ = name.removeprefix(_PATH).partition(ENTRY)[0].partition("/**")
                if not may_be_of_a_package(path or "/") or (not tree and path in _BASE):
                    continue
                place = self._place(path)
                if place is None:
                    found[formula.packages] = None
                elif place:
                    found |= {formula.unlisted: None, formula.at(place): None}
            elif name.startswith(_ACCOUNTS) and not self._is_there(name):
                found[formula.accounts] = None
        return found

    def _place(self, path: str) -> str | None:
        """Return the place of a path: "" if every system has it, None if it may be any package's."""
        if self._lists is None:
            return None
        if path in _SHELLS:
            return ""
        return self._lists.place(path) if path.startswith(_LISTED) else None

    def _is_there(self, account: str) -> bool:
        """Whether an account is there without any package: on this machine, or made by the tree before."""
        if account in self._made_accounts or account.partition(":")[2].isdigit():
            return True
        return self._has_account is not None and self._has_account(account)

    def _formula(self, chunk: LowChunk) -> _Formula:
        name = chunk.sls.replace("/", ".").split(".", 1)[0]
        known = self._formulas.get(name)
        if known is None:
            known = self._formulas[name] = _Formula(name)
        return known


def may_be_of_a_package(path: str) -> bool:
    """Whether the Filesystem Hierarchy Standard lets a package have a file at or, for ``/a/**``, below a path."""
    path = f"{path.removesuffix('**').rstrip('/')}/"
    if path == "/" or path.startswith(_SERVED):
        return True
    return path.startswith(_OF_PACKAGES) and not path.startswith(_NOT_OF_PACKAGES)
