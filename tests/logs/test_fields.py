"""Fields bound to the log lines of a run, in the program's logging and in that of a host program."""

import asyncio
import io
import logging
import subprocess
import sys
import threading
from logging.handlers import QueueHandler
from queue import SimpleQueue

import pytest
import structlog
from plans import PlanBuilder

from asyncstate import Settings, StateRuntime
from asyncstate.logs import RimFilter
from asyncstate.logs.fields import RunFields, line_fields
from asyncstate.redact import Secrets
from asyncstate.redact.redacted_plan import RedactedPlan


@pytest.fixture
def fields():
    """Fields of a run of two states, ``a`` and ``b``, bound in this test."""
    plan = PlanBuilder().chunk("a", sls="one").chunk("b", sls="two", name="hunter2-and-more").build()
    secrets = Secrets()
    with RunFields("run-1", "web1", RedactedPlan(plan, secrets)) as bound:
        bound.chunks, bound.secrets = plan.chunks, secrets
        yield bound


def begin(fields, index):
    chunk = fields.chunks[index]
    fields.begin(chunk, chunk.tag)


def test_a_run_has_its_id_and_its_host_and_a_state_its_tag_and_its_sls(fields):
    assert line_fields() == structlog.contextvars.get_contextvars() == {"run_id": "run-1", "host": "web1"}
    begin(fields, 0)
    bound = {"tag": "test_|-a_|-a_|-nop", "sls": "one", "run_id": "run-1", "host": "web1"}
    assert line_fields() == structlog.contextvars.get_contextvars() == bound
    begin(fields, 1)
    bound = {**bound, "tag": "test_|-b_|-hunter2-and-more_|-nop", "sls": "two"}
    assert line_fields() == structlog.contextvars.get_contextvars() == bound


def test_tags_are_those_of_events_and_rows(fields):
    fields.secrets.add("hunter2-and-more")
    begin(fields, 1)
    assert line_fields()["tag"] == "test_|-b_|-**********_|-nop"
    assert structlog.contextvars.get_contextvars()["tag"] == "test_|-b_|-**********_|-nop"


def test_a_secret_that_becomes_known_later_is_hidden_from_then_on(fields):
    begin(fields, 1)
    fields.secrets.add("hunter2-and-more")
    assert line_fields()["tag"] == "test_|-b_|-**********_|-nop"


def test_what_was_bound_before_is_bound_again():
    plan = PlanBuilder().chunk("a").build()
    with structlog.contextvars.bound_contextvars(host="of the program", request=7):
        with RunFields("run-1", "web1", RedactedPlan(plan, Secrets())) as fields:
            fields.begin(plan.chunks[0], plan.chunks[0].tag)
            assert structlog.contextvars.get_contextvars()["host"] == "web1"
        assert structlog.contextvars.get_contextvars() == {"host": "of the program", "request": 7}
    assert line_fields() == {}


def test_what_a_state_bound_the_next_one_has_no_longer(fields):
    """An async state runs in the task of its worker, as those before and after it."""
    for number in range(2):
        begin(fields, 0)
        structlog.contextvars.bind_contextvars(package=number)
        assert structlog.contextvars.get_contextvars()["package"] == number
        begin(fields, 1)
        assert "package" not in structlog.contextvars.get_contextvars()


def test_what_the_program_bound_each_state_has():
    plan = PlanBuilder().chunk("a").build()
    chunk = plan.chunks[0]
    bound = structlog.contextvars.bound_contextvars(request=7)
    with bound, RunFields("run-1", "web1", RedactedPlan(plan, Secrets())) as fields:
        fields.begin(chunk, chunk.tag)
        structlog.contextvars.bind_contextvars(request=8)
        fields.begin(chunk, chunk.tag)
        assert structlog.contextvars.get_contextvars()["request"] == 7


