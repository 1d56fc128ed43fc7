"""The ``kmod`` states: modules of the Linux kernel, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __salt__, failed, is_dry_run, make_row, unchanged, would_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LISTS = ("kmod:list", "path:/etc/modules", "path:/etc/modules-load.d/salt_managed.conf")


def __virtual__() -> Any:
    if "kmod.available" in __salt__:
        return True
    return False, "kmod module could not be loaded"


def present(name: str, persist: bool = False, mods: Any = None) -> Row:
    """Make sure that the kernel module ``name``, or each of ``mods`` in its place, is loaded.

    With ``persist`` it is also in the list of modules to load at boot: ``/etc/modules``, under systemd
    ``/etc/modules-load.d/salt_managed.conf``. ::

        br_netfilter:
          kmod.present:
            - persist: True
    """
    wanted = _wanted(name, mods)
    there = set(__salt__["kmod.mod_list"]())
    if persist:
        there &= set(__salt__["kmod.mod_list"](True))
    fine = [mod for mod in wanted if mod in there]
    comments = [_sentence(fine, "is already present", "are already present")]
    missing = [mod for mod in wanted if mod not in there]
    if not missing:
        return unchanged(name, _joined(comments))
    looks = filesystem.judges()
    known = set(__salt__["kmod.available"]() if looks else missing)
    unavailable = [mod for mod in missing if mod not in known]
    comments.append(_sentence(unavailable, "is unavailable", "are unavailable"))
    if is_dry_run():
        set_to = [mod for mod in missing if mod in known]
        comments.append(_sentence(set_to, "is set to be loaded", "are set to be loaded"))
        return (failed if unavailable else would_change)(name, _joined(comments))
    brought: set[str] = set()
    outcome = _Outcome("Loaded kernel module", "Failed to load kernel module")
    for mod in (each for each in missing if each in known):
        done = [mod] if mod in brought else __salt__["kmod.load"](mod, persist)
        outcome.note(mod, done, "loaded")
        brought |= set(done) if not isinstance(done, str) else set()
    result = outcome.result and not unavailable
    return make_row(name, _joined([*comments, *outcome.sentences()]), outcome.changes, result=result)


def absent(name: str, persist: bool = False, comment: bool = True, mods: Any = None) -> Row:
    """Make sure that the kernel module ``name``, or each of ``mods`` in its place, is not loaded.

    With ``persist`` it is not loaded at boot either; its line in that list becomes a comment, or is removed if
    ``comment`` is False. ::

        pcspkr:
          kmod.absent:
            - persist: True
    """
    wanted = _wanted(name, mods)
    there = set(__salt__["kmod.mod_list"]())
    if persist:
        there |= set(__salt__["kmod.mod_list"](True))
    surplus = [mod for mod in wanted if mod in there]
    if not surplus:
        return unchanged(name, _sentence(wanted, "is already removed", "are already removed"))
    if is_dry_run():
        return would_change(name, _sentence(surplus, "is set to be removed", "are set to be removed"))
    outcome = _Outcome("Removed kernel module", "Failed to remove kernel module")
    for mod in surplus:
        outcome.note(mod, __salt__["kmod.remove"](mod, persist, comment), "removed")
    return make_row(name, _joined(outcome.sentences()), outcome.changes, result=outcome.result)


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a kmod state: its modules, with what each adds to the kernel; the list for boot."""
    mods = _wanted(str(low.get("name", "")), low.get("mods"))
    writes = [f"kmod:{mod}" for mod in mods] + [f"path:/sys/module/{mod.replace('-', '_')}" for mod in mods]
    reads = ["path:/etc/modprobe.d/**"]
    return {"reads": reads, "writes": [*writes, *_LISTS] if low.get("persist") else writes}


class _Outcome:
    """The result for each module, reported in at most one sentence per kind of result."""

    def __init__(self, did: str, did_not: str) -> None:
        self._did, self._did_not = did, did_not
        self.result = True
        self.changes: dict[str, str] = {}
        self._done: list[str] = []
        self._nothing: list[str] = []
        self._complaints: list[str] = []

    def note(self, mod: str, done: Any, verb: str) -> None:
        """Record the result of the execution module: the names it changed, or an error."""
        if isinstance(done, str):
            self._complaints.append(f"{self._did_not} {mod}: {done}")
        elif done:
            self.changes.update(dict.fromkeys(done, verb))
            self._done.append(mod)
            return
        else:
            self._nothing.append(mod)
        self.result = False

    def sentences(self) -> Iterable[str]:
        """Yield the sentences of the comment."""
        for words, mods in ((self._did, self._done), (self._did_not, self._nothing)):
            yield f"{words}{'s' if len(mods) > 1 else ''} {', '.join(mods)}" if mods else ""
        yield from self._complaints


def _wanted(name: str, mods: Any) -> list[str]:
    return list(dict.fromkeys(map(str, mods))) if isinstance(mods, (list, tuple)) else [name]


def _sentence(mods: list[str], one: str, several: str) -> str:
    if not mods:
        return ""
    return f"Kernel module {mods[0]} {one}" if len(mods) == 1 else f"Kernel modules {', '.join(mods)} {several}"


def _joined(comments: Iterable[str]) -> str:
    return "\n".join(comment.rstrip() for comment in comments if comment)
