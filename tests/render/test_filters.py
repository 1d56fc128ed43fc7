from __future__ import annotations

import datetime as dt
import os
import re
import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import match
from record_answers import NOW, read, recorded, written
from tables import rows
from web_server import web_server

from asyncstate.data.collection import StableSet
from asyncstate.data.date import read_date
from asyncstate.errors import CommandExecutionError, InvocationError
from asyncstate.render.filters import CHANGING, FILTERS, TESTS

SALT_FILTERS = """
append_dict_key_value avg base64_decode base64_encode check_whitelist_blacklist compare_dicts compare_lists
contains_whitespace date_format difference dns_check exactly_n_true exactly_one_true extend_dict_key_value file_hashsum
filter_by_networks flatten from_entries gen_mac get_uid hmac hmac_compute http_query human_to_bytes intersect ip_host
ipaddr ipv4 ipv6 ipwrap is_bin_file is_empty is_hex is_ip is_ipv4 is_ipv6 is_iter is_list is_text_file json_decode_dict
json_decode_list json_encode_dict json_encode_list json_query list_files mac_str_to_bytes max md5 method_call min
mysql_to_dict network_hosts network_size path_join quote rand_str random_hash random_sample random_shuffle random_str
regex_escape regex_match regex_replace regex_search sequence set_dict_key_value sha1 sha256 sha512 skip
sorted_ignorecase str_to_num strftime substring_in_list symmetric_difference to_bool to_bytes to_camelcase to_entries
to_num to_snake_case traverse union unique update_dict_key_value uuid which yaml_dquote yaml_encode yaml_squote
""".split()
EVERY = {**FILTERS, **CHANGING}


@pytest.mark.feature("F010")
def test_every_filter_of_salt_is_there_and_none_is_both_kinds():
    assert set(SALT_FILTERS) == set(EVERY)
    assert not set(FILTERS) & set(CHANGING)


@pytest.mark.feature("F009", "F010")
@rows(("call", "answer"), recorded("template_filter").items())
def test_filter_returns_what_salt_returns(call, answer):
    name, value, args, kwargs = read(call)
    result = EVERY[name](value, *args, **kwargs)
    assert written(list(result) if isinstance(result, Iterator) else result) == answer


@pytest.mark.feature("F009")
def test_sets_are_printed_and_walked_in_order_of_first_occurrence():
    values = EVERY["unique"](word for word in ["pear", "apple", "pear", "fig"])
    assert list(values) == ["pear", "apple", "fig"]
    assert repr(values) == "{'pear', 'apple', 'fig'}"
    assert list(EVERY["union"]((3, 1), (2, 1))) == [3, 1, 2]
    values.add("kiwi")
    assert list(values)[-1] == "kiwi"
    assert repr(StableSet()) == "set()"


@given(st.lists(st.integers()), st.lists(st.integers()))
def test_set_filters_agree_with_sets(one, two):
    expected = {
        "union": set(one) | set(two),
        "intersect": set(one) & set(two),
        "difference": set(one) - set(two),
        "symmetric_difference": set(one) ^ set(two),
    }
    for name, values in expected.items():
        assert sorted(EVERY[name](one, two)) == sorted(values)
        assert set(EVERY[name](tuple(one), tuple(two))) == values


_plain = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.floats() | st.text(max_size=1),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=1), inner, max_size=2) | st.tuples(inner)
    ),
    max_leaves=4,
)


@given(st.lists(_plain | st.sets(st.integers(0, 2))), st.lists(_plain | st.frozensets(st.integers(0, 2))))
def test_set_filters_compare_values_without_a_hash(one, two):
    def distinct(values):
        return [value for at, value in enumerate(values) if value not in values[:at]]

    common = [value for value in one if value in two]
    assert repr(EVERY["unique"](one)) == repr(distinct(one))
    assert repr(EVERY["intersect"](one, two)) == repr(distinct(common))
    assert repr(EVERY["difference"](one, two)) == repr(distinct([value for value in one if value not in two]))
    both = distinct(one + two)
    assert repr(EVERY["symmetric_difference"](one, two)) == repr([value for value in both if value not in common])


def test_set_filters_take_long_lists():
    one, two = [[number] for number in range(60_000)], [{number: []} for number in range(60_000)]
    assert EVERY["unique"](one + two) == one + two
    assert EVERY["intersect"](one, two) == []
    assert EVERY["difference"](one, one + two) == []


@given(st.recursive(st.integers(), lambda inner: st.lists(inner, max_size=3), max_leaves=20).map(lambda x: [x]))
def test_flatten_leaves_no_list_and_loses_nothing(nested):
    numbers = [int(text) for text in re.findall(r"-?\d+", str(nested))]
    assert EVERY["flatten"](nested) == numbers


def test_flatten_refuses_a_cycle():
    items: list[object] = [1]
    items.append(items)
    with pytest.raises(RecursionError, match="Reference cycle"):
        EVERY["flatten"](items)


def test_dict_filters_change_the_dict_they_get():
    data: dict[str, object] = {}
    assert EVERY["set_dict_key_value"](data, "a:b:c", 1) is data
    EVERY["append_dict_key_value"](data, "a:l", 2)
    EVERY["extend_dict_key_value"](data, "a:l", [3])
    EVERY["update_dict_key_value"](data, "a:b", {"d": 4})
    assert data == {"a": {"b": {"c": 1, "d": 4}, "l": [2, 3]}}


@pytest.mark.parametrize(("verb", "value"), [("append", 1), ("extend", [1]), ("update", {})])
def test_dict_filters_name_what_stands_in_the_way(verb, value):
    with pytest.raises(InvocationError, match=match("last-key", kind="<class 'str'>", verb=verb)):
        EVERY[f"{verb}_dict_key_value"]({"a": "text"}, "a", value)


