from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
import threading

import click
import pytest
from tables import beside

from asyncstate.cli import main
from asyncstate.cli.console import Console, drop_output, lasting_stderr
from asyncstate.cli.logs import LogStream, start_logging
from asyncstate.cli.root import dispatch, root
from asyncstate.errors import AsyncStateError, CompileError, ConfigError, Issue, LockHeld, PillarError, RenderError

TABLES = beside(__file__)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def plain_environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("choice", "environment", "stream", "coloured"),
    [
        ("auto", {}, Terminal, True),
        ("auto", {}, io.StringIO, False),
        ("auto", {"TERM": "dumb"}, Terminal, False),
        ("auto", {"NO_COLOR": "1"}, Terminal, False),
        ("auto", {"NO_COLOR": ""}, Terminal, True),
        ("auto", {"FORCE_COLOR": "1"}, io.StringIO, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, Terminal, False),
        ("always", {"NO_COLOR": "1"}, io.StringIO, True),
        ("never", {"FORCE_COLOR": "1"}, Terminal, False),
    ],
)
@pytest.mark.usefixtures("plain_environment")
def test_when_there_are_colours(choice, environment, stream, coloured, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    console = Console()
    console.colour = choice
    assert bool(console.palette(stream()).reset) is coloured


def test_data_is_json_or_yaml(capfdbinary):
    console = Console()
    value = {"b": [1, {"x": None}], "a": "text\nmore", "raw": b"\xff", "some": {2, 1}}
    for form in ("json", "jsonl", "yaml"):
        console.out = form
        console.data(value)
    sys.stdout.flush()
    out = capfdbinary.readouterr().out.decode()
    as_json, _, rest = out.partition("}\n{")
    assert json.loads(as_json + "}") == {"b": [1, {"x": None}], "a": "text\nmore", "raw": "\\xff", "some": [1, 2]}
    line, _, as_yaml = rest.partition("\n")
    assert line == '"b":[1,{"x":null}],"a":"text\\nmore","raw":"\\\\xff","some":[1,2]}'
    assert as_yaml.startswith("b:\n- 1\n- x: null\n")


def test_a_reader_that_goes_away_is_no_error():
    code = (
        "from asyncstate.cli.console import Console\n"
        "console = Console()\n"
        "for _ in range(20000): console.write('x' * 100 + '\\n')\n"
        "console.say('still here')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=50) == 0
    assert errors == "still here\n"


@pytest.fixture
def failing(monkeypatch):
    """``failing(error, *options)`` is what a command that raises ``error`` comes to."""

    def run(error, *options):
        @click.command("fail")
        @click.option("--out")
        @click.option("--debug", is_flag=True)
        @click.pass_obj
        def fail(console, out, debug):
            console.out = out or "human"
            raise error

        monkeypatch.setattr("asyncstate.cli.framework.OWN", {"fail": ("", "")})
        monkeypatch.setattr(type(root), "get_command", lambda *_: fail)
        return dispatch(["fail", *options])

    return run


ISSUES = [Issue("No SLS named 'x'", "/srv/top.sls", 2, "did you mean y?"), Issue("other")]


@pytest.mark.parametrize(
    "error", [CompileError(ISSUES), PillarError(ISSUES), ExceptionGroup("g", [CompileError(ISSUES)])]
)
def test_compile_errors_are_messages_alone_in_json(failing, error, capfd):
    assert failing(error, "--out", "json") == 1
    captured = capfd.readouterr()
    assert json.loads(captured.out) == ["No SLS named 'x'", "other"]
    assert captured.err == ""


def test_compile_errors_for_people_have_place_and_hint(failing, capfd):
    assert failing(CompileError(ISSUES)) == 1
    assert capfd.readouterr().out.splitlines() == TABLES["compile errors for people have place and hint"]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ConfigError("/etc/x.yaml: concurency: unknown"), "/etc/x.yaml: concurency: unknown"),
        (AsyncStateError("plain"), "plain"),
        (PermissionError(13, "Permission denied", "/srv/secret"), "/srv/secret: Permission denied"),
    ],
)
def test_errors_on_purpose_are_one_message(failing, error, message, capfd):
    assert failing(error) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.startswith("asyncstate: ")
    assert failing(error, "--out", "yaml") == 1
    assert message in capfd.readouterr().out


def test_a_lock_that_another_run_holds_has_an_exit_code_of_its_own(failing, capfd):
    assert failing(LockHeld("/", 42, "10:00")) == 75
    assert "process 42" in capfd.readouterr().err
    assert failing(LockHeld("/", 42, "10:00"), "--out", "json") == 75


def test_a_render_error_outside_a_compile_has_its_place(failing, capfd):
    assert failing(RenderError("could not render", file="/srv/a.sls", line=3)) == 1
    assert "at /srv/a.sls:3" in capfd.readouterr().out


def test_the_end_of_a_torn_file_is_not_taken_for_ctrl_c(failing, capfd):
    assert failing(EOFError("marshal data too short")) == 70
    assert "internal error: EOFError: marshal data too short" in capfd.readouterr().err


def test_a_bug_is_one_line_and_how_to_report_it(failing, capfd):
    assert failing(ZeroDivisionError("division by zero")) == 70
    errors = capfd.readouterr().err
    assert errors.startswith("asyncstate: internal error: ZeroDivisionError: division by zero (")
    assert "--debug" in errors
    assert "Traceback" not in errors
    assert failing(ZeroDivisionError("division by zero"), "--debug") == 70
    assert "Traceback" in capfd.readouterr().err


