from __future__ import annotations

import gc
import math
import threading
from collections import OrderedDict

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from asyncstate.data.yaml.read import dump_yaml, load_yaml, parse_document
from asyncstate.errors import RenderError
from asyncstate.garbage_collector import rare_collections


@pytest.mark.feature("F011")
@rows(
    ("text", "value"),
    [
        ("0644", 644),
        ("010", 10),
        ("00", 0),
        ("0", 0),
        ("-010", -8),
        ("08", "08"),
        ("0o644", "0o644"),
        ("0x1F", 31),
        ("-0x1F", -31),
        ("0b11", 3),
        ("1_000", 1000),
        ("0_1", 1),
        ("12:30:45", 45045),
        ("08:30", "08:30"),
        ("1:30.5", 90.5),
        ("1e3", "1e3"),
        ("1.0e+3", 1000.0),
        ("1.0e3", "1.0e3"),
        (".5", 0.5),
        ("5.", 5.0),
        ("1._", 1.0),
        ("-.INF", -math.inf),
        ("+.inf", math.inf),
        ("1.2.3.4", "1.2.3.4"),
        ("yes", True),
        ("Off", False),
        ("TRUE", True),
        ("tRue", "tRue"),
        ("y", "y"),
        ("N", "N"),
        ("~", None),
        ("Null", None),
        ("nUll", "nUll"),
        ("2001-01-01", "2001-01-01"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("! 5", 5),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ("!!int 010", 10),
        ("!!float 5", 5.0),
        ("!!null foo", None),
        ("!!timestamp 2001-01-01", "2001-01-01"),
        ("!!python/unicode x", "x"),
        ("!!binary aGk=", b"hi"),
        ("!!binary aGk", b"hi"),
        ("!!set {x, y}", {"x", "y"}),
        ("!!pairs [a: 1, a: 2]", [("a", 1), ("a", 2)]),
        ("!!omap {a: 1}", {"a": 1}),
        ("!!map {a: 1}", {"a": 1}),
        ("!!seq [a]", ["a"]),
        ("!<tag:yaml.org,2002:int> 5", 5),
        ("'0644'", "0644"),
        ('"yes"', "yes"),
    ],
)
def test_values_are_salts(text, value):
    read = load_yaml(f"a: {text}")["a"]
    assert read == value
    assert type(read) is type(value)


def test_not_a_number():
    assert math.isnan(load_yaml(".nan"))


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", None),
        ("# remark\n", None),
        ("---\na: 1\n...\n", {"a": 1}),
        ("\ufeffa: 1", {"a": 1}),
        ("=: a", {"=": "a"}),
        ("? a\n? b", {"a": None, "b": None}),
        ("!!str : 1", {"": 1}),
        ("2001-01-01: c", {"2001-01-01": "c"}),
        ("1: a\n'1': b", {1: "a", "1": "b"}),
        ("~: 1\n1.5: a\ntrue: b", {None: 1, 1.5: "a", True: "b"}),
        ("%YAML 1.2\n---\na: 0o7", {"a": "0o7"}),
        ("a: >-\n  x\n\n  y\n", {"a": "x\ny"}),
        ("a: |\r\n  x\r\n  y\r\n", {"a": "x\ny\n"}),
        ("- \n-", [None, None]),
        ("&x a: 1\nb: *x", {"a": 1, "b": "a"}),
        ("x: &a {k: 1, l: 2}\nz:\n  <<: *a\n  k: 3", {"x": {"k": 1, "l": 2}, "z": {"l": 2, "k": 3}}),
        ("<<: [{a: 1}, {b: 2}]\nc: 3", {"b": 2, "a": 1, "c": 3}),
        ("z:\n  <<: {a: 1}\n  <<: {b: 2}\n  c: 3", {"z": {"a": 1, "b": 2, "c": 3}}),
        ("<<: []\na: 1", {"a": 1}),
    ],
)
def test_documents(text, data):
    assert load_yaml(text) == data


def test_merged_keys_come_first():
    assert list(load_yaml("x: &a {k: 1, l: 2}\nz:\n  j: 0\n  <<: *a\n  k: 3")["z"]) == ["l", "j", "k"]
    assert list(load_yaml("<<: [{a: 1}, {b: 2}]\nc: 3")) == ["b", "a", "c"]


def test_an_alias_is_the_very_object_of_its_anchor():
    data = load_yaml("a: &x [1]\nb: *x\nc: {<<: {k: *x}}")
    assert data["a"] is data["b"] is data["c"]["k"]


