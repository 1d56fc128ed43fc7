"""Looking at plans and past runs in a user's hands."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from failing_site import TREE, Site
from feature_trees import Tree

from tests.features.test_command_line import cli  # noqa: F401 - a fixture


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


@pytest.fixture
def site(tmp_path, run_cli):
    return Site(tmp_path, run_cli)


@pytest.mark.feature("F161")
def test_explain(tree, cli):  # noqa: F811
    tree.write(
        {
            "a.sls": "a: {test.nop: [{require: [b]}, {onchanges: [{test: 'c*'}]}, {onlyif: 'true'}]}\nc1: test.nop\nb: {test.nop: [{order: last}]}\n"
            "f: {file.managed: [{name: /nowhere/d/f}]}\nd: {file.directory: [{name: /nowhere/d}]}\n"
        }
    )
    code, out, _ = cli("explain", "a", "a")
    assert code == 0
    assert "require: none of these may have failed\n    - test.nop: b" in out
    assert "onchanges: one of these must have changed" in out
    assert "onlyif: true" in out
    assert "a.sls:1" in out
    (facts,) = json.loads(cli("explain", "b", "a", "--out", "json")[1])
    assert facts["waited_for_by"] == ["test.nop: a"]
    assert facts["before_its_order"] == ["test.nop: a"]
    (facts,) = json.loads(cli("explain", "/nowhere/d", "a", "--out", "json")[1])
    assert facts["waits_for"] == {"footprint": ["file.managed: f (/nowhere/d/f) — path:/nowhere/d"]}
    code, _, errors = cli("explain", "bb", "a")
    assert (code, "Did you mean 'b'?" in errors) == (1, True)


@pytest.mark.feature("F225")
def test_a_run_is_simulated_with_other_slots(site):
    site.call("apply", "web", code=2)
    found = json.loads(site.call("what-if", "-j", "1..64", "--out", "json", tree=False).stdout)
    assert [point["slots"] for point in found["points"]] == list(range(1, 65))
    assert found["points"][0]["seconds"] >= found["points"][-1]["seconds"] >= found["path"] - 1e-6
    assert next(link["label"] for link in found["links"]).startswith("cmd.run: ")
    assert re.search(r"^ +64 ", site.call("what-if", tree=False).stdout, re.MULTILINE)


@pytest.mark.feature("F226")
def test_progress_says_how_long_the_run_still_takes(site, run_cli, program):
    site.write(
        "one:\n  cmd.run:\n    - name: test ! -s {mark} || until grep -q 'the [r]un of' {mark}; do sleep 0.1; done\n"
        "two:\n  test.nop:\n    - require: [one]\n"
    )
    words = ("apply", "web", "--progress", "plain")
    assert "the run of" not in site.call(*words).stderr
    site.mark.write_text("wait\n")
    with site.mark.open("a") as said:
        command = [program, *words, "--file-root", site.sls.parent]
        subprocess.run(command, cwd=site.path, env=run_cli.environ, stdout=subprocess.DEVNULL, stderr=said, check=True)


@pytest.mark.feature("F229")
def test_two_plans_differ_in_states_arguments_edges_and_order(site):
    site.call("apply", "web", "--test", "--plan-out", "web.plan")
    assert "The plans are the same." in site.call("show", "diff", "web.plan").stdout
    changed = (
        TREE.replace("echo third", "echo other")
        .replace("beside:", "aside:")
        .replace("[{{cmd: second}}]", "[{{cmd: first}}]")
    )
    site.write(changed)
    text = site.call("show", "diff", "web.plan").stdout
    assert re.search(r"^\+ cmd.run: aside", text, re.MULTILINE)
    assert re.search(r"^- cmd.run: beside", text, re.MULTILINE)
    data = json.loads(site.call("show", "diff", "web.plan", "--out", "json").stdout)
    assert not data["same"]
    assert [state["tag"].split("_|-")[1] for state in data["added"]] == ["aside"]
    assert {edge["source"] for edge in data["edges_removed"]} >= {"require"}
    assert site.call("show", "diff", "web.plan", "--out", "mermaid").stdout.startswith("flowchart LR")
