from __future__ import annotations

import pytest

from asyncstate.errors import Issue
from asyncstate.model.result import HostResult, RunReport
from asyncstate.report.github import annotation, failure_annotations, harmless, issue_annotations, without_commands

BAD, HELD, GOOD = (f"test_|-{name}_|-{name}_|-nop" for name in ("bad", "held", "good"))


def row(result, comment, **more):
    return {"name": "n", "result": result, "changes": {}, "comment": comment, **more}


def test_what_github_would_read_as_its_own_signs_is_escaped():
    text = annotation("error", "50 %\nmore: a, b", "/srv/a,b:c.sls", 3, "test.nop: a")
    assert text == "::error file=/srv/a%2Cb%3Ac.sls,line=3,title=test.nop%3A a::50 %25%0Amore: a, b"


def test_without_a_place_it_stands_for_the_job():
    assert annotation("error", "no", "", 7) == "::error::no"


def test_a_file_in_the_workspace_is_named_as_in_the_repository(monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", "/w/repo/")
    assert annotation("warning", "no", "/w/repo/salt/a.sls") == "::warning file=salt/a.sls::no"
    assert annotation("warning", "no", "/w/repository/a.sls") == "::warning file=/w/repository/a.sls::no"


def test_each_failure_is_an_error_but_what_it_held_back_is_not():
    rows = {BAD: row(False, "broke"), HELD: row(False, "held", __state_ran__=False), GOOD: row(True, "fine")}
    report = RunReport(rows=rows, cancelled="SIGTERM")
    assert list(failure_annotations([HostResult(report=report, places={BAD: ("/srv/a.sls", 2)})])) == [
        "::error file=/srv/a.sls,line=2,title=test.nop%3A bad::broke",
        "::error::The run was cut short: SIGTERM",
    ]


def test_a_failed_command_says_its_exit_code_and_its_last_words():
    stderr = "".join(f"line {number}\n" for number in range(100))
    rows = {BAD: row(False, 'Command "x" run', changes={"retcode": 3, "stdout": "much", "stderr": stderr})}
    rows[GOOD] = row(False, "no such file", changes={})
    command, other = failure_annotations([HostResult(report=RunReport(rows=rows))])
    lines = command.partition("::Command")[2].split("%0A")
    assert (lines[:3], lines[-1], len(lines)) == ([' "x" run', "exit code 3", "line 80"], "line 99", 22)
    assert other.endswith("::no such file")


def test_a_mistake_comes_with_its_next_step():
    issue = Issue("wrong\n", "/srv/a.sls", 4, hint="Did you mean 'b'?")
    assert list(issue_annotations("error", [issue])) == ["::error file=/srv/a.sls,line=4::wrong%0ADid you mean 'b'?"]


def test_the_output_of_a_state_is_no_command():
    first, *middle, last = without_commands(["::add-mask::x", "text"])
    word = first.removeprefix("::stop-commands::")
    assert middle == ["::add-mask::x", "text"]
    assert last == f"::{word}::"
    assert next(without_commands([])) != first


def test_hosts_of_a_fleet_are_named():
    bad = HostResult(host="web1", report=RunReport(rows={BAD: row(False, "broke")}), places={BAD: ("/srv/a.sls", 2)})
    gone = HostResult(host="web2", report=RunReport(rows={}, cancelled="lost"), problem="is lost")
    assert list(failure_annotations([bad, gone])) == [
        "::error file=/srv/a.sls,line=2,title=web1%3A test.nop%3A bad::broke",
        "::error::web2: is lost",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("::error::x\n  ::y::\na::b", ": :error::x\n  : :y::\na::b"),
        ("x ##[error]y", "x ## [error]y"),
        ("a\r::error::", "a\r: :error::"),
        ("a: b\n", "a: b\n"),
    ],
)
def test_a_command_in_a_text_is_kept_apart(text, expected):
    assert harmless(text) == expected
    assert harmless(expected) == expected
