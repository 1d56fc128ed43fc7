"""A tree full of secrets is applied, checked, shown and explained in every form: nothing that was written shows one."""

from __future__ import annotations

import base64
import json
import logging
import os

import pytest
from tables import beside, rows

from asyncstate.cli import main
from asyncstate.cli.logs import LogStream
from asyncstate.model.event import ChunkFinished, ChunkStarted, RunFinished, decode_event
from asyncstate.redact import MASK

TABLES = beside(__file__)

PASSWORD = "hunter2-Tr0ub4dor&3"
KEY = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA7bqWxYz\nc2VjcmV0IGxpbmUgdGhyZWU\n-----END KEY-----"
LATE = "decrypted-while-it-ran-9"
HUSHED = "told-to-nobody-7"
IN_URL = "in-the-address-5"
CANARIES = [PASSWORD, *KEY.splitlines()[1:3], LATE, HUSHED, IN_URL]

GPG = """#!/bin/sh
sed -e '/^-----/d' -e '/^$/d' | base64 -d
"""

PROBE = """
import logging
import threading
log = logging.getLogger(__name__)

def fail(name, text):
    log.warning("about to fail with %s", text)
    raise ValueError(f"it is {text!r}")

def slow(name, text):
    threading.Event().wait(0.3)
    raise ValueError(text)

def tell(name, text):
    log.debug("told %s", text)
    log.error("told %r", {text: [text]}, stack_info=True)
    low = {"name": text, "state": "probe", "__id__": text, "fun": "tell"}
    sub = {"low": low, "result": True, "changes": {text: text}, "comment": text}
    changes = {text: {"new": [text]}, "diff": f"+{text}"}
    return {"name": name, "result": True, "changes": changes, "comment": [text], "warnings": [text], text: text,
            "sub_state_run": [sub]}

def mod_watch(name, **kwargs):
    return {"name": name, "result": False, "changes": {}, "comment": str(kwargs)}
"""

LOGS = """
import asyncio
import concurrent.futures
import logging
import threading
import warnings

import structlog

log = logging.getLogger(__name__)
event = structlog.get_logger()
pool = concurrent.futures.ThreadPoolExecutor(1)

def say(door, text):
    password = {"it": [text]}
    log.warning("%s: %s", door, text)
    log.warning("%(door)s: unused argument", {"door": door, "unused": text})
    log.warning("%s: fields", door, extra={"word": text, f"key {text}": [password]}, stack_info=True)
    log.warning("%d", text)
    logging.getLogger(f"library.{text}").warning("%s: library %s", door, text)
    event.warning("told", door=door, word=text, deep=password)
    try:
        try:
            raise ValueError(text)
        except ValueError as error:
            raise KeyError(f"{door} {text!r}") from error
    except KeyError:
        log.exception("%s: failed", door)
        event.exception("failed", door=door)
        logging.getLogger("library").exception("failed")
    warnings.warn(f"{door}: {text}")

def in_threads(name, text):
    structlog.contextvars.bind_contextvars(bound=text)
    say("state", text)
    for start in (threading.Thread, lambda **words: threading.Timer(0, words["target"], words["args"])):
        thread = start(target=say, args=("thread", text))
        thread.name = f"of {text}"
        thread.start()
        thread.join()
    pool.submit(say, "pool", text).result()
    dies = threading.Thread(target=int, args=(text,))
    dies.start()
    dies.join()
    __salt__["cmd.run"](f"echo child {text}; echo {text} >&2; exit 1")
    return {"name": name, "result": True, "changes": {}, "comment": ""}

async def in_tasks(name, text):
    structlog.contextvars.bind_contextvars(bound=text)
    await asyncio.gather(*(asyncio.to_thread(say, "to_thread", text) for _ in range(2)))
    await asyncio.get_running_loop().run_in_executor(None, say, "executor", text)
    asyncio.get_running_loop().call_soon(say, "callback", text)
    async def task():
        say("task", text)
    await asyncio.create_task(task())
    return {"name": name, "result": True, "changes": {}, "comment": ""}
"""

LOUD = TABLES["loud"]

WEB = TABLES["web"]

BROKEN = TABLES["broken"]


def cipher(text):
    body = base64.b64encode(text.encode()).decode()
    return f"-----BEGIN PGP MESSAGE-----\n\n{body}\n-----END PGP MESSAGE-----"


def indented(text):
    return "".join(f"\n    {line}" for line in text.splitlines())


