"""Rows: make a well-formed row of the return or the exception of a state function.

Plugins get views of them and of low data as ``__running__`` and ``__lowstate__``: the present state of the run, each
access in a fresh copy, so that plugins may change what they get without an effect on the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, overload

from asyncstate.dunders import NOT_TOLD
from asyncstate.dunders.proxies import is_mapping_dunder
from asyncstate.errors import ArgumentError, CommandExecutionError, LoaderError, PathRefused, RaisedElsewhere
from asyncstate.filesystem import changes_so_far
from asyncstate.model.chunk import fresh, parse_tag, state_tag
from asyncstate.model.encode import CUT, Reduction, plain, utf8
from asyncstate.model.result import REQUIRED_KEYS, RUN_NUM, STATE_RAN, Row
from asyncstate.run.gate import NOT_RUN, Verdict

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row


_LISTEN_ERROR = "Listen_Error_|-"


class WrongInTree(CommandExecutionError):
    """An error in the tree, not in code: the row shows its text without a traceback."""


def failed_row(name: Any, comment: str) -> Row:
    """Return the row of a state that failed, or could not be called."""
    return {"name": name, "changes": {}, "result": False, "comment": comment}


def unverified_row(name: Any, comment: str) -> Row:
    """Return the row of low data that names nothing callable. As in Salt it has no ID and no SLS."""
    return {**failed_row(name, comment), "__id__": None, "__sls__": None}


def mocked_row(name: Any) -> Row:
    """Return the row of a state in a mocked run."""
    return {"name": name, "changes": {}, "result": True, "comment": "Not called, mocked"}


def exception_row(name: Any, error: BaseException) -> Row:
    """Return the row of a state function that raised. Its traceback begins in the plugin, not in the engine.

    PathRefused and WrongInTree are not bugs of the plugin: the comment has only their text. An error of another process
    is shown as that process reports it. For a call of ``sys.exit`` the comment names its place.
    """
    left = error.__cause__ if isinstance(error, LoaderError) else error
    if isinstance(left, SystemExit):
        from asyncstate.load.threads import transferable  # noqa: PLC0415 - only states that raise

        return failed_row(plain(name), f"{_EXCEPTION}{plain(transferable(left))}{_where(left)}")
    if isinstance(error, (PathRefused, WrongInTree)):
        return failed_row(plain(name), plain(error))
    if isinstance(error, RaisedElsewhere):
        return failed_row(plain(name), f"{_EXCEPTION}{plain(error.shown)}")
    import traceback  # noqa: PLC0415 - only states that raise

    trace = error.__traceback__
    while (
        trace is not None
        and trace.tb_next is not None
        and str(trace.tb_frame.f_globals.get("__name__", "")).startswith(_OWN)
    ):
        trace = trace.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, trace))
    except BaseException as second:  # noqa: BLE001 - exceptions may be built of anything, too
        text = f"{type(error).__name__}, which cannot be shown ({type(second).__name__})"
    return failed_row(plain(name), f"{_EXCEPTION}{utf8(text)}")


def _where(error: BaseException) -> str:
    """Return the file and line that raised an exception, as text; "" if unknown."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f", at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


_OWN = ("asyncstate.run.", "asyncstate.load.", "asyncstate.guard.")
_EXCEPTION = "An exception occurred in this state: "


class CarriedRow(dict[str, Any]):
    """A row of an earlier run that stands, with the rows of its sub-states by tag."""

    def __init__(self, row: Mapping[str, Any], sub_rows: Mapping[str, Row]) -> None:
        super().__init__(fresh(dict(row)))
        self.sub_rows: dict[str, Row] = fresh(dict(sub_rows))


def cancelled_row(name: Any, reason: str) -> Row:
    """Return the row of a state whose call was ended with its run."""
    return failed_row(name, f"{_CANCELLED} ({reason}); its effect is unknown.")


def overdue_row(name: Any, limit: str) -> Row:
    """Return the row of a state whose call still runs after its time limit; ``limit`` is the text about the limit."""
    return failed_row(name, f"{limit} {_NOT_WAITED_FOR}")


def stopped_retry(attempt: int, attempts: int) -> str:
    """Return the comment of a row whose run was stopped before the next attempt."""
    return f"{_STOPPED} {attempt} of {attempts}."


