import io
import json
import logging
import os
import subprocess
from contextlib import ExitStack
from itertools import pairwise

import pytest
import structlog
from messages import said
from tables import beside

from asyncstate.cli.logs import LogStream, _open_log
from asyncstate.errors import ConfigError
from asyncstate.logs import plugin_logger
from asyncstate.logs.fields import RunFields
from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import Dag
from asyncstate.model.plan import Node, NodeKind, Plan
from asyncstate.redact import MASK, Secrets
from asyncstate.redact.redacted_plan import RedactedPlan

TABLES = beside(__file__)


@pytest.fixture(params=[False, True], ids=["text", "json"])
def as_json(request):
    return request.param


@pytest.fixture
def log(as_json):
    """A logger of its own whose lines are in ``log.stream``; ``hunter2`` and a key of two lines are secret."""
    logger = plugin_logger("states.rose")
    logger.stream = io.StringIO()
    logger.secrets = Secrets(["hunter2", "-----BEGIN-----\nMIIEowIBAAKCAQEA"])
    logger.setLevel(logging.DEBUG)
    handler = LogStream(logger.stream, as_json=as_json, colours=False)
    logger.addHandler(handler)
    logger.propagate = False  # an earlier test may have started the command line's log in this process
    yield logger
    logger.propagate = True
    logger.removeHandler(handler)
    del logger.secrets


@pytest.fixture
def other_log(log):
    """A logger of a library that a state uses, with the same handler."""
    logger = logging.Logger("a.library", logging.DEBUG)  # noqa: LOG001 - no other test finds it
    logger.addHandler(log.handlers[0])
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


@pytest.fixture
def of_a_state():
    """Bind the fields of a state with some arguments to the lines that follow, as a run does."""
    with ExitStack() as bound:

        def begin(**args):
            chunk = LowChunk(0, "pkg", "installed", "the id", "the name", "web", "base", 0, args)
            plan = Plan((chunk,), (Node(NodeKind.CHUNK, 0),), ((),), (0,), Dag(1), digest="")
            shown = RedactedPlan(plan, Secrets())
            bound.enter_context(RunFields("run-1", "web1", shown)).begin(chunk, chunk.tag)

        yield begin


FIELDS = {"tag": "pkg_|-the id_|-the name_|-installed", "sls": "web", "run_id": "run-1", "host": "web1"}


def test_every_line_of_a_state_has_its_fields(log, other_log, of_a_state, as_json):
    log.info("before")
    of_a_state()
    with structlog.contextvars.bound_contextvars(package="nginx"):
        log.info("with", extra={"attempt": 3, "tag": "of another state"})
        other_log.info("from a library")
    before, *lines = log.stream.getvalue().splitlines()
    assert not any(value in before for value in FIELDS.values())
    if as_json:
        first, second = map(json.loads, lines)
        assert list(first)[:8] == ["timestamp", "level", "event", "logger", *FIELDS]
        assert first == {**first, **FIELDS, "event": "with", "attempt": 3, "package": "nginx", "logger": "states.rose"}
        assert second == {**second, **FIELDS, "event": "from a library", "package": "nginx", "logger": "a.library"}
    else:
        said = "tag='pkg_|-the id_|-the name_|-installed' sls=web run_id=run-1 host=web1"
        assert lines[0].endswith(f" [info     ] with [states.rose] {said} package=nginx attempt=3")
        assert lines[1].endswith(f" [info     ] from a library [a.library] {said} package=nginx")


def test_a_state_with_no_log_logs_nothing_but_that_it_did(log, other_log, of_a_state):
    of_a_state(no_log=True)
    with structlog.contextvars.bound_contextvars(word="told to nobody"):
        for each in (log, other_log):
            each.warning("told to nobody %s", "nobody", extra={"x": "nobody"})
            try:
                fail("told to nobody")
            except ValueError:
                each.exception("nobody")
    lines = log.stream.getvalue().splitlines()
    assert len(lines) == 4
    for line in lines:
        assert "nobody" not in line
        assert MASK in line
        assert "the id" in line
        assert "the name" not in line
    assert "states.rose" in lines[0]


