"""Lines that are written without their events read back as these events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.journal.entry import finished_line, read_event, started_line
from asyncstate.model.chunk import LowChunk
from asyncstate.model.event import ChunkFinished, ChunkStarted

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="@"))
VALUES = st.recursive(st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXTS, st.lists, max_leaves=5)


def line_of(make, *given, **options):
    """The line that ``make`` puts into a buffer that has an earlier line."""
    line = bytearray(b'["rest of a longer line"]' * 20)
    assert make(line, *given, **options)
    assert line.endswith(b"\n")
    return bytes(line[:-1])


def chunk(**said):
    return LowChunk(
        index=0,
        state="file",
        fun="managed",
        env="base",
        order=1,
        args={},
        **{"id": "a", "name": "n", "sls": "s", **said},
    )


@given(TEXTS, TEXTS, st.floats(0, 1e6), st.booleans())
def test_the_line_of_a_start(id_, name, seconds, check):
    one = chunk(id=id_, name=name)
    read = read_event(line_of(started_line, "r", 7, seconds, one, check=check))
    assert read == ChunkStarted(
        run_id="r", seq=7, time=seconds, tag=one.tag, function="file.managed", id=id_, name=name, sls="s", check=check
    )


@given(st.dictionaries(TEXTS, VALUES), TEXTS, st.booleans())
def test_the_line_of_an_end(more, why, check):
    row = {**more, "name": "n", "changes": {}, "result": True, "comment": ""}
    read = read_event(line_of(finished_line, "r", 7, 0.5, "tag", row=row, why=why, check=check))
    assert read == ChunkFinished(run_id="r", seq=7, time=0.5, tag="tag", row=row, why=why, check=check)


@pytest.mark.parametrize("comment", ["https://me:secret@host/", "\udc80"])
def test_what_may_be_a_password_or_has_no_form_is_left_to_the_event(comment):
    assert not finished_line(bytearray(), "r", 7, 0.5, "tag", row={"comment": comment}, why="met", check=False)


@pytest.mark.parametrize("name", [7, None, ["a"]])
def test_a_name_that_is_no_text_is_left_to_the_event(name):
    assert not started_line(bytearray(), "r", 7, 0.5, chunk(name=name), check=False)
