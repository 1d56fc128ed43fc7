from __future__ import annotations

import subprocess
import sys

import pytest
from memory_files import MemoryFileClient
from salt_functions import Functions

from asyncstate.errors import CommandExecutionError, InvocationError, RenderError, RunCancelled
from asyncstate.render import render_jinja
from asyncstate.render.context import RenderContext
from asyncstate.sources.fileclient import SlsFile

FILES = {
    "app/init.sls": "",
    "lib/map.jinja": "{% set where = [tpldir, tplfile, tpldot, sls, slspath] %}\n{% macro os() %}{{ grains.os }}{% endmacro %}",
    "app/sub/x.jinja": "{% set dir = tpldir %}{% import './y.jinja' as y %}{% set y = y.v %}",
    "app/sub/y.jinja": "{% set v = 'sub ' ~ pillar.site %}",
    "app/sub/w.jinja": "{% import '../../lib/z.jinja' as z %}{% set v = z.v %}",
    "app/z.jinja": "{% set v = 'app z' %}",
    "lib/z.jinja": "{% set v = 'lib z' %}",
    "lib/bad.jinja": "one\n{% macro fail() %}\n{{ nope }}\n{% endmacro %}\n",
    "lib/syntax.jinja": "one\n{% if %}\n",
    "data.yaml": "who: {{ sls }}\nlist: [1, {{ 1 + 1 }}]\n",
    "data.json": '{"a": {{ 2 }}}',
    "data.txt": "text {{ sls }}\n",
    "broken.yaml": "a: [1\n",
    "latin.txt": b"caf\xe9",
    "base.html": "<{% block body %}{% endblock %}>",
    "shared.jinja": "{% macro tag(x) %}[{{ x }}]{% endmacro %}",
}
FILE = SlsFile(sls="app", saltenv="base", path="/memory/base/app/init.sls", relpath="app/init.sls")


def refuse(*_args):
    raise CommandExecutionError("no such thing")


def invoke(*_args):
    raise InvocationError("wrong")


def cancel(*_args):
    raise RunCancelled("stop")


SALT = {
    "test.echo": lambda text: text,
    "bad.refuse": refuse,
    "bad.invoke": invoke,
    "bad.crash": lambda: 1 / 0,
    "bad.cancel": cancel,
    "match.compound": lambda target, *_: target == "G@os:Debian",
    "match.glob": lambda target, minion_id=None: (target, minion_id) == ("web*", "web1"),
}


def context(opts=None, **extra):
    return RenderContext(
        salt=Functions(SALT),
        grains={"os": "Debian"},
        pillar={"site": "north", "zoo": {"zebra": 1, "ant": None}},
        opts=opts or {},
        fileclient=MemoryFileClient({"base": FILES}),
        sls="app",
        file=FILE,
        extra=extra,
    )


def render(text, opts=None, **extra):
    return render_jinja(text, context(opts, **extra))


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ sls }} {{ saltenv }} {{ opts|length }} {{ grains.os }} {{ pillar['site'] }}", "app base 0 Debian north"),
        ("{{ salt['test.echo'](1) }}{{ salt.test.echo(2) }}{{ 'test.echo' in salt }}{{ 'no.no' in salt }}", "12TrueFalse"),
        ("{{ salt['no.no'] is defined }}", "False"),
        ("{{ tpldir }} {{ tplfile }} {{ tpldot }} {{ slspath }} {{ tplpath }}", "app app/init.sls app app /memory/base/app/init.sls"),
        ("{{ pillar.zoo }}", "{'zebra': 1, 'ant': None}"),
        ("{{ {'a': 'x\\ny', 'b': ['x\\ny', {'c': 't\\tb'}], 1: true} }}", "{'a': \"x\\ny\", 'b': ['x\\ny', {'c': \"t\\tb\"}], 1: True}"),
        ("{{ [{'a': none}] }}{{ (1,) }}{{ none }}{{ 'é' }}", "[{'a': None}](1,)Noneé"),
        ("{{ odict([('b', 1), ('a', 2)]) }}", "{'b': 1, 'a': 2}"),
        ("{% set l = [] %}{% do l.append(1) %}{{ l }}", "[1]"),
        ("{% for i in range(5) %}{% if i == 3 %}{% break %}{% endif %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "02"),
        ("{% for i in [1, 2] %}{{ loop.index }}{{ loop.length }}{{ loop.last }} {% else %}no{% endfor %}", "12False 22True "),
        ("{% for k, v in {'a': 1}.items() if v %}{{ k }}{{ v }}{{ loop.length }}{% endfor %}{% for i in [] %}{% else %}none{% endfor %}", "a11none"),
        ("{% for i in [1, [2, [3]]] recursive %}{% if i is iterable %}({{ loop(i) }}){% else %}{{ i }}{% endif %}{% endfor %}", "1(2(3))"),
        ("{{ 'abc' is match('A', ignorecase=True) }} {{ (1,) is list }} {{ 1 is equalto 1 }}", "True False True"),
        ("{{ x|default('d') }} {{ x is defined }}", "d False"),
        ("{{ [1, 1, 2]|unique }} {{ [3, 1]|min }} {{ 'a b'|quote }} {{ 'yes'|to_bool }}", "[1, 2] 1 'a b' True"),
        ("{{ 9|random_str|length }} {{ [1, 2]|random_shuffle|length }} {{ 'sh'|which is none }}", "9 2 False"),
        ("{% raw %}{{ x }}{% endraw %}{# note #}", "{{ x }}"),
        ("{{ 'rendered_sls' in show_full_context() }} {{ show_full_context()['saltenv'] }}", "True base"),
        ("{{ show_full_context()['raise'] is string }}{{ show_full_context()['grains']['os'] }}", "TrueDebian"),
    ],
)  # fmt: skip
def test_templates(template, text):
    assert render(template) == text


