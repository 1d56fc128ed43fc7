"""RedactedPlan: redacts a plan, and the events and the report of its run.

Inside the engine every state keeps its true ID and name, so that requisites find it. Everything that leaves the engine
(events, the report, a graph of the plan) passes through this class.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from asyncstate.data.urls import without_credentials
from asyncstate.model.chunk import LISTENER, parse_tag, state_tag
from asyncstate.model.event import (
    ChunkFinished,
    ChunkOutput,
    ChunkReady,
    ChunkRetried,
    ChunkStarted,
    Event,
    PrefetchEnded,
    PrefetchStarted,
    RunFinished,
    RunStarted,
    StateEvent,
)
from asyncstate.model.plan import NodeKind, chunk_texts, plan_digest
from asyncstate.model.result import Race
from asyncstate.redact import MASK, Redactor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Node, Plan
    from asyncstate.model.result import Row, RunReport
    from asyncstate.redact import Secrets

_E = TypeVar("_E", bound=Event)


class _Names:
    """The shown names of states under one redactor, made when the secrets had changed ``changes`` times.

    ``others`` are tags that are not in the plan.
    """

    __slots__ = ("changes", "chunks", "others", "redactor", "tags", "taken")

    def __init__(self, redactor: Redactor, changes: int) -> None:
        self.redactor = redactor
        self.changes = changes
        self.chunks: dict[str, LowChunk] = {}
        self.tags: dict[str, str] = {}
        self.others: dict[str, str] = {}
        self.taken: set[str] | None = None


class RedactedPlan:
    """Hides secrets, and the data of ``no_log`` states, in the events, rows and tags of one plan.

    Different tags stay different: if two would look the same, the name of each is followed by the number of its state
    in the serial order. A tag is the same in every event and in the report, unless a secret becomes known in between.
    May be used from any thread at any time, as the log lines of states do.
    """

    def __init__(self, plan: Plan, secrets: Secrets) -> None:
        self._plan = plan
        self._secrets = secrets
        self._known = secrets.texts
        self._lock = threading.Lock()
        self._names_now: _Names | None = None
        listeners = (plan.chunks[node.chunk].as_listener() for node in plan.listeners)
        self._called: dict[str, LowChunk] = {chunk.tag: chunk for chunk in (*plan.chunks, *listeners)}
        self._hushed = {tag: chunk.id for tag, chunk in self._called.items() if chunk.args.get("no_log")}

    def prepare(self) -> None:
        """Do the work of the first use now: it takes a while for a large plan."""
        self._snapshot()
        _ = self.digest

    @cached_property
    def digest(self) -> str:
        """The digest of the shown plan; the plan's own digest if nothing in it is hidden.

        The plan's own digest would let its readers try all likely passwords.
        """
        plan = self._plan
        redactor = self._snapshot()
        if not self._hushed and all(map(redactor.harmless, chunk_texts(plan.chunks))):
            return plan.digest
        return plan_digest(self._shown_chunks(), plan.nodes, plan.dag, plan.contingent)

    def _snapshot(self) -> Redactor:
        """Return the redactor for the secrets known now."""
        return self._current().redactor

    def _current(self) -> _Names:
        """Return the names for the secrets known now. No other thread sees them before they are complete."""
        while True:
            changes, names = self._secrets.changes, self._names_now
            if names is not None and names.changes == changes:
                return names
            made = self._names_with(self._secrets.redactor, changes)
            with self._lock:
                is_known = self._names_now is not None and self._names_now.changes == changes
                if not is_known and self._secrets.changes == changes:
                    self._names_now = made

    def _names_with(self, redactor: Redactor, changes: int) -> _Names:
        names = _Names(redactor, changes)
        for tag, chunk in self._called.items():
            shown = self._named(tag, chunk, redactor)
            if shown is not chunk:
                names.chunks[tag], names.tags[tag] = shown, shown.tag
        if names.tags:
            self._tell_apart(names)
        return names

    def _named(self, tag: str, chunk: LowChunk, redactor: Redactor) -> LowChunk:
        if tag not in self._hushed and redactor.harmless(tag + chunk.sls):
            return chunk
        id_, name, sls = redactor.value(chunk.id), redactor.value(chunk.name), redactor.text(chunk.sls)
        if tag in self._hushed and chunk.name != chunk.id.removeprefix(LISTENER):
            name = MASK
        if (id_, name, sls) == (chunk.id, chunk.name, chunk.sls):
            return chunk
        return msgspec.structs.replace(chunk, id=id_, name=name, sls=sls)

    def _tell_apart(self, names: _Names) -> None:
        alike: dict[str, list[str]] = {}
        for tag in self._called:
            alike.setdefault(names.tags.get(tag, tag), []).append(tag)
        taken = set(alike)
        for tag in (tag for tags in alike.values() if len(tags) > 1 for tag in tags):
            shown = names.chunks.get(tag) or self._called[tag]
            name = shown.name
            while shown.tag in taken:
                name = f"{name} ({shown.index + 1})"
                shown = msgspec.structs.replace(shown, name=name)
            taken.add(shown.tag)
            names.chunks[tag], names.tags[tag] = shown, shown.tag

    def hush(self, tag: str, id_: str) -> None:
        """Apply ``no_log`` to ``tag``, which is not in the plan: the state ``id_`` returned it as a sub-state."""
        self._hushed[tag] = id_

    def text(self, text: str) -> str:
        """Return ``text`` without secrets."""
        return self._snapshot().text(text)

    def is_open(self, chunk: LowChunk) -> bool:
        """Whether nothing of a chunk needs hiding, except passwords in URLs."""
        return not self._known and not (self._hushed and chunk.tag in self._hushed)

    def value(self, value: Any) -> Any:
        """Return plain data without secrets."""
        return self._snapshot().value(value)

    def chunk(self, chunk: LowChunk, tag: str) -> LowChunk:
        """Return the chunk of a (true) tag, a listener too, with its ID, name and SLS without secrets."""
        return self._current().chunks.get(tag) or self._called.get(tag, chunk)

    def tag(self, tag: str) -> str:
        """Return a tag without secrets; different tags stay different."""
        names = self._current()
        shown = names.tags.get(tag) or (tag if tag in self._called else names.others.get(tag))
        return shown or self._other(tag, names)

    def _other(self, tag: str, names: _Names) -> str:
        """Name a tag that a state returned, each part of which may contain a secret."""
        redactor = names.redactor
        first = self._hushed_tag(tag, redactor) if tag in self._hushed else _every_part(tag, redactor)
        with self._lock:
            shown = names.others.get(tag)
            if shown is None:
                shown, number = first, 1
                if names.taken is None:
                    names.taken = {names.tags.get(each, each) for each in self._called}
                while shown in names.taken:
                    number += 1
                    shown = _numbered(first, number)
                names.taken.add(shown)
                names.others[tag] = shown
        return shown

    def _hushed_tag(self, tag: str, redactor: Redactor) -> str:
        parts = parse_tag(tag)
        id_ = redactor.text(self._hushed[tag])
        name = id_ if parts.name == self._hushed[tag] else MASK
        return state_tag(redactor.text(parts.state), id_, name, redactor.text(parts.fun))

    def row(self, tag: str, row: Mapping[str, Any]) -> Row:
        """Return a copy of the row of a (true) tag, without secrets."""
        shown = self._snapshot().row(row)
        if tag not in self._hushed:
            return shown
        from asyncstate.redact.no_log import hush_row  # noqa: PLC0415 - few plans have such states

        return hush_row(shown, shown.get("__id__"))

    def _row_or_copy(self, tag: str, row: Row, redactor: Redactor) -> Row:
        """Return the row itself if it needs no change, as most rows, else a copy without secrets."""
        if tag not in self._hushed and redactor.leaves(row):
            return row
        shown = self.row(tag, row)
        return row if shown == row else shown

    def event(self, event: _E) -> _E:
        """Return an event without secrets. The tags of the given event are true ones."""
        return msgspec.structs.replace(event, **self._fields(event))

    def _fields(self, event: Event) -> dict[str, Any]:
        redactor = self._snapshot()
        match event:
            case ChunkReady():
                hushed = not self._hushed.keys().isdisjoint((event.tag, event.after))
                return {
                    "tag": self.tag(event.tag),
                    "after": event.after and self.tag(event.after),
                    "resources": tuple(MASK if hushed else redactor.text(name) for name in event.resources),
                }
            case ChunkStarted():
                id_, name = self._names(event.tag, event.id, event.name)
                return {"tag": self.tag(event.tag), "id": id_, "name": name, "sls": redactor.text(event.sls)}
            case ChunkRetried():
                comment = MASK if event.tag in self._hushed else redactor.text(event.comment)
                return {"tag": self.tag(event.tag), "comment": comment}
            case ChunkOutput():
                # With a number of seconds, the text is the engine's own.
                hushed = event.tag in self._hushed and not event.seconds
                return {"tag": self.tag(event.tag), "text": MASK if hushed else redactor.text(event.text)}
            case ChunkFinished():
                subs = {self.tag(tag): self.row(tag, row) for tag, row in event.sub_rows.items()} or event.sub_rows
                return {"tag": self.tag(event.tag), "row": self.row(event.tag, event.row), "sub_rows": subs}
            case PrefetchStarted():
                return {"tag": self.tag(event.tag), "what": self._fetched(event.tag, event.what)}
            case PrefetchEnded():
                what, text = (self._fetched(event.tag, said) for said in (event.what, event.text))
                return {"tag": self.tag(event.tag), "what": what, "text": text}
            case StateEvent():
                return {"name": redactor.text(event.name), "row": redactor.row(event.row)}
            case RunStarted():
                return {
                    "digest": self.digest,
                    "warnings": tuple(map(redactor.text, event.warnings)),
                    "phases": tuple(
                        msgspec.structs.replace(phase, name=redactor.text(phase.name)) for phase in event.phases
                    ),
                }
            case RunFinished():
                return {
                    "not_started": tuple(map(self.tag, event.not_started)),
                    "cancelled": redactor.text(event.cancelled),
                    "warnings": tuple(map(redactor.text, event.warnings)),
                    "races": tuple(map(self.race, event.races)),
                    "handled": tuple(map(self.tag, event.handled)),
                    "rows": {self.tag(tag): self.row(tag, row) for tag, row in event.rows.items()},
                }
        return {}

    def _fetched(self, tag: str, text: str) -> str:
        """Return the text of a fetch, without passwords in URLs; masked for a state with ``no_log``."""
        return MASK if tag in self._hushed and text else self._snapshot().text(without_credentials(text))

    def _names(self, tag: str, id_: str, name: str) -> tuple[str, str]:
        """Return the ID and the name of a tag, without secrets."""
        names = self._current()
        known = names.chunks.get(tag) or self._called.get(tag)
        if known is not None:
            return known.id, known.name
        hushed = tag in self._hushed and name != id_
        return names.redactor.text(id_), MASK if hushed else names.redactor.value(name)

    def state_event(self, chunk: LowChunk, asked: object) -> str:
        """Return the end of the event name for ``fire_event: asked``, without secrets."""
        if asked is True:
            return "/".join(map(str, self._names(chunk.tag, chunk.id, chunk.name)))
        return MASK if chunk.tag in self._hushed else self.text(str(asked))

    def report(self, report: RunReport) -> RunReport:
        """Return a report without secrets. It shares the rows that need no change, which are most of them."""
        names = self._current()
        redactor = names.redactor
        same = self._called if not names.tags else {}
        return msgspec.structs.replace(
            report,
            rows={
                tag if tag in same else self.tag(tag): self._row_or_copy(tag, row, redactor)
                for tag, row in report.rows.items()
            },
            not_started=tuple(map(self.tag, report.not_started)),
            handled=tuple(map(self.tag, report.handled)),
            warnings=tuple(map(redactor.issue, report.warnings)),
            notices=tuple(map(redactor.text, report.notices)),
            races=tuple(map(self.race, report.races)),
            cancelled=redactor.text(report.cancelled),
            digest=self.digest,
        )

    def race(self, race: Race) -> Race:
        """Return a race without secrets."""
        text = self._snapshot().text
        earlier, later = (
            msgspec.structs.replace(state, tag=self.tag(state.tag), id=text(state.id), file=text(state.file))
            for state in (race.earlier, race.later)
        )
        contacts = tuple(msgspec.structs.replace(each, path=text(each.path)) for each in race.contacts)
        return Race(earlier, later, contacts, {module: text(id_) for module, id_ in race.require.items()})

    @property
    def plan(self) -> Plan:
        """The plan without secrets: the same graph, with redacted names and arguments."""
        redactor = self._snapshot()
        plan = self._plan
        broken = tuple(
            msgspec.structs.replace(one, tag=self.tag(one.tag), row=redactor.row(one.row))
            for one in plan.broken_listeners
        )
        return msgspec.structs.replace(
            plan,
            chunks=self._shown_chunks(),
            nodes=tuple(map(self.node, plan.nodes)),
            dag=plan.dag.renamed(self.resources),
            contingent=tuple(
                msgspec.structs.replace(edge, resources=self.resources(edge.before, edge.after, edge.resources))
                for edge in plan.contingent
            ),
            entries={},
            broken_listeners=broken,
            unknown={chunk: self._reason(chunk, why, redactor) for chunk, why in plan.unknown.items()},
            not_aggregated={chunk: redactor.text(why) for chunk, why in plan.not_aggregated.items()},
            contradictions=tuple(
                msgspec.structs.replace(
                    each,
                    message=redactor.text(each.message),
                    hint=redactor.text(each.hint),
                    thing=redactor.text(each.thing),
                    made=redactor.text(each.made),
                )
                for each in plan.contradictions
            ),
            rows={self.tag(tag): self.row(tag, row) for tag, row in plan.rows.items()},
            warnings=tuple(map(redactor.issue, plan.warnings)),
            digest=self.digest,
        )

    def _shown_chunks(self) -> tuple[LowChunk, ...]:
        return tuple(
            msgspec.structs.replace(self.chunk(chunk, chunk.tag), args=self.arguments(chunk, chunk.tag))
            for chunk in self._plan.chunks
        )

    def resources(self, before: int, after: int, resources: tuple[str, ...]) -> tuple[str, ...]:
        """Return the resources of an edge without secrets: masked if either state has ``no_log``."""
        ends = (self._plan.nodes[before].chunk, self._plan.nodes[after].chunk)
        if any(chunk >= 0 and self._plan.chunks[chunk].tag in self._hushed for chunk in ends):
            return (MASK,)
        redactor = self._snapshot()
        return tuple(map(redactor.text, resources))

    def _reason(self, chunk: int, why: str, redactor: Redactor) -> str:
        return MASK if self._plan.chunks[chunk].tag in self._hushed else redactor.text(why)

    def node(self, node: Node) -> Node:
        """Return a node of the plan without secrets."""
        shown = self.tag(node.label) if node.kind is NodeKind.LISTENER else self.text(node.label)
        return node if shown == node.label else msgspec.structs.replace(node, label=shown)

    def arguments(self, chunk: LowChunk, tag: str) -> dict[str, Any]:
        """Return the arguments of a chunk of the plan without secrets: as many, in the same order."""
        args: dict[str, Any] = self._snapshot().value(chunk.args)
        if not self._hushed:
            return args
        from asyncstate.redact.no_log import hush_arguments, hush_references  # noqa: PLC0415 - as above

        args = hush_references(args, self._hidden_names)
        return hush_arguments(args) if tag in self._hushed else args

    def shows(self, chunk_tag: str, text: str) -> bool:
        """Whether the text of a chunk's arguments surely needs no redaction. False means: search it."""
        hushed = chunk_tag in self._hushed or bool(self._hidden_names)
        return not hushed and self._snapshot().harmless(text)

    @cached_property
    def _hidden_names(self) -> frozenset[str]:
        """The names of states with ``no_log``, which requisites of other states may mention."""
        chunks = self._plan.chunks
        hushed = (chunk.name for chunk in chunks if chunk.tag in self._hushed) if self._hushed else ()
        names = frozenset(name for name in hushed if isinstance(name, str))
        return names - {chunk.id for chunk in chunks} if names else names


def _every_part(tag: str, redactor: Redactor) -> str:
    try:
        parts = parse_tag(tag)
    except ValueError:
        return redactor.text(tag)
    return state_tag(*map(redactor.text, (parts.state, parts.id, parts.name, parts.fun)))


def _numbered(tag: str, number: int) -> str:
    try:
        parts = parse_tag(tag)
    except ValueError:
        return f"{tag} ({number})"
    return state_tag(parts.state, parts.id, f"{parts.name} ({number})", parts.fun)
