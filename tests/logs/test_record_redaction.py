"""Redaction of log records, in every part of a record."""

import io
import json
import logging
import traceback

import pytest
import structlog
from hypothesis import assume, given
from hypothesis import strategies as st

from asyncstate.logs import LineLogger, RimFilter, hide_secrets
from asyncstate.logs.fields import RunFields
from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import Dag
from asyncstate.model.plan import Node, NodeKind, Plan
from asyncstate.redact import MASK, Secrets
from asyncstate.redact.redacted_plan import RedactedPlan

SECRET = "hunter2-Tr0ub4dor"


def plan_of(**args):
    chunk = LowChunk(0, "m", "f", "id", "name", "web", "base", 0, args)
    return Plan((chunk,), (Node(NodeKind.CHUNK, 0),), ((),), (0,), Dag(1), digest="")


@pytest.fixture
def secrets():
    """What a runtime of this process must not show."""
    return Secrets([SECRET])


@pytest.fixture
def hushed():
    """Log lines that follow are of a state with ``no_log``."""
    plan = plan_of(no_log=True)
    with RunFields("run", "host", RedactedPlan(plan, Secrets())) as fields:
        fields.begin(plan.chunks[0], plan.chunks[0].tag)
        yield


class Everything(logging.Handler):
    """Keeps all that any handler could get hold of: the record's parts, and it formatted by everybody's formatters."""

    def __init__(self):
        super().__init__()
        self.seen = []
        self.records = []

    def emit(self, record):
        self.records.append(record)
        parts = {**vars(record)}
        failure = parts.pop("exc_info")
        if failure and failure[2] is not None:
            frames = [frame for frame, _ in traceback.walk_tb(failure[2])]
            parts["locals"] = [repr(frame.f_locals) for frame in frames if frame.f_code.co_name == "raises"]
        self.seen.append(repr(parts))
        self.seen.append(logging.Formatter("%(message)s %(threadName)s %(name)s %(funcName)s").format(record))
        with_locals = structlog.processors.ExceptionRenderer(
            structlog.tracebacks.ExceptionDictTransformer(show_locals=True)
        )
        renderer = structlog.processors.JSONRenderer(default=str)
        chain = [structlog.contextvars.merge_contextvars, structlog.stdlib.ExtraAdder()]
        self.seen.append(
            structlog.stdlib.ProcessorFormatter(
                foreign_pre_chain=chain,
                processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, with_locals, renderer],
            ).format(record)
        )

    def text(self):
        return "\n".join(self.seen)


def logger(*, ours=True, name="a.plugin"):
    log = LineLogger(name, 1) if ours else logging.Logger(name, 1)  # noqa: LOG001 - no other test finds it
    log.all = Everything()
    if not ours:
        log.all.addFilter(RimFilter())
    log.addHandler(log.all)
    return log


def raises(text):
    password = text
    raise ValueError(f"it is {password!r}")


class Holds:
    def __init__(self, text):
        self.text = text

    def __str__(self):
        return f"holds {self.text}"

    __repr__ = __str__


def _in_except(log, text, *, chained=False):
    try:
        try:
            raises(text)
        except ValueError as error:
            if chained:
                raise RuntimeError("other") from error
            raise
    except (ValueError, RuntimeError):
        log.exception("x")


WAYS = {
    "message": lambda log, text: log.warning(text),
    "argument": lambda log, text: log.warning("%s", text),
    "arguments by name": lambda log, text: log.warning("%(word)s %(other)s", {"word": "x", "other": text}),
    "unused argument": lambda log, text: log.warning("%(word)s", {"word": "x", "unused": text}),
    "deep": lambda log, text: log.warning("%r %s", [{text: (text, {text}, text.encode())}], Holds(text)),
    "object": lambda log, text: log.warning(Holds(text)),
    "dict": lambda log, text: log.warning({"event": text}),
    "extra": lambda log, text: log.warning("x", extra={"word": text, "deep": [{"er": Holds(text)}]}),
    "key of extra": lambda log, text: log.warning("x", extra={f"key {text}": 1}),
    "misfit": lambda log, text: log.warning("%d", text),
    "traceback": _in_except,
    "cause": lambda log, text: _in_except(log, text, chained=True),
    "exception": lambda log, text: log.warning("x", exc_info=ValueError(text)),
    "stack": lambda log, text: log.handle(_made(msg="x", stack_info=f"  line 1, in f\n    {text}")),
    "traceback as text": lambda log, text: log.handle(_made(msg="x", exc_text=text)),
    "message again": lambda log, text: log.handle(_made(msg="x", message=text)),
    "thread and task": lambda log, text: log.handle(_made(msg="x", threadName=text, taskName=text)),
    "path": lambda log, text: log.handle(_made(msg="x", pathname=text, funcName=text)),
    "logger": lambda log, text: _like(log, f"a.{text}").warning("x"),
}
"""Every way a text can get into a record."""