@pytest.fixture
def asyncstate(tmp_path, monkeypatch, capfd):
    """Run a command on the tree and check everything it wrote; return its exit code and standard output."""
    programs, salt, pillar, out, written = (tmp_path / name for name in ("bin", "salt", "pillar", "out", "written"))
    for folder in (programs, salt, salt / "_states", pillar, out, written):
        folder.mkdir()
    (programs / "gpg").write_text(GPG)
    (programs / "gpg").chmod(0o755)
    (salt / "_states" / "probe.py").write_text(PROBE)
    (salt / "_states" / "logs.py").write_text(LOGS)
    (salt / "loud.sls").write_text(LOUD)
    (salt / "web.sls").write_text(WEB.replace("OUT", str(out)))
    (salt / "late").write_text(f"a\n{cipher(LATE)}\nb\n")
    (salt / "top.sls").write_text("base: {'*': [web]}\n")
    for name, text in BROKEN.items():
        (salt / f"{name}.sls").write_text(text)
    (pillar / "top.sls").write_text("base: {'*': [keys]}\n")
    (pillar / "keys.sls").write_text(
        f"#!yaml|gpg\npassword: |{indented(cipher(PASSWORD))}\nkey: |{indented(cipher(KEY))}\n"
    )
    (out / "key").write_text(KEY.replace("WxYz", "aBcD") + "\n")
    (out / "late").write_text("before\n")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    for name in ("HOME", "XDG_CONFIG_HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    log = written / "log"

    def run(*words, but=""):
        trees = ("--file-root", str(salt), "--pillar-root", str(pillar))
        code = main([*map(str, words), *trees, "-l", "debug", "--log-file", str(log)])
        output, errors = capfd.readouterr()
        texts = {"standard output": output, "standard error": errors}
        texts |= {file.name: file.read_text(errors="replace") for file in written.iterdir()}
        shown = [
            f"{name}: {line[:400]}"
            for name, text in texts.items()
            for line in text.splitlines()
            if any(canary in line for canary in CANARIES if canary != but)
        ]
        assert shown == [], words
        return code, output, errors

    run.written = written
    run.out = out
    yield run
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        if isinstance(handler, LogStream):
            handler.close()
    root.setLevel(level)


@pytest.mark.parametrize("form", ["human", "json", "yaml", "jsonl"])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_run_shows_no_secret(asyncstate, form, concurrency):
    files = ("--junit", asyncstate.written / "junit.xml")
    more = ("--progress", "plain", "--concurrency", concurrency)
    code, output, errors = asyncstate("apply", "--out", form, *files, *more)
    assert code == 2, errors
    assert "**********" in output
    assert (asyncstate.out / "key").read_text() == f"{KEY}\n"
    assert LATE in (asyncstate.out / "late").read_text()
    assert (asyncstate.written / "log").stat().st_size
    if form == "json":
        rows = json.loads(output)
        assert rows["cmd_|-quiet_|-**********_|-run"]["comment"] == "**********"
        assert {tag.partition("_|-")[2].partition("_|-")[0] for tag in rows} >= {"run **********", "named", "quiet"}
        assert sum(row["__id__"] == "named" for row in rows.values()) == 2
    if form == "jsonl":
        events = [decode_event(line) for line in output.splitlines()]
        started = [event.tag for event in events if isinstance(event, ChunkStarted)]
        finished = [event.tag for event in events if isinstance(event, ChunkFinished)]
        assert len(started) == len(set(started)) == len(finished)
        assert set(started) == set(finished)
        assert isinstance(events[-1], RunFinished)


def test_events_and_report_have_the_same_tags(asyncstate):
    _, rows, _ = asyncstate("apply", "--test", "--out", "json")
    _, lines, _ = asyncstate("apply", "--test", "--out", "jsonl")
    events = [decode_event(line) for line in lines.splitlines()]
    told = {event.tag for event in events if isinstance(event, ChunkFinished)}
    assert told <= set(json.loads(rows))
    assert len(set(json.loads(rows)) - told) <= 4  # sub-states and listeners' mistakes have no events


FORMS = ("human", "json", "yaml")
SHOWN = [
    *(("show", what, "--out", form) for what in ("lowstate", "highstate", "top") for form in FORMS),
    ("show", "sls", "web"),
    *(("check", "--out", form) for form in FORMS),
    ("call", "pillar.items"),
    ("call", "pillar.get", "key", "--out", "json"),
    ("call", "cmd.run", "gpg --version < /dev/null; echo $PATH"),
    ("call", "pillar.get", "key", "nope=1"),
    ("apply", "--mock"),
    ("apply", "--id", "named", "--test"),
    ("single", "cmd.run", "echo x", "no_log=true", f"stdin={HUSHED}"),
]


@rows("words", SHOWN)
def test_no_command_shows_a_secret(asyncstate, words):
    asyncstate(*words)


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize(
    "words",
    [("apply",), ("apply", "--out", "json"), ("check",), ("show", "highstate"), ("show", "lowstate")],
    ids=" ".join,
)
def test_no_compile_error_shows_a_secret(asyncstate, name, words):
    code, _, errors = asyncstate(*words, name, "--debug")
    assert code in {0, 1}, errors


@pytest.mark.parametrize("words", [("apply",), ("apply", "--debug"), ("apply", "--out", "json")], ids=" ".join)
def test_no_internal_error_shows_a_secret(asyncstate, monkeypatch, words):
    def fail(*_arguments, **_options):
        raise ZeroDivisionError(f"{PASSWORD}\n{KEY}")

    monkeypatch.setattr("asyncstate.run.engine.Engine.run", fail)
    _, output, errors = asyncstate(*words)
    assert "ZeroDivisionError" in output + errors


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_log_line_shows_a_secret_whatever_wrote_it(asyncstate, form, concurrency):
    code, _, errors = asyncstate("apply", "loud", "--log-format", form, "--concurrency", concurrency)
    assert code == 0, errors
    written = (asyncstate.written / "log").read_text()
    for door in ("state", "thread", "pool", "to_thread", "executor", "callback", "task"):
        assert f"{door}: {MASK}" in written
    assert f"child {MASK}" in written
    if form == "json":
        lines = [json.loads(line) for line in written.splitlines()]
        hushed = [line for line in lines if "hushed" in line.get("tag", "")]
        assert len(hushed) > 60
        assert {line["event"] for line in hushed} == {MASK}


def test_handlers_of_a_program_that_uses_it_see_no_secret(asyncstate, caplog):
    for words in (("apply",), ("check", "missing"), ("show", "lowstate")):
        asyncstate(*words)
    assert len(caplog.records) > 20
    assert [canary for canary in CANARIES if canary in caplog.text] == []


def test_call_shows_secrets_to_those_who_ask(asyncstate):
    _, output, _ = asyncstate("call", "pillar.get", "password", "--show-secrets", "--out", "json", but=PASSWORD)
    assert json.loads(output) == PASSWORD
