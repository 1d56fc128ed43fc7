"""The formula rule: within a formula, packages, then what was written after them, then the daemon, keep their places.

A formula is the first part of an SLS name: ``nginx`` for ``nginx``, ``nginx.config`` and ``nginx.sites.www``. Nobody
can list in advance all that a package installs and a daemon reads. Resources of the formula stand for that:

    resource             written by               read by
    formula:F/packages   states of packages       services, and what any package may bring or change the work of
    formula:F/daemons    states that run daemons  what a daemon may read when it starts: all but packages

No state reads one that stands for packages without need: none brings what is in ``/home``, ``/srv`` or ``/usr/local``.
A daemon may read anything when it starts, so that what comes later must not be there yet.

Where it is known what packages bring, a state reads, instead of ``formula:F/packages``, one resource for each question
that it has, and ``formula:F/unknown-packages``, which packages with unknown contents write:

    formula:F/packages:/etc/nginx   which of them has something in /etc/nginx?
    formula:F/packages:curl         which of them brings the program curl?
    formula:F/accounts              which of them makes accounts? Asked for owners of files that no state makes

A package is asked the questions of its formula only, so a formula without packages costs nothing. What packages of
other formulas bring is asked, too, as far as it is certain: see `brought`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.data.packages import BASE, PROGRAMS, UNITS
from asyncstate.effects.package_contents import About, PackageContents, Question
from asyncstate.effects.resources import ALWAYS_THERE, ENTRY, PATH
from asyncstate.model.requisite import CONDITIONS_BEFORE
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from asyncstate.data.packages import Brings
    from asyncstate.model.chunk import LowChunk
    from asyncstate.sources.packages.known import KnownPackages

HOLDERS = frozenset({"pkg", "service"})
"""State modules that the rule is about, whoever wrote them."""

_PACKAGE = "package:"
_INSTALLED = "packages"
"""The resource that a command writes if it installs or removes packages."""
_ACCOUNTS = ("user:", "group:")
_COMMANDS = frozenset({"cmd", "module"})

_RUN_NOTHING = frozenset("environ event file grains group host ini ini_manage ssh_auth test user".split())
"""States that run no programs except those for accounts, which every system has: a package matters to them only if it
brings what they touch."""

_NOBODY_KNOWS = ("",)

_OF_THE_KERNEL = tuple(f"{PATH}/{top}/" for top in ("dev", "proc", "sys"))
"""The folders of devices, modules and settings, to which a package adds when it starts its daemon."""

_ONLY_DATABASE = frozenset({"held", "unheld", "downloaded"})
"""Package states that change no file of a package."""

_REMOVE = frozenset({"removed", "purged"})
"""Package states that also remove what depends on the packages they name."""

_OF_BOOT = frozenset({"enabled", "disabled", "masked", "unmasked"})
"""Service states that start and stop nothing: they link units."""

_ACCOUNT_STATES = frozenset({"user", "group"})

_SKIPS = frozenset({*CONDITIONS_BEFORE, "onchanges", "onchanges_any", "onfail", "onfail_any", "onfail_all", "prereq"})
"""Arguments with which a state may not do what it is for."""

_SOURCES = frozenset({"pkgrepo"})
"""States of the package manager that bring no package: its database orders them."""

_OF_PACKAGES = tuple(f"/{top}/" for top in "bin boot etc lib lib32 lib64 libx32 opt run sbin usr var".split())
"""The folders in which packages have files: the Filesystem Hierarchy Standard leaves them no others."""

_PROGRAM_FOLDERS = frozenset({"/bin", "/sbin", "/usr/bin", "/usr/sbin"})
_BASE_PATHS = frozenset((*ALWAYS_THERE, "/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/hosts"))
"""Folders and files that no package brings. What packages add to the files of accounts is a resource of its own."""

_SHELLS = frozenset("sh bash dash false true nologin".split())
"""Programs in :data:`_PROGRAM_FOLDERS` that every system has of whose packages anything is known."""

_NOT_OF_PACKAGES = ("/usr/local/", "/var/local/", "/var/tmp/")  # noqa: S108 - compared, not used
_SERVED = ("/srv/ftp/", "/srv/tftp/", "/srv/git/")
"""The parts of ``/srv`` that daemons make when they are installed, against the standard."""

_ANY = None
"""The answer that any package may bring something."""
_UNITS = Question(About.UNIT, "", UNITS)
_ACCOUNT_FILES = Question(About.ACCOUNT, "")
"""Questions for the packages of a formula that bring units, or accounts, of any name."""


class Held(Value):
    """The resources of a formula that a state reads and writes, beside its own."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class Touching(Value):
    """A state, and what it touches itself.

    ``programs`` are the programs that it runs, ``tested`` those that its conditions run; None: unknown.
    ``unknown``: it may touch more.
    """

    chunk: LowChunk
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    programs: Sequence[str] | None = None
    tested: Sequence[str] | None = ()
    unknown: bool = False