def was_cut_off(row: Mapping[str, Any]) -> bool:
    """Whether a row was made while its state still ran or would have gone on: its effects are unknown."""
    said = row.get("comment")
    if row.get("result") is not False or type(said) is not str:
        return False
    return said.startswith(_CANCELLED) or _STOPPED in said or _NOT_WAITED_FOR in said


_CANCELLED = "The state was cancelled while it ran"
_STOPPED = "The run was stopped before attempt"
_NOT_WAITED_FOR = (
    "and is not waited for any longer. It was told to stop, and still runs; "
    "states that must not overlap with it wait for its end."
)


def keep_deeds(row: Row) -> None:
    """Add the file system changes of the call to a failed row without changes, so that they are not lost."""
    if row["result"] is False and not row["changes"]:
        row["changes"] = plain(changes_so_far())


def not_run_row(verdict: Verdict, name: str, failed: Iterable[LowChunk] = ()) -> Row:
    """Return the row of a state that its requisites skipped; ``failed`` are the chunks to blame."""
    if verdict is Verdict.FAIL:
        blamed = ", ".join(dict.fromkeys(f"{chunk.sls}.{chunk.id}" for chunk in failed))
        row = failed_row(name, f"One or more requisite failed: {blamed}")
    else:
        row = {"name": name, "changes": {}, "result": True, "comment": NOT_RUN[verdict]}
    row[STATE_RAN] = False
    return row


def normalise(returned: Any, name: Any) -> Row:
    """Return the well-formed row for the return of a state function; a failed row if it is malformed. Never raises.

    The row is plain data (`asyncstate.model.encode.plain`) and shares nothing with the returned value. Salt's rules: a
    comment that is a list becomes lines; a result that is neither a bool nor None becomes its truth value. ``warnings``
    become a list of texts. If the function forgot to await something, the row keeps its changes and fails.
    """
    if _is_in_shape(returned):
        changes = _brief(returned["changes"], [_SHORT], _FEW) if returned["changes"] else {}
        if changes is not None:
            return {**returned, "changes": changes}
    reduction = Reduction()
    row = reduction.of(returned)
    forgotten = _forgotten(reduction) if reduction.forgotten else ""
    if type(row) is not dict or not issubclass(type(returned), dict):
        return _malformed(name, forgotten or "Malformed state return. Data must be a dictionary type.")
    given = {key: value for key, value in dict.items(returned) if type(key) is str}
    if "changes" in row and not _is_mapping(given.get("changes")):
        return _malformed(name, forgotten or "'Changes' should be a dictionary.")
    missing = [key for key in REQUIRED_KEYS if key not in row]
    if missing:
        said = f"The following keys were not present in the state return: {', '.join(missing)}."
        return _malformed(name, forgotten) if forgotten else failed_row(plain(name), said)
    if type(row["changes"]) is not dict:  # it was cut: the row holds more than fits
        row["changes"] = {CUT: row["changes"]}
    if type(row["comment"]) is list:
        wrong = _no_text(given.get("comment"))
        if wrong and not forgotten:
            return _malformed(name, f"expected str, bytes, or bytearray not {wrong}")
        row["comment"] = "\n".join(map(str, row["comment"]))
    if "warnings" in row:
        row["warnings"] = _texts(row["warnings"])
    problem = forgotten or _settle_result(row, given.get("result"))
    if problem:
        row["result"] = False
        row["comment"] = "\n".join(str(part) for part in (_EXCEPTION + problem, row["comment"]) if part)
    return row


def _is_in_shape(returned: Any) -> bool:
    """Whether a value, all but its changes, is the well-formed return of a state, as it is in most cases."""
    if type(returned) is not dict or returned.keys() != _PLAINEST or set(map(type, returned)) != {str}:
        return False
    name, result, comment = returned["name"], returned["result"], returned["comment"]
    return (
        (result is True or result is None or result is False)
        and type(comment) is str
        and comment.isascii()
        and type(name) is str
        and name.isascii()
        and len(comment) + len(name) < _SHORT
        and type(returned["changes"]) is dict
    )


