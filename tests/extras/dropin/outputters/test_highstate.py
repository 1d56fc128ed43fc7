"""The highstate outputter with the options that change it. Whole reports are in ``tests/extras/dropin``."""

from __future__ import annotations

import pytest

from asyncstate.extras.dropin.outputters.highstate import highstate
from asyncstate.report.terminal import PLAIN

BASE = {"state_verbose": True, "state_output_profile": True}


def row(number, *, result=True, changes=None, name="name", **more):
    return {
        "__id__": "id",
        "__run_num__": number,
        "__sls__": "web",
        "name": name,
        "result": result,
        "changes": changes or {},
        "comment": "said",
        "start_time": "10:00:00.000000",
        "duration": 1.5,
        **more,
    }


def shown(*rows, **opts):
    data = {f"test_|-{each['__id__']}_|-{each['name']}_|-nop": each for each in rows}
    return highstate({"local": data}, BASE | opts, PLAIN)


def test_the_rows_stand_in_the_order_they_ran():
    text = shown(row(1, name="later"), row(0, name="first"))
    assert text.index("Name: first") < text.index("Name: later")


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        (True, "10:00:00.000000 [    1.5 ms]       test.nop        Clean     Name: name"),
        ("{1}: {4}", "name: Clean"),
    ],
)
def test_state_tabular(form, wanted):
    assert wanted in shown(row(0), state_output="terse", state_tabular=form).splitlines()


def test_state_compress_ids_counts_the_states_of_an_id():
    text = shown(
        row(0, name="a", changes={"x": 1}),
        row(1, name="b", changes={"y": 2}),
        state_compress_ids=True,
        state_output="terse_id",
    )
    assert "Name: id (2) - Function: test.nop - Result: Changed" in text
    assert "Succeeded: 2 (changed=2)" in text


def test_state_output_pct():
    text = shown(row(0), row(1, name="b", result=False), state_output_pct=True)
    assert "Success %: 50.0" in text
    assert "Failure %: 50.0" in text


def test_filter_leaves_out_and_shortens():
    rows = [row(0), row(1, name="b", result=False), row(2, name="c", result=None)]
    text = shown(*rows, state_output="filter", state_output_exclude="True", state_output_terse=["False"])
    assert "Name: b - Function: test.nop - Result: Failed" in text
    assert "    Name: c" in text
    assert "Name: name" not in text


def test_without_times():
    text = shown(row(0), state_output_profile=False)
    assert "Started" not in text
    assert "Total run time" not in text


def test_rows_of_another_run_in_the_changes_are_a_report_within_the_report():
    inner = {"ret": {"db1": {"test_|-x_|-x_|-nop": row(0, name="x")}}, "out": "highstate"}
    text = shown(row(0, changes=inner))
    assert "              Summary for db1" in text


def test_a_row_without_a_number_is_told():
    lost = row(0)
    del lost["__run_num__"]
    assert "failed to record the order" in shown(lost)


@pytest.mark.parametrize(("value", "line"), [(True, "    True"), ("two\nlines", "    lines"), (7, "    7")])
def test_what_is_no_row_is_shown_as_it_is(value, line):
    assert line in highstate({"local": value}, BASE, PLAIN).splitlines()


def test_nothing_is_told_of_nothing():
    assert "Total states run:    0" in shown()


def test_more_than_a_second_is_told_in_seconds():
    assert "Total run time:   1.500 s" in shown(row(0, duration=1500.0))


def test_changes_that_are_no_mapping_and_data_beside_the_comment():
    assert "Invalid Changes data: ['x']" in shown(row(0, changes=["x"]))
    assert "Comment: said one two" in shown(row(0, data=["one", "two"]))
    assert "\n\t\tkey: 1" in shown(row(0, data={"key": 1}))
    assert "Comment: said more" in shown(row(0, data="more"))


def test_of_parallel_states_the_longest_counts():
    rows = [row(n, name=str(n), duration=took, __parallel__=True) for n, took in enumerate((5.0, 9.0))]
    assert "Total run time:  10.500 ms" in shown(*rows, row(2))
