from __future__ import annotations

import ast
import datetime as dt
import os
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.borrow import wire
from asyncstate.extras.borrow.finding import WORKER

KEYS = st.one_of(st.text(), st.integers(), st.booleans(), st.none(), st.binary(), st.tuples(st.integers(), st.text()))
VALUES = st.recursive(
    st.one_of(KEYS, st.floats(allow_nan=False), st.datetimes(), st.dates(), st.times()),
    lambda inner: st.one_of(
        st.lists(inner), st.dictionaries(KEYS, inner), st.tuples(inner, inner), st.frozensets(KEYS), st.sets(KEYS)
    ),
    max_leaves=20,
)


def there(value):
    return wire.decode(wire.encode(value)[8:])


@given(VALUES)
def test_values_arrive_as_they_were(value):
    assert wire.is_portable(value)
    arrived = there(value)
    assert arrived == value
    assert type(arrived) is type(value)


@given(st.lists(VALUES, max_size=4), st.integers(1, 50))
def test_frames_arrive_whole_whatever_the_pieces(values, size):
    stream, reader, arrived = b"".join(map(wire.encode, values)), wire.Reader(), []
    for at in range(0, len(stream), size):
        reader.feed(stream[at : at + size])
        while (message := reader.message()) is not None:
            arrived.append(wire.decode(message))
    assert arrived == values


class Text(str):
    __slots__ = ()


class Odd:
    def __str__(self):
        raise ValueError


def test_other_types_arrive_as_what_they_stand_for():
    assert there(OrderedDict(a=Text("x"))) == {"a": "x"}
    assert there(range(2)) == "range(0, 2)"
    assert there(Odd()) == "<Odd, which cannot be shown>"
    assert there(10**9000).startswith("<integer of")
    assert there({Text("\x00"): 1}) == {"\x00": 1}
    assert not any(map(wire.is_portable, (OrderedDict(), Text("x"), [Odd()], {1: {2: object()}})))


def test_what_contains_itself_or_has_no_end_is_cut():
    own: list = []
    own += [own, own]
    assert there(own) == ["...", "..."]
    deep: list = []
    for _ in range(1000):
        deep = [deep]
    assert "..." in str(there(deep))
    wide: list = [0] * 3000
    assert len(there([wide] * 3000)[0]) == 3000


@pytest.mark.parametrize("data", [b"", b"{", b'{"\\u0000":"odd","v":1}', b'{"\\u0000":"dict","v":[1]}', b"\xff"])
def test_what_is_no_message_is_an_error(data):
    with pytest.raises(wire.BrokenFrame):
        wire.decode(data)


@pytest.fixture
def few(monkeypatch):
    """Let a message have few members."""
    monkeypatch.setattr(wire, "MOST", 1000)
    return 1000


def test_values_at_the_limits_arrive(few):
    for value in ([(1,)] * (few // 2), {(n,): {n} for n in range(few // 3)}, {n: {} for n in range(few)}):
        assert there(value) == value
    marks = ',[{"\\' * few * 10
    assert there([marks, "x", marks]) == [marks, "x", marks]
    deep: object = 0
    for number in range(wire.DEEPEST):
        deep = [deep] if number % 2 else (deep,)
    assert there(deep) == deep


@pytest.mark.parametrize(
    "piece",
    [b"[],", b"{},", b"0,", b'"",', b'{"\\u0000":"set","v":[]},', b'"\\"",[],', b'"\\\\",', b"[[[["],
    ids=bytes.decode,
)
def test_a_message_beyond_the_limits_is_refused_before_it_is_decoded(piece, few, monkeypatch):
    data = b"[" + piece * few * 7 + b"0]"
    monkeypatch.setattr(wire.json, "loads", None)
    with pytest.raises(wire.BrokenFrame, match="members"):
        wire.decode(data)


@given(st.lists(st.sampled_from([b'"', b"\\", b",", b"[", b"{", b"a"]), max_size=300).map(b"".join), st.integers(1, 20))
def test_what_stands_in_strings_is_not_counted(inside, size):
    text = inside.decode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "_PIECE", size)
        patch.setattr(wire, "_OF_A_MEMBER", 1)
        data = wire.encode([text, text, text])[8:]
        patch.setattr(wire, "MOST", 3)
        assert not wire._is_too_much(data)
        patch.setattr(wire, "MOST", 2)
        assert wire._is_too_much(data)


@pytest.mark.parametrize(("before", "after"), [(b"[", b"]"), (b'{"a":', b"}"), (b'{"\\u0000":"tuple","v":[', b"]}")])
@pytest.mark.parametrize("levels", [wire.DEEPEST + 1, 500, 100_000])
def test_a_message_that_is_nested_too_deeply_is_refused(before, after, levels):
    with pytest.raises(wire.BrokenFrame):
        wire.decode(before * levels + b"0" + after * levels)


def test_an_impossible_length_is_an_error():
    reader = wire.Reader()
    reader.feed(b"hello from the module")
    with pytest.raises(wire.BrokenFrame):
        reader.message()


def test_reading_ends_with_the_pipe():
    receive, send = os.pipe()
    wire.write(send, wire.encode(dt.date(2026, 1, 1)))
    os.close(send)
    reader = wire.Reader()
    assert wire.decode(wire.read(receive, reader)) == dt.date(2026, 1, 1)
    assert wire.read(receive, reader) is None
    os.close(receive)


@pytest.mark.parametrize("file", [wire.__file__, WORKER])
def test_what_runs_under_salts_interpreter_needs_nothing_of_ours_and_no_new_python(file):
    with open(file) as source:
        tree = ast.parse(source.read(), feature_version=(3, 8))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not any(name.startswith("asyncstate") for name in names)
