"""The view that templates have of a runtime, and the limits of their influence."""

from __future__ import annotations

import pytest

from asyncstate import Settings, StateRuntime

PILLAR = {
    "top.sls": "base: {'*': [one, two]}",
    "one.sls": "web: {z: 1, a: {y: 1, b: 2}}\nnames: [x]\n",
    "two.sls": "web: {m: 2, a: {c: 3}}\n",
}


@pytest.fixture
def compiled(tmp_path):
    def compile_(files, times=1, **pillar):
        for root, content in (("salt", files), ("pillar", {**PILLAR, **pillar})):
            (tmp_path / root).mkdir(exist_ok=True)
            for name, text in content.items():
                (tmp_path / root / name).write_text(text)
        roots = {
            f"{kind}_roots": {"base": [str(tmp_path / name)]} for kind, name in (("file", "salt"), ("pillar", "pillar"))
        }
        with StateRuntime(Settings(**roots, root_dir=str(tmp_path))).open_sync() as runtime:
            plans = [runtime.compile_sync(["a"]) for _ in range(times)]
        return [{row["__id__"]: row["name"] for row in plan.lowstate()} for plan in plans]

    return compile_


def test_merged_pillar_prints_in_its_order(compiled):
    assert compiled({"a.sls": "s:\n  test.nop:\n  - name: '{{ pillar.web | yaml }}'\n"}) == [
        {"s": "{z: 1, a: {y: 1, b: 2, c: 3}, m: 2}"}
    ]
    functions = "{{ salt['pillar.get']('web:a') | yaml }} {{ salt['config.get']('web:a') | yaml }}"
    assert compiled({"a.sls": f"s:\n  test.nop:\n  - name: '{functions}'\n"}) == [
        {"s": "{y: 1, b: 2, c: 3} {y: 1, b: 2, c: 3}"}
    ]


def test_data_read_by_the_yaml_renderer_prints_in_its_order(compiled):
    text = "s:\n  test.nop:\n  - name: \"{{ salt['slsutil.renderer']('salt://d.yaml') | yaml }}\"\n"
    assert compiled({"a.sls": text, "d.yaml": "z: 1\na: {y: 1, b: 2}\n"}) == [{"s": "{z: 1, a: {y: 1, b: 2}}"}]


def test_what_a_template_does_to_the_pillar_later_templates_see_but_no_plugin(compiled):
    changing = (
        "{% do pillar.web.update({'new': 1}) %}{% do pillar.names.append('y') %}{% do pillar.update({'top': 1}) %}"
    )
    files = {
        "a.sls": f"include: [b]\n{changing}\ns: test.nop\n",
        "b.sls": 't:\n  test.nop:\n  - name: "{{ pillar.web.new }} {{ pillar.names }} {{ pillar.top }}'
        " {{ salt['pillar.get']('web:new', 'no') }} {{ salt['pillar.get']('names') }} {{ salt['pillar.get']('top', 'no') }}\"\n",
    }
    first, second = compiled(files, times=2)
    assert first == second == {"s": "s", "t": "1 ['x', 'y'] 1 no ['x'] no"}


def test_options_that_a_template_changes_are_its_own(compiled):
    files = {
        "a.sls": "include: [b]\n{% do opts.update({'new': 1}) %}\ns:\n  test.nop:\n  - name: 'x{{ opts.new }}'\n",
        "b.sls": "t:\n  test.nop:\n  - name: '{{ opts.get('new', 'no') }}'\n",
    }
    assert compiled(files) == [{"t": "no", "s": "x1"}]


def test_what_a_rendered_text_does_to_the_pillar_nobody_sees(compiled):
    text = "{%- do pillar.names.append('y') -%}{{ pillar.names }}"
    files = {
        "a.sls": "{% set text = salt['slsutil.renderer']('salt://t.jinja', default_renderer='jinja') %}\n"
        "s:\n  test.nop:\n  - name: \"{{ text }} {{ salt['pillar.get']('names') }} {{ pillar.names }}\"\n",
        "t.jinja": text,
    }
    assert compiled(files) == [{"s": "['x', 'y'] ['x'] ['x']"}]