def test_an_interruption_is_130(failing, capfd):
    assert failing(KeyboardInterrupt()) == 130
    assert capfd.readouterr().err.strip() == "asyncstate: interrupted"


@pytest.fixture
def logged():
    """Start logging as the console says; whatever was set up is taken away again."""
    root_logger = logging.getLogger()
    level, handlers = root_logger.level, list(root_logger.handlers)

    def start(configured="", **attributes):
        console = Console()
        for name, value in attributes.items():
            setattr(console, name, value)
        start_logging(console, configured)
        return logging.getLogger("asyncstate.test")

    yield start
    for handler in set(root_logger.handlers) - set(handlers):
        root_logger.removeHandler(handler)
    root_logger.setLevel(level)


def test_warnings_only_by_default(logged, capsys):
    log = logged()
    log.info("quiet")
    log.warning("a %s thing", "strange")
    errors = capsys.readouterr().err
    assert "quiet" not in errors
    assert "a strange thing" in errors
    assert "warning" in errors


def test_levels_come_from_the_flag_then_from_the_configuration(logged, capsys):
    logged("debug").debug("one")
    logged("debug", log_level="error").warning("two")
    logged(log_level="quiet").critical("three")
    errors = capsys.readouterr().err
    assert "one" in errors
    assert "two" not in errors
    assert "three" not in errors


def test_json_lines(logged, capsys):
    log = logged(log_format="json")
    try:
        int("inner")
    except ValueError:
        log.exception("outer")
    entry = json.loads(capsys.readouterr().err)
    assert entry["event"] == "outer"
    assert entry["level"] == "error"
    assert entry["logger"] == "asyncstate.test"
    assert "ValueError: invalid literal" in entry["exception"]


def test_a_log_file_gets_everything_and_standard_error_warnings(logged, capsys, tmp_path):
    path = tmp_path / "log"
    log = logged(log_file=str(path), log_level="debug")
    log.debug("detail")
    log.warning("trouble")
    assert "detail" not in capsys.readouterr().err
    text = path.read_text()
    assert "detail" in text
    assert "trouble" in text
    assert path.stat().st_mode & 0o777 == 0o600
    for handler in logging.getLogger().handlers:
        if isinstance(handler, LogStream):
            handler.close()


def test_a_log_file_that_cannot_be_opened_is_a_clear_error(logged, tmp_path):
    with pytest.raises(ConfigError, match=r"--log-file .*No such file or directory"):
        logged(log_file=str(tmp_path / "missing" / "log"))


def test_structlog_is_imported_by_the_first_record_only():
    code = (
        "import sys, logging\n"
        "from asyncstate.cli.console import Console\n"
        "from asyncstate.cli.logs import start_logging\n"
        "start_logging(Console())\n"
        "logging.info('x')\n"
        "assert 'structlog' not in sys.modules\n"
        "logging.warning('y')\n"
        "assert 'structlog' in sys.modules\n"
    )
    environ = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert "y" in done.stderr


PRINTING = """
import os
import subprocess
import sys

print("at import")


def ran(name):
    print("in a state")
    sys.stdout.write("to the stream\\n")
    os.write(1, b"to the descriptor\\n")
    os.system("echo from a child")
    return {"name": name, "result": True, "changes": {}, "comment": ""}
"""


@pytest.mark.parametrize("out", ["json", "jsonl", "yaml", "human"])
def test_what_a_plugin_prints_is_no_part_of_the_answer(tmp_path, run_cli, out):
    (tmp_path / "_states").mkdir()
    (tmp_path / "_states" / "noisy.py").write_text(PRINTING)
    (tmp_path / "a.sls").write_text("a: noisy.ran\n")
    done = run_cli("apply", "a", "--out", out, "--file-root", tmp_path)
    assert done.returncode == 0, done.stderr
    for line in ("at import", "in a state", "to the stream", "to the descriptor", "from a child"):
        assert line in done.stderr
        assert line not in done.stdout
    if out == "json":
        assert json.loads(done.stdout)["noisy_|-a_|-a_|-ran"]["result"] is True


def test_a_program_that_calls_the_command_line_keeps_its_streams(tmp_path, capfd):
    before = sys.stdout
    assert main(["call", "test.echo", "there", "--out", "json"]) == 0
    assert sys.stdout is before
    sys.stdout.write("after")
    assert capfd.readouterr().out.split() == ['"there"', "after"]


def test_who_reads_the_answer_first_delays_it_once(tmp_path, monkeypatch):
    """His pipe for standard error is full, and he reads from it when he has the whole answer."""
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as errors, (tmp_path / "answer").open("w") as answer:
        monkeypatch.setattr(sys, "stderr", errors)
        monkeypatch.setattr(sys, "stdout", answer)
        monkeypatch.setattr("asyncstate.cli.console._PATIENCE", 0.01)
        console = Console()
        with lasting_stderr():
            console.say("x" * 1_000_000)
            console.write("first\n")
            monkeypatch.setattr("asyncstate.cli.console._PATIENCE", threading.TIMEOUT_MAX)
            console.write("second\n")
        assert (tmp_path / "answer").read_text() == "first\nsecond\n"
        drop_output(errors.fileno())
        while os.read(reading, 1 << 16):
            pass