@pytest.mark.feature("F215")
@pytest.mark.parametrize(("levels", "fits"), [(5, True), (40, False)])
def test_aliases_of_aliases_cost_no_memory_and_have_a_limit(levels, fits):
    lines = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, levels))
    text = f"l0: &l0 [lol]\n{lines}"
    if fits:
        data = load_yaml(text)
        assert data["l4"][8] is data["l3"]
    else:
        with pytest.raises(RenderError, match="the same data is repeated too often"):
            load_yaml(text)


@pytest.mark.feature("F012", "F014")
@rows(
    ("text", "message", "line"),
    [
        ("a: 1\nb: 2\na: 3", "found conflicting ID 'a'", 3),
        ("x:\n  - k: 1\n    k: 2", "found conflicting ID 'k'", 3),
        ("1: a\n01: b", "found conflicting ID '1'", 2),
        ("x: &a {k: 1}\ny: &b {k: 2}\nz:\n  <<: [*a, *b]", "found conflicting ID 'k'", 4),
        ("a: =", "could not determine a constructor for the tag 'tag:yaml.org,2002:value'", 1),
        ("a: <<", "could not determine a constructor for the tag 'tag:yaml.org,2002:merge'", 1),
        ("- =", "could not determine a constructor for the tag 'tag:yaml.org,2002:value'", 1),
        ("=", "could not determine a constructor for the tag 'tag:yaml.org,2002:value'", 1),
        ("a:\n  b: !foo c", "could not determine a constructor for the tag '!foo'", 2),
        ("a: !foo {b: c}", "could not determine a constructor for the tag '!foo'", 1),
        ("a: !!python/object:os.system x", "could not determine a constructor for the tag", 1),
        ("a: !!omap [a: 1]", "expected a mapping node, but found sequence", 1),
        ("a: !!map [1]", "expected a mapping node, but found sequence", 1),
        ("a: !!seq {b: 1}", "expected a sequence node, but found mapping", 1),
        ("a: !!str [1]", "expected a scalar node, but found sequence", 1),
        ("a: !!map x", "expected a mapping node, but found scalar", 1),
        ("a: !!pairs {x: 1}", "expected a sequence, but found mapping", 1),
        ("a: !!pairs [1]", "expected a mapping of length 1", 1),
        ("a: !!pairs [{x: 1, y: 2}]", "expected a single mapping item, but found 2 items", 1),
        ("a: !!int foo", "invalid literal for int() with base 10: 'foo'", 1),
        ("a: !!bool foo", "'foo' is no boolean", 1),
        ("a: 0_", "invalid literal", 1),
        ("a: !!binary 'é'", "failed to convert base64 data into ascii", 1),
        ("? [a, b]\n: c", "found unacceptable key ['a', 'b']", 1),
        ("a: {{ x }}", "Invalid YAML, possible double curly-brace", 1),
        ("<<: 1", "expected a mapping or list of mappings for merging, but found scalar", 1),
        ("<<: [{a: 1}, 3]", "expected a mapping for merging, but found scalar", 1),
        ("<<: [[a]]", "expected a mapping for merging, but found sequence", 1),
        ("a: *b", "found undefined alias", 1),
        ("a: &x 1\nb: &x 2", "found duplicate anchor; first occurrence", 2),
        ("a: &a [*a]", "found unconstructable recursive node", 1),
        ("a\n---\nb", "expected a single document in the stream", 2),
        ("a:\n\tb: 1", "found character that cannot start any token; line 2", 2),
        ("a: b: c", "mapping values are not allowed in this context; line 1", 1),
        ("- a\nb: c", "did not find expected '-' indicator", 2),
        ("a:\n  b: [1, 2", "did not find expected ',' or ']'", 3),
        ("a: 1\nb: x\0y", "binary data, not YAML", 2),
        ("a: 1\n\nb: \x07", "control characters are not allowed", 3),
        ("a: '\ud800'", "surrogates not allowed", 1),
    ],
)
def test_errors_are_salts_with_the_line(text, message, line):
    with pytest.raises(RenderError) as caught:
        load_yaml(text, "/srv/x.sls")
    assert message in str(caught.value)
    assert (caught.value.file, caught.value.line) == ("/srv/x.sls", line)


def test_the_words_of_a_conflict():
    with pytest.raises(RenderError) as caught:
        load_yaml("a: 1\na: 2")
    assert str(caught.value) == (
        'while constructing a mapping\n  in "<unicode string>", line 1, column 1\n'
        "found conflicting ID 'a'\n  in \"<unicode string>\", line 2, column 1"
    )
    assert caught.value.excerpt == "---\na: 1\na: 2    <======================\n---"


