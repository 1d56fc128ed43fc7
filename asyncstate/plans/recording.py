"""PlanRecorder: makes the record of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from asyncstate._version import __version__
from asyncstate.data.limits import rare_collections
from asyncstate.model.encode import encoded, plain, utf8
from asyncstate.model.plan import NodeKind
from asyncstate.plans.inputs import MARK, canonical
from asyncstate.plans.record import (
    VERSION,
    ChunkRecord,
    ContingentRecord,
    EdgeRecord,
    Inputs,
    NodeRecord,
    PlanRecord,
    Selection,
    encode_pieces,
)
from asyncstate.redact.redacted_plan import RedactedPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Node, Plan
    from asyncstate.plans.inputs import Key
    from asyncstate.redact import Secrets


class Treatment(msgspec.Struct, frozen=True):
    """The treatment of a plan's states in a run: by index, as in `Machine`."""

    failhard: frozenset[int] = frozenset()
    exclusive: frozenset[int] = frozenset()
    lanes: dict[int, tuple[str, ...]] = {}
    limits: dict[str, int] = {}


class PlanRecorder:
    """Makes the record of a plan, without the secrets known now and the values that ``no_log`` hides.

    ``chunks[i]`` is the record of chunk ``i``. The same plan always has an equal record.
    """

    def __init__(
        self,
        plan: Plan,
        shown: RedactedPlan | Secrets,
        key: Key,
        *,
        inputs: Inputs = Inputs(),  # noqa: B008 - frozen
        selection: Selection = Selection(),  # noqa: B008 - frozen
        treatment: Treatment = Treatment(),  # noqa: B008 - frozen
        host: str = "",
    ) -> None:
        self._plan = plan
        self._shown = shown if isinstance(shown, RedactedPlan) else RedactedPlan(plan, shown)
        self._key = key
        self._treatment = treatment
        text = self._shown.text
        self._frame = PlanRecord(
            version=VERSION,
            program=__version__,
            host=host,
            key=key.name,
            digest=key.of_value("plan", plan.digest),
            selection=selection,
            inputs=structs.replace(
                inputs,
                pillar={utf8(text(name)): digest for name, digest in inputs.pillar.items()},
                grains={utf8(text(name)): digest for name, digest in inputs.grains.items()},
            ),
            rank=plan.rank,
            lanes=dict(treatment.limits),
        )

    def record(self) -> PlanRecord:
        """Return the record."""
        with rare_collections():
            parts = self._parts(msgspec.json.decode)
            return structs.replace(self._frame, **{name: tuple(part) for name, part in parts.items()})

    def encoded(self) -> Iterator[bytes]:
        """Yield the record as JSON, in pieces of about 64 KiB: the record of a large plan is larger than the plan."""
        return encode_pieces(self._frame, self._parts(msgspec.Raw))

    def _parts(self, read: Callable[[bytes], Any]) -> dict[str, Iterator[msgspec.Struct]]:
        plan = self._plan
        return {
            "chunks": map(_ChunkRecorder(plan, self._shown, self._key, self._treatment, read).record, plan.chunks),
            "nodes": (_node(self._shown.node(node)) for node in plan.nodes[len(plan.chunks) :]),
            "edges": (
                EdgeRecord(before, after, sources, self._resources(before, after, names))
                for before, after, sources, names in plan.dag.joined()
            ),
            "contingent": (
                ContingentRecord(
                    edge.before, edge.after, edge.proof, self._resources(edge.before, edge.after, edge.resources)
                )
                for edge in plan.contingent
            ),
        }

    def _resources(self, before: int, after: int, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(utf8, self._shown.resources(before, after, names))) if names else ()


def _digest(chunk: LowChunk, args: bytes, targets: _Targets, key: Key) -> str:
    name: Any = chunk.name
    refers = [(each.kind.value, targets.of(each.node)) for each in targets.plan.requisites[chunk.index]]
    head = [chunk.state, chunk.fun, chunk.id, name, chunk.sls, chunk.env, refers]
    try:
        said = encoded(head) if type(name) is str else canonical(head)
    except UnicodeEncodeError:
        said = canonical(head)
    return key.bytes(b"%d %b%b" % (len(said), said, args))