def test_update_and_extend_refuse_what_does_not_fit():
    with pytest.raises(InvocationError, match="Cannot update"):
        EVERY["update_dict_key_value"]({"a": {}}, "a", 3)
    with pytest.raises(InvocationError, match="Cannot extend"):
        EVERY["extend_dict_key_value"]({"a": []}, "a", 3)


def test_a_shuffle_without_a_seed_loses_nothing():
    assert sorted(EVERY["random_shuffle"]([3, 1, 2])) == [1, 2, 3]


def test_random_text_and_hashes_have_their_form():
    assert len(EVERY["random_str"](20)) == 20
    assert EVERY["is_hex"](EVERY["random_hash"](100))
    assert len(EVERY["rand_str"](9, "sha256")) == 64
    assert EVERY["gen_mac"]("00:16:3E").startswith("00:16:3E:")


def test_file_filters(tmp_path):
    text, binary, empty = tmp_path / "t", tmp_path / "b", tmp_path / "e"
    text.write_text("hello\n")
    binary.write_bytes(bytes(range(256)))
    empty.touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    assert EVERY["is_text_file"](str(text))
    assert not EVERY["is_text_file"](str(binary))
    assert EVERY["is_bin_file"](str(binary))
    assert not EVERY["is_bin_file"](str(text))
    assert EVERY["is_empty"](str(empty))
    assert not EVERY["is_empty"](str(tmp_path / "none"))
    assert EVERY["file_hashsum"](str(text), "md5") == "b1946ac92492d2347c6235b4d2611184"
    assert EVERY["list_files"](str(tmp_path)) == sorted(map(str, [tmp_path, text, binary, empty, tmp_path / "loop"]))
    with pytest.raises(ValueError, match="Invalid hash type: nope"):
        EVERY["file_hashsum"](str(text), "nope")


def test_which_and_get_uid(tmp_path, monkeypatch):
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert EVERY["which"]("tool") is None
    program.chmod(0o755)
    assert EVERY["which"]("tool") == str(program)
    assert EVERY["which"]("sh") in ("/bin/sh", "/usr/bin/sh")
    assert EVERY["get_uid"]("root") == 0
    assert EVERY["get_uid"]() == os.geteuid()
    assert EVERY["get_uid"]("nobody-of-that-name") is None


@pytest.mark.parametrize(("text", "moment"), recorded("date").items())
def test_relative_dates_mean_what_they_mean_in_salt(text, moment):
    assert str(read_date(text, NOW)) == moment


@pytest.mark.parametrize("text", ["", "foo", "2017-13-45", "10", "12 monkeys"])
def test_other_text_is_no_date(text):
    assert read_date(text, NOW) is None


def test_strftime_takes_stamps_and_datetimes_and_refuses_the_rest():
    stamp = dt.datetime(2017, 3, 8, 17, 4).timestamp()  # noqa: DTZ001
    assert EVERY["strftime"](stamp) == "2017-03-08"
    assert EVERY["date_format"](str(int(stamp)), "%d.%m.%Y %H:%M") == "08.03.2017 17:04"
    assert EVERY["strftime"](dt.datetime(2000, 1, 2), "%j") == "002"  # noqa: DTZ001
    assert len(EVERY["strftime"]()) == 10
    with pytest.raises(ValueError, match="Unable to parse foo"):
        EVERY["strftime"]("foo")


def test_json_query_says_what_it_needs():
    try:
        import jmespath  # noqa: F401
    except ImportError:
        with pytest.raises(RuntimeError, match=match("no-jmespath")):
            EVERY["json_query"]({}, "a")
    else:
        assert EVERY["json_query"]({"a": [{"b": 1}]}, "a[*].b") == [1]


def test_mysql_table():
    table = ["+--+", "| a | b |", "+--+", "| 1 | x |", "| 2.5 | y |", "", "+--+"]
    assert EVERY["mysql_to_dict"](table, "b") == {"x": {"a": 1, "b": "x"}, "y": {"a": 2.5, "b": "y"}}


def test_dns_check_finds_what_listens_and_raises_otherwise():
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert EVERY["dns_check"]("127.0.0.1", server.getsockname()[1]) == "127.0.0.1"
    with pytest.raises(CommandExecutionError, match=match("dns-check", host="no.such.invalid")):
        EVERY["dns_check"]("no.such.invalid", 80)


def test_http_query_returns_body_status_and_data():
    query = EVERY["http_query"]
    with web_server() as server:
        server.pages["/ok"] = (200, {"Content-Type": "application/json"}, b'{"n": 1}')
        assert query(f"{server.url}/ok") == {"body": '{"n": 1}'}
        answer = query(
            f"{server.url}/ok", params={"q": "1"}, decode=True, status=True, text=True, username="u", password="p"
        )
        assert (answer["status"], answer["dict"], answer["text"]) == (200, {"n": 1}, answer["body"])
        refused = query(f"{server.url}/no", method="POST", data={"a": 1})
        assert (refused["status"], refused["error"]) == (404, "HTTP Error 404: Not Found")
        asked = [(method, path, headers.get("Authorization", "")) for method, path, headers, _ in server.requests]
        assert asked == [("GET", "/ok", ""), ("GET", "/ok?q=1", "Basic dTpw"), ("POST", "/no", "")]
    assert "error" in query("http://127.0.0.1:9/", timeout=1)
    with pytest.raises(ValueError, match=match("no-url", url="'file:///etc/passwd'")):
        query("file:///etc/passwd")


@pytest.mark.feature("F009")
def test_tests():
    assert TESTS["match"]("abc", "AB", ignorecase=True)
    assert not TESTS["match"]("abc", "b")
    assert TESTS["equalto"](1, 1)
    assert not TESTS["list"]((1,))
