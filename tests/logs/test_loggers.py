"""Loggers: their class, their names, and where they hang."""

import io
import logging
import subprocess
import sys

import pytest
from record_answers import recorded
from tables import beside

from asyncstate.logs import LineLogger, adopt_loggers, configured_logger, get_logger, own_name, plugin_logger
from asyncstate.redact import MASK, Secrets

TABLES = beside(__file__)


@pytest.fixture
def secrets():
    """What a runtime of this process must not show."""
    return Secrets(["hunter2"])


@pytest.fixture
def log():
    """A logger of ours in a program with a handler of its own."""
    logger = LineLogger("a.plugin", 1)
    logger.stream = io.StringIO()
    logger.addHandler(logging.StreamHandler(logger.stream))
    return logger


def fail(log, text):
    try:
        int(text)
    except ValueError:
        log.exception("failed: %s", text)


class Shy:
    def __repr__(self):
        raise RuntimeError("hunter2")


def test_handlers_of_the_program_see_no_secret(log, secrets):
    secrets.add("correct horse")
    log.info("with %s and %s", "hunter2", ["correct horse"])
    log.info("%r", Shy())
    fail(log, "hunter2")
    log.info("plain %s", "text")
    written = log.stream.getvalue()
    assert "hunter2" not in written
    assert written.startswith(f"with {MASK} and ['{MASK}']\n")
    assert f"with base 10: '{MASK}'" in written
    assert written.endswith("plain text\n")


def test_passwords_in_urls_need_not_be_known(log):
    log.info("clone %s", "https://joe:pa55@example.org/x")
    assert log.stream.getvalue() == f"clone https://joe:{MASK}@example.org/x\n"


def test_what_no_runtime_knows_is_no_secret(log):
    Secrets(["forgotten-with-its-runtime"])
    log.info("forgotten-with-its-runtime")
    assert log.stream.getvalue() == "forgotten-with-its-runtime\n"


@pytest.mark.parametrize(("name", "level"), recorded("level").items())
def test_levels_of_salt(log, name, level):
    log.setLevel(1)
    records = []
    log.handle = records.append
    getattr(log, name)("a")
    assert [(record.levelno, record.funcName) for record in records] == [(level, "test_levels_of_salt")]


def test_a_plugins_logger_has_its_own_name_and_hangs_below_asyncstate():
    logger = plugin_logger("states.tulip", "asyncstate.ext.states.tulip_0123456789ab")
    assert logging.getLogger("asyncstate.ext.states.tulip_0123456789ab") is logger
    assert logging.getLogger("states.tulip") is logger
    assert plugin_logger("states.tulip") is logger
    assert logger.name == "states.tulip"
    assert logger.parent is logging.getLogger("asyncstate.states")
    assert logger.parent.parent is logging.getLogger("asyncstate")


def test_levels_set_before_the_plugin_is_loaded_hold():
    logging.getLogger("states.crocus").setLevel(logging.ERROR)
    assert plugin_logger("states.crocus").level == logging.ERROR
    assert plugin_logger("states.crocus").parent.name == "asyncstate.states"


def test_loggers_of_the_program_stay_where_they_are():
    """A program may have a package ``utils``, too, and ask for its logger before and after a plugin is loaded."""
    theirs = logging.getLogger("grains.of.sand")
    plugin_logger("grains.rice")
    logging.getLogger("grains.rice.below")
    parent = logging.getLogger("grains")
    assert parent.parent is logging.root
    assert theirs.parent is parent
    assert type(theirs) is type(parent) is logging.getLoggerClass()
    assert plugin_logger("grains.rice").parent.name == "asyncstate.grains"
    assert logging.getLogger("grains.rice.below").parent is plugin_logger("grains.rice")


def test_the_program_may_have_a_class_of_loggers():
    class Counting(logging.Logger):
        handled = 0

        def handle(self, record):
            self.handled += 1
            super().handle(record)

    before = logging.getLoggerClass()
    logging.setLoggerClass(Counting)
    try:
        logger = get_logger("asyncstate.test.of_another_class")
    finally:
        logging.setLoggerClass(before)
    stream = io.StringIO()
    logger.addHandler(logging.StreamHandler(stream))
    with_secrets = Secrets(["tell-no-one"])
    logger.warning("tell-no-one %s", len(with_secrets))
    assert logger.handled == 1
    assert stream.getvalue() == f"{MASK} 1\n"


def test_every_logger_of_ours_is_such_a_logger(checkout):
    """Modules ask `get_logger`; those below it are known to it by name."""
    below = {"asyncstate.data.merging", "asyncstate.dunders.context", "asyncstate.process.child"}
    asking = set()
    for path in (checkout / "asyncstate").rglob("*.py"):
        name = ".".join(path.relative_to(checkout).with_suffix("").parts)
        if "logging.getLogger(__name__)" in path.read_text() and not name.startswith("asyncstate.logs."):
            asking.add(name)
    assert asking == below
    assert all(isinstance(logging.getLogger(name), LineLogger) for name in below)


def test_a_plugin_may_name_its_loggers_as_it_likes():
    named, root = logging.getLogger("acme.corp"), logging.getLogger()
    adopt_loggers({"log": named, "root": root, "other": 3})
    assert isinstance(named, LineLogger)
    assert not isinstance(root, LineLogger)


def test_a_part_that_the_program_imported_before_hides_secrets_too(tmp_path):
    words = "import asyncstate.modules.cmd._invocation as part, asyncstate as a"
    words += "\nwith a.StateRuntime(a.Settings(journal='off')).open_sync() as runtime: runtime.host.salt['cmd.run']"
    words += "\nprint(type(part.log).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", words], env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "LineLogger\n"


@pytest.mark.parametrize(("module", "name"), TABLES["own name"])
def test_own_name(module, name):
    assert own_name(module) == name


@pytest.mark.parametrize(("configured", "name"), TABLES["configured logger"])
def test_configured_logger(configured, name):
    assert configured_logger(configured).name == name


def test_a_library_without_configuration_stays_quiet():
    """No handler anywhere but one that does nothing, nothing on standard error, no class of loggers for others."""
    code = (
        "import logging, threading, concurrent.futures\n"
        "start, submit = threading.Thread.start, concurrent.futures.ThreadPoolExecutor.submit\n"
        "from asyncstate import StateRuntime, Settings\n"
        "from asyncstate.logs import get_logger, plugin_logger\n"
        "StateRuntime(Settings())\n"
        "get_logger('asyncstate.x').critical('from the engine')\n"
        "plugin_logger('states.x').critical('from a plugin')\n"
        "assert logging.root.handlers == [] and logging.root.level == logging.WARNING\n"
        "assert logging.getLoggerClass() is logging.Logger\n"
        "assert logging.getLogRecordFactory() is logging.LogRecord\n"
        "assert type(logging.getLogger('x')) is logging.Logger\n"
        "assert (start, submit) == (threading.Thread.start, concurrent.futures.ThreadPoolExecutor.submit)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
