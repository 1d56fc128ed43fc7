"""Check reads the templates that states render, and finds what every rendering would fail with."""

from __future__ import annotations

import asyncio

import pytest

from asyncstate.config import Settings
from asyncstate.errors import CompileError
from asyncstate.extras.manual.values import judge_values
from asyncstate.runtime import StateRuntime

PILLAR = "base: {'*': [data]}", "web: {port: 80}\n"
STATE = """web:
  file.managed:
    - name: {root}/web
    - source: salt://web.j2
    - template: jinja
"""


@pytest.fixture
def found(tmp_path):
    """Return (code, file, line, mistake) of each finding in an SLS and the template web.j2."""

    def look(template, sls=STATE, codes=("E424", "E425", "E428", "W402"), **files):
        for name, text in {
            "salt/s.sls": sls.replace("{root}", str(tmp_path)),
            "salt/web.j2": template,
            "pillar/top.sls": PILLAR[0],
            "pillar/data.sls": PILLAR[1],
            **files,
        }.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        kept = {"cachedir": str(tmp_path / "cache"), "state_dir": str(tmp_path / "state"), "journal": "off"}
        roots = {"file_roots": {"base": [str(tmp_path / "salt")]}, "pillar_roots": {"base": [str(tmp_path / "pillar")]}}
        with StateRuntime(Settings(**roots, **kept)).open_sync() as runtime:
            judge_values(runtime)
            try:
                issues = runtime.compile_sync(["s"]).warnings
            except CompileError as error:
                issues = error.issues
        return [
            (issue.code, issue.file.rpartition("/")[2], issue.line, issue.mistake)
            for issue in issues
            if issue.code in codes or issue.file.endswith(".j2")
        ]

    return look


def fails(tmp_path):
    """Return whether the state of the tree fails in a run."""
    kept = {"cachedir": str(tmp_path / "cache"), "state_dir": str(tmp_path / "state"), "journal": "off"}
    roots = {"file_roots": {"base": [str(tmp_path / "salt")]}, "pillar_roots": {"base": [str(tmp_path / "pillar")]}}

    async def applied():
        async with StateRuntime(Settings(**roots, **kept)) as runtime:
            return await runtime.apply(["s"])

    return any(row["result"] is False for row in asyncio.run(applied()).rows.values())


@pytest.mark.parametrize(
    ("template", "finding"),
    [
        ("a\n{% if true %}\n", ("E424", "web.j2", 2, True)),
        ("a\n{{ x }\n", ("E424", "web.j2", 2, True)),
        ("a\n\n{{ 'x' | nofilter }}\n", ("E424", "web.j2", 3, True)),
        ("#jinja2: {}\na\n{% endif %}\n", ("E424", "web.j2", 3, True)),
        ("a\n{{ pillar['zz'] }}\n", ("E425", "web.j2", 2, True)),
        ("a\n{{ pillar.web.prt }}\n", ("E425", "web.j2", 2, True)),
        ("{% for x in pillar['zz'] %}{{ x }}{% endfor %}", ("E425", "web.j2", 1, True)),
        ("a\n{{ nope }}\n", ("E428", "web.j2", 2, True)),
        ("a\n{{ nope.x }} {{ nope['y'] }}\n", ("E428", "web.j2", 2, True)),
        ("{{ nope.x() }}", ("E428", "web.j2", 1, True)),
        ("{{ nope() }}", ("E428", "web.j2", 1, True)),
        ("{% for x in nope %}{{ x }}{% endfor %}", ("E428", "web.j2", 1, True)),
        *(
            (f"a\n{{{{ {name} }}}}", ("E428", "web.j2", 2, True))
            for name in (
                *("sls", "slspath", "slsdotpath", "slscolonpath", "sls_path", "tplpath", "tplfile", "tpldir", "tpldot"),
                *("renderers", "rendered_sls", "proxy", "env"),
            )
        ),
        ("{% from tpldir ~ '/x' import y %}", ("E428", "web.j2", 1, True)),
        ("{% include nope %}", ("E428", "web.j2", 1, True)),
        ("{{ 'a' ~ nope ~ 'b' }}", ("E428", "web.j2", 1, True)),
        ("{{ 'a' ~ pillar['zz'] }}", ("E425", "web.j2", 1, True)),
    ],
)
def test_a_template_that_no_run_can_render_is_a_mistake_at_its_line(found, tmp_path, template, finding):
    assert found(template) == [finding]
    assert fails(tmp_path)


