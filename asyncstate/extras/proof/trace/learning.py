"""Turns the accesses of a run's states into records, and keeps them in the state directory."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Protocol

from asyncstate.errors import AsyncStateError, Issue
from asyncstate.extras.proof.trace import store
from asyncstate.extras.proof.trace.learned import Effects, LearnedEffects, Record
from asyncstate.extras.proof.trace.touched import CHANGES, LOOKED

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from asyncstate.extras.proof.trace.learned import Known
    from asyncstate.extras.proof.trace.witness import Trace
    from asyncstate.model.plan import Plan

_SYSTEM = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/")
"""Folders whose programs are no part of a state's text: an upgrade of the system changes all of them at once."""
_MOST_INPUTS = 64


class Work(Protocol):
    """What a state does: an `asyncstate.assembly.StateWork`."""

    index: int
    function: str
    key: str
    sls: str
    id: str
    name: str
    words: str
    files: tuple[str, ...] | None


class Parts(Protocol):
    """The runtime of a run: an `asyncstate.assembly.Parts`."""

    own_folders: tuple[str, ...]
    state_dir: str

    def harmless(self, text: str) -> bool:
        """Whether a text has no secret."""

    def works(self, plan: Plan, wanted: Container[int]) -> Iterator[Work]:
        """Yield what these states of a plan do, by index."""


class Learning:
    """Records the effects of one plan's states in the table of the state directory."""

    def __init__(self, plan: Plan, parts: Parts) -> None:
        self._plan = plan
        self._parts = parts
        self._digest = store.Digests()

    def keep(self, trace: Trace, worked: set[int]) -> list[Issue]:
        """Add records to the table; return warnings of failures. ``worked`` are chunks that succeeded with changes."""
        touched, unseen = {chunk: flags for chunk, flags in trace.touched().items() if flags}, trace.unseen()
        records = [
            record
            for work in self._parts.works(self._plan, touched)
            if (record := self._record(work, touched[work.index], whole=work.index in worked - unseen.keys()))
        ]
        try:
            store.save(self._parts.state_dir, records)
        except (OSError, AsyncStateError) as error:
            return [Issue(f"what the states touched could not be kept in {self._parts.state_dir}: {error}")]
        return []

    def _record(self, work: Work, flags: Mapping[str, int], *, whole: bool) -> Record | None:
        effects = Effects.of(flags)
        if effects is None or not self._may_be_kept(effects):
            return None
        inputs = self._inputs(work, flags)
        if inputs is None or len(inputs) > _MOST_INPUTS:
            return None
        return Record(
            function=work.function,
            key=work.key,
            sls=work.sls,
            id=work.id,
            text=work.name,
            effects=effects,
            inputs=inputs,
            programs=tuple(path for path in inputs if os.access(path, os.X_OK)),
            whole=whole,
            seen=time.time(),
        )

    def _may_be_kept(self, effects: Effects) -> bool:
        """Whether no path holds a secret."""
        return all(map(self._parts.harmless, (*effects.reads, *effects.writes, *effects.makes)))

    def _inputs(self, work: Work, flags: Mapping[str, int]) -> dict[str, str] | None:
        """Return the digests of the files that are part of the text of a state; None if one is unknown.

        Bundled states that declare their effects need none: the declaration counts.
        """
        if work.files is None:
            return {}
        paths = [
            path
            for path, what in flags.items()
            if what & LOOKED and not what & CHANGES and not path.startswith(_SYSTEM) and _is_text(path, work.words)
        ]
        found = {path: digest for path in paths if (digest := self._digest(path))}
        for path in work.files:
            found[path] = self._digest(path)
        return found if all(found.values()) else None


def _is_text(path: str, words: str) -> bool:
    return os.path.isfile(path) and (os.path.basename(path) in words or os.access(path, os.X_OK))


def learned_effects(state_dir: str) -> Callable[[str], Known | None]:
    """Return the learned effects from the table in the state directory. Raises ConfigError for a bad table."""
    return LearnedEffects(store.load(state_dir), store.Digests()).of
