"""Transactions of package managers: changes and errors are reported together at the end."""

from __future__ import annotations

import fnmatch
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __salt__, is_dry_run, unchanged
from asyncstate.errors import CommandExecutionError, InvocationError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from ._package_listing import Downloads, Listing

Changes = dict[str, Any]
Answer = dict[str, Any]


def checked_name(name: str) -> str:
    """Return the name of a package. CommandExecutionError for one that its manager would read as an option."""
    if not name.isprintable():
        raise CommandExecutionError(f"{name!r} cannot be the name of a package: it has a line break or such in it")
    if name.startswith("-"):
        raise CommandExecutionError(f"{name!r} cannot be the name of a package: it begins with a dash")
    return name


class Transaction:
    """Commands that change packages, between two listings of the installed packages.

    ``call`` runs a command and returns a result like ``cmd.run_all``; ``fine`` has the exit statuses of success.
    """

    def __init__(
        self, listing: Listing | Downloads, call: Callable[..., Answer], *, fine: Collection[int] = (0,)
    ) -> None:
        self._listing = listing
        self._call = call
        self._fine = fine
        self.before = listing.get()
        self.errors: list[str] = []
        self.answer: Answer = {}

    def run(self, *arguments: str) -> Answer:
        """Run one command; `finish` reports its failure."""
        self.answer = self._call([*arguments])
        if self.answer["retcode"] not in self._fine:
            self.errors.append(reason(self.answer))
        return self.answer

    def finish(self, problem: str, *, reinstalled: Iterable[str] = ()) -> Changes:
        """Return the changes; ``reinstalled`` packages count as changed.

        If a command failed, raises CommandExecutionError ``problem``, with ``errors`` and ``changes`` in its ``info``.
        """
        self._listing.forget()
        after = self._listing.get()
        done = changes(self.before, after)
        for name in reinstalled:
            done.setdefault(name, {"old": self.before.get(name, ""), "new": after.get(name, "")})
        if self.errors:
            raise CommandExecutionError(problem, {"errors": self.errors, "changes": done})
        return done


def changes(old: dict[str, Any], new: dict[str, Any]) -> Changes:
    """Return the differences between two lists of packages, sorted by name."""
    return {
        name: {"old": old.get(name, ""), "new": new.get(name, "")}
        for name in sorted({*old, *new})
        if old.get(name, "") != new.get(name, "")
    }


def local_file(path: str, saltenv: str) -> str:
    """Return the local path of a package file, fetched if ``path`` is a URL. CommandExecutionError if there is none."""
    if __salt__["config.valid_fileproto"](path):
        cached = __salt__["cp.cache_file"](path, saltenv)
        if not cached:
            raise CommandExecutionError(f"Unable to retrieve {path} from saltenv '{saltenv}'")
        return str(cached)
    if not os.path.exists(path):
        raise CommandExecutionError(f"{path} does not exist on minion")
    return path


def reason(answer: Answer) -> str:
    """Return the message of a command that failed."""
    return str(answer["stderr"] or answer["stdout"] or f"the command ended with exit status {answer['retcode']}")


def one_or_all(names: tuple[str, ...], found: dict[str, Any]) -> Any:
    """Return the answer for a single name itself, the answers for several names by name."""
    return found[names[0]] if len(names) == 1 else found


def to_remove(name: str | None, pkgs: Any, installed: dict[str, str]) -> dict[str, str | None]:
    """Return the installed ones among the named packages, with the version to remove (None: any)."""
    wanted, _ = __salt__["pkg_resource.parse_targets"](name, pkgs)
    found: dict[str, str | None] = {}
    for package, version in (wanted or {}).items():
        for match in fnmatch.filter(installed, package) if "*" in package else [package]:
            if match in installed and (not version or version in installed[match].split(",")):
                found[match] = version or None
    return found


def hold_rows(
    names: Iterable[str],
    held: Collection[str],
    change: Callable[[str], bool],
    *,
    wanted: bool,
    not_held: str = "is not being held",
) -> dict[str, dict[str, Any]]:
    """Hold (``wanted``) or release packages with ``change``; return a row (name, result, changes, comment) for each."""
    rows = {}
    for name in names:
        row = unchanged(name)
        if (name in held) == wanted:
            row["comment"] = f"Package {name} {'is already set to be held' if wanted else not_held}."
        elif is_dry_run():
            row.update(result=None, comment=f"Package {name} is set to be {'' if wanted else 'un'}held.")
        elif change(name):
            row["changes"] = {"new": "hold" if wanted else "", "old": "" if wanted else "hold"}
            row["comment"] = f"Package {name} is {'now being' if wanted else 'no longer'} held."
        else:
            row.update(result=False, comment=f"Package {name} was unable to be {'' if wanted else 'un'}held.")
        rows[name] = row
    return rows


@contextmanager
def without_holds(names: Iterable[str], unhold: Callable[..., Any], hold: Callable[..., Any]) -> Iterator[None]:
    """Release held packages during the block, then hold them at their new version."""
    held = sorted(names)
    if held:
        unhold(pkgs=held)
    try:
        yield
    finally:
        if held:
            hold(pkgs=held)


def named(name: str | None, pkgs: Any, sources: Any = None) -> dict[str, str | None]:
    """Return the packages named for a ``hold``, with the given versions. InvocationError if ambiguous."""
    if not name and not pkgs and not sources:
        raise InvocationError("One of name, pkgs, or sources must be specified.")
    if pkgs and sources:
        raise InvocationError("Only one of pkgs or sources can be specified.")
    found: dict[str, str | None] = {}
    for each in pkgs or sources or [name]:
        package, version = next(iter(each.items())) if isinstance(each, dict) else (each, None)
        found[checked_name(str(package))] = None if version is None or sources else str(version)
    return found
