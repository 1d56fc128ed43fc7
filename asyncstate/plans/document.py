"""Reads and writes plan records as JSON. Input is not trusted: it may be old, truncated, damaged or hostile.

A document of unknown origin goes through `require_bounds` first, which bounds its memory; a plan that the
journal has kept may be larger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from asyncstate.errors import PlanError
from asyncstate.model.dag import Dag
from asyncstate.model.encode import JSON, encoded
from asyncstate.plans.record import VERSION, ContingentRecord, EdgeRecord, PlanRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LARGEST: Final = 1 << 27
"""The maximum of bytes of a plan file: a plan of 100,000 states has about 60 million."""
_MOST_VALUES: Final = 12_000_000
"""The maximum of values in a plan file: a few bytes of JSON can become a hundred bytes of memory."""

_PIECE: Final = 1 << 16
_AGAIN: Final = "Make it again: asyncstate plan --plan-out FILE"


class _Version(msgspec.Struct):
    version: int


def encode(record: PlanRecord, indent: int = 0) -> bytes:
    """Return a record as JSON; with ``indent``, in a form that people can read."""
    data = encoded(record)
    return msgspec.json.format(data, indent=indent) + b"\n" if indent else data


def encode_pieces(frame: PlanRecord, parts: Mapping[str, Iterable[msgspec.Struct]]) -> Iterator[bytes]:
    """Yield a record as JSON in pieces of about 64 KiB. ``frame`` has all but its long fields, which ``parts`` has."""
    piece = bytearray(encoded(frame)[:-1])
    for name, values in parts.items():
        piece += b',"%b":[' % name.encode()
        between = b""
        for value in values:
            piece += between
            JSON.encode_into(value, piece, -1)
            between = b","
            if len(piece) > _PIECE:
                yield bytes(piece)
                piece.clear()
        piece += b"]"
    yield bytes(piece + b"}")


def require_bounds(data: bytes, origin: str) -> None:
    """Raise PlanError for a document that is too large to be read; writers call it, too."""
    if len(data) > LARGEST:
        raise PlanError(f"{origin}: this plan cannot be read: it has more than {LARGEST >> 20} MiB")
    if sum(map(data.count, (b",", b":", b"["))) > _MOST_VALUES:
        raise PlanError(f"{origin}: this plan cannot be read: it has more than {_MOST_VALUES:,} values")


def decode(data: bytes, origin: str = "the plan", again: str = _AGAIN) -> PlanRecord:
    """Return the record that `encode` wrote.

    Raises PlanError, which names ``origin`` and the mistake, and ends with ``again``: advice on the next step.
    """
    try:
        version = msgspec.json.decode(data, type=_Version).version
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise PlanError(f"{origin}: this is no plan, or not all of one: {_said(error)}. {again}") from None
    if version != VERSION:
        raise PlanError(f"{origin}: this plan has version {version}; this asyncstate reads version {VERSION}. {again}")
    try:
        record = msgspec.json.decode(data, type=PlanRecord)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise PlanError(f"{origin}: this is no plan, or not all of one: {_said(error)}. {again}") from None
    mistake = _mistake(record)
    if mistake:
        raise PlanError(f"{origin}: this plan is damaged: {mistake}. {again}")
    return record


def _said(error: BaseException) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error).rstrip(".")


def _mistake(record: PlanRecord) -> str:
    """Return what is wrong with the numbers of a record, "" if nothing is."""
    chunks, size = len(record.chunks), len(record.chunks) + len(record.nodes)
    if len(record.rank) != size:
        return f"it has {size} nodes, but {len(record.rank)} places in the serial order"
    for chunk in record.chunks:
        if any(not 0 <= node < size for _, node in chunk.requisites):
            return f"{chunk.tag} refers to a node that does not exist"
    joined = {number for number, node in enumerate(record.nodes, chunks) if node.members}
    for number, node in enumerate(record.nodes, chunks):
        if not -1 <= node.chunk < chunks or (node.chunk < 0 and node.kind in ("check", "listener")):
            return f"node {number} refers to a state that does not exist"
        last = chunks if node.kind == "group" else size
        if not all(0 <= member < last for member in node.members) or not joined.isdisjoint(node.members):
            return f"node {number} has a member that cannot be one"
    if any(places < 1 for places in record.lanes.values()):
        return "a lane has no place"
    return _mistake_of_edges(record, chunks, size)


def _mistake_of_edges(record: PlanRecord, chunks: int, size: int) -> str:
    last = {number for number, node in enumerate(record.nodes, chunks) if node.kind == "listener"}
    graph = Dag(size)
    edges: tuple[EdgeRecord | ContingentRecord, ...] = (*record.edges, *record.contingent)
    for edge in edges:
        if not (0 <= edge.before < size and 0 <= edge.after < size):
            return "there is an edge to a node that does not exist"
        if edge.before in last or edge.after in last:
            return "there is an edge to a listener"
        graph.add(edge.before, edge.after, "")
    if any(not 0 <= edge.proof < size for edge in record.contingent):
        return "an edge has a proof that does not exist"
    return "" if len(graph.topological_order(int)) == size else "its states wait for one another in a circle"
