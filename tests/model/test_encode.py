from __future__ import annotations

import datetime as dt
import json
import re
import subprocess
import sys
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_values import bomb, odd, odd_names, odd_values
from tables import rows

from asyncstate.model.encode import DEEPEST, json_bytes, json_pieces, plain
from asyncstate.model.event import ChunkFinished, ChunkRetried, decode_event, encode_event


def roundtrip(value):
    return json.loads(json_bytes(value))


def test_what_json_has_no_word_for_becomes_text():
    value = {
        1: b"bytes\xff",
        None: {"b", "a"},
        (1, 2): dt.date(2026, 11, 21),
        b"key": ValueError("wrong"),
        "nested": [{"raw": bytearray(b"x")}],
    }
    assert roundtrip(value) == {
        "1": "bytes\\xff",
        "None": ["a", "b"],
        "(1, 2)": "2026-11-21",
        "key": "wrong",
        "nested": [{"raw": "x"}],
    }


def test_lone_surrogates_of_file_names_are_spelt_out():
    assert roundtrip({"name": "caf\udce9"}) == {"name": "caf\\udce9"}


def test_a_container_that_holds_itself_is_cut():
    loop: dict[str, object] = {"a": 1}
    loop["self"] = loop
    assert roundtrip(loop) == {"a": 1, "self": "..."}


def test_very_deep_data_is_cut():
    deep: object = "end"
    for _ in range(5000):
        deep = [deep]
    assert json_bytes(deep).count(b"[") == 100


def test_subclasses_of_plain_types_keep_their_kind():
    class Text(str):
        __slots__ = ()

    class Number(int):
        pass

    assert roundtrip({"a": Text("x"), "b": Number(3), "c": True, "d": 2**80, "e": 1.5}) == {
        "a": "x",
        "b": 3,
        "c": True,
        "d": 2**80,
        "e": 1.5,
    }


def test_one_line_on_request():
    assert json_bytes({"a": [1, 2]}, indent=0) == b'{"a":[1,2]}'


def test_ten_thousand_rows_are_quick():
    rows = {
        f"test_|-{n}_|-{n}_|-nop": {
            "name": str(n),
            "changes": {},
            "result": True,
            "comment": "Success!",
            "duration": 0.1,
        }
        for n in range(10_000)
    }
    began = time.process_time()
    encoded = json_bytes(rows)
    assert time.process_time() - began < 0.5
    assert len(json.loads(encoded)) == 10_000


_keys = st.text() | st.integers() | st.binary() | st.none() | st.booleans()
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=20,
)


@given(_values)
def test_any_value_encodes_and_plain_is_what_json_gives_back(value):
    assert roundtrip(value) == json.loads(json.dumps(plain(value)))


def depth_of(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


def is_plain(value):
    if isinstance(value, dict):
        return all(type(key) is str and key.encode() is not None and is_plain(item) for key, item in value.items())
    if type(value) is str:
        return value.encode() is not None
    return all(map(is_plain, value)) if isinstance(value, list) else type(value) in {int, float, bool, type(None)}


@pytest.mark.filterwarnings("ignore:coroutine 'forgotten'")  # what a limit cuts off is not closed
@given(odd_values)
def test_whatever_it_is_plain_data_comes_of_it(value):
    reduced = plain(value)
    assert depth_of(reduced) <= DEEPEST
    assert is_plain(reduced)
    assert msgspec.json.decode(json_bytes(reduced, indent=0)) is not ...


@rows("name", odd_names)
@rows("wrap", [lambda value: value, lambda value: [value], lambda value: {"key": value}])
def test_no_odd_object_is_refused(name, wrap):
    assert json_bytes(wrap(odd(name)), indent=0)


def test_what_is_endless_when_written_out_is_cut():
    began = time.process_time()
    assert len(json_bytes(["x", bomb()], indent=0)) < 50_000_000
    assert time.process_time() - began < 5


def test_depth_is_bounded_where_parts_are_shared():
    chain = ["end"]
    for _ in range(60):
        chain = [chain]
    value = [chain]
    inner = chain
    for _ in range(60):
        inner = [inner]
    assert 60 < depth_of(plain([value, inner, [[inner]]])) <= DEEPEST


def test_a_part_that_stands_twice_is_written_twice():
    part = {"a": [1]}
    reduced = plain({"x": part, "y": [part]})
    assert reduced == {"x": {"a": [1]}, "y": [{"a": [1]}]}
    assert reduced["x"] is not reduced["y"][0]


def test_the_outcome_shares_nothing_with_the_value():
    value = {"a": {}, "b": [], "c": {"d": []}}
    reduced = plain(value)
    value["a"]["x"] = value["b"] = value["c"]["d"] = 1
    assert reduced == {"a": {}, "b": [], "c": {"d": []}}


def test_the_form_does_not_depend_on_what_else_is_there():
    date = dt.datetime(2026, 11, 22, tzinfo=dt.UTC)
    assert roundtrip([date]) == roundtrip([date, b"x"])[:1]


@pytest.mark.filterwarnings("ignore:coroutine 'forgotten'")  # what a limit cuts off is not closed
@given(st.text(), odd_values)
def test_any_event_can_be_written_and_read_back(text, value):
    finished = ChunkFinished(run_id="r", seq=1, time=0.5, tag=text, row={"name": "n", "changes": value}, why="met")
    line = encode_event(finished)
    assert b"\n" not in line
    read = decode_event(line)
    assert isinstance(read, ChunkFinished)
    assert (read.seq, read.tag) == (1, text)


def test_an_event_about_a_file_name_that_is_not_utf8():
    event = ChunkRetried(run_id="r", seq=1, time=0.5, tag="caf\udce9", attempt=1, result=False, comment="", interval=1)
    assert decode_event(encode_event(event)).tag == "caf\\udce9"


@given(st.dictionaries(st.text(max_size=4), st.lists(st.integers(), max_size=3), max_size=9), st.sampled_from([0, 4]))
def test_pieces_are_the_whole(value, indent):
    for each in (value, [*value.items()]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("asyncstate.model.encode._BATCH", 2)
            pieces = list(json_pieces(each, indent))
        assert b"".join(pieces) == json_bytes(each, indent)
        assert len(pieces) == (1 if len(each) <= 2 else 2 * ((len(each) + 1) // 2) + 1)


def test_pieces_of_what_is_not_plain_are_the_whole_too():
    for each in ({1: "a", 2: "b"}, "text", [{1, 2}, "\ud800"], {"a": b"x", "b\ud800": None}):
        assert b"".join(json_pieces(each)) == json_bytes(each)


WITHOUT_MEMORY = """
import os, resource, sys
from asyncstate.model.encode import encoded
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
value = ["x" * 3_000_000] * 2
resource.setrlimit(resource.RLIMIT_AS, (size + 2_000_000,) * 2)
try:
    encoded(value)
except MemoryError:
    sys.exit(3)
"""


def test_where_memory_runs_out_encoding_raises():
    """An encoder's own ``encode`` would end the process."""
    assert subprocess.run([sys.executable, "-c", WITHOUT_MEMORY], check=False).returncode == 3


def test_nothing_is_encoded_in_another_way(checkout):
    others = [
        f"{path.relative_to(checkout)}:{number}"
        for folder in ("asyncstate", "states", "modules")
        for path in sorted((checkout / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"(json|msgpack)\.encode\(|Encoder\([^)]*\)\.encode\b|encode_lines", line)
    ]
    assert others == []
