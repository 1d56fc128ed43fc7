from __future__ import annotations

import gc
import math
import re
import threading
from collections import OrderedDict

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from messages import said
from record_answers import recorded, written
from tables import beside, rows

from asyncstate.data.limits import rare_collections
from asyncstate.data.yaml import dump_yaml, load_yaml, parse_document
from asyncstate.errors import RenderError

TABLES = beside(__file__)


@pytest.mark.feature("F011")
@rows(("text", "value"), recorded("yaml_value").items())
def test_values_are_salts(text, value):
    assert written(load_yaml(f"a: {text}")["a"]) == value


def test_not_a_number():
    assert math.isnan(load_yaml(".nan"))


@pytest.mark.parametrize(
    ("text", "data"),
    TABLES["documents"],
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
        with pytest.raises(RenderError, match="is repeated too often"):
            load_yaml(text)


ELSEWHERE = TABLES["elsewhere"]
"""The lines of the mistakes that are not in the first."""
BETTER = TABLES["better"] | {text: said(name) for text, name in TABLES["words of ours"].items()}
"""What we say where Salt shows what it has in memory, or crashes."""


@pytest.mark.feature("F012", "F014")
@rows(("text", "answer"), recorded("yaml_error").items())
def test_errors_are_salts_or_better_and_have_the_line(text, answer):
    with pytest.raises(RenderError) as caught:
        load_yaml(text, "/srv/x.sls")
    salts = re.sub(r"^!(\w+Error: )?", "", _without_places(answer))
    assert BETTER.get(text, salts) in _without_places(str(caught.value))
    assert salts not in str(caught.value) or text not in BETTER
    assert (caught.value.file, caught.value.line) == ("/srv/x.sls", ELSEWHERE.get(text, 1))


def _without_places(words):
    return re.sub(r"\n  in \"<unicode string>\".*", "", words)


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
    from asyncstate.dunders.context import CallContext, current

    assert dump_yaml({"b": [1, None], "a": "é"}, flow=False) == "a: é\nb:\n- 1\n- null\n"
    assert dump_yaml(OrderedDict([("b", 1), ("a", 2)]), flow=True) == "{b: 1, a: 2}\n"
    assert dump_yaml(defaultdict(list, x=[object()]), flow=True) == "{x: [NULL]}\n"
    assert dump_yaml(SimpleNamespace(), flow=True) == "NULL\n"
    own = type("Own", (dict,), {})
    assert dump_yaml(own(b=1, a=StableSet(["y", "x"])), flow=True) == "{a: !!set {x: null, y: null}, b: 1}\n"
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