def test_what_cannot_be_written_is_said_without_its_text(log, as_json, capsys):
    log.warning("%r %s", Shy(), "hunter2")
    log.handlers[0]._stream.close()
    log.warning("hunter2 after the end")
    assert capsys.readouterr().err == ""


def test_what_a_plugin_warns_of_is_a_record_without_secrets(program, tmp_path):
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
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert f"UserWarning: it is {MASK}\\x1b" in done.stderr
    assert "hunter2" not in done.stderr


STATE = """
import asyncio
import concurrent.futures
import logging
import threading
import time

import anyio.to_thread

log = logging.getLogger(__name__)
pool = concurrent.futures.ThreadPoolExecutor(2)


def plain(name):
    for number in range(5):
        log.warning("%s: plain %d", name, number)
        time.sleep(0.01)
        thread = threading.Thread(target=log.warning, args=("%s: thread", name))
        thread.start()
        thread.join()
        pool.submit(log.warning, "%s: pool", name).result()
        logging.getLogger("library").warning("%s: library", name)
        __salt__["cmd.run"]("echo " + name + ": child", output_loglevel="warning")
        __salt__["mine.say"](name)
    return {"name": name, "result": True, "changes": {}, "comment": ""}


async def concurrent(name):
    async def task():
        for number in range(5):
            log.warning("%s: task %d", name, number)
            await asyncio.sleep(0.01)

    tasks = [asyncio.create_task(task()) for _ in range(2)]
    for _ in range(5):
        await asyncio.to_thread(log.warning, "%s: to_thread", name)
        await anyio.to_thread.run_sync(log.warning, "%s: anyio", name)
        await asyncio.get_running_loop().run_in_executor(None, log.warning, f"{name}: executor")
        await __salt__["mine.say"](name)
    await asyncio.gather(*tasks)
    return {"name": name, "result": True, "changes": {}, "comment": ""}
"""


@pytest.fixture
def tree(program, tmp_path):
    """Write files of a tree and run a command on it; return what it wrote to standard error."""

    def run(*words, **files):
        for path, text in files.items():
            file = tmp_path / "salt" / f"{path.replace('__', '/')}"
            file = file.with_suffix(".py" if file.parent.name.startswith("_") else ".sls")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ASYNCSTATE_")},
            **{name: str(tmp_path) for name in ("HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR")},
        }
        command = [program, *words, "--file-root", str(tmp_path / "salt")]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=tmp_path)

    return run


def test_lines_of_states_that_run_at_once_can_be_told_apart(tree):
    """Whatever thread, task or child of a state a line comes from, as JSON and as text."""
    files = {
        "_states/tulip": STATE,
        "_modules/mine": "import logging\nlog = logging.getLogger(__name__)\n"
        "def say(name):\n    log.warning('%s: module', name)\n",
        "web": "".join(
            f"{name}: {{tulip.{fun}: []}}\n" for fun in ("plain", "concurrent") for name in (fun, f"{fun}2")
        ),
    }
    options = ("apply", "web", "--concurrency", "4", "--log-format")
    lines = [json.loads(line) for line in tree(*options, "json", **files).stderr.splitlines() if line.startswith("{")]
    told = {}
    for line in lines:
        name, _, what = line["event"].removeprefix("stdout: ").partition(": ")
        assert line["tag"] == f"tulip_|-{name}_|-{name}_|-{name.rstrip('2')}"
        assert line["sls"] == "web"
        assert line["host"]
        told.setdefault(name, set()).add((what.partition(" ")[0], line["logger"]))
    assert len({line["run_id"] for line in lines}) == 1
    assert (
        told["plain"]
        == told["plain2"]
        == {
            ("plain", "states.tulip"),
            ("thread", "states.tulip"),
            ("pool", "states.tulip"),
            ("library", "library"),
            ("child", "modules.cmd"),
            ("module", "modules.mine"),
        }
    )
    assert (
        told["concurrent"]
        == told["concurrent2"]
        == {
            ("task", "states.tulip"),
            ("to_thread", "states.tulip"),
            ("anyio", "states.tulip"),
            ("executor", "states.tulip"),
            ("module", "modules.mine"),
        }
    )
    order = [line["tag"] for line in lines]
    assert sum(one != other for one, other in pairwise(order)) > 4
    texts = [line for line in tree(*options, "text").stderr.splitlines() if " tag=tulip_" in line]
    assert len(texts) == len(lines)
    for line in texts:
        name = line.split("] ", 1)[1].removeprefix("stdout: ").partition(":")[0]
        assert f" tag=tulip_|-{name}_|-{name}_|-{name.rstrip('2')} sls=web run_id=" in line


