"""``apply --only-failed``: what failed or did not start in a past run, with what it requires, and nothing else."""

from __future__ import annotations

import json

import pytest
from messages import said
from tables import beside

from tests.cli.test_runs import Machine

TABLES = beside(__file__)

TREE = TABLES["tree"]


@pytest.fixture
def machine(tmp_path, capsys):
    return Machine(tmp_path, capsys)


def tree(machine, *, good):
    return TREE.format(root=f"{machine.path}/made", made=good)


def ids(out):
    return [tag.split("_|-")[1] for tag in json.loads(out)]


@pytest.mark.feature("F227")
def test_what_failed_is_done_again_with_what_it_requires_and_what_follows(machine):
    run = machine.apply(text=tree(machine, good=False))
    machine.sls(tree(machine, good=True))
    out = machine.call("apply", "--only-failed", "--out", "json")
    assert ids(out) == ["base", "bad", "after", "follows"]
    assert json.loads(out)["cmd_|-follows_|-true_|-run"]["changes"], "the change that it follows came now"
    assert f"2 states failed in run {run} or did not start" in machine.said.err
    assert (machine.path / "made/flag").read_text() == "x\n"


def test_when_nothing_failed_nothing_is_done(machine):
    run = machine.apply(text=tree(machine, good=True), code=0)
    assert machine.call("apply", "--only-failed") == ""
    assert said("nothing-failed", run=run) in machine.said.err
    assert len(json.loads(machine.call("runs", "list", "--out", "json"))) == 1


@pytest.mark.parametrize(("form", "answer"), [("json", "{}\n"), ("yaml", "{}\n"), ("jsonl", ""), ("github", "")])
def test_when_nothing_failed_a_program_gets_an_answer(machine, form, answer):
    machine.apply(text=tree(machine, good=True), code=0)
    junit = machine.path / "junit.xml"
    junit.write_text("of an older run")
    assert machine.call("apply", "--only-failed", "--out", form, "--junit", str(junit)) == answer
    assert 'tests="0" failures="0" errors="0"' in junit.read_text()


def test_what_failhard_kept_from_starting_is_done_too_and_a_dry_run_is_passed_over(machine):
    hard = "bad:\n  test.fail_without_changes:\n    - failhard: true\nlater:\n  test.nop: []\n"
    machine.apply("-j", "1", text=hard)
    machine.apply("--test", text="other:\n  test.nop: []\n", code=0)
    machine.sls(hard.replace("fail_without", "succeed_with"))
    machine.call("apply", "--only-failed", "-j", "1", code=0)
    assert said("failed-and-gone", states="test.fail_without_changes: bad") in machine.said.err
    machine.sls(hard)
    first = json.loads(machine.call("runs", "list", "--out", "json"))[-1]["id"]
    assert ids(machine.call("apply", "--only-failed", first[:6], "-j", "1", "--out", "json", code=2)) == ["bad"]


def test_names_on_the_command_line_and_those_of_the_run(machine):
    machine.apply(text=tree(machine, good=False))
    machine.sls("other:\n  test.nop: []\n", name="other")
    machine.call("apply", "other", "--only-failed", code=1)
    assert "is in this tree" in machine.said.out
    machine.sls(tree(machine, good=False), name="copy")
    assert ids(machine.call("apply", "copy", "--only-failed", "--out", "json", code=2))[1] == "bad"


def test_pillar_of_the_command_line_is_asked_for_again(machine):
    machine.apply("--pillar", "{secret: x, port: 80}", text="a:\n  test.fail_without_changes: []\n")
    machine.call("apply", "--only-failed", "--pillar", "{port: 80}", code=1)
    assert said("pillar-again", keys="secret") in machine.said.err
    machine.call("apply", "--only-failed", "--pillar", "{secret: x, port: 80}", code=2)


def test_without_the_plan_of_the_run_its_report_tells(machine, monkeypatch):
    from asyncstate.errors import JournalError
    from asyncstate.journal.store import Journal

    machine.apply(text=tree(machine, good=False))

    def none(_self, run):
        raise JournalError(said("plan-not-kept", run=run))

    monkeypatch.setattr(Journal, "plan_bytes", none)
    out = machine.call("apply", "--only-failed", "--out", "json", code=2)
    assert ids(out) == ["base", "bad", "after", "follows"]


def test_an_id_that_is_a_secret_is_found_again(machine):
    (machine.tree / "web.sls").write_text(
        "#!jinja|yaml\nhunter22:\n  test.fail_without_changes:\n    - no_log: true\n    - name: hidden\n"
        "other:\n  test.nop: []\n"
    )
    machine.apply(text="")
    assert len(ids(machine.call("apply", "--only-failed", "--out", "json", code=2))) == 1


@pytest.mark.parametrize("kept", [slice(1, 1), slice(1, 3)], ids=["no events", "the first events"])
def test_a_record_that_lost_its_events_does_not_say_what_is_left(machine, kept):
    machine.apply(text=tree(machine, good=False))
    (log,) = machine.path.rglob("*.ended")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0], *lines[kept], lines[-1]]))
    machine.call("apply", "--only-failed", code=1)
    assert said("left-unknown") in machine.said.err
    assert "Not started" not in machine.call("replay", code=125)
    assert said("record-incomplete") in machine.said.err
