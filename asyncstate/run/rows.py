"""Rows: from whatever a state function returned, or did not return, to a row every reader can rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import resolved
from asyncstate.errors import PathRefused
from asyncstate.model.result import REQUIRED_KEYS, Row
from asyncstate.model.tag import state_tag
from asyncstate.run.gate import NOT_RUN, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan

_LISTEN_ERROR = "Listen_Error_|-"


def failed_row(name: Any, comment: str) -> Row:
    """A row for a state that could not even be called."""
    return {"name": name, "changes": {}, "result": False, "comment": comment}


def unverified_row(name: Any, comment: str) -> Row:
    """A row for low data that names nothing callable. As in Salt it does not say which ID and SLS it is of."""
    return {**failed_row(name, comment), "__id__": None, "__sls__": None}


def mocked_row(name: Any) -> Row:
    """A row for a state of a mocked run."""
    return {"name": name, "changes": {}, "result": True, "comment": "Not called, mocked"}


def exception_row(name: Any, error: BaseException) -> Row:
    """A row for a state function that raised. The traceback begins in the plugin, not in the engine.

    A refused path is no accident: its words are the comment.
    """
    if isinstance(error, PathRefused):
        return failed_row(name, str(error))
    import traceback  # noqa: PLC0415 - only states that raise

    trace = error.__traceback__
    while (
        trace is not None
        and trace.tb_next is not None
        and trace.tb_frame.f_globals.get("__name__", "").startswith(_OWN)
    ):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    return failed_row(name, f"An exception occurred in this state: {text}")


_OWN = ("asyncstate.run.", "asyncstate.load.")


def not_run_row(verdict: Verdict, name: str, failed: Iterable[LowChunk] = ()) -> Row:
    """A row for a state its requisites held back; ``failed`` are the chunks to blame."""
    if verdict is Verdict.FAIL:
        blamed = ", ".join(dict.fromkeys(f"{chunk.sls}.{chunk.id}" for chunk in failed))
        row = failed_row(name, f"One or more requisite failed: {blamed}")
    else:
        row = {"name": name, "changes": {}, "result": True, "comment": NOT_RUN[verdict]}
    row["__state_ran__"] = False
    return row


def normalise(returned: Any, name: Any) -> Row:
    """Bring a state function's return into shape, or say in a failed row what is wrong with it.

    A comment that is a list becomes lines; a result that is neither a bool nor None becomes its truth (Salt's rules).
    """
    if type(returned) is not dict:
        if not isinstance(returned, dict):
            return _malformed(name, "Malformed state return. Data must be a dictionary type.")
        returned = dict(returned)
    row: Row = resolved(returned)
    if "changes" in row and not isinstance(row["changes"], dict):
        return _malformed(name, "'Changes' should be a dictionary.")
    missing = [key for key in REQUIRED_KEYS if key not in row]
    if missing:
        return failed_row(name, f"The following keys were not present in the state return: {', '.join(missing)}.")
    if isinstance(row["comment"], list):
        for part in row["comment"]:
            if not isinstance(part, (str, bytes, bytearray)):
                return _malformed(name, f"expected str, bytes, or bytearray not {type(part)}")
        row["comment"] = "\n".join(part if isinstance(part, str) else part.decode() for part in row["comment"])
    result = row["result"]
    if result is not None and result is not True and result is not False:
        row["result"] = bool(result)
    return row


def _malformed(name: Any, what: str) -> Row:
    return failed_row(name, f"An exception occurred in this state: {what}")


def sub_rows(row: Row, low: Mapping[str, Any]) -> dict[str, Row]:
    """Take the sub-states out of a row (``sub_state_run``) and return their own rows by tag, parent's names on them."""
    rows: dict[str, Row] = {}
    for entry in row.pop("sub_state_run", None) or ():
        sub_low = entry.get("low") if isinstance(entry, dict) else None
        if not isinstance(sub_low, dict) or not {"state", "name", "fun", "__id__"} <= sub_low.keys():
            tag = state_tag(low["state"], low["__id__"], f"sub_state_run[{len(rows)}]", low["fun"])
            rows[tag] = failed_row(low["name"], "A sub state needs `low` with state, name, fun and __id__.")
        else:
            tag = state_tag(sub_low["state"], sub_low["__id__"], sub_low["name"], sub_low["fun"])
            shaped = normalise({"name": sub_low["name"], **entry}, sub_low["name"])
            rows[tag] = {
                **{key: shaped[key] for key in ("changes", "result", "comment")},
                "name": low["name"],
                "duration": entry.get("duration") or 0.0,
                "start_time": entry.get("start_time") or row["start_time"],
                "__state_ran__": True,
            }
        rows[tag].setdefault("duration", 0.0)
        rows[tag].setdefault("start_time", row["start_time"])
        rows[tag]["__sls__"], rows[tag]["__id__"] = low.get("__sls__"), low["__id__"]
    return rows


def number_rows(
    plan: Plan,
    rows: Mapping[str, Row],
    subs: Mapping[str, dict[str, Row]],
    early: Mapping[int, int],
) -> dict[str, Row]:
    """Put rows in serial order and number them, whatever the timing: sub-states after their parent.

    Rows of what is no chunk of the plan, listeners, come behind, in the order given. ``early`` gives the rank of the
    check of a chunk whose requisites already held it back there: as in Salt that is its place. Rows the plan brought
    along come first, those about broken listeners last.
    """
    chunks = plan.chunks
    if early:
        chunks = tuple(sorted(chunks, key=lambda chunk: early.get(chunk.index, plan.rank[chunk.index])))
    known = {tag: dict(row) for tag, row in plan.rows.items()}
    ordered: dict[str, Row] = {tag: row for tag, row in known.items() if not tag.startswith(_LISTEN_ERROR)}
    for chunk in chunks:
        tag = chunk.tag
        if tag in rows:
            ordered[tag] = rows[tag]
            ordered.update(subs.get(tag, {}))
    for tag, row in rows.items():
        if tag not in ordered:
            ordered[tag] = row
            ordered.update(subs.get(tag, {}))
    ordered.update(known)
    for number, row in enumerate(ordered.values()):
        row["__run_num__"] = number
        for key, value in _UNTIMED.items():
            row.setdefault(key, value)
    return ordered


_UNTIMED = {"__id__": None, "__sls__": None, "start_time": "00:00:00.000000", "duration": 0.0}
"""What completes a row of which no state was called: every row of a report has the same keys."""
