"""Any return or exception of a plugin ends in one well-formed row and one event, and the run goes on."""

from __future__ import annotations

import asyncio
import gc
import json
import warnings
from collections import Counter
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_hooks import ASYNC_MODULE, EXECUTION, GRAINS, MODULE, ODDITIES, ask
from odd_values import odd_values
from tables import beside

from asyncstate import Settings, StateRuntime
from asyncstate.cli.console import Console
from asyncstate.model.encode import json_bytes, plain
from asyncstate.model.event import ChunkFinished, ChunkStarted, RunFinished, RunStarted, decode_event, encode_event
from asyncstate.model.forecast import forecast
from asyncstate.model.result import HostResult
from asyncstate.report.brief import brief_lines
from asyncstate.report.human import BRIEF, FORMS, Style, report_lines
from asyncstate.report.junit import junit_xml

TABLES = beside(__file__)

TREE = TABLES["tree"]
KEYS = ("comment", "changes", "result", "name", "warnings", "sub_state_run", "extra", "skip_watch")
BEFORE = "before:\n  test.succeed_with_changes: []\n"
AFTER = "after:\n  test.nop:\n    - order: last\n"
OF_A_KEY = TABLES["of a key"]
VALUES = TABLES["values"]
ROW_KEYS = {"name", "result", "changes", "comment", "__id__", "__sls__", "__run_num__", "start_time", "duration"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    base = tmp_path_factory.mktemp("boundary")
    (base / "salt" / "_states").mkdir(parents=True)
    (base / "salt" / "_states" / "odd.py").write_text(MODULE)
    (base / "salt" / "_states" / "aodd.py").write_text(ASYNC_MODULE)
    for kind, text in (("_modules", EXECUTION), ("_grains", GRAINS)):
        (base / "salt" / kind).mkdir()
        (base / "salt" / kind / "odd.py").write_text(text)
    (base / "salt" / "values.sls").write_text(VALUES)
    for module in ("odd", "aodd"):
        keys = BEFORE + "".join(OF_A_KEY.replace("KEY", key) for key in KEYS) + AFTER
        for name, text in (("all", TREE), ("keys", keys)):
            (base / "salt" / f"{module}_{name}.sls").write_text(text.replace("MODULE", module))
    return base


def runtime_of(tree):
    roots = {"base": [str(tree / "salt")]}
    return StateRuntime(Settings(file_roots=roots, cachedir=str(tree / "cache"), state_dir=str(tree / "state")))


async def apply(runtime, sls):
    """Run an SLS as the command line does; return the plan, the report and all events."""
    events = []
    plan = await runtime.compile([sls])
    run = runtime.run(plan, observers=[events.append], events=False, concurrency=4)
    async with run:
        pass
    return SimpleNamespace(plan=plan, report=run.report, events=events)


def assert_total(done):
    """Check what holds of any run."""
    report, events = done.report, done.events
    assert {chunk.tag for chunk in done.plan.chunks} <= report.rows.keys()
    assert not report.not_started
    for tag, row in report.rows.items():
        assert row.keys() >= ROW_KEYS, tag
        assert type(row["changes"]) is dict
        assert row["result"] is None or type(row["result"]) is bool
        assert type(row["duration"]) is float
        assert all(type(warning) is str for warning in row.get("warnings", []))
        assert plain(row) == row or row != row  # noqa: PLR0124 - NaN is not itself
    started = Counter((event.tag, event.check) for event in events if isinstance(event, ChunkStarted))
    finished = Counter((event.tag, event.check) for event in events if isinstance(event, ChunkFinished))
    assert started == finished
    assert set(started.values()) == {1}
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    after = next(row for tag, row in report.rows.items() if "_|-after_|-" in tag)
    assert after["result"] is True
    assert_shown(done)


def assert_shown(done):
    """Check that every form of output can show it."""
    for event in done.events:
        assert type(decode_event(encode_event(event))) is type(event)
    report = done.report
    assert json.loads(json_bytes(report.rows)).keys() == report.rows.keys()
    for form in FORMS:
        style = Style.of({"state_output": form})
        foretold = forecast(report, done.plan)
        text = "\n".join((brief_lines if form == BRIEF else report_lines)(report, style, "local", foretold))
        assert "local:" in text
        assert text.encode()
    assert len(list(ET.fromstring(junit_xml([HostResult(report=report)])).iter("testcase"))) == len(report.rows)


def shown_as_yaml(report, capfdbinary):
    console = Console()
    console.out = "yaml"
    console.data(report.rows)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in Python takes half a minute for the endless list
    assert yaml.load(capfdbinary.readouterr().out, loader).keys() == report.rows.keys()


HOOKS = ["here", "mod_watch", "mod_init", "mod_aggregate", "mod_aggregate_split", "mod_footprint"]
AWAITED = {"a coroutine", "an awaitable", "a coroutine in a list", "a generator"}


def share(turn):
    """All errors and all that can be awaited, and a third of the other values: three turns take each."""
    return [
        deed
        for number, deed in enumerate(ODDITIES)
        if deed[0] == "raise" or deed[1] in AWAITED or number % 3 == turn % 3
    ]


on_threads_and_the_loop = pytest.mark.parametrize(
    ("module", "share"),
    [
        pytest.param("odd", share, id="in a thread"),
        pytest.param("aodd", share, id="on the loop"),
        *(
            pytest.param(each, lambda turn: ODDITIES, id=f"{each}, all", marks=pytest.mark.slow)
            for each in ("odd", "aodd")
        ),
    ],
)


@on_threads_and_the_loop
@pytest.mark.parametrize("hook", HOOKS)
async def test_every_hook_may_do_anything(tree, hook, module, share):
    async with runtime_of(tree) as runtime:
        for deed in share(HOOKS.index(hook)):
            ask(hook, deed)
            try:
                assert_total(await apply(runtime, f"{module}_all"))
            except BaseException as error:
                error.add_note(f"{hook} of {module}: {deed}")
                raise


@on_threads_and_the_loop
async def test_every_key_of_a_row_may_be_anything(tree, module, share, capfdbinary):
    async with runtime_of(tree) as runtime:
        for deed in ODDITIES if module == "odd" else share(0):
            if deed[0] == "raise":
                continue
            ask("here", deed)
            try:
                done = await apply(runtime, f"{module}_keys")
                assert_total(done)
                if module == "odd":
                    shown_as_yaml(done.report, capfdbinary)
            except BaseException as error:
                error.add_note(f"keys of {module}: {deed}")
                raise


@pytest.mark.filterwarnings("ignore:coroutine 'forgotten'")
@pytest.mark.parametrize(
    ("hook", "deeds"),
    [
        ("value", ODDITIES),
        ("grains", share(0)),
        pytest.param("grains", ODDITIES, id="grains, all", marks=pytest.mark.slow),
    ],
)
async def test_conditions_slots_and_grains_may_give_anything(tree, hook, deeds):
    ask("nothing", None)
    async with runtime_of(tree) as runtime:
        for deed in deeds:
            ask(hook, deed)
            try:
                assert_total(await apply(runtime, "values"))
            except BaseException as error:
                error.add_note(f"{hook}: {deed}")
                raise
    gc.collect()  # what was never awaited says so now


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    hook=st.sampled_from(HOOKS),
    module=st.sampled_from(["odd", "aodd"]),
    value=st.dictionaries(
        st.sampled_from(["name", "result", "changes", "comment", "sub_state_run", "warnings", "extra"]), odd_values
    )
    | odd_values,
)
def test_any_hook_may_return_any_value(tree, hook, module, value):
    ask(hook, lambda: value)

    async def run():
        async with runtime_of(tree) as runtime:
            assert_total(await apply(runtime, f"{module}_all"))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of coroutines in values that no hook returned
        asyncio.run(run())
