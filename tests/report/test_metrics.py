from __future__ import annotations

from tables import beside

from asyncstate.model.result import HostResult, RunReport
from asyncstate.report.metrics import metrics_text

TABLES = beside(__file__)


def values(text):
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def row(result=True, changes=(), **more):
    return {"name": "n", "result": result, "changes": dict(changes), "comment": "", **more}


def test_a_run_in_numbers():
    rows = {
        "same": row(),
        "new": row(changes={"a": 1}),
        "bad": row(False, {"b": 1}),
        "held": row(False, __state_ran__=False),
        "saved": row(False),
    }
    report = RunReport(rows=rows, handled=("saved",), not_started=("x", "y"), wall_ms=1500.0)
    assert (
        values(metrics_text([HostResult(report=report)], 2, 1700000000.25, success=False)) == TABLES["a run in numbers"]
    )


def test_a_dry_run_counts_what_would_change():
    numbers = values(
        metrics_text([HostResult(report=RunReport(rows={"a": row(None)}, test=True))], 3, 0.0, success=True)
    )
    assert numbers['asyncstate_states{outcome="changed"}'] == numbers["asyncstate_test"] == "1"
    assert numbers["asyncstate_success"] == "1"


def test_each_metric_is_explained_once():
    text = metrics_text(
        [HostResult(report=RunReport(rows={})), HostResult(host="a", report=RunReport(rows={}))], 0, 0.0, success=True
    ).splitlines()
    explained = [line.split()[2] for line in text if line.startswith("# HELP")]
    typed = [line.split()[2] for line in text if line.startswith("# TYPE")]
    assert explained == typed == list(dict.fromkeys(explained))
    assert {line.split("{")[0].split()[0] for line in text if not line.startswith("#")} == set(explained)


def test_of_a_run_that_did_not_begin_only_the_end_is_known():
    assert values(metrics_text([], 75, 1.0, success=False)) == {
        "asyncstate_exit_code": "75",
        "asyncstate_success": "0",
        "asyncstate_end_timestamp_seconds": "1.000",
    }


def test_hosts_of_a_fleet_are_told_apart_and_one_that_did_not_take_part_has_failed():
    here = HostResult(host='a"b', report=RunReport(rows={"x": row(changes={"a": 1})}))
    gone = HostResult(host="gone", report=RunReport(rows={}), problem="did not answer")
    numbers = values(metrics_text([here, gone], 2, 1.0, success=False))
    assert numbers['asyncstate_states{host="a\\"b",outcome="changed"}'] == "1"
    assert numbers['asyncstate_states{host="gone",outcome="changed"}'] == "0"
    assert (numbers['asyncstate_host_success{host="a\\"b"}'], numbers['asyncstate_host_success{host="gone"}']) == (
        "1",
        "0",
    )