def _brief(changes: dict[Any, Any], left: list[int], levels: int) -> dict[str, Any] | None:
    """Return a copy of changes that are a few texts and numbers, in few mappings and lists; None for others.

    ``left`` has the number of characters that all of them may have together.
    """
    copy: dict[str, Any] = {}
    for key, item in changes.items():
        if type(key) is not str or not key.isascii() or left[0] < 0:
            return None
        left[0] -= len(key) + 1
        kind = type(item)
        if kind is dict:
            nested = _brief(item, left, levels - 1) if levels else None
            if nested is None:
                return None
            copy[key] = nested
        elif kind is list:
            if set(map(type, item)) - {str}:
                return None
            text = "".join(item)
            left[0] -= len(text) + len(item)
            if not text.isascii():
                return None
            copy[key] = [*item]
        elif kind is str and item.isascii():
            left[0] -= len(item)
            copy[key] = item
        elif item is None or (kind in _NUMBERS and -_LARGE < item < _LARGE):
            copy[key] = item
        else:
            return None
    return copy if left[0] >= 0 else None


_NUMBERS = frozenset({bool, int})
_LARGE = 1 << 53
_PLAINEST = frozenset(REQUIRED_KEYS)
_SHORT = 1000
_FEW = 4


def refuse_forgotten(returned: Any) -> None:
    """Raise ArgumentError if the return of a hook holds an awaitable that was not awaited."""
    reduction = Reduction()
    reduction.of(returned)
    if reduction.forgotten:
        raise ArgumentError(_forgotten(reduction))


def _forgotten(reduction: Reduction) -> str:
    return f"you forgot to await {', '.join(dict.fromkeys(reduction.forgotten))}"


def _is_mapping(value: Any) -> bool:
    return issubclass(type(value), dict) or is_mapping_dunder(value)


def _no_text(parts: Any) -> str:
    """Return the type of the first member that is not a string, as Salt names it; "" if there is none."""
    if not issubclass(type(parts), (list, tuple)):
        return ""
    return next((str(type(part)) for part in parts if not issubclass(type(part), (str, bytes, bytearray))), "")


def _texts(value: Any) -> list[str]:
    return [str(each) for each in (value if type(value) is list else [value])] if value else []


def _settle_result(row: Row, given: Any) -> str:
    """Put the truth value of a result into the row, as Salt does; return the mistake if it has none."""
    if given is None or given is True or given is False:
        row["result"] = given
        return ""
    try:
        row["result"] = bool(given)
    except BaseException as error:  # noqa: BLE001 - a plugin's object
        return f"its result is neither true nor false: {type(error).__name__}: {plain(error)}"
    return ""


def _malformed(name: Any, what: str) -> Row:
    return failed_row(plain(name), _EXCEPTION + what)


def sub_rows(row: Row, low: Mapping[str, Any], taken: Iterable[str] = ()) -> dict[str, Row]:
    """Remove the sub-states (``sub_state_run``) from a row; return their rows by tag, with the name of the parent.

    A module gives their ``duration`` in seconds, as Salt's contract says; rows have milliseconds. A malformed sub-state
    gives a failed row. No sub-state gets a tag that is ``taken``, as it would hide another state's row.
    """
    others = set(taken)
    rows: dict[str, Row] = {}
    for entry in _sub_entries(row.pop("sub_state_run", None)):
        sub_low = _low_of(entry)
        if sub_low is None:
            tag = state_tag(low["state"], low["__id__"], f"sub_state_run[{len(rows)}]", low["fun"])
            shaped = failed_row(low["name"], "A sub state needs `low` with state, name, fun and __id__.")
            given = {}
        else:
            tag = state_tag(*(str(sub_low[key]) for key in ("state", "__id__", "name", "fun")))
            shaped = normalise({"name": sub_low["name"], **entry}, sub_low["name"])
            given = {**entry, STATE_RAN: True}
        start = given.get("start_time")
        tag = unused_tag(tag, others)
        others.add(tag)
        rows[tag] = {
            **{key: shaped[key] for key in ("changes", "result", "comment")},
            "name": low["name"],
            "duration": _milliseconds(given.get("duration")),
            "start_time": start if start and type(start) is str else row["start_time"],
            **({STATE_RAN: True} if given else {}),
            **({NOT_TOLD: True} if given and row.get(NOT_TOLD) else {}),
            "__sls__": low.get("__sls__"),
            "__id__": low["__id__"],
        }
    return rows


