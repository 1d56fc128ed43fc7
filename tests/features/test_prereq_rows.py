"""Rows of states that were checked for a prereq. Those of Salt 3008 are in ``tests/recorded/salt_3008/prereqs.sls``."""

import pytest

from asyncstate import Settings, StateRuntime


@pytest.fixture
def apply(tmp_path):
    """Apply one SLS; return rows by ID, in order."""

    async def run(text, **options):
        (tmp_path / "salt").mkdir()
        (tmp_path / "salt" / "s.sls").write_text(text)
        settings = Settings(file_roots={"base": [str(tmp_path / "salt")]}, cachedir=str(tmp_path / "cache"), **options)
        async with StateRuntime(settings) as runtime:
            report = await runtime.apply(["s"], concurrency=1)
        rows = sorted(report.rows.values(), key=lambda row: row["__run_num__"])
        return {row["__id__"]: row for row in rows}

    return run


@pytest.mark.feature("F068")
async def test_a_failure_that_the_check_did_not_foresee_is_not_blamed(apply):
    rows = await apply("""
before: {test.succeed_with_changes: [{prereq: [{cmd: deploy}]}]}
deploy: {cmd.run: [{name: 'false'}]}
after: {test.nop: [{require: [{cmd: deploy}]}]}
""")
    assert rows["deploy"]["result"] is False
    assert rows["after"]["comment"] == "One or more requisite failed: "


@pytest.mark.feature("F068")
async def test_a_check_blames_only_what_it_waited_for(apply):
    rows = await apply("""
broken: test.fail_without_changes
inner: test.fail_without_changes
middle: {test.nop: [{require: [{test: broken}]}, {prereq: [{test: inner}]}]}
outer: {test.nop: [{prereq: [{test: middle}]}]}
""")
    assert rows["middle"]["comment"] == "One or more requisite failed: s.broken"


@pytest.mark.feature("F068")
async def test_what_held_the_check_back_is_the_row(apply):
    rows = await apply("""
quiet: test.nop
middle: {test.nop: [{onchanges: [{test: quiet}]}, {prereq: [{test: inner}]}]}
outer: {test.nop: [{prereq: [{test: middle}]}]}
inner: test.nop
""")
    assert rows["middle"]["comment"] == "State was not run because none of the onchanges reqs changed"
    assert list(rows).index("middle") < list(rows).index("outer")


@pytest.mark.feature("F068")
@pytest.mark.feature("F085")
async def test_failhard_holds_where_the_check_was_held_back(apply):
    rows = await apply("""
broken: test.fail_without_changes
target: {test.succeed_with_changes: [{require: [{test: broken}]}, {failhard: true}]}
asking: {test.nop: [{prereq: [{test: target}]}]}
later: test.nop
""")
    assert list(rows) == ["broken", "target"]
    assert rows["target"]["comment"] == "One or more requisite failed: s.broken"


@pytest.mark.feature("F069")
async def test_a_listener_whose_check_was_held_back_is_not_called(apply):
    rows = await apply("""
changing: test.succeed_with_changes
broken: test.fail_without_changes
target: {test.nop: [{require: [{test: broken}]}, {listen: [{test: changing}]}]}
asking: {test.nop: [{prereq: [{test: target}]}]}
other: {test.nop: [{listen: [{test: changing}]}]}
""")
    assert [id_ for id_ in rows if id_.startswith("listener_")] == ["listener_other"]


@pytest.mark.feature("F069")
async def test_listeners_are_called_in_the_order_of_their_checks(apply):
    rows = await apply("""
changing: test.succeed_with_changes
first: {test.nop: [{listen: [{test: changing}]}]}
target: {test.succeed_with_changes: [{listen: [{test: changing}]}, {order: 3}]}
asking: {test.nop: [{prereq: [{test: target}]}, {require: [{test: first}]}]}
""")
    listeners = [id_ for id_ in rows if id_.startswith("listener_")]
    assert listeners == ["listener_target", "listener_first"]
