from __future__ import annotations

import re
import subprocess
import sys

import pytest
from memory_files import MemoryFileClient
from messages import said
from salt_functions import Functions
from tables import beside

from asyncstate.errors import CommandExecutionError, InvocationError, RenderError, RunCancelled
from asyncstate.render import render_jinja
from asyncstate.render.context import RenderContext
from asyncstate.sources.fileclient import SlsFile

TABLES = beside(__file__)

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
    files = {"fileclient": MemoryFileClient({"base": FILES}), "sls": "app", "file": FILE}
    data = {"grains": {"os": "Debian"}, "pillar": {"site": "north", "zoo": {"zebra": 1, "ant": None}}}
    return RenderContext(salt=Functions(SALT), opts=opts or {}, extra=extra, **data, **files)


def render(text, opts=None, **extra):
    return render_jinja(text, context(opts, **extra))


@pytest.mark.parametrize(("template", "text"), TABLES["templates"])
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


@pytest.mark.parametrize(("template", "text"), TABLES["imports"])
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


@pytest.mark.parametrize(("template", "message", "line"), TABLES["errors"])
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


@pytest.mark.parametrize(("function", "error"), [("refuse", "no such thing"), ("invoke", "wrong")])
def test_a_function_that_fails_is_named_as_the_cause(function, error):
    with pytest.raises(RenderError, match=re.escape(said("salt-function", error=error))) as caught:
        render(f"\n{{{{ salt['bad.{function}']() }}}}")
    assert caught.value.line == 2


def test_cancelling_is_no_template_error():
    with pytest.raises(RunCancelled):
        render("{{ salt.bad.cancel() }}")


def test_allow_undefined():
    assert render("[{{ foo }}]", {"allow_undefined": True}) == "[]"


def test_unknown_renderer_option():
    with pytest.raises(RenderError, match="Unknown renderer option: -x"):
        render_jinja("a", context(), "-x")
    assert render_jinja("a", context(), "-s") == "a"


@pytest.mark.parametrize(("opts", "env", "text"), TABLES["environment options"])
def test_environment_options(opts, env, text):
    assert render_jinja("{% if true %}\nx\n{% endif %}\n", context(opts), template_env=env) == text


def test_unknown_environment_options_are_warned_of(caplog):
    assert render("{{ 1 }}", {"jinja_sls_env": {"trim_block": True}}) == "1"
    assert "trim_block is not recognized" in caplog.text


def test_line_statements_alone_need_jinja():
    opts = {"jinja_sls_env": {"line_statement_prefix": "%"}}
    assert render("% if true\nx\n% endif\ny\n", opts) == "x\ny\n"
    assert render("% if true\nx\n% endif\ny\n") == "% if true\nx\n% endif\ny\n"


@pytest.mark.parametrize(("template", "text"), TABLES["header line"])
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


@pytest.mark.parametrize(("call", "result"), TABLES["ifelse"])
def test_ifelse(call, result):
    assert render(f"{{{{ {call} }}}}") == result
