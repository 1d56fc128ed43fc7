"""Held packages, through zypper's locks."""

from __future__ import annotations

from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import failed
from asyncstate.errors import CommandExecutionError

from .._package_transactions import hold_rows, named  # noqa: TID252 - as `modules` for type checkers
from .._rpm_database import LISTING  # noqa: TID252 - as `modules` for type checkers
from ._programs import FINE, call

_FILE = "/etc/zypp/locks"


def list_locks(root: str | None = None) -> dict[str, dict[str, str]]:
    """Return the locks by package: ``type``, ``match_type``, ``case_sensitive`` and, if it has one, ``version``."""
    try:
        with filesystem.open_text(f"{root.rstrip('/')}{_FILE}" if root else _FILE) as file:
            stanzas = file.read().split("\n\n")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise CommandExecutionError(f"Cannot read {_FILE}: {error.strerror}") from error
    found: dict[str, dict[str, str]] = {}
    for stanza in stanzas:
        pairs = (line.partition(":") for line in stanza.splitlines() if ":" in line and line[:1] != "#")
        lock = {key.strip(): value.strip() for key, _, value in pairs}
        name = lock.pop("solvable_name", "")
        if name:
            found[name] = lock
    return found


def list_holds(pattern: str | None = None, full: bool = True, **kwargs: Any) -> list[str]:
    """Return the installed packages that are locked: names, or with ``full`` versions, as ``sun-0:1.0-1.*``."""
    import fnmatch  # noqa: PLC0415 - only reading the locks needs it

    locked = [name for name, lock in list_locks().items() if lock.get("type", "package") == "package"]
    found = []
    for name, versions in LISTING.get(versions_as_list=True).items():
        if any(fnmatch.fnmatchcase(name, each) for each in locked):
            found += [f"{name}-{each if ':' in each else f'0:{each}'}.*" for each in versions] if full else [name]
    return found if pattern is None else [each for each in found if fnmatch.fnmatch(each, pattern)]


def hold(name: str | None = None, pkgs: Any = None, sources: Any = None, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Hold packages at their version, or at the given one. Returns a row (name, result, changes, comment) for each."""
    wanted = named(name, pkgs, sources)
    return hold_rows(wanted, list_locks(), lambda each: _lock("addlock", each, wanted[each]), wanted=True)


def unhold(name: str | None = None, pkgs: Any = None, sources: Any = None, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Release held packages. Returns a row (name, result, changes, comment) for each.

    A lock on another version than the given one stays, and the row is a failure.
    """
    wanted = named(name, pkgs, sources)
    locks = list_locks()
    held = {each: str(locks[each].get("version", "")).lstrip("= ") for each in locks}
    others = [each for each, version in wanted.items() if version and held.get(each) and held[each] != version]
    rows = hold_rows(
        [each for each in wanted if each not in others],
        locks,
        lambda each: _lock("removelock", each, held[each]),
        wanted=False,
        not_held="was already unheld",
    )
    for each in others:
        comment = f"Unable to unhold package {each} as it is held with the other version."
        rows[each] = failed(each, comment)
    return {each: rows[each] for each in wanted}


def _lock(action: str, name: str, version: str | None) -> bool:
    return call([action, f"{name}={version}" if version else name])["retcode"] in FINE
