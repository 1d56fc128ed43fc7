from __future__ import annotations

import datetime as dt
import json
import time

from hypothesis import given
from hypothesis import strategies as st

from asyncstate.report.encode import json_bytes, plain


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