class _Formula:
    """One formula: the names of its resources, and what its states ask of its packages."""

    def __init__(self, name: str) -> None:
        self.packages = f"formula:{name}/packages"
        self.unknown = f"formula:{name}/unknown-packages"
        self.accounts = f"formula:{name}/accounts"
        self.daemons = f"formula:{name}/daemons"
        self.has_packages = False
        self.has_daemons = False
        self.asked = False
        self.places: dict[str, str] = {}
        self.programs: dict[str, str] = {}

    def at(self, place: str) -> str:
        """Return the resource that stands for what packages bring at a place."""
        return self.places.setdefault(place, f"{self.packages}:{place}")

    def program(self, name: str) -> str:
        """Return the resource that stands for the packages that bring a program."""
        return self.programs.setdefault(name, f"{self.packages}:{name}")


class FormulaRule:
    """The order of states within their formulas.

    ``strict``: states with unknown effects, and commands, keep their place among all states of their formula.
    ``has_account("user:www")`` says which accounts this machine has.
    """

    def __init__(
        self,
        *,
        strict: bool,
        packages: KnownPackages | None = None,
        has_account: Callable[[str], bool] | None = None,
    ) -> None:
        self._strict = strict
        self._knowledge = packages
        self._brought = PackageContents(packages)
        self._has_account = has_account
        self._formulas: dict[str, _Formula] = {}
        self._made_accounts = {"user:root", "group:root"}

    def holds(self, chunk: LowChunk, *, unknown: bool) -> bool:
        """Whether a state with unknown effects, or a command, keeps its place among all states of its formula."""
        return self._strict and (unknown or chunk.state in _COMMANDS)

    def of_all(self, states: Sequence[Touching]) -> list[Held]:
        """Return what states hold of their formulas. They stand in serial order."""
        bringing = []
        for number, state in enumerate(states):
            formula, chunk = self._formula(state.chunk), state.chunk
            if self.holds(chunk, unknown=state.unknown):
                formula.has_packages = formula.has_daemons = True
            elif _installs(state):
                formula.has_packages = True
            elif _brings(chunk):
                formula.has_packages = True
                bringing.append((number, state))
            elif _runs(chunk):
                formula.has_daemons = True
        may_go = any(state.chunk.state in _COMMANDS and "pkgdb" in state.writes for state in states)
        idle = self._note_packages(bringing, may_go=may_go)
        read = [self._reads(state) for state in states]
        answers = self._brought.answers()
        return [
            Held(read[number], (*(() if number in idle else self._writes(state)), *answers.get(number, ())))
            for number, state in enumerate(states)
        ]

    def _note_packages(self, bringing: Sequence[tuple[int, Touching]], *, may_go: bool) -> set[int]:
        """Note the packages that the tree may change: not those that are there and that a state only wants there.

        ``may_go``: commands change packages. Returns the numbers of the states that change none.
        """
        any_may_go = may_go or any(state.chunk.fun in _REMOVE for _, state in bringing)
        idle = set()
        for number, state in bringing:
            names = _packages(state)
            changes = any_may_go or _may_upgrade(state.chunk)
            brought = names if changes else [each for each in names if not self._brought.is_there(each)]
            self._brought.add(number, brought, plain=not changes and _SKIPS.isdisjoint(state.chunk.args))
            if names and not brought:
                idle.add(number)
        return idle

    def _reads(self, state: Touching) -> tuple[str, ...]:
        chunk = state.chunk
        if chunk.state in _ACCOUNT_STATES:
            self._made_accounts.update(state.writes)
        if _brings(chunk) or chunk.state in _SOURCES or chunk.state == "pkg":
            return ()
        if self.holds(chunk, unknown=state.unknown):
            return ()
        formula = self._formula(chunk)
        needs_daemons = formula.has_daemons and chunk.state != "service"
        daemons = (formula.daemons,) if needs_daemons else ()
        if not formula.has_packages and not self._brought:
            return daemons
        asked = dict.fromkeys(self._asks(state))
        needed = self._of_formula(formula, asked) if formula.has_packages else {}
        formula.asked = formula.asked or formula.unknown in needed
        return (*daemons, *needed, *self._of_others(asked, state, alone=not formula.has_packages))

    def _writes(self, state: Touching) -> tuple[str, ...]:
        chunk, formula = state.chunk, self._formula(state.chunk)
        if self.holds(chunk, unknown=state.unknown):
            return (formula.packages, formula.unknown, formula.accounts, formula.daemons)
        if _installs(state):
            return (formula.packages, formula.unknown, formula.accounts)
        if _brings(chunk):
            return self._answers(formula, state)
        return (formula.daemons,) if _runs(chunk) else ()

    def _answers(self, formula: _Formula, state: Touching) -> tuple[str, ...]:
        """Return the writes of a package state: answers to the questions of its formula, or one for unknown ones."""
        known = (
            []
            if not formula.asked or state.chunk.fun in _REMOVE
            else self._known(_packages(state), lasting=_may_upgrade(state.chunk))
        )
        if not known:
            return (formula.packages, formula.unknown, formula.accounts)
        accounts = (formula.accounts,) if any(each.accounts for each in known) else ()
        places = [name for place, name in formula.places.items() if any(each.has(place) for each in known)]
        programs = [name for program, name in formula.programs.items() if any(each.runs(program) for each in known)]
        return (formula.packages, *accounts, *places, *programs)

    def _known(self, names: Iterable[str], *, lasting: bool) -> list[Brings]:
        """Return what packages bring; nothing unless it is known of each, and of each version if it must last."""
        found = []
        for name in names:
            brings = self._brought.brings(name)
            if brings is None or (lasting and not brings.lasting):
                return []
            found.append(brings)
        return found

    def _asks(self, state: Touching) -> Iterator[Question | None]:
        """Yield what a state asks the packages that it may need, or whose files it may touch; ``_ANY`` concerns all."""
        programs = _programs(state)
        for program in programs:
            if program not in BASE:
                yield Question(About.PROGRAM, program)
        if state.chunk.state == "service":
            yield _UNITS
        own = {name for program in programs for name in _files_of(program)}
        written = frozenset(state.writes)
        for name in (*(each for each in state.reads if each not in own), *state.writes):
            if name.startswith(PATH):
                place = _ANY if programs and name.startswith(_OF_THE_KERNEL) else self._place(name)
                if place != "":
                    path = name.removeprefix(PATH)
                    yield _ANY if place is _ANY else Question.at(path, place, written=name in written)
            elif name == "accounts":
                yield _ACCOUNT_FILES
            elif name.startswith(_ACCOUNTS):
                account = name.partition(ENTRY)[0]
                if not self._is_there(account):
                    yield Question(About.ACCOUNT, account)
                elif state.chunk.state in _ACCOUNT_STATES and not self._was_there(account):
                    yield Question(About.MADE_ACCOUNT, account)
        if _takes_next_number(state.chunk):
            yield Question(About.NEXT_NUMBER, "next-number")

    def _of_formula(self, formula: _Formula, asked: Iterable[Question | None]) -> dict[str, None]:
        """Return what stands in a formula for the packages that answer."""
        found: dict[str, None] = {}
        for question in asked:
            if question is _ANY or (question.about is About.PROGRAM and self._may_be_of_any(question.name)):
                return {formula.packages: None}
            if question.about is About.PROGRAM:
                found |= {formula.unknown: None, formula.program(question.name): None}
            elif question.about is About.ACCOUNT:
                found |= {formula.unknown: None, formula.accounts: None}
            elif question.place:
                found |= {formula.unknown: None, formula.at(question.place): None}
        return found

    def _may_be_of_any(self, program: str) -> bool:
        return program not in PROGRAMS or self._knowledge is None

    def _of_others(self, asked: Iterable[Question | None], state: Touching, *, alone: bool) -> Iterator[str]:
        """Yield what stands for the packages of any formula that answer for certain. ``alone``: its own has none."""
        for question in asked if self._brought else ():
            if question is not _ANY and question.name:
                needed = question.about is About.ACCOUNT or state.chunk.state == "service"
                yield self._brought.ask(question, needed=alone and needed)

    def _place(self, name: str) -> str | None:
        """Return the place of a path: "" if no package or every system has it, ``_ANY`` if it may be any package's."""
        path, tree, _ = name.removeprefix(PATH).partition(ENTRY)[0].partition("/**")
        if (not tree and path in _BASE_PATHS) or not may_be_of_a_package(path):
            return ""
        if self._knowledge is None:
            return _ANY
        folder, _, file = path.rpartition("/")
        if folder in _PROGRAM_FOLDERS:
            return "" if file in _SHELLS else _ANY
        return self._knowledge.place(path)

    def _is_there(self, account: str) -> bool:
        """Whether an account is there without any package: on this machine, or made by the tree before."""
        return account in self._made_accounts or self._was_there(account)

    def _was_there(self, account: str) -> bool:
        """Whether this machine has an account. A number is no account that a package makes."""
        if account.partition(":")[2].isdigit():
            return True
        return self._has_account is not None and self._has_account(account)

    def _formula(self, chunk: LowChunk) -> _Formula:
        name = chunk.sls.replace("/", ".").partition(".")[0]
        known = self._formulas.get(name)
        if known is None:
            known = self._formulas[name] = _Formula(name)
        return known


