"""Reading a log after a power cut or a kill: its whole lines, and nothing else."""

import io

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.journal.entry import whole_lines
from asyncstate.journal.log import log_path, make_folder
from asyncstate.journal.store import Journal, tidy
from asyncstate.resume.earlier_runs import EarlierRuns

DATA = {
    f"s{number}": {"here.step": [{"watch": [{"here": f"s{number - 1}"}]}] if number % 3 else []} for number in range(12)
}


@pytest.fixture
async def log(tmp_path):
    """The log of a run without its entry: that of a run that was killed is a part of it."""
    settings = Settings(state_dir=str(tmp_path / "state"), cachedir=str(tmp_path / "cache"), journal=True)

    def step(name, **_kwargs):
        return {"name": name, "changes": {name: "é"}, "result": True, "comment": f"did {name}"}

    async with (
        StateRuntime(settings, states={"here.step": step}) as runtime,
        runtime.run(await runtime.compile_data(DATA), events=False, concurrency=2),
    ):
        pass
    (path,) = tmp_path.glob("state/journal/*.ended")
    lines = path.read_bytes().splitlines(keepends=True)
    return b"".join(lines[:-1])


@pytest.fixture
def past_of(tmp_path):
    """Return what the journal knows of a run whose log has these bytes; None if it does not know the run."""
    number = 0

    def past_of(data):
        nonlocal number
        number += 1
        state_dir = str(tmp_path / f"state{number}")
        make_folder(state_dir)
        path = log_path(state_dir, "x")
        with open(path, "wb") as file:
            file.write(data)
        from_log = EarlierRuns.of("x", whole_lines(io.BytesIO(data)))
        for _ in range(2):
            journal = Journal.open(state_dir)
            entries = journal.runs()
            if not entries:
                assert not from_log.ended
                return None
            past = EarlierRuns.of(entries[0].id, journal.lines(entries[0].id))
            assert (past.ended, past.unknown) == (from_log.ended, from_log.unknown)
            tidy(state_dir, 1, 1e9)
        return past

    return past_of


async def test_a_log_that_is_cut_anywhere_tells_what_was_whole(log, past_of):
    whole = past_of(log)
    assert len(whole.ended) == len(DATA)
    ended, known = {}, False
    for end in range(0, len(log), 61):
        past = past_of(log[:end])
        assert past is not None or not known
        if past is None:
            continue
        known = True
        assert ended.items() <= past.ended.items() <= whole.ended.items()
        ended = past.ended
        lines = log[:end].count(b"\n")
        assert len(past.ended) + len(past.unknown) <= lines
    assert known


async def test_zeros_and_rubbish_behind_the_end_change_nothing(log, past_of):
    for end in range(len(log) // 3, len(log), 487):
        past = past_of(log[:end])
        for tail in (b"\0" * 5000, b"\0\n\0\n", b"\0" * 700 + log[-900:], b"}\nrubbish\n" + log[-900:]):
            after = past_of(log[:end] + tail)
            if past is not None:
                assert past.ended.items() <= after.ended.items()
                more = after.ended.keys() - past.ended.keys()
                assert len(more) <= 1  # the tail has completed a line


async def test_what_follows_a_page_that_is_missing_has_not_happened(log, past_of):
    """A later page may be on the disk although an earlier one is not."""
    for begin in range(len(log) // 3, len(log) - 200, 311):
        past, holed = past_of(log[:begin]), past_of(log[:begin] + b"\0" * 150 + log[begin + 150 :])
        assert (past and (past.ended, past.unknown)) == (holed and (holed.ended, holed.unknown))