def test_a_run_that_logs_nothing_imports_no_structlog(tmp_path):
    code = (
        "import asyncio, sys\n"
        "from asyncstate import StateRuntime, Settings\n"
        "async def main():\n"
        f"    settings = Settings(file_roots={{'base': [{str(tmp_path)!r}]}}, cachedir={str(tmp_path / 'cache')!r})\n"
        "    async with StateRuntime(settings) as runtime:\n"
        "        assert (await runtime.single('test.nop', {'name': 'a'})).exit_code == 0\n"
        "asyncio.run(main())\n"
        "assert 'structlog' not in sys.modules\n"
        "from asyncstate.logs.fields import _run, _own\n"
        "import structlog\n"
        "_own['tag'].set('x')\n"
        "assert structlog.contextvars.get_contextvars() == {'tag': 'x'}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


STATE = """
import asyncio
import concurrent.futures
import logging
import threading
from multiprocessing.pool import ThreadPool

import structlog

log = logging.getLogger(__name__)
shared = concurrent.futures.ThreadPoolExecutor(1)


def threads(name):
    structlog.contextvars.bind_contextvars(package=name)
    log.warning("%s here", name)
    started = threading.Thread(target=log.warning, args=("%s in a thread", name))
    timer = threading.Timer(0.01, log.warning, ("%s in a timer", name))

    class Own(threading.Thread):
        def run(self):
            log.warning("%s in a thread of its own class", name)
            again = threading.Thread(target=log.warning, args=("%s in a thread of a thread", name))
            again.start()
            again.join()

    own = Own()
    for thread in (started, timer, own):
        thread.start()
    for thread in (started, timer, own):
        thread.join()
    for number in range(3):
        shared.submit(log.warning, "%s in a shared pool", name).result()
        list(shared.map(lambda _: log.warning("%s in a map", name), [1]))
    with ThreadPool(1) as pool:
        pool.map(lambda _: log.warning("%s in a ThreadPool", name), [1])
    return {"name": name, "result": True, "changes": {}, "comment": ""}


async def tasks(name):
    structlog.contextvars.bind_contextvars(package=name)

    async def work():
        await asyncio.sleep(0.01)
        log.warning("%s in a task", name)
        await asyncio.to_thread(log.warning, "%s in to_thread", name)
        asyncio.get_running_loop().call_soon(log.warning, "%s in a callback", name)
        await asyncio.get_running_loop().run_in_executor(shared, log.warning, f"{name} in an executor")

    async with asyncio.TaskGroup() as group:
        group.create_task(work())
        group.create_task(work())
    await asyncio.sleep(0.01)
    return {"name": name, "result": True, "changes": {}, "comment": ""}


def fails(name):
    try:
        int(name)
    except ValueError:
        log.exception("it failed with %s", name, extra={"word": name})
    logging.getLogger("library").warning("a library with %s", name)
    return {"name": name, "result": False, "changes": {}, "comment": name}
"""


@pytest.fixture
def apply(tmp_path):
    """Run an SLS text in this process, as a program does; return the report."""

    def run(sls, *, secrets=(), run_twice=False):
        for path, text in {"_states/heather.py": STATE, "web.sls": sls}.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(text)
        settings = Settings(file_roots={"base": [str(tmp_path)]}, cachedir=str(tmp_path / "cache"), id="web1")

        async def main():
            async with StateRuntime(settings, secrets=Secrets(secrets)) as runtime:
                if run_twice:
                    await runtime.apply(["web"])
                report = await runtime.apply(["web"], concurrency=8)
                assert structlog.contextvars.get_contextvars() == {}
                assert line_fields() == {}
                return report

        return asyncio.run(main())

    return run


@pytest.fixture
def root():
    """The root logger of a program, which may have handlers during a test."""
    logger = logging.getLogger()
    before = list(logger.handlers)
    yield logger
    for handler in logger.handlers[:]:
        if handler not in before:
            logger.removeHandler(handler)


TWO = "".join(f"{fun}{number}: {{heather.{fun}: []}}\n" for fun in ("threads", "tasks") for number in (1, 2))


@pytest.fixture
def records(root):
    """Call it for the records that the handlers of a program have got."""
    queue = SimpleQueue()
    root.addHandler(QueueHandler(queue))
    return lambda: [queue.get() for _ in range(queue.qsize())]


def test_handlers_and_structlog_of_a_program_have_the_fields_and_those_a_state_bound(apply, root, records):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.contextvars.merge_contextvars],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.KeyValueRenderer(),
            ],
        )
    )
    root.addHandler(handler)
    report = apply(TWO, run_twice=True)
    assert report.exit_code == 0
    told = [record for record in records() if record.name == "states.heather"]
    lines = [line for line in stream.getvalue().splitlines() if " in " in line or " here" in line]
    assert len(told) == len(lines) == 2 * (2 * 12 + 2 * 2 * 4)
    for record in told:
        name = record.message.partition(" ")[0]
        assert record.tag == f"heather_|-{name}_|-{name}_|-{name[:-1]}"
        assert (record.sls, record.host) == ("web", "web1")
    assert {record.run_id for record in told} >= {report.run_id}
    assert len({record.run_id for record in told}) == 2
    for line in lines:
        name = line.partition("'")[2].partition(" ")[0]
        assert f"tag='heather_|-{name}_|-{name}_|-{name[:-1]}'" in line
        assert f"package='{name}'" in line
        assert "sls='web'" in line
        assert "host='web1'" in line