def _programs(state: Touching) -> Sequence[str]:
    """Return the programs that a state runs; the unknown one is among them if it may run any."""
    if state.tested is None:
        return _NOBODY_KNOWS
    chunk, programs = state.chunk, state.programs
    if chunk.state == "service":
        programs = () if chunk.fun in _OF_BOOT else _NOBODY_KNOWS
    elif programs is None or (state.unknown and chunk.state in _COMMANDS):
        programs = () if chunk.state in _RUN_NOTHING else _NOBODY_KNOWS
    return (*programs, *state.tested)


def _files_of(program: str) -> tuple[str, ...]:
    """Return the names of the files that a program may be: what brings them is asked by the name of the program."""
    return tuple(f"{PATH}{folder}/{program}{tree}" for folder in _PROGRAM_FOLDERS for tree in ("", "/**"))


def _packages(state: Touching) -> list[str]:
    return [name.removeprefix(_PACKAGE) for name in state.writes if name.startswith(_PACKAGE)]


def _brings(chunk: LowChunk) -> bool:
    return chunk.state == "pkg" and chunk.fun not in _ONLY_DATABASE


def _installs(state: Touching) -> bool:
    """Whether a command installs packages whose content is unknown, or removes such."""
    return state.chunk.state in _COMMANDS and _INSTALLED in state.writes


def _may_upgrade(chunk: LowChunk) -> bool:
    """Whether a package state may bring another version of what is installed."""
    if chunk.fun != "installed" or chunk.args.get("version"):
        return True
    listed = chunk.args.get("pkgs") or ()
    return not isinstance(listed, (list, tuple)) or any(isinstance(each, dict) for each in listed)


def _takes_next_number(chunk: LowChunk) -> bool:
    """Whether an account gets the next free number of those that packages, too, give to theirs."""
    return (
        chunk.state in _ACCOUNT_STATES
        and chunk.fun == "present"
        and bool(chunk.args.get("system"))
        and chunk.args.get("uid" if chunk.state == "user" else "gid") is None
    )


def _runs(chunk: LowChunk) -> bool:
    return chunk.state == "service" and chunk.fun not in _OF_BOOT


def may_be_of_a_package(path: str) -> bool:
    """Whether the Filesystem Hierarchy Standard lets a package have a file at or, for ``/a/**``, below a path."""
    path = f"{path.removesuffix('**').rstrip('/')}/"
    if path == "/" or path.startswith(_SERVED):
        return True
    return path.startswith(_OF_PACKAGES) and not path.startswith(_NOT_OF_PACKAGES)