def test_variables_of_the_caller_win():
    assert render("{{ sls }} {{ tpldir }} {{ port }}", tpldir="mine", port=80) == "app mine 80"


@pytest.mark.parametrize("text", ["a\n", "a\n\n", "a", "\n", "{{ 'a' }}\n", "{{ 'a' }}\n\n", "x\n{{ 'a' }}"])
def test_final_line_break_is_kept(text):
    assert render(text) == text.replace("{{ 'a' }}", "a")


@pytest.mark.parametrize("text", ["a\r\nb\r\n", "a\rb", "a\nb\r\n", "{ {a} } % # {\n", "${a} #{b}\n"])
def test_text_without_syntax_passes_as_through_jinja(text):
    import jinja2

    assert render(text) == jinja2.Environment(keep_trailing_newline=True).from_string(text).render()


def test_plain_text_does_not_import_jinja():
    program = (
        "import sys\n"
        "from asyncstate.render import RenderContext, render_text\n"
        "context = RenderContext(salt={}, grains={}, pillar={}, opts={}, fileclient=None)\n"
        "assert render_text('a: {b: 1}\\n', context, None) == {'a': {'b': 1}}\n"
        "assert 'jinja2' not in sys.modules and 'subprocess' not in sys.modules\n"
        "assert render_text('a: {{ 1 + 1 }}', context, None) == {'a': 2}\n"
        "assert 'jinja2' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% import 'lib/map.jinja' as m %}{{ m.where }}{{ m.os() }}", "['lib', 'lib/map.jinja', 'lib', 'app', 'app']Debian"),
        ("{% import './sub/x.jinja' as x %}{{ x.dir }} {{ x.y }} {{ tpldir }}", "app sub north app"),
        ("{% import '../lib/z.jinja' as z %}{{ z.v }}", "lib z"),
        ("{% import './sub/w.jinja' as w %}{{ w.v }}", "lib z"),
        ("{% from 'lib/map.jinja' import os %}{% from './z.jinja' import v %}{{ os() }} {{ v }}", "Debian app z"),
        ("{% include 'data.txt' %}", "text app"),
        ("{% include 'none.txt' ignore missing %}x", "x"),
        ("{% extends 'base.html' %}{% block body %}{{ sls }}{% endblock %}", "<app>"),
        ("{% import_yaml 'data.yaml' as d %}{{ d.who }} {{ d.list }}", "app [1, 2]"),
        ("{% import_json 'data.json' as d %}{{ d.a + 1 }}", "3"),
        ("{% import_text 'data.txt' as d %}[{{ d }}]", "[text app]"),
        ("{% set mine = 1 %}{% import_yaml 'data.yaml' as d with context %}{{ d }}", "{'who': 'app', 'list': [1, 2]}"),
    ],
)  # fmt: skip
def test_imports(template, text):
    assert render(template) == text


def test_an_imported_template_follows_a_changed_file():
    files = {"base": {"v.jinja": "{% set v = 1 %}"}}
    ctx = RenderContext(salt={}, grains={}, pillar={}, opts={}, fileclient=MemoryFileClient(files), sls="a")
    text = "{% from 'v.jinja' import v %}{{ v }}"
    assert render_jinja(text, ctx) == "1"
    files["base"]["v.jinja"] = "{% set v = 2 %}"
    assert render_jinja(text, ctx) == "2"


