import io
import json
import logging
import subprocess
import sys

import pytest
from fake_host import FakeHost

from asyncstate.cli.logs import LogStream
from asyncstate.dunders.context import current
from asyncstate.redact.redactor import MASK
from asyncstate.redact.secrets import Secrets


@pytest.fixture(params=[False, True], ids=["text", "json"])
def as_json(request):
    return request.param


@pytest.fixture
def log(as_json):
    """A logger of its own whose lines are in ``log.stream``; ``hunter2`` and a key of two lines are secret."""
    logger = logging.Logger("a.plugin", logging.DEBUG)  # noqa: LOG001 - no other test finds it
    logger.stream = io.StringIO()
    secrets = Secrets(["hunter2", "-----BEGIN-----\nMIIEowIBAAKCAQEA"])
    logger.addHandler(LogStream(logger.stream, as_json=as_json, colours=False, level=logging.DEBUG, secrets=secrets))
    return logger


class Shy:
    def __repr__(self):
        raise RuntimeError("hunter2")


def fail(text="hunter2\nMIIEowIBAAKCAQEA\n12:00:00 [error    ] forged"):
    raise ValueError(text)


def test_nothing_that_is_logged_shows_a_secret(log):
    log.info("run %s with %r and %s", "hunter2", {"hunter2": b"hunter2"}, "MIIEowIBAAKCAQEA")
    log.debug("hunter2")
    log.error("%d", "hunter2")
    log.error("%r", Shy())
    log.warning({"hunter2": Shy()})
    log.warning("clone https://joe:pa55@example.org/x", extra={"hunter2": "hunter2"}, stack_info=True)
    try:
        fail()
    except ValueError:
        log.exception("it failed with hunter2")
    written = log.stream.getvalue()
    assert written.count("\n") >= 7
    for secret in ("hunter2", "MIIEow", "pa55"):
        assert secret not in written
    assert f"https://joe:{MASK}@example.org/x" in written


ODD = "a\n12:00:00 [error    ] forged\r\x1b[2J\x1b]0;title\x07\x9b2J\u202edesrever\u2028b\u200bc\x00\x7f\ud800"


def test_a_record_is_one_line_of_harmless_characters(log):
    log.warning("said: %s", ODD)
    log.warning("said: %s", [ODD])
    log.warning(ODD)
    lines = log.stream.getvalue().splitlines()
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)


def test_lines_of_a_trace_do_not_begin_at_the_margin(log, as_json):
    try:
        fail()
    except ValueError:
        log.exception("it failed", stack_info=True)
    if as_json:
        entry = json.loads(log.stream.getvalue())
        assert "forged" in entry["exception"]
        return
    first, *rest = log.stream.getvalue().splitlines()
    assert "it failed" in first
    assert rest
    assert all(line.startswith("    ") or not line for line in rest)


def test_a_state_with_no_log_logs_nothing_but_that_it_did(log, as_json):
    host = FakeHost()
    token = current.set(host.context(low={"no_log": True, "__id__": "quiet"}))
    try:
        log.warning("told to nobody %s", "nobody", extra={"x": "nobody"})
        try:
            fail("told to nobody")
        except ValueError:
            log.exception("nobody")
    finally:
        current.reset(token)
    written = log.stream.getvalue()
    assert "nobody" not in written
    assert written.count(MASK) == 2
    assert written.count("quiet") == 2
    assert "a.plugin" in written


def test_what_cannot_be_written_is_said_without_its_text(log, as_json, capsys):
    log.warning("%r %s", Shy(), "hunter2")
    log.handlers[0]._stream.close()
    log.warning("hunter2 after the end")
    assert capsys.readouterr().err == ""


def test_what_a_plugin_warns_of_is_a_record_without_secrets(tmp_path):
    modules = tmp_path / "salt" / "_modules"
    modules.mkdir(parents=True)
    (modules / "odd.py").write_text(
        "import warnings\n"
        "from asyncstate.dunders import hide\n"
        "def say(text):\n"
        "    hide(text)\n"
        "    warnings.warn('it is ' + text + chr(27))\n"
    )
    words = ["call", "odd.say", "hunter2-and-more", "--file-root", str(tmp_path / "salt")]
    done = subprocess.run(
        [sys.executable, "-m", "asyncstate", *words], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert f"UserWarning: it is {MASK}\\x1b" in done.stderr
    assert "hunter2" not in done.stderr
