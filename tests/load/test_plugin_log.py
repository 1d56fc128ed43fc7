import io
import logging

import pytest
from fake_host import FakeHost

from asyncstate.dunders import hide
from asyncstate.dunders.context import current
from asyncstate.load.plugin_log import PluginLogger
from asyncstate.redact.redactor import MASK
from asyncstate.redact.secrets import Secrets


@pytest.fixture
def log():
    """A plugin's logger in a program with a handler of its own."""
    logger = PluginLogger("a.plugin", 1)
    logger.stream = io.StringIO()
    logger.addHandler(logging.StreamHandler(logger.stream))
    return logger


@pytest.fixture
def call():
    """The context of a call under way, with a set of secrets."""
    context = FakeHost().context(secrets=Secrets(["hunter2"]), low={})
    token = current.set(context)
    yield context
    current.reset(token)


def fail(log, text):
    try:
        int(text)
    except ValueError:
        log.exception("failed: %s", text)


class Shy:
    def __repr__(self):
        raise RuntimeError("hunter2")


def test_handlers_of_the_program_see_no_secret(log, call):
    hide("correct horse")
    log.info("with %s and %s", "hunter2", ["correct horse"])
    log.info("%r", Shy())
    fail(log, "hunter2")
    log.info("plain %s", "text")
    written = log.stream.getvalue()
    assert "hunter2" not in written
    assert written.startswith(f"with {MASK} and ['{MASK}']\n")
    assert f"with base 10: '{MASK}'" in written
    assert written.endswith("plain text\n")


def test_passwords_in_urls_need_not_be_known(log, call):
    call.secrets.clear()
    log.info("clone %s", "https://joe:pa55@example.org/x")
    assert log.stream.getvalue() == f"clone https://joe:{MASK}@example.org/x\n"


def test_a_state_with_no_log_tells_them_nothing(log, call):
    call.low = {"no_log": True}
    log.trace("told to %s", "nobody", stack_info=True)
    fail(log, "nobody")
    assert log.stream.getvalue() == f"{MASK}\n{MASK}\n"


def test_outside_a_call_nothing_is_known(log):
    hide("hunter2")
    log.info("hunter2")
    assert log.stream.getvalue() == "hunter2\n"