def test_depth_has_a_limit_and_needs_no_stack():
    value = load_yaml("- " * 100 + "x")
    for _ in range(100):
        (value,) = value
    assert value == "x"
    with pytest.raises(RenderError, match="nested deeper than 100 levels") as caught:
        load_yaml("a: 1\nb:\n  " + "- " * 100_000 + "x")
    assert caught.value.line == 3


def test_lines_of_the_two_outer_levels():
    text = (
        "# remark\na:\n  pkg.installed:\n    - name: x\n\nb: 1\n'c d':\n  file:\n    deep: 1\n  svc: []\nl:\n  - k: 1\n"
    )
    lines = parse_document(text).lines
    assert lines.find("a") == 2
    assert lines.find("a", "pkg.installed") == 3
    assert lines.find("b") == 6
    assert lines.find("c d", "svc") == 10
    assert lines.find("l") == 11
    assert lines.find("deep") == lines.find("c d", "deep") == lines.find("k") == lines.find("l", "k") == 0
    assert lines.find("a", "pkg") == 3
    assert lines.find("a", "p") == 0


def test_lines_of_a_list_are_not_kept():
    assert parse_document("- a: 1\n- b:\n    c: 1").lines.find("a") == 0


def test_mapping_type():
    data = load_yaml("b: {y: 1, x: 2}\na: [{d: 1}]", mapping=OrderedDict)
    assert type(data) is type(data["b"]) is type(data["a"][0]) is OrderedDict
    assert dump_yaml(data, flow=True) == "{b: {y: 1, x: 2}, a: [{d: 1}]}\n"
    assert dump_yaml(dict(data), flow=True) == "{a: [{d: 1}], b: {y: 1, x: 2}}\n"


def test_dump():
    from collections import OrderedDict, defaultdict
    from types import SimpleNamespace

    from asyncstate.data.collection import StableSet
    from asyncstate.dunders import __pillar__
    from asyncstate.dunders.context import CallContext, OptsOverlay, current

    assert dump_yaml({"b": [1, None], "a": "é"}, flow=False) == "a: é\nb:\n- 1\n- null\n"
    assert dump_yaml(OrderedDict([("b", 1), ("a", 2)]), flow=True) == "{b: 1, a: 2}\n"
    assert dump_yaml(defaultdict(list, x=[object()]), flow=True) == "{x: [NULL]}\n"
    assert dump_yaml(SimpleNamespace(), flow=True) == "NULL\n"
    assert dump_yaml(OptsOverlay(b=1, a=StableSet(["y", "x"])), flow=True) == "{a: !!set {x: null, y: null}, b: 1}\n"
    call = CallContext(opts={}, grains={}, pillar={"a": 1}, context={}, salt={}, states={}, utils={})
    token = current.set(call)
    try:
        assert dump_yaml(__pillar__, flow=True) == "{a: 1}\n"
    finally:
        current.reset(token)
    assert dump_yaml({"a": {"b": 1}, "l": [1]}) == "a: {b: 1}\nl: [1]\n"


plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8"))
nested = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
)


@given(nested)
def test_what_is_dumped_is_read_back(data):
    assert load_yaml(dump_yaml(data, flow=False)) == data
    assert load_yaml(dump_yaml(data, flow=True)) == data


@given(st.text("ab01:-[]{}, \n#&*!|>'\"=<~.", max_size=40))
def test_agrees_with_pyyaml_on_any_text(text):
    """Where this package has no rule of its own, PyYAML's loader is the reference; errors come as RenderError alone."""
    try:
        mine = load_yaml(text)
    except RenderError:
        return
    theirs = yaml.load(text, Loader=yaml.CBaseLoader)
    if isinstance(theirs, str):
        assert not isinstance(mine, (dict, list))
    elif isinstance(theirs, list) or (isinstance(theirs, dict) and "<<" not in theirs):
        assert len(mine) == len(theirs)


def test_large_documents_are_composed_with_the_collector_held_back():
    before = gc.get_threshold()
    with rare_collections():
        assert gc.get_threshold()[0] > before[0]
        with rare_collections():
            pass
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before
    assert len(load_yaml("".join(f"k{n}: [a, b]\n" for n in range(6000)))) == 6000
    assert gc.get_threshold() == before


def test_a_threshold_set_meanwhile_is_kept():
    before = gc.get_threshold()
    try:
        with rare_collections():
            gc.set_threshold(1234)
        assert gc.get_threshold()[0] == 1234
    finally:
        gc.set_threshold(*before)


def test_threads_share_the_held_back_collector():
    before = gc.get_threshold()
    text = "".join(f"k{n}: [a, b]\n" for n in range(4000))
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(len(load_yaml(text)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [4000] * 4
    assert gc.get_threshold() == before
