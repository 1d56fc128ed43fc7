"""Nothing that a tree, a plugin or a command line says controls the terminal, or a reader of the output on GitHub."""

import re

import pytest
from tables import beside

TABLES = beside(__file__)

HOSTILE = "\x1b[35m\x1b]0;t\x07\x1b[2J\x1b[8m\x9b31mx\u202ey\r\u2028z"
PLUGIN = f"""
def said(name='x'):
    {HOSTILE!r}
    return {HOSTILE!r}

def raised(*args, **kwargs):
    raise ValueError({HOSTILE!r})

def refused():
    from asyncstate.errors import CommandExecutionError
    raise CommandExecutionError({HOSTILE!r})
""".replace(repr(HOSTILE), f'"""{HOSTILE}"""', 1)
COLOUR = re.compile(r"\x1b\[(?:0;)?(?:1;)?(?:[012]|3[0-467])m")
"""The colours of the program: magenta is none."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]")
LINES = TABLES["lines"]


@pytest.fixture
def run(run_here, tmp_path):
    root = tmp_path / "tree"
    (root / "_modules").mkdir(parents=True)
    (root / "a.sls").write_text("a: {test.nop: []}\n")
    escaped = HOSTILE.encode("unicode_escape").decode()
    (root / "evil.sls").write_text(
        f'"a{escaped}": {{test.succeed_with_changes: [comment: "{escaped}"]}}\n'
        f'"b": {{test.configurable_test_state: [result: false, comment: "{escaped}", changes: true]}}\n'
        f'"c{escaped}": {{cmd.run: [name: "printf %s \'{escaped}\'"]}}\n'
        f'"d": {{evil.nothing: [name: "{escaped}"]}}\n'
    )
    (root / "_modules" / "evil.py").write_text(PLUGIN)
    (tmp_path / "config.yaml").write_text(
        f"file_roots: {{base: [{root}]}}\nstate_dir: {tmp_path}/s\ncachedir: {tmp_path}/c\n"
    )
    (tmp_path / "minion").symlink_to("config.yaml")

    def call(line):
        words = [word.replace("NAME", HOSTILE) for word in line.split()]
        if words[0] == "salt-call":
            words[1:1] = ["--config-dir", str(tmp_path)]
        elif words[0] not in (HOSTILE, f"--{HOSTILE}", "schema", "completion"):
            words += [] if "--config" in words else ["--config", str(tmp_path / "config.yaml")]
        return run_here(*words)

    return call


@pytest.mark.parametrize("line", LINES)
def test_no_command_writes_what_controls_a_terminal(line, run, monkeypatch):
    if line.startswith(("runs", "replay")):
        run("apply evil")
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = run(line.replace("salt-call --local", "salt-call --local --force-color"))
    for text in (done.stdout, done.stderr):
        assert not CONTROL.search(COLOUR.sub("", text)), ascii(text)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("line", ["apply evil", "apply evil --log-level debug", "check evil", "apply ::error::NAME"])
def test_github_obeys_nothing_that_stands_in_standard_error(line, run, tmp_path):
    (tmp_path / "tree" / "evil.sls").write_text(
        "a: {cmd.run: [name: 'echo ::error::b; echo \"##[error]c\"; exit 1']}\n"
        'd: {test.nop: [name: "::add-mask::y\\n::error::z ##[error]z"]}\n'
    )
    done = run(f"{line} --out github".replace("NAME", "##[error]"))
    for text in done.stderr.splitlines():
        assert not text.lstrip().startswith("::"), done.stderr
        assert "##[" not in text, done.stderr
