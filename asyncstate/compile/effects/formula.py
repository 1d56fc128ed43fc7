"""The formula rule: within a formula, packages, then what was written after them, then the daemon, keep their places.

A formula is the first part of an SLS name: ``nginx`` for ``nginx``, ``nginx.config`` and ``nginx.sites.www``. Nobody
can list in advance all that a package installs and a daemon reads. Resources of the formula stand for that:

    resource             written by               read by
    formula:F/packages   states of packages       services, and what a package may bring: files, accounts …
    formula:F/programs   states of packages       services, and what runs programs: commands, settings …
    formula:F/daemons    states that run daemons  what asks a daemon or changes what it may write: commands …
    formula:F/starts.N   one that runs a daemon   what that daemon, the Nth, may read when it starts

A state reads none of them without need: no package brings what is in ``/home``, ``/srv`` or ``/usr/local``, and no
daemon writes in ``/etc`` or ``/usr``, so that a file there need not wait for a daemon which starts earlier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from asyncstate.model.chunk import LowChunk

HOLDERS = frozenset({"pkg", "service"})
"""State modules that the rule is about, whoever wrote them."""

_PATH = "path:"
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

_SETTINGS = frozenset("alternatives archive cron git kmod locale mount pip sysctl timezone virtualenv x509".split())
"""States that run programs, but ask no daemon of the formula."""

_ASK_NO_DAEMON = _RUN_NOTHING | _ACCOUNT_STATES | _SETTINGS

_SOURCES = frozenset({"pkg", "pkgrepo"})
"""States of the package manager that bring no package: its database orders them."""

_OF_PACKAGES = tuple("/bin /boot /etc /lib /lib32 /lib64 /libx32 /opt /run /sbin /usr /var".split())
"""The folders in which packages have files: the Filesystem Hierarchy Standard leaves them no others."""

_STATIC = ("/etc/", "/usr/", "/boot/", "/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/libx32/", "/root/", "/sys/")
"""The folders in which daemons do not write: they may be mounted read-only, says the same standard."""

_NOT_OF_PACKAGES = ("/usr/local/", "/var/local/", "/var/tmp/")  # noqa: S108 - compared, not used
_SERVED = ("/srv/ftp/", "/srv/tftp/", "/srv/git/")
"""The parts of ``/srv`` that daemons make when they are installed, against the standard."""


class Held(NamedTuple):
    """The resources of a formula that a state reads and writes, beside its own."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class _Formula:
    """The names of the resources of one formula. ``start`` is that of the daemon to be started next."""

    def __init__(self, name: str) -> None:
        self.packages = f"formula:{name}/packages"
        self.programs = f"formula:{name}/programs"
        self.daemons = f"formula:{name}/daemons"
        self._starts = f"formula:{name}/starts."
        self._started = 1
        self.brought = (self.packages, self.programs)

    @property
    def start(self) -> str:
        return f"{self._starts}{self._started}"

    def run(self, *, only_starts: bool) -> tuple[str, ...]:
        """Return what a state that runs a daemon writes. One that may stop it comes before all that follows, too."""
        now = self.start
        self._started += 1
        return (self.daemons, now) if only_starts else (self.daemons, now, self.start)


class FormulaRule:
    """What states hold of their formulas. It is asked for each chunk in serial order.

    ``strict``: states with unknown effects, and commands, keep their place among all states of their formula.
    ``has_account("user:www")`` says which accounts this machine has.
    """

    def __init__(self, *, strict: bool, has_account: Callable[[str], bool] | None = None) -> None:
        self._strict = strict
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
            return Held(writes=(*formula.brought, *formula.run(only_starts=False)))
        brings = chunk.state == "pkg" and chunk.fun not in _ONLY_DATABASE
        runs = chunk.state == "service" and chunk.fun not in _OF_BOOT
        if chunk.state in _ACCOUNT_STATES:
            self._made_accounts.update(name for name in writes if name.startswith(_ACCOUNTS))
        if brings:
            return Held(writes=formula.brought)
        if runs:
            return Held(formula.brought, formula.run(only_starts=chunk.fun == "running"))
        if chunk.state == "service":
            return Held(formula.brought)
        if chunk.state in _SOURCES:
            return Held()
        return Held(tuple(self._read(chunk.state, formula, (*reads, *writes), asks=asks)))

    def _read(self, state: str, formula: _Formula, touched: tuple[str, ...], *, asks: bool) -> Iterator[str]:
        yield formula.start
        runs_nothing = state in _RUN_NOTHING and not asks
        if not (runs_nothing and self._is_of_no_package(touched)):
            yield formula.packages
        if asks or not (runs_nothing or state in _ACCOUNT_STATES):
            yield formula.programs
        if asks or state not in _ASK_NO_DAEMON or not all(map(_is_static, touched)):
            yield formula.daemons

    def _is_of_no_package(self, touched: tuple[str, ...]) -> bool:
        """Whether no package can have to do with these resources: neither with the paths nor with the owners."""
        for name in touched:
            if name.startswith(_PATH):
                if may_be_of_a_package(name.removeprefix(_PATH)):
                    return False
            elif name.startswith(_ACCOUNTS) and name not in self._made_accounts:
                _, _, account = name.partition(":")
                if not account.isdigit() and not (self._has_account is not None and self._has_account(name)):
                    return False
        return True

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
    return path.startswith(tuple(f"{top}/" for top in _OF_PACKAGES)) and not path.startswith(_NOT_OF_PACKAGES)


def _is_static(name: str) -> bool:
    """Whether a resource is nothing that a running daemon changes."""
    return not name.startswith(_PATH) or name.startswith(_STATIC, len(_PATH))