class _Targets:
    """The form of a node in the digest of a chunk that refers to it."""

    def __init__(self, plan: Plan, key: Key) -> None:
        self.plan = plan
        self._key = key
        self._sets: dict[int, str] = {}

    def of(self, node: int) -> str:
        chunks = self.plan.chunks
        if node < len(chunks):
            return chunks[node].tag
        what = self.plan.nodes[node]
        if what.kind is NodeKind.CHECK:
            return f"check {chunks[what.chunk].tag}"
        if what.kind is NodeKind.REMOTE:
            return f"elsewhere {what.label}"
        known = self._sets.get(node)
        if known is None:
            known = self._sets[node] = self._key.of_value(*map(self.of, what.members))
        return known


class _ChunkRecorder:
    """Makes the records of the chunks of a plan. ``read`` parses the JSON of arguments into their form in a record."""

    def __init__(
        self, plan: Plan, shown: RedactedPlan, key: Key, treatment: Treatment, read: Callable[[bytes], Any]
    ) -> None:
        self._plan = plan
        self._shown = shown
        self._key = key
        self._treatment = treatment
        self._read = read
        self._targets = _Targets(plan, key)
        self._common: dict[tuple[str, ...], list[str]] = {}

    def _texts(self, *texts: str) -> list[str]:
        """Return texts that many chunks have in common, without secrets."""
        known = self._common.get(texts)
        if known is None:
            known = self._common[texts] = [utf8(self._shown.text(text)) for text in texts]
        return known

    def record(self, chunk: LowChunk) -> ChunkRecord:
        tag, index = chunk.tag, chunk.index
        shown = self._shown.chunk(chunk, tag)
        said = canonical(chunk.args)
        hidden: dict[str, str] = {}
        if not said.startswith(MARK) and self._shown.shows(tag, said.decode()):
            args = self._read(said)
        else:
            masked = self._shown.arguments(chunk, tag)
            args = _plain(masked)
            hidden = _hidden(chunk, tag, masked, args, self._key)
        if shown is not chunk:
            hidden |= {
                name: self._key.of_value("field", tag, name, getattr(chunk, name))
                for name in ("id", "name", "sls")
                if getattr(chunk, name) != getattr(shown, name)
            }
        treatment = self._treatment
        state, fun, env, file, sls = self._texts(chunk.state, chunk.fun, chunk.env, chunk.file, shown.sls)
        return ChunkRecord(
            tag=utf8(tag if shown is chunk else shown.tag),
            state=state,
            fun=fun,
            id=utf8(shown.id),
            name=_plain(shown.name),
            sls=sls,
            digest=_digest(chunk, said, self._targets, self._key),
            env=env,
            order=chunk.order,
            file=file,
            line=chunk.line,
            args=args,
            hidden=hidden,
            requisites=tuple([(each.kind, each.node) for each in self._plan.requisites[index]]),
            failhard=index in treatment.failhard,
            exclusive=index in treatment.exclusive,
            lanes=treatment.lanes.get(index, ()),
        )


def _node(node: Node) -> NodeRecord:
    return NodeRecord(
        kind=node.kind.name.lower(),  # type: ignore[arg-type]
        chunk=node.chunk,
        members=node.members,
        label=utf8(node.label),
        transaction=node.transaction,
    )


def _hidden(chunk: LowChunk, tag: str, shown: Mapping[str, Any], args: Mapping[str, Any], key: Key) -> dict[str, str]:
    """Return a digest for each argument that is not shown as it is, by the name that is shown.

    Equal values in different places have different digests, so the digests do not reveal shared passwords.
    """
    # Masking keeps the arguments in their order.
    return {
        utf8(str(said)): key.of_value("argument", tag, name, value)
        for (name, value), (said, masked) in zip(chunk.args.items(), shown.items(), strict=True)
        if said != name or masked != value or args.get(said) != value
    }


def _plain(value: Any) -> Any:
    """Return a value in its form after a round trip through JSON."""
    if type(value) is str:
        return utf8(value)
    try:
        again = msgspec.json.decode(encoded(value))
        if again == value:
            return again
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    return msgspec.json.decode(encoded(plain(value)))
