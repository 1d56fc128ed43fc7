"""show diff on a small tree."""

from __future__ import annotations

import json

import pytest

from asyncstate.journal.store import Journal
from tests.cli.test_saved_plan import edit, run, saved, tree  # noqa: F401 - fixtures


def test_only_the_command_line_names_a_file_to_compile(run, tmp_path):  # noqa: F811
    """A plan is data of somebody else: a file that it names is not even opened."""
    (own := tmp_path / "own.sls").write_text("a: {test.nop: []}\n")
    (other := tmp_path / "other.sls").write_text(f"#!py\nopen({str(tmp_path / 'ran')!r}, 'w').close()\n")
    plan = tmp_path / "web.plan"
    assert run("plan", "--file", own, "--plan-out", plan).returncode == 0
    done = run("show", "diff", plan)
    assert done.returncode == 1
    assert f"the plan was made of the file {own}, and only the command line names a file" in done.stderr
    assert run("show", "diff", plan, "--file", other).returncode == 1
    plan.write_text(plan.read_text().replace(str(own), str(other)))
    assert f"the plan was made of the file {other}" in run("show", "diff", plan).stderr
    assert f"not of {own}" in run("show", "diff", plan, "--file", own).stderr
    plan.write_text(plan.read_text().replace(str(other), str(own)))
    assert run("show", "diff", plan, "--file", "own.sls", cwd=tmp_path).returncode == 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", ["", "{}", "\x00", '{"version": 99}', "[" * 5000], ids=range(5))
def test_what_is_no_plan_is_a_clear_error(run, tmp_path, content):  # noqa: F811
    (path := tmp_path / "bad.plan").write_text(content)
    done = run("show", "diff", path)
    assert done.returncode == 1
    assert str(path) in done.stderr
    assert "--plan-out" in done.stderr


def test_a_secret_is_not_shown(run, saved, tree, tmp_path):  # noqa: F811
    (tree / "web.sls").write_text("a:\n  cmd.run:\n    - name: echo hunter22\n    - no_log: True\n")
    assert "hunter22" not in saved("web").read_text()
    edit(tree / "web.sls", "hunter22", "hunter33")
    done = run("show", "diff", tmp_path / "web.plan")
    assert "name: changed; it is not shown" in done.stdout
    assert "hunter" not in done.stdout


def test_words_that_were_altered_are_shown(run, saved):  # noqa: F811
    path = saved()
    edit(path, '"contents": 80', '"contents": 81')
    assert "contents" in run("show", "diff", path).stdout


def test_show_diff_of_a_plan_and_the_tree(run, saved, tree):  # noqa: F811
    plan = saved("web")
    assert run("show", "diff", plan).stdout == "The plans are the same.\n"
    edit(tree / "web.sls", "'0644'", "'0600'")
    done = run("show", "diff", plan)
    assert done.returncode == 0
    assert f"~ file.managed: conf ({tree.parent}/conf) in web ({tree}/web.sls:2)" in done.stdout
    assert '    mode: "0644" → "0600"' in done.stdout
    assert "1 state changed, 1 input changed." in done.stdout
    assert "\x1b[33m~" in run("show", "diff", plan, "--color", "always").stdout


def test_show_diff_of_two_plans_and_of_other_sls(run, saved):  # noqa: F811
    first, second = saved("web"), saved("web", "db", name="both.plan")
    for words in ([second], ["web", "db"]):
        answer = json.loads(run("show", "diff", first, *words, "--out", "json").stdout)
        assert not answer["same"]
        assert [state["sls"] for state in answer["added"]] == ["db"]
        assert answer["removed"] == answer["changed"] == []


def test_show_diff_of_a_past_run(run, saved, tree, monkeypatch):  # noqa: F811
    monkeypatch.setenv("ASYNCSTATE_JOURNAL", "true")
    assert run("apply", "web").returncode == 0
    done = run("show", "diff", "run:latest")
    assert (done.stdout, done.stderr) == ("The plans are the same.\n", "")
    id_ = Journal.open(str(tree.parent / "state")).find().id
    edit(tree / "web.sls", "'0644'", "'0600'")
    later = saved("web")
    for words in ([], [later], ["run:"]):  # the dry run is a run, too
        assert 'mode: "0644" → "0600"' in run("show", "diff", f"run:{id_[:6]}", *words).stdout
    assert 'mode: "0600" → "0644"' in run("show", "diff", later, f"run:{id_}").stdout


def test_a_run_that_does_not_exist_is_an_error(run):  # noqa: F811
    done = run("show", "diff", "run:nothing")
    assert done.returncode == 1
    assert "run" in done.stderr


def test_a_second_file_that_is_missing_is_no_sls(run, saved):  # noqa: F811
    done = run("show", "diff", saved("web"), "missing.plan")
    assert done.returncode == 1
    assert "missing.plan: No such file" in done.stderr


def test_show_diff_as_a_picture(run, saved, tree):  # noqa: F811
    plan = saved("web")
    edit(tree / "web.sls", "'0644'", "'0600'")
    edit(tree / "web.sls", "start:\n", "more:\n  test.nop:\n    - require:\n      - file: conf\nstart:\n")
    picture = run("show", "diff", plan, "--out", "mermaid").stdout
    assert picture.startswith("flowchart LR\n")
    assert '"(+) test.nop: more"]:::added' in picture
    assert ":::changed" in picture
    assert "linkStyle" in picture
