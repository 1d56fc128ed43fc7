"""Calls that unfinished templates may make."""

import pytest

from asyncstate.config import Settings
from asyncstate.extras.editor.compiling import early, whole
from asyncstate.extras.editor.messages import Compiled, Found, Job
from asyncstate.extras.editor.reading import READING
from asyncstate.extras.editor.render_cache import Renderings
from asyncstate.runtime import StateRuntime

OF_SOME_SYSTEMS = {"group", "locale", "mount", "pkg", "service", "shadow", "sysctl", "timezone", "user"}
STATE = "a:\n  test.nop: []\n"
OURS = "import pathlib\ndef get(path):\n    pathlib.Path(path).touch()\n    return 'x'\n"


@pytest.fixture
def compiled(tmp_path):
    """Compile a tree with an unsaved text of web.sls; every text may write to MARK."""
    mark = tmp_path / "mark"

    def compiled(text, **more):
        files = {"salt/top.sls": "base: {'*': [web]}", "salt/web.sls": STATE, "pillar/top.sls": "{}", **more}
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content.replace("MARK", str(mark)))
        settings = Settings(
            file_roots={"base": [str(tmp_path / "salt")]},
            pillar_roots={"base": [str(tmp_path / "pillar")]},
            cachedir=str(tmp_path / "cache"),
            state_dir=str(tmp_path / "state"),
        )
        path = str(tmp_path / "salt/web.sls")
        job, kept = Job(1, {}, {path: text.replace("MARK", str(mark))}, (path,)), Renderings()
        list(early(job, settings, kept, lambda: False))
        said = list(whole(job, settings, kept))
        [found] = [answer for answer in said if isinstance(answer, Found)]
        states = [state.name for answer in said if isinstance(answer, Compiled) for state in answer.states]
        assert not mark.exists()
        return states, {(each.rule, each.file.removeprefix(f"{tmp_path}/")) for each in found.findings}, found.findings

    return compiled


LEFT_OUT = [
    "{% set x = salt['cmd.run']('touch MARK') %}",
    "{% do salt.cmd.run('touch MARK') %}",
    "{% if salt['cmd.retcode']('touch MARK') == 0 %}b: nonsense{% endif %}",
    "{% for x in salt.get('cmd.run')('touch MARK').splitlines() %}b: nonsense{% endfor %}",
    "{% set x = salt['file.touch']('MARK')|int + 1 %}{% set y = salt.cmd.run('touch MARK').strip()[0] ~ 'x' %}",
    "{% set x = 'http://127.0.0.1:9/'|http_query %}",
    "{% set x = salt['slsutil.renderer']('http://127.0.0.1:9/') %}",
    "{% set x = salt['slsutil.renderer'](string=\"{{ salt['cmd.run']('touch MARK') }}\") %}",
]


@pytest.mark.parametrize("call", LEFT_OUT)
def test_what_may_do_more_than_read_is_not_called(compiled, call):
    states, found, _ = compiled(f"{call}\n{STATE}")
    assert states == ["a"]
    assert found == {("not-called", "salt/web.sls")}


def test_what_only_reads_is_called(compiled):
    text = """\
{% set known = [salt['pillar.get']('k', 'v'), salt.test.echo('e'), salt['file.file_exists']('/etc/passwd')] %}
a:
  test.nop:
    - name: {{ known|join('-') }}
"""
    assert compiled(text)[:2] == (["v-e-True"], set())


@pytest.mark.parametrize(
    "program",
    ["#!py\nopen('MARK', 'w')\n", "#!pyobjects\nopen('MARK', 'w')\n", "#!ours\nMARK\n", "#!jinja|ours\nMARK\n"],
)
def test_a_text_that_is_a_program_is_not_run(compiled, program):
    ours = "def render(text, *args, **kwargs):\n    open(text.read().split()[-1], 'w')\n    return {}\n"
    _, found, findings = compiled(program, **{"salt/_renderers/ours.py": ours})
    assert ("not-called", "salt/web.sls") in found
    assert not any(each.mistake for each in findings)


def test_functions_of_the_tree_and_templates_of_the_pillar_are_held_back(compiled):
    text = "{% set x = salt['ours.get']('MARK') %}{% set x = salt['pillar.get']('MARK') %}\n" + STATE
    files = {
        "salt/_modules/ours.py": OURS,
        "salt/_modules/pillar.py": OURS,
        "pillar/top.sls": "base: {'*': [p]}",
        "pillar/p.sls": "k: {{ salt['cmd.run']('touch MARK; echo x') }}",
    }
    _, found, findings = compiled(text, **files)
    assert found >= {("not-called", "salt/web.sls"), ("not-called", "pillar/p.sls")}
    assert {each.message.split()[0] for each in findings} >= {"'ours.get'", "'pillar.get'", "'cmd.run'"}


def test_an_error_behind_a_value_that_is_not_known_is_no_mistake(compiled):
    text = "{% set x = salt['cmd.run']('x') %}\na:\n  file.managedd:\n    - name: {{ x }}\n"
    _, _, findings = compiled(text)
    assert {(each.rule, each.mistake) for each in findings} == {("not-called", False), ("unknown-function", False)}


def test_the_functions_of_the_list_are_there(tmp_path):
    settings = Settings(file_roots={"base": [str(tmp_path)]}, cachedir=str(tmp_path), state_dir=str(tmp_path))
    with StateRuntime(settings).open_sync() as runtime:
        modules = runtime.host.loaders["modules"]
        anywhere = {name for name in READING if name.partition(".")[0] not in OF_SOME_SYSTEMS}
        assert [name for name in sorted(anywhere) if not modules.has(name)] == []