def test_renderings_do_not_see_each_others_variables():
    assert render("{% set leaked = 1 %}{% import 'shared.jinja' as s %}{{ s.tag(port) }}", port=1) == "[1]"
    with pytest.raises(RenderError, match="'port' is undefined"):
        render("{% import 'shared.jinja' as s %}{{ s.tag(port) }}")


def test_filters_that_look_around_run_in_every_rendering_and_only_there(tmp_path):
    path = tmp_path / "f"
    text = f"{{% if go %}}{{{{ '{path}'|file_hashsum('md5') }}}}{{{{ 'http://127.0.0.1:9'|http_query }}}}{{% endif %}}"
    assert render(text, go=False) == ""
    text = f"{{{{ '{path}'|is_empty }}}}"
    assert render(text) == "False"
    path.touch()
    assert render(text) == "True"


@pytest.mark.parametrize(
    ("template", "message", "line"),
    [
        ("a\n{{ foo }}\n", "Jinja variable 'foo' is undefined; line 2\n\n---\na\n{{ foo }}    <======================\n---", 2),
        ("{{ pillar.zoo.nope }}", "Jinja variable 'dict object' has no attribute 'nope'; line 1", 1),
        ("{{ salt['no.fun']() }}", "has no attribute 'no.fun'; line 1", 1),
        ("x\n\n{% if true %}\ny\n", "Jinja syntax error: Unexpected end of template. Jinja was looking for", 3),
        ("x\n{% foo %}", "Jinja syntax error: Encountered unknown tag 'foo'.; line 2", 2),
        ("{{ ''.__class__ }}", "Jinja syntax error: access to attribute '__class__' of 'str' object is unsafe.; line 1", 1),
        ("\n{{ raise('custom') }}", "Jinja error: custom; line 2", 2),
        ("{{ 1 / 0 }}", "Jinja error: division by zero; line 1", 1),
        ("{{ salt.bad.crash() }}", "Jinja error: division by zero; line 1", 1),
        ("{{ salt['bad.refuse']() }}", "Problem running salt function in Jinja template: no such thing; line 1", 1),
        ("{{ salt.bad.invoke() }}", "Problem running salt function in Jinja template: wrong; line 1", 1),
        ("\n{% import 'none.jinja' as x %}", "Jinja error: none.jinja: no such template in the file roots", 2),
        ("{% import '../../etc' as x %}", "Jinja error: ../../etc: attempts to ascend outside of salt://; line 1", 1),
        ("{% include 'lib/../../x' %}", "Jinja error: lib/../../x: no such template", 1),
        ("{% include '/etc/passwd' %}", "Jinja error: /etc/passwd: no such template", 1),
        ("{% include 'latin.txt' %}", "Jinja error: latin.txt: 'utf-8' codec can't decode byte 0xe9", 1),
        ("{% import_yaml 'broken.yaml' as x %}", "Jinja syntax error: Encountered error loading yaml: while parsing a flow", 1),
        ("{{ [foo]|json }}", "Jinja variable 'foo' is undefined; line 1", 1),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "Jinja error: maximum recursion depth exceeded", 1),
        ("{{ ifelse(1, 2) }}", "Problem running salt function in Jinja template: The ifelse function must have an odd", 1),
    ],
)  # fmt: skip
def test_errors(template, message, line):
    with pytest.raises(RenderError) as caught:
        render(template)
    assert message in str(caught.value)
    assert (caught.value.file, caught.value.line) == (FILE.path, line)


@pytest.mark.feature("F014", "F013")
@pytest.mark.parametrize(
    ("template", "message", "line"),
    [
        ("{% import 'lib/bad.jinja' as b %}\n{{ b.fail() }}", "Jinja variable 'nope' is undefined\n", 3),
        ("{% include 'lib/syntax.jinja' %}", "Jinja syntax error: Expected an expression, got 'end of statement block'\n", 2),
    ],
)  # fmt: skip
def test_errors_in_imported_templates_name_them(template, message, line):
    with pytest.raises(RenderError) as caught:
        render(template)
    error = caught.value
    assert error.file.startswith("/memory/base/lib/")
    assert error.line == line
    assert str(error).startswith(f"{message}{error.file}({line}):\n---\n")
    assert "<======================" in str(error)


def test_cancelling_is_no_template_error():
    with pytest.raises(RunCancelled):
        render("{{ salt.bad.cancel() }}")