def _made(**parts):
    return logging.makeLogRecord({"levelno": 30, "levelname": "WARNING", "name": "a", "args": (), **parts})


def _like(log, name):
    other = type(log)(name, 1)
    other.addHandler(log.all)
    return other


OURS = pytest.mark.parametrize("ours", [True, False], ids=["our logger", "another one and the filter"])


@OURS
@pytest.mark.parametrize("way", WAYS)
def test_no_part_of_a_record_shows_a_secret(secrets, ours, way):
    log = logger(ours=ours)
    WAYS[way](log, SECRET)
    assert log.all.records
    assert SECRET not in log.all.text()
    assert secrets


def texts(value):
    """All texts in JSON data."""
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [str(value)]


def written(text):
    """All that a program writes of every way in which a text gets into a record: as text, and the texts of the JSON."""
    found = []
    for way in WAYS.values():
        log = logger()
        way(log, text)
        _, plain, structured = log.all.seen
        found += [plain, *texts(json.loads(structured))]
    return found


@given(st.text(min_size=4, max_size=30), st.text(max_size=10), st.text(max_size=10))
def test_a_secret_is_never_written_whatever_it_is_and_wherever_it_stands(secret, before, after):
    assume(len(secret.strip()) >= 4)
    assume(secret.strip("*"))
    assume(not any(secret in text for text in written("-")))
    known = Secrets([secret])
    assert not any(secret in text for text in written(f"{before}{secret}{after}"))
    assert known


def test_a_record_without_secrets_is_left_as_it_is():
    log = logger()
    error = ValueError("x")
    log.warning("hello %s, mail to joe@example.org", "world", extra={"attempt": 3}, exc_info=error)
    (record,) = log.all.records
    assert (record.msg, record.args, record.attempt) == ("hello %s, mail to joe@example.org", ("world",), 3)
    assert record.exc_info[1] is error


def test_the_text_of_a_traceback_stays(secrets):
    log = logger()
    _in_except(log, f"it was {SECRET} I believe")
    formatted = logging.Formatter().format(log.all.records[0])
    assert "Traceback (most recent call last):" in formatted
    assert f"it was {MASK} I believe" in formatted
    assert "in raises" in log.all.seen[-1]
    assert secrets


def test_numbers_of_the_record_stay(secrets):
    secrets.add("30303")
    log = logger()
    log.handle(_made(msg="%s", args=(SECRET,), lineno=30303, process=30303))
    (record,) = log.all.records
    assert (record.lineno, record.process) == (30303, 30303)


@OURS
@pytest.mark.parametrize("way", [way for way in WAYS if way not in {"path", "logger"}])
@pytest.mark.usefixtures("hushed")
def test_a_state_with_no_log_says_only_that_it_said_something(ours, way):
    log = logger(ours=ours)
    WAYS[way](log, "told to nobody")
    (record,) = log.all.records
    assert record.getMessage() == MASK
    assert (record.tag, record.sls, record.run_id, record.host) == ("m_|-id_|-**********_|-f", "web", "run", "host")
    assert "told to nobody" not in log.all.text()


@pytest.mark.usefixtures("hushed")
def test_a_logger_that_a_state_with_no_log_names_is_not_shown():
    log = logger(ours=False)
    WAYS["logger"](log, "told to nobody")
    assert log.all.records[0].name == MASK


@pytest.mark.usefixtures("hushed")
def test_what_a_state_with_no_log_binds_to_its_lines_is_not_shown():
    with structlog.contextvars.bound_contextvars(word="told to nobody"):
        event = structlog.contextvars.merge_contextvars(None, "info", {"event": "told to nobody", "level": "info"})
        shown = hide_secrets(None, "info", event)
    assert shown == {
        "level": "info",
        "event": MASK,
        "tag": "m_|-id_|-**********_|-f",
        "sls": "web",
        "run_id": "run",
        "host": "host",
    }


def test_a_structlog_logger_of_a_program_can_have_the_rim(secrets):
    stream = io.StringIO()
    log = structlog.wrap_logger(
        structlog.PrintLogger(stream),
        processors=[structlog.processors.format_exc_info, hide_secrets, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(10),
    )
    try:
        raises(SECRET)
    except ValueError:
        log.exception("with %s", SECRET, word=[SECRET])
    assert SECRET not in stream.getvalue()
    assert json.loads(stream.getvalue())["word"] == [MASK]
    assert secrets


def test_structlog_records_keep_their_form(secrets):
    """What a structlog logger hands to ProcessorFormatter stays a dict of fields."""
    log = logger()
    bound = structlog.wrap_logger(
        log,
        processors=[structlog.stdlib.add_log_level, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    try:
        raises(SECRET)
    except ValueError:
        bound.exception("told", word=SECRET)
    (record,) = log.all.records
    assert record.msg["event"] == "told"
    assert record.msg["word"] == MASK
    assert record.msg["level"] == "error"
    assert "in raises" in record.msg["exception"]
    assert SECRET not in log.all.text()
    assert secrets