def test_threads_that_outlive_a_state_keep_no_fields_of_it(apply):
    """Those of a pool of the plugin, which other code may use next, outside any run."""
    apply("threads1: {heather.threads: []}\n")
    module = next(m for name, m in sys.modules.items() if name.startswith("asyncstate.ext.states.heather_"))
    assert module.shared.submit(line_fields).result() == {}
    assert module.shared.submit(structlog.contextvars.get_contextvars).result() == {}
    seen = []
    thread = threading.Thread(target=lambda: seen.append(line_fields()))
    thread.start()
    thread.join()
    assert seen == [{}]
    assert "run" not in vars(thread)


def test_secrets_and_no_log_hold_for_handlers_of_a_program(apply, root):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(RimFilter())
    root.addHandler(handler)
    apply(
        "known: {heather.fails: [name: hunter2-and-more]}\nquiet: {heather.fails: [name: told to nobody, no_log: true]}\n",
        secrets=["hunter2-and-more"],
    )
    written = stream.getvalue()
    assert "it failed with **********\nTraceback" in written
    assert "a library with **********\n" in written
    assert written.splitlines().count("**********") == 2
    assert "hunter2" not in written
    assert "told to nobody" not in written


def test_a_line_about_one_member_of_an_aggregate_is_of_that_member(apply, records, tmp_path):
    (tmp_path / "_states").mkdir()
    (tmp_path / "_states" / "bulk.py").write_text(
        "import logging\n"
        "log = logging.getLogger(__name__)\n"
        "def made(name, **kwargs):\n"
        "    return {'name': name, 'result': True, 'changes': {}, 'comment': ''}\n"
        "def mod_aggregate(low, chunks, running):\n"
        "    log.warning('%s aggregated', low['name'])\n"
        "    return low\n"
    )
    (tmp_path / "_modules").mkdir()
    (tmp_path / "_modules" / "asks.py").write_text(
        "import logging\nlog = logging.getLogger(__name__)\ndef yes(name):\n    log.warning('%s asked', name)\n    return True\n"
    )
    states = "".join(
        f"{name}: {{bulk.made: [aggregate: true, onlyif: [{{fun: asks.yes, name: {name}}}]]}}\n" for name in "ab"
    )
    assert apply(states).exit_code == 0
    told = [record for record in records() if record.name in {"states.bulk", "modules.asks"}]
    assert {record.message for record in told} >= {"a aggregated", "b aggregated", "a asked", "b asked"}
    for record in told:
        assert record.tag == f"bulk_|-{record.message[0]}_|-{record.message[0]}_|-made"