STRUCTLOG = """
import structlog

log = structlog.get_logger()


def speaks(name):
    structlog.contextvars.bind_contextvars(package="nginx")
    log.warning("told", answer=42)
    return {"name": name, "result": True, "changes": {}, "comment": ""}
"""


def test_loggers_of_structlog_in_a_plugin_write_to_the_log(tree):
    files = {"_states/lily": STRUCTLOG, "web": "a: {lily.speaks: []}\nb: {test.nop: []}\n"}
    done = tree("apply", "web", "--log-format", "json", "--out", "json", **files)
    assert set(json.loads(done.stdout)) == {"lily_|-a_|-a_|-speaks", "test_|-b_|-b_|-nop"}
    (line,) = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert line == {
        **line,
        "level": "warning",
        "event": "told",
        "logger": "states.lily",
        "answer": 42,
        "package": "nginx",
        "tag": "lily_|-a_|-a_|-speaks",
    }


DYING = """
import threading

from asyncstate.dunders import hide


class Bad:
    def __init__(self, text):
        self.text = text

    def __del__(self):
        raise ValueError(self.text)


def dies(name, text):
    hide("hunter2-and-more")
    thread = threading.Thread(target=int, args=(text,))
    thread.start()
    thread.join()
    Bad(text)
    return {"name": name, "result": True, "changes": {}, "comment": ""}
"""


def test_what_ends_a_thread_of_a_plugin_is_a_line_of_its_state(tree):
    known = "known: {dying.dies: [text: hunter2-and-more]}\n"
    hushed = "hushed: {dying.dies: [text: told to nobody, no_log: true]}\n"
    files = {"_states/dying": DYING, "web": known + hushed}
    done = tree("apply", "web", "--concurrency", "1", "--log-format", "json", **files)
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert [line["logger"] for line in lines[:2]] == ["threading", "python"]
    assert [line["tag"].split("_|-")[1] for line in lines] == ["known", "known", "hushed", "hushed"]
    assert f"invalid literal for int() with base 10: '{MASK}'" in lines[0]["exception"]
    assert f"ValueError: {MASK}" in lines[1]["exception"]
    assert [line["event"] for line in lines[2:]] == [MASK, MASK]
    assert "hunter2" not in done.stderr
    assert "told to nobody" not in done.stderr


LOUD = """
import logging
log = logging.getLogger(__name__)
def speaks(name):
    log.trace("trace")
    log.debug("debug")
    log.warning("warning")
    return {"name": name, "result": True, "changes": {}, "comment": ""}
"""


@pytest.mark.parametrize(
    ("levels", "said"),
    TABLES["loggers have levels of their own"],
)
def test_loggers_have_levels_of_their_own(tree, tmp_path, levels, said):
    (tmp_path / "config").write_text(json.dumps({"log_granular_levels": levels}))
    files = {"_states/a": LOUD, "_states/b": LOUD, "web": "x: {a.speaks: []}\ny: {b.speaks: []}\n"}
    done = tree(
        "apply", "web", "--config", str(tmp_path / "config"), "--concurrency", "1", "--log-format", "json", **files
    )
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert [f"{line['event']} of {line['logger'].removeprefix('states.')}" for line in lines] == said


def test_a_level_that_is_none_is_a_clear_error(tree, tmp_path):
    (tmp_path / "config").write_text("log_granular_levels: {states.file: loud}\n")
    done = tree("check", "--config", str(tmp_path / "config"), web="a: {test.nop: []}")
    assert done.returncode == 1
    assert "log_granular_levels: states.file: expected all, garbage, trace" in done.stderr


def test_a_pipe_that_nobody_reads_takes_no_log(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match=said("log-to-a-pipe", path="pipe")):
        _open_log(str(pipe))
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with _open_log(str(pipe)) as log:
        log.write("a line")
    assert os.read(reader, 99) == b"a line"
    os.close(reader)