def test_allow_undefined():
    assert render("[{{ foo }}]", {"allow_undefined": True}) == "[]"


def test_unknown_renderer_option():
    with pytest.raises(RenderError, match="Unknown renderer option: -x"):
        render_jinja("a", context(), "-x")
    assert render_jinja("a", context(), "-s") == "a"


@pytest.mark.parametrize(
    ("opts", "env", "text"),
    [
        ({}, "jinja_sls_env", "\nx\n\n"),
        ({"jinja_sls_env": {"trim_blocks": True}}, "jinja_sls_env", "x\n\n"),
        ({"jinja_sls_env": {"TRIM_BLOCKS": True}}, "jinja_sls_env", "x\n\n"),
        ({"jinja_env": {"trim_blocks": True}}, "jinja_sls_env", "\nx\n\n"),
        ({"jinja_env": {"trim_blocks": True}}, "jinja_env", "x\n\n"),
        ({"jinja_trim_blocks": True}, "jinja_env", "x\n\n"),
        ({"jinja_env": {"keep_trailing_newline": True}}, "jinja_env", "\nx\n\n\n"),
    ],
)
def test_environment_options(opts, env, text):
    assert render_jinja("{% if true %}\nx\n{% endif %}\n", context(opts), template_env=env) == text


def test_unknown_environment_options_are_warned_of(caplog):
    assert render("{{ 1 }}", {"jinja_sls_env": {"trim_block": True}}) == "1"
    assert "trim_block is not recognized" in caplog.text


def test_line_statements_alone_need_jinja():
    opts = {"jinja_sls_env": {"line_statement_prefix": "%"}}
    assert render("% if true\nx\n% endif\ny\n", opts) == "x\ny\n"
    assert render("% if true\nx\n% endif\ny\n") == "% if true\nx\n% endif\ny\n"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ('#jinja2: {"trim_blocks": true}\n{% if true %}\nx\n{% endif %}\ny\n', "x\ny\n"),
        (
            '#!jinja|yaml\n#jinja2: {"lstrip_blocks": true}\n  {% if true %}\nx\n  {% endif %}\n',
            "#!jinja|yaml\n\nx\n\n",
        ),
        ('#jinja2: {"variable_start_string": "<<", "variable_end_string": ">>"}\n<< 1 >> {{ 2 }}\n', "1 {{ 2 }}\n"),
        ('#jinja2: {"trim_blocks": true}\nplain\n', "plain\n"),
        ("#jinja2:\nx\n", "#jinja2:\nx\n"),
        ("#jinja2: [1]\nx\n", "#jinja2: [1]\nx\n"),
        ("#jinja2: {bad\nx\n", "#jinja2: {bad\nx\n"),
        ('x\n#jinja2: {"trim_blocks": true}\n', 'x\n#jinja2: {"trim_blocks": true}\n'),
        ('#!/bin/sh\n#jinja2: {"trim_blocks": true}\n', '#!/bin/sh\n#jinja2: {"trim_blocks": true}\n'),
    ],
)
def test_header_line(template, text):
    assert render(template) == text


def test_lines_count_the_header():
    with pytest.raises(RenderError) as caught:
        render('#!jinja|yaml\n#jinja2: {"trim_blocks": true}\na: 1\nb: {{ nope }}\n')
    assert caught.value.line == 4
    assert "b: {{ nope }}    <====" in str(caught.value)


def test_file_templates_have_no_sls_variables():
    text = "{{ sls is defined }} {{ tpldir is defined }} {{ saltenv }} {{ name }}"
    assert render_jinja(text, context(name="/etc/x"), template_env="jinja_env") == "False False base /etc/x"


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("ifelse('only')", "only"),
        ("ifelse(True, 1, 2)", "1"),
        ("ifelse(False, 1, 2)", "2"),
        ("ifelse('G@os:RedHat', 1, 'G@os:Debian', 2, 3)", "2"),
        ("ifelse('web*', 1, 2, tgt_type='glob', minion_id='web1')", "1"),
        ("ifelse(True, {'a': {'b': 1}}, 0, merge={'a': {'c': 2}})", "{'a': {'b': 1, 'c': 2}}"),
        ("ifelse(True, {'a': [1]}, 0, merge={'a': [1, 2]}, merge_lists=True)", "{'a': [1, 2]}"),
        ("ifelse(True, none, 0, merge={'a': 1})", "{'a': 1}"),
    ],
)
def test_ifelse(call, result):
    assert render(f"{{{{ {call} }}}}") == result
