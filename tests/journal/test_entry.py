"""Lines of a log: what is no event, or an event that is damaged, is told in words, whatever of it is missing."""

from io import BytesIO

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.errors import JournalError
from asyncstate.journal import entry
from asyncstate.journal.entry import Header, RunEntry, entry_of, event_of, events_of, in_order, read_event
from asyncstate.model.event import ChunkFinished, ChunkStarted, RunFinished, RunStarted, StateEvent, encode_event

ROW = {"name": "n", "result": None, "changes": {}, "comment": "", "start_time": "", "duration": 1.0, "warnings": []}
EVENTS = (
    RunStarted(run_id="r", seq=0, time=0.0, wall=1.0, digest="d", chunks=1, concurrency=1, test=True),
    ChunkStarted(run_id="r", seq=1, time=0.1, tag="t", function="test.nop", id="a", name="n", sls="s"),
    ChunkFinished(run_id="r", seq=2, time=0.2, tag="t", row=ROW, why="met", sub_rows={"u": ROW}),
    StateEvent(run_id="r", seq=3, time=0.3, name="e", row=ROW),
    RunFinished(run_id="r", seq=4, time=0.4, exit_code=0, succeeded=1, changed=1, failed=0, rows={"v": ROW}),
)
_VALUES = (None, True, -1, 1e308, "", "x", [], {}, [[]], {"a": None})


def _places(data, path=()):
    """Every place in a JSON value."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from _places(value, (*path, key))


def _spoiled(event):
    """The line of an event with each of its fields removed in turn, and with each replaced by any value."""
    for place in _places(msgspec.json.decode(encode_event(event))):
        for value in (msgspec.UNSET, *_VALUES):
            data = msgspec.json.decode(encode_event(event))
            inner = data
            for key in place[:-1]:
                inner = inner[key]
            if value is msgspec.UNSET:
                del inner[place[-1]]
            else:
                inner[place[-1]] = value
            yield msgspec.json.encode(data)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_whatever_of_an_event_is_spoiled_it_is_told_or_the_event_can_be_used(event):
    told = 0
    for line in _spoiled(event):
        found, wrong = _read(line)
        told += wrong is not None
        assert wrong != ""
        assert read_event(line) == found
        rows = [*getattr(found, "sub_rows", {}).values(), *([found.row] if hasattr(found, "row") else [])]
        assert all(row["result"] in {True, False, None} and isinstance(row["changes"], dict) for row in rows)
    assert told


def _read(line):
    """The event of a line and None, or None and what is said of the line."""
    try:
        return event_of(line), None
    except JournalError as error:
        return None, str(error)


def test_what_is_missing_of_a_row_is_named():
    event = encode_event(EVENTS[2])
    with pytest.raises(JournalError, match="the row of t: it has no `result`"):
        event_of(event.replace(b'"result":null,', b"", 1))
    with pytest.raises(JournalError, match="the row of u: its `changes` is not an object"):
        event_of(event[::-1].replace(b'}{:"segnahc"', b'1:"segnahc"', 1)[::-1])


def test_records_and_events_of_a_later_version_are_passed_over():
    assert event_of(msgspec.json.encode(Header(run="r"))) is None
    assert event_of(b'{"record":"plan","key":"k","plan":{}}') is None
    assert event_of(b'{"event":"of_tomorrow","x":1}') is None
    for torn in (b"", b"{}", b'{"event":"run_st', b'{"event":' + b"[" * 5000, b"\xff", b"null", b'{"event":[]}'):
        with pytest.raises(JournalError):
            event_of(torn)


def test_a_list_of_runs_leaves_damaged_lines_out():
    lines = [encode_event(event) for event in EVENTS]
    assert list(events_of([*lines[:2], b'{"event":"chunk_finished"}', *lines[2:]])) == list(EVENTS)


@pytest.mark.parametrize(("test", "changed"), [(True, 1), (False, 0)])
def test_of_a_run_that_was_cut_off_those_are_counted_that_a_report_counts(test, changed):
    begun = msgspec.structs.replace(EVENTS[0], test=test)
    lines = [encode_event(event) for event in (begun, *EVENTS[1:3])]
    assert entry_of(Header(run="r"), events_of(lines), alive=False).counts["changed"] == changed


@given(st.binary(max_size=60) | st.text("a{}\n\0", max_size=60).map(str.encode), st.integers(1, 9))
def test_lines_are_those_of_the_file_up_to_the_first_zero(data, block):
    before, zero, _ = data.partition(b"\0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry, "_BLOCK", block)
        assert list(entry.lines_in(BytesIO(data))) == list(BytesIO(before + zero))
        patch.setattr(entry, "LONGEST", 5)
        parts = list(entry.lines_in(BytesIO(data)))
    assert b"".join(parts) == before + zero
    assert max(map(len, parts), default=0) <= 5 + 1 + block + 1


ORDERS = {
    "by the clock": ([("a", 1, "", 0), ("b", 3, "", 0), ("c", 2, "", 0)], "bca"),
    "of one boot": ([("a", 1, "x", 1), ("b", 3, "x", 3), ("c", 2, "x", 2)], "bca"),
    "a clock set back": ([("a", 9, "x", 1), ("b", 10, "x", 2), ("c", 1, "x", 3), ("d", 2, "x", 4)], "dcba"),
    "a clock set back, and a boot": ([("a", 10, "x", 100), ("b", 1, "x", 200), ("c", 11, "y", 1)], "cba"),
    "a boot between": ([("a", 1, "x", 500), ("b", 2, "y", 1), ("c", 3, "y", 9), ("d", 4, "z", 2)], "dcba"),
    "no boot known": ([("a", 10, "x", 1), ("b", 5, "", 0), ("c", 4, "x", 2)], "cab"),
}


@pytest.mark.parametrize("case", ORDERS)
def test_runs_are_in_order_whatever_the_clock_says(case):
    runs, expected = ORDERS[case]
    for listed in (runs, runs[::-1]):
        entries = [RunEntry(id=run, begun=begun, boot=boot, uptime=uptime) for run, begun, boot, uptime in listed]
        assert "".join(entry.id for entry in in_order(entries)) == expected


def test_without_a_boot_id_there_is_no_uptime(tmp_path, monkeypatch):
    boot, uptime = entry.this_boot()
    assert bool(boot) == bool(uptime)
    monkeypatch.setattr(entry, "_BOOT", str(tmp_path / "missing"))
    assert entry.this_boot() == ("", 0.0)