def sub_states(row: Row) -> list[Row]:
    """Return the well-formed entries of ``sub_state_run``; a malformed one is a mistake of its plugin."""
    return [entry for entry in _sub_entries(row.get("sub_state_run")) if _low_of(entry) is not None]


def _sub_entries(entries: Any) -> list[Any]:
    return entries if type(entries) is list else [entries] if entries else []


def _low_of(entry: Any) -> dict[str, Any] | None:
    low = entry.get("low") if type(entry) is dict else None
    return low if type(low) is dict and {"state", "name", "fun", "__id__"} <= low.keys() else None


def unused_tag(tag: str, taken: Container[str]) -> str:
    """Return the tag, or one with a number if it is ``taken``: two sub-states of one name have two rows."""
    if tag not in taken:
        return tag
    parts = parse_tag(tag)
    free = (state_tag(parts.state, parts.id, f"{parts.name} ({number})", parts.fun) for number in count(2))
    return next(each for each in free if each not in taken)


def _milliseconds(seconds: Any) -> float:
    return round(seconds * 1000.0, 3) if type(seconds) in (int, float) and math.isfinite(seconds) else 0.0


def number_rows(
    plan: Plan,
    rows: Mapping[str, Row],
    subs: Mapping[str, dict[str, Row]],
    check_ranks: Mapping[int, int],
) -> dict[str, Row]:
    """Put rows in serial order, whenever they ended, and number them: the given rows, not copies.

        rows of the plan │ chunks, each followed by its sub-states │ listeners, as given │ rows about broken listeners

    ``check_ranks`` gives the rank of the prereq check for each chunk that its check skipped: as in Salt, the chunk
    takes that position.
    """
    chunks = plan.chunks
    if check_ranks:
        chunks = tuple(sorted(chunks, key=lambda chunk: check_ranks.get(chunk.index, plan.rank[chunk.index])))
    known = {tag: dict(row) for tag, row in plan.rows.items()}
    ordered: dict[str, Row] = {tag: row for tag, row in known.items() if not tag.startswith(_LISTEN_ERROR)}
    for chunk in chunks:
        tag = chunk.tag
        if tag in rows:
            ordered[tag] = rows[tag]
            if tag in subs:
                ordered.update(subs[tag])
    for tag, row in rows.items():
        if tag not in ordered:
            ordered[tag] = row
            ordered.update(subs.get(tag, {}))
    ordered.update(known)
    for number, row in enumerate(ordered.values()):
        row[RUN_NUM] = number
        if not _UNTIMED.keys() <= row.keys():
            row.update({key: value for key, value in _UNTIMED.items() if key not in row})
    return ordered


_UNTIMED = {"__id__": None, "__sls__": None, "start_time": "00:00:00.000000", "duration": 0.0}
"""Defaults for rows without a call of a state, so that every row of a report has the same keys."""


class RunningView(Mapping[str, "Row"]):
    """The rows of the states that have finished so far, by tag.

    A lookup also finds a state of another host that this one waits for, in ``elsewhere``. Iteration yields only the
    rows of this host.
    """

    __slots__ = ("_elsewhere", "_rows")

    def __init__(self, rows: Mapping[str, Row], elsewhere: Mapping[str, Row]) -> None:
        self._rows = rows
        self._elsewhere = elsewhere

    def __getitem__(self, tag: str) -> Row:
        row: Row = fresh(self._rows[tag] if tag in self._rows else self._elsewhere[tag])
        return row

    def __contains__(self, tag: object) -> bool:
        return tag in self._rows or tag in self._elsewhere

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._rows))

    def __len__(self) -> int:
        return len(self._rows)


class LowStateView(Sequence[dict[str, Any]]):
    """All low data of the run, in serial order."""

    __slots__ = ("_chunks",)

    def __init__(self, chunks: Sequence[LowChunk]) -> None:
        self._chunks = chunks

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [chunk.as_low() for chunk in self._chunks[index]]
        return self._chunks[index].as_low()

    def __len__(self) -> int:
        return len(self._chunks)