@pytest.mark.parametrize(
    "template",
    [
        "{{ pillar['web']['port'] }} {{ pillar.web.port }} {{ pillar.get('zz', 1) }}",
        "{{ pillar['zz'] | default(1) }} {{ pillar['zz'] or 1 if pillar['zz'] is defined else 2 }}",
        "{% if 'zz' in pillar %}{{ pillar['zz'] }}{% endif %}",
        "{% do pillar.update({'zz': 1}) %}{{ pillar['zz'] }}",
        "{% set pillar = {'zz': 1} %}{{ pillar['zz'] }}",
        "{{ pillar.items() | list }}",
        "{% raw %}{{ x }{% endraw %}",
        "plain { % text",
        "{{ nope | default(1) }}{{ (nope | default({'x': 1})).x }}{{ nope is defined }}",
        "{% if nope is defined %}{{ nope.x }}{% endif %}{% if false %}{{ nope }}{% endif %}",
        "{% set nope = {'x': 1} %}{{ nope.x }}",
        "{% set nope %}x{% endset %}{{ nope }}",
        "{% macro nope() %}x{% endmacro %}{{ nope() }}",
        "{% for nope in [1] %}{{ nope }}{% endfor %}",
        "{{ name }}{{ source }}{{ user }}{{ mode }}{{ saltenv }}{{ range(2) | list }}{{ salt['test.ping']() }}",
        "{{ opts.id }}{{ grains.id }}{{ pillar }}{{ 'a' ~ grains.id ~ (nope | default('b')) }}",
        "{% set a = 'web' %}{% include a ~ '.none' ignore missing %}",
        "{% block a %}x{% endblock %}{{ self.a() }}",
    ],
)
def test_a_template_that_renders_is_left_alone(found, tmp_path, template):
    assert found(template) == []
    assert not fails(tmp_path)


def test_a_template_may_use_every_variable_that_a_run_gives_it(found, tmp_path):
    sls = (
        STATE
        + "texts:\n  file.accumulated:\n    - filename: {root}/web\n    - text: x\n    - require_in: [{file: web}]\n"
    )
    assert found("{{ show_full_context() | join(' ') }}", sls) == []
    assert not fails(tmp_path)
    names = (tmp_path / "web").read_text().split()
    assert "accumulator" in names
    assert found("".join(f"{{{{ {name} }}}}" for name in names), sls) == []


@pytest.mark.parametrize(
    "form", ["    - unless: ! test -e /x\n", "    - onlyif:\n      - 'true'\n      - ! test -e /x\n"]
)
def test_a_negation_that_yaml_drops_is_a_mistake(found, form):
    codes = found("", f"web:\n  test.nop:\n    - name: x\n{form}", codes={"E427"})
    assert codes == [("E427", "s.sls", 4, True)]


@pytest.mark.parametrize(
    "form", ["- unless: '! test -e /x'", "- unless: |\n        ! test -e /x", "- onlyif: test ! -e /x", "- order: 1"]
)
def test_a_negation_that_the_shell_sees_is_left_alone(found, form):
    assert found("", f"web:\n  test.nop:\n    - name: x\n    {form}\n", codes={"E427"}) == []


def test_a_key_of_a_state_with_a_condition_or_a_pillar_of_its_own_is_left_alone(found):
    assert found("{{ pillar['zz'] }}", STATE + "    - onlyif: 'false'\n") == []
    assert found("{{ pillar['zz'] }}", STATE + "    - context: {pillar: {zz: 1}}\n") == []


def test_other_renderers_and_files_without_one_are_left_alone(found):
    assert found("{% if %}", STATE.replace("    - template: jinja\n", "")) == []
    assert found("{% if %}", STATE.replace("jinja", "text")) == []


def test_the_files_of_a_folder_are_templates_too(found):
    sls = "web:\n  file.recurse:\n    - name: {root}/web\n    - source: salt://conf\n    - template: jinja\n"
    files = {"salt/conf/a": "{% if %}", "salt/conf/b/c": "x\n{{", "salt/conf/d": "fine"}
    assert found("", sls, **files) == [("E424", "a", 1, True), ("E424", "c", 2, True)]


def test_a_template_of_two_states_is_read_once(found):
    second = STATE.replace("web:\n", "other:\n", 1).replace("/web", "/other")
    assert found("{% if %}", STATE + second) == [("E424", "web.j2", 1, True)]


def test_a_comment_in_the_template_silences_a_finding(found):
    assert found("{# asyncstate: ignore[E425] #}\n{{ pillar['zz'] }}") == []


def test_a_template_within_an_sls_is_read_at_the_argument(found):
    sls = "web:\n  file.managed:\n    - name: {root}/web\n    - template: jinja\n    - contents: '{% raw %}{{ x }{% endraw %}'\n"
    assert found("", sls) == [("E424", "s.sls", 5, True)]


@pytest.mark.parametrize(
    ("argument", "finding"),
    [
        ("echo {{ pillar.get('zz') }}", [("W402", "s.sls", 3, False)]),
        ("|\n        x\n        echo {{ pillar.get('zz') }} y", [("W402", "s.sls", 3, False)]),
        ("echo None", []),
        ("echo None {{ pillar.get('web:port') }}", []),
        ("echo {{ pillar.get('web') }} Nonesuch", []),
        ("echo {{ pillar.get('zz', 'x') }}", []),
    ],
)
def test_none_that_a_template_wrote_into_a_text_is_a_warning(found, argument, finding):
    assert found("", f"x:\n  cmd.run:\n    - name: {argument}\n") == finding


