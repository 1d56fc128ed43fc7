"""Turns the accesses of a run's states into records, and keeps them in the state directory."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from asyncstate.effects.observed import Observed
from asyncstate.errors import AsyncStateError, Issue
from asyncstate.extras.proof.trace import store
from asyncstate.extras.proof.trace.learned import Effects, LearnedEffects, Record, chunk_key
from asyncstate.extras.proof.trace.touched import CHANGES, LOOKED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from asyncstate.extras.proof.trace.witness import Trace
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.run.assembly import Parts

_SYSTEM = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/")
"""Folders whose programs are no part of a state's text: an upgrade of the system changes all of them at once."""
_MOST_INPUTS = 64
_SALT = "salt://"


class Learning:
    """Records the effects of one plan's states in the table of the state directory."""

    def __init__(self, plan: Plan, parts: Parts) -> None:
        self._plan = plan
        self._parts = parts
        self._state_dir = parts.settings.state_dir
        self._digest = store.Digests()

    def keep(self, trace: Trace, worked: set[int]) -> list[Issue]:
        """Add records to the table; return warnings of failures. ``worked`` are chunks that succeeded with changes."""
        touched, unseen = trace.touched(), trace.unseen()
        shown = self._parts.shown(self._plan)
        records = [
            record
            for chunk, as_shown in zip(self._plan.chunks, shown.chunks, strict=True)
            if (flags := touched.get(chunk.index))
            and (record := self._record(chunk, as_shown, flags, whole=chunk.index in worked - unseen.keys()))
        ]
        try:
            store.save(self._state_dir, records)
        except (OSError, AsyncStateError) as error:
            return [Issue(f"what the states touched could not be kept in {self._state_dir}: {error}")]
        return []

    def _record(self, chunk: LowChunk, shown: LowChunk, flags: Mapping[str, int], *, whole: bool) -> Record | None:
        effects = Effects.of(flags)
        if effects is None or not self._may_be_kept(effects):
            return None
        inputs = self._inputs(chunk, flags)
        if inputs is None or len(inputs) > _MOST_INPUTS:
            return None
        return Record(
            function=chunk.function,
            key=chunk_key(chunk),
            sls=shown.sls,
            id=shown.id,
            text=str(shown.name),
            effects=effects,
            inputs=inputs,
            programs=tuple(path for path in inputs if os.access(path, os.X_OK)),
            whole=whole,
            seen=time.time(),
        )

    def _may_be_kept(self, effects: Effects) -> bool:
        """Whether no path holds a secret."""
        harmless = self._parts.secrets.redactor.harmless
        return all(harmless(name) for name in (*effects.reads, *effects.writes, *effects.makes))

    def _inputs(self, chunk: LowChunk, flags: Mapping[str, int]) -> dict[str, str] | None:
        """Return the digests of the files that are part of the text of a state; None if one is unknown.

        Bundled states that declare their effects need none: the declaration counts.
        """
        function = self._parts.host.loaders["states"].find(chunk.function)
        if function is not None and not Observed.replaces(chunk, bundled=function.module.bundled):
            return {}
        words = "\n".join(chunk.texts(own=True))
        paths = [
            path
            for path, what in flags.items()
            if what & LOOKED and not what & CHANGES and not path.startswith(_SYSTEM) and _is_text(path, words)
        ]
        found = {path: digest for path in paths if (digest := self._digest(path))}
        module = [] if function is None or function.module.bundled else [function.module.file]
        for path in (*module, *self._sources(chunk, words)):
            found[path] = self._digest(path)
        return found if all(found.values()) else None

    def _sources(self, chunk: LowChunk, words: str) -> list[str]:
        files = self._parts.host.file_client
        names = [line[len(_SALT) :] for line in words.splitlines() if line.startswith(_SALT)]
        found = [files.find(name.partition("?")[0], chunk.env) for name in names if files is not None]
        return [path for path in found if path]


def _is_text(path: str, words: str) -> bool:
    return os.path.isfile(path) and (os.path.basename(path) in words or os.access(path, os.X_OK))


def learned_effects(state_dir: str) -> Callable[[LowChunk], Observed | None]:
    """Return the learned effects from the table in the state directory. Raises ConfigError for a bad table."""
    return LearnedEffects(store.load(state_dir), store.Digests()).of
