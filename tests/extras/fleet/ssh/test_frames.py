"""Frames: sent ones arrive, and malformed ones are refused without being read in."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.fleet.errors import BoardError, ValueTooLarge
from asyncstate.extras.fleet.ssh import frames

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(number=st.integers(0, 2**63), word=st.text(), value=VALUES)
def test_what_is_sent_arrives(number, word, value):
    data = frames.encode(number, word, value)
    assert frames.length(data[: frames.HEAD]) == len(data) - frames.HEAD
    assert frames.decode(data[frames.HEAD :]) == frames.Frame(number, word, value)


@given(data=st.binary(max_size=200))
def test_bytes_are_a_frame_or_refused(data):
    with suppress(BoardError):
        assert isinstance(frames.decode(data), frames.Frame)


def test_a_frame_that_is_too_long_is_refused_by_its_head_alone():
    assert frames.length((64 << 20).to_bytes(4, "big")) == 64 << 20
    with pytest.raises(BoardError, match="does a program print on the same stream"):
        frames.length(((64 << 20) + 1).to_bytes(4, "big"))
    with pytest.raises(ValueTooLarge):
        frames.encode(1, "put", bytes(64 << 20))


def test_nesting_without_end_is_refused():
    with pytest.raises(BoardError):
        frames.decode(b"\x93\x01\xa3put" + b"\x91" * 100_000)


def test_what_plugins_put_into_grains_is_sent_as_text():
    data = frames.encode(1, "pillar", [{"odd": {1, 2}, "path": object}])
    assert frames.decode(data[frames.HEAD :]).value[0].keys() == {"odd", "path"}