@pytest.mark.parametrize(
    ("template", "files", "found_there"),
    [
        (
            "{% from 'lib.j2' import y %}\n",
            {"salt/lib.j2": "{% macro y() %}\n{% if %}\n"},
            [("E424", "lib.j2", 2, True)],
        ),
        (
            "{% include 'a.j2' %}\n",
            {"salt/a.j2": "{% import 'b.j2' as b %}", "salt/b.j2": "{{"},
            [("E424", "b.j2", 1, True)],
        ),
        ("x\n{% from 'lbi.j2' import y %}\n", {"salt/lib.j2": "x"}, [("E407", "web.j2", 2, True)]),
        ("{% include 'web.j2' %}\n", {}, []),  # only a run knows where it ends
        ("{% if x %}{% include 'gone.j2' %}{% endif %}\n", {}, []),
        ("{% include 'gone.j2' ignore missing %}\n", {}, []),
        ("{% include name %}{% include './gone.j2' %}\n", {}, []),
    ],
)
def test_templates_that_every_rendering_imports_are_read_too(found, template, files, found_there):
    assert found(template, **files) == found_there


def test_a_template_in_python_is_compiled(found):
    sls = STATE.replace("jinja", "py")
    assert found("def run(:\n", sls) == [("E424", "web.j2", 1, True)]
    assert found("def run():\n    return ''\n", sls) == []


def test_an_unknown_filter_or_test_has_the_nearest_name(tmp_path):
    (tmp_path / "s.sls").write_text("{{ x | tojsn }}")
    (tmp_path / "t.sls").write_text("{% if 1 is evn %}{% endif %}")
    (tmp_path / "u.sls").write_text("x:\n  test.nop: []\n{% for u in pillar.get('users') %}{% endfor %}")
    (tmp_path / "v.sls").write_text("{% for u in grains.get('a').get('b') %}{% endfor %}")
    kept = {"cachedir": str(tmp_path / "cache"), "state_dir": str(tmp_path / "state"), "journal": "off"}
    hints = {}
    with StateRuntime(Settings(file_roots={"base": [str(tmp_path)]}, **kept)).open_sync() as runtime:
        for sls in "stuv":
            with pytest.raises(CompileError) as refused:
                runtime.compile_sync([sls])
            hints[sls] = [issue.hint for issue in refused.value.issues]
    assert hints["s"] == ["did you mean 'tojson'?"]
    assert hints["t"] == ["did you mean 'even'?"]
    assert hints["u"] == ["pillar has no key 'users'; give it, or a default: pillar.get('users', [])"]
    assert hints["v"][0].startswith("grains has no key 'a'")


def test_a_comment_that_silences_no_rule_is_a_warning(tmp_path):
    (tmp_path / "s.sls").write_text("# asyncstate: ignore-file[missing-sorce, E404, footprint-order]\na: test.nop\n")
    kept = {"cachedir": str(tmp_path / "cache"), "state_dir": str(tmp_path / "state"), "journal": "off"}
    with StateRuntime(Settings(file_roots={"base": [str(tmp_path)]}, **kept)).open_sync() as runtime:
        judge_values(runtime)
        [issue] = runtime.compile_sync(["s"]).warnings
    assert (issue.code, issue.line, issue.mistake, issue.hint) == ("W403", 1, False, "did you mean 'missing-source'?")


@pytest.mark.parametrize("given", ["context: {nope: {x: 1}}", "defaults: {nope: {x: 1}}", "nope: {x: 1}"])
def test_a_variable_that_the_state_gives_is_left_alone(found, tmp_path, given):
    assert found("{{ nope.x }}", f"{STATE}    - {given}\n") == []
    assert not fails(tmp_path)


def test_a_variable_of_a_template_with_a_parent_or_behind_a_condition_is_left_alone(found):
    assert found("{{ nope }}", STATE + "    - unless: 'true'\n") == []
    assert found("{% extends 'base.j2' %}{{ nope }}", **{"salt/base.j2": "{{ nope }}"}) == []


def test_a_misspelt_variable_has_the_nearest_name(tmp_path, found):
    found("{{ prot }}", STATE + "    - context: {port: 80}\n")
    kept = {"cachedir": str(tmp_path / "cache"), "state_dir": str(tmp_path / "state"), "journal": "off"}
    with StateRuntime(Settings(file_roots={"base": [str(tmp_path / "salt")]}, **kept)).open_sync() as runtime:
        judge_values(runtime)
        [issue] = runtime.compile_sync(["s"]).warnings
    assert (issue.code, issue.hint) == ("E428", "did you mean 'port'?")
