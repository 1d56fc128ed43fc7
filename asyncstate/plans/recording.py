"""Makes the record of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from asyncstate._version import __version__
from asyncstate.model.encode import plain, utf8
from asyncstate.model.plan import NodeKind
from asyncstate.plans.record import (
    VERSION,
    ChunkRecord,
    ContingentRecord,
    EdgeRecord,
    Inputs,
    NodeRecord,
    PlanRecord,
    Selection,
)
from asyncstate.redact.shown import ShownPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.plans.key import Key
    from asyncstate.redact.secrets import Secrets


class Treatment(msgspec.Struct, frozen=True):
    """How a run treats the states of a plan: by index, those of `Machine`."""

    failhard: frozenset[int] = frozenset()
    exclusive: frozenset[int] = frozenset()
    lanes: dict[int, tuple[str, ...]] = {}
    limits: dict[str, int] = {}


def record_plan(
    plan: Plan,
    secrets: Secrets,
    key: Key,
    *,
    inputs: Inputs = Inputs(),  # noqa: B008 - frozen
    selection: Selection = Selection(),  # noqa: B008 - frozen
    treatment: Treatment = Treatment(),  # noqa: B008 - frozen
    host: str = "",
) -> PlanRecord:
    """Return the record of a plan, which shows neither the secrets known now nor what ``no_log`` hides.

    ``chunks[i]`` is that of chunk ``i``. The same plan always has an equal record.
    """
    seen = ShownPlan(plan, secrets)
    shown = seen.plan
    return PlanRecord(
        version=VERSION,
        program=__version__,
        host=host,
        key=key.name,
        digest=key.of_value("plan", plan.digest),
        selection=selection,
        inputs=structs.replace(
            inputs,
            pillar={utf8(seen.text(name)): digest for name, digest in inputs.pillar.items()},
            grains={utf8(seen.text(name)): digest for name, digest in inputs.grains.items()},
        ),
        chunks=tuple(
            structs.replace(
                _chunk(chunk, seen, shown.chunks[index], key),
                digest=digest,
                requisites=tuple((each.kind, each.node) for each in plan.requisites[index]),
                failhard=index in treatment.failhard,
                exclusive=index in treatment.exclusive,
                lanes=treatment.lanes.get(index, ()),
            )
            for index, (chunk, digest) in enumerate(zip(plan.chunks, chunk_digests(plan, key), strict=True))
        ),
        nodes=tuple(
            NodeRecord(
                kind=node.kind.name.lower(),  # type: ignore[arg-type]
                chunk=node.chunk,
                members=node.members,
                label=utf8(node.label),
                transaction=node.transaction,
            )
            for node in shown.nodes[len(plan.chunks) :]
        ),
        edges=tuple(
            EdgeRecord(
                number >> 32,
                number & 0xFFFFFFFF,
                sources,
                tuple(map(utf8, shown.dag.resources(number >> 32, number & 0xFFFFFFFF))),
            )
            for number, sources in shown.dag.packed()
        ),
        contingent=tuple(
            ContingentRecord(edge.before, edge.after, edge.proof, tuple(map(utf8, edge.resources)))
            for edge in shown.contingent
        ),
        rank=plan.rank,
        lanes=dict(treatment.limits),
    )


def chunk_digests(plan: Plan, key: Key) -> tuple[str, ...]:
    """Return a digest for each chunk: of function, ID, name, SLS, arguments, and the targets of its requisites.

    Where the chunk stands in the plan, and what a footprint makes it wait for, is no part of it.
    """
    targets = _Targets(plan, key)
    return tuple(
        key.of_value(
            chunk.state,
            chunk.fun,
            chunk.id,
            chunk.name,
            chunk.sls,
            chunk.env,
            chunk.args,
            [[each.kind.value, targets.of(each.node)] for each in plan.requisites[index]],
        )
        for index, chunk in enumerate(plan.chunks)
    )


class _Targets:
    """What stands for a node in the digest of a chunk that refers to it."""

    def __init__(self, plan: Plan, key: Key) -> None:
        self._plan = plan
        self._key = key
        self._sets: dict[int, str] = {}

    def of(self, node: int) -> str:
        what = self._plan.nodes[node]
        if what.kind is NodeKind.CHUNK:
            return self._plan.chunks[what.chunk].tag
        if what.kind is NodeKind.CHECK:
            return f"check {self._plan.chunks[what.chunk].tag}"
        known = self._sets.get(node)
        if known is None:
            known = self._sets[node] = self._key.of_value(*map(self.of, what.members))
        return known


def _chunk(chunk: LowChunk, seen: ShownPlan, shown: LowChunk, key: Key) -> ChunkRecord:
    args: dict[str, Any] = _plain(shown.args)
    return ChunkRecord(
        tag=utf8(shown.tag),
        state=utf8(shown.state),
        fun=utf8(shown.fun),
        id=utf8(shown.id),
        name=_plain(shown.name),
        sls=utf8(shown.sls),
        digest="",
        env=utf8(seen.text(shown.env)),
        order=shown.order,
        file=utf8(seen.text(shown.file)),
        line=chunk.line,
        args=args,
        hidden=_hidden(chunk, shown, args, key),
    )


def _hidden(chunk: LowChunk, shown: LowChunk, args: Mapping[str, Any], key: Key) -> dict[str, str]:
    """Return a digest for each field and argument that is not shown as it is, by the name that is shown.

    Each differs for equal values in different places, so it does not tell who shares a password with whom.
    """
    tag = chunk.tag
    hidden = {
        name: key.of_value("field", tag, name, getattr(chunk, name))
        for name in ("id", "name", "sls")
        if getattr(chunk, name) != getattr(shown, name)
    }
    if args != chunk.args:
        # Masking keeps the arguments in their order.
        for (name, value), (said, masked) in zip(chunk.args.items(), shown.args.items(), strict=True):
            if masked != value or args.get(said) != value:
                hidden[utf8(str(said))] = key.of_value("argument", tag, name, value)
    return hidden


def _plain(value: Any) -> Any:
    """Return a value as it is after it was written to JSON and read again."""
    try:
        again = msgspec.json.decode(msgspec.json.encode(value))
        if again == value:
            return again
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    return msgspec.json.decode(msgspec.json.encode(plain(value)))
