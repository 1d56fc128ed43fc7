from __future__ import annotations

import logging

import pytest

from asyncstate.errors import RenderError
from asyncstate.render import jinja
from asyncstate.render.context import RenderContext
from asyncstate.sources.fileclient import MemoryFileClient

DATA = {"zoo": {"zebra": 1, "ant": {"z": 1, "b": 2}, "mole": [3, {"y": 1, "a": 2}]}, "txt": "a\nb", "n": None}
LIST = ["x", "y z", "it's", "a: b", "#c", ""]


def render(template):
    context = RenderContext(
        salt={},
        grains={},
        pillar={},
        opts={},
        fileclient=MemoryFileClient({"base": {}}),
        sls="a",
        extra={**DATA, "l": LIST},
    )
    return jinja.render(template, context)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ zoo|yaml }}", "{ant: {b: 2, z: 1}, mole: [3, {a: 2, y: 1}], zebra: 1}"),
        ("{{ zoo|yaml(False) }}", "ant:\n  b: 2\n  z: 1\nmole:\n- 3\n- a: 2\n  y: 1\nzebra: 1"),
        ("{{ txt|yaml }}|{{ 5|yaml }}|{{ none|yaml }}|{{ 'abc'|yaml }}|{{ ''|yaml }}|{{ 'true'|yaml }}|{{ '0644'|yaml }}",
         "'a\n\n  b'|5|null|abc|''|'true'|'0644'"),
        ("{{ l|yaml }}", "[x, y z, it's, 'a: b', '#c', '']"),
        ("{{ odict([('b', 1), ('a', 2)])|yaml }}", "{b: 1, a: 2}"),
        ("{{ {'é': 'ü'}|yaml }} {{ {'é': 'ü'}|json }} {{ {'é': 'ü'}|tojson }}", '{é: ü} {"é": "ü"} {"\\u00e9": "\\u00fc"}'),
        ("{{ zoo|json }}", '{"ant": {"b": 2, "z": 1}, "mole": [3, {"a": 2, "y": 1}], "zebra": 1}'),
        ("{{ {'b': 1, 'a': [2]}|json(indent=1) }}", '{\n "a": [\n  2\n ],\n "b": 1\n}'),
        ("{{ {'b': 1, 'a': 2}|json(sort_keys=False) }}", '{"b": 1, "a": 2}'),
        ("{{ {'b': \"<a>&'\"}|tojson }}", '{"b": "\\u003ca\\u003e\\u0026\\u0027"}'),
        ("{{ {'b': 1, 'a': 2}|tojson }}", '{"b": 1, "a": 2}'),
        ("{{ {'b': 1, 'a': 2}|python }}", "{'a': 2, 'b': 1}"),
        ("{{ {'r': {'c': 'd', 'a': [1, {'b': 2}], 'e': {'f': [{'g': 1}, {'g': 2}]}}}|xml }}",
         '<?xml version="1.0" ?>\n<r c="d">\n <a>1</a>\n <a b="2"/>\n <e>\n  <f g="1"/>\n  <f g="2"/>\n </e>\n</r>\n'),
        ("{{ {'name': 'x', 'b': [1, 2], 'c': none}|dict_to_sls_yaml_params }}", "- name: x\n- b:\n  - 1\n  - 2\n- c: null"),
        ("{{ {'name': 'x'}|dict_to_sls_yaml_params(True) }}", "[{name: x}]"),
        ("{{ '{a: 1, b: [x]}'|load_yaml }}{{ '{\"a\": [1]}'|load_json }}{{ 'x'|load_text }}", "{'a': 1, 'b': ['x']}{'a': [1]}x"),
        ("{{ ''|load_yaml }}{{ '!!binary aGk='|load_yaml }}{{ '!!pairs [a: 1]'|load_yaml }}", "Nonehi[['a', 1]]"),
        ("{{ ([1]|json) ~ '<' }}", "[1]<"),
        ("{{ [1, 2]|zip(['a', 'b'])|list }}{{ [1]|zip_longest([2, 3], fillvalue=0)|list }}", "[(1, 'a'), (2, 'b')][(1, 2), (0, 3)]"),
        ("{{ [1, 2]|product([3])|list }}{{ [1, 2, 3]|combinations(2)|list|length }}{{ [1, 2]|permutations|list|length }}",
         "[(1, 3), (2, 3)]32"),
        ("{{ 'ABC'|compress([1, 0, 1])|list }}{{ [1, 2]|combinations_with_replacement(2)|list|length }}", "['A', 'C']3"),
        ("{{ 'a\"b\\n'|yaml_dquote }} {{ \"it's\"|yaml_squote }} {{ 'x'|yaml_encode }} {{ true|yaml_encode }}",
         '"a\\"b\\n" \'it\'\'s\' "x" true'),
    ],
)  # fmt: skip
def test_filters_print_what_salt_prints(template, text):
    assert render(template) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% load_yaml as x %}\na: 1\nb: [x, {{ n }}]\nc: 0644\n{% endload %}{{ x }}", "{'a': 1, 'b': ['x', 'None'], 'c': 644}"),
        ('{% load_json as x %}{"a": [1, {{ zoo.zebra }}]}{% endload %}{{ x.a }}', "[1, 1]"),
        ("{% load_text as x %} hi {{ txt }}{% endload %}[{{ x }}]", "[ hi a\nb]"),
        ("{% load_yaml as x %}{% endload %}{{ x }}", "None"),
        ("{% for i in [7, 8] %}{% load_yaml as x %}v: {{ i }}{{ loop.index }}{% endload %}{{ x.v }},{% endfor %}", "71,82,"),
        ("{% set q = 3 %}{% load_yaml as x %}{% set q = 4 %}v: {{ q }}{% endload %}{{ x.v }}{{ q }}", "43"),
        ("{% macro m(a) %}{% load_yaml as x %}v: {{ a }}{% endload %}{{ x.v }}{% endmacro %}{{ m(5) }}", "5"),
        ("{% set ns = namespace() %}{% load_yaml as ns.x %}a: 1{% endload %}{{ ns.x }}", "{'a': 1}"),
        ("{% profile as 'x' %}{{ 1 }}{% set z = 5 %}{% endprofile %}{{ z }}", "15"),
        ("{% profile as 'x' %}{% profile as 'y' %}{{ 1 }}{% endprofile %}{% endprofile %}", "1"),
    ],
)  # fmt: skip
def test_tags(template, text):
    assert render(template) == text


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% load_yaml as x %}a: [{% endload %}", "Jinja syntax error: Encountered error loading yaml: while parsing a flow node"),
        ("{% load_json as x %}{a{% endload %}", "Jinja syntax error: Unable to load json from {a; line 1"),
        ("{{ '[1,2'|load_json }}", "Jinja syntax error: Unable to load json from [1,2; line 1"),
        ("{{ 5|load_json }}", "Jinja syntax error: Unable to load json from 5; line 1"),
        ("{{ 5|load_yaml }}", "Jinja syntax error: Unable to load yaml from 5; line 1"),
        ("{{ [1]|yaml_encode }}", "Jinja error: yaml_encode() only works with YAML scalar data; failed for <class 'list'>; line 1"),
        ("{{ 5|xml }}", "Jinja syntax error: Value is not a dict or list. Cannot render as XML; line 1"),
        ("{{ {}|xml }}", "Jinja syntax error: Value is empty. Cannot render as XML; line 1"),
        ("{{ {'a': [u, v]}|yaml }}", "Jinja variable 'u' is undefined\n'v' is undefined; line 1"),
        ("{% load_yaml as x %}", "Jinja syntax error: Unexpected end of template."),
        ("{% profile 'x' %}{% endprofile %}", "Jinja syntax error: expected token 'as', got 'string'"),
    ],
)  # fmt: skip
def test_errors_are_salts(template, message):
    with pytest.raises(RenderError) as caught:
        render(template)
    assert str(caught.value).startswith(message)


def test_a_structure_that_holds_itself_is_searched_once():
    from asyncstate.render.serializer import undefined_in

    items: list[object] = [1]
    items.append({"again": items})
    assert undefined_in(items) == []


def test_profile_logs_the_time(caplog):
    with caplog.at_level(logging.DEBUG, "asyncstate"):
        render("{% profile as 'slow part' %}{% endprofile %}")
    assert "Time (in seconds) to render profile block 'slow part':" in caplog.text
