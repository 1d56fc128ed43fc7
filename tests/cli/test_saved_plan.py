"""apply --plan-out and apply --plan on a small tree."""

from __future__ import annotations

import json
import os
import stat

import pytest
from messages import said as said_of
from tables import beside

from asyncstate.cli.saved_plan import require_same
from asyncstate.errors import PlanError
from asyncstate.plans.record import decode

TABLES = beside(__file__)

WEB = TABLES["web"]


@pytest.fixture
def tree(tmp_path):
    (root := tmp_path / "tree").mkdir()
    (root / "web.sls").write_text(WEB.format(root=tmp_path))
    (root / "db.sls").write_text("db:\n  test.nop: []\n")
    (root / "top.sls").write_text("base:\n  '*':\n    - web\n    - db\n")
    return root


@pytest.fixture
def run(tree, run_here):
    """Run a command on the tree, in this process."""
    return lambda *words, cwd="/": run_here(*words, "--file-root", tree, cwd=cwd)


@pytest.fixture
def saved(run, tmp_path):
    """Save the plan of a dry run; return its path."""

    def save(*words, name="web.plan"):
        done = run("apply", *words, "--test", "--plan-out", tmp_path / name)
        assert done.returncode == 0, done.stderr
        return tmp_path / name

    return save


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.feature("F228")
def test_what_was_reviewed_is_applied(run, saved, tmp_path):
    plan = saved("web")
    assert not (tmp_path / "conf").exists()
    done = run("apply", "--plan", plan, "--progress", "none")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "conf").read_text() == "80\n"
    assert "db" not in done.stdout


def test_a_plan_file_is_private_and_has_what_the_dry_run_foresaw(saved, tmp_path):
    (tmp_path / "web.plan").write_text("old")
    (tmp_path / "web.plan").chmod(0o644)
    plan = saved("web")
    assert stat.S_IMODE(plan.stat().st_mode) == 0o600
    record = decode(plan.read_bytes())
    assert record.selection.sls == ("web",)
    assert [tag.split("_|-")[1] for tag in record.foreseen] == ["conf"]
    assert [(chunk.id, os.path.basename(chunk.file), chunk.line) for chunk in record.chunks] == [
        ("start", "web.sls", 9),
        ("conf", "web.sls", 2),
    ]


@pytest.mark.parametrize(
    "words",
    [["web"], [], ["web", "db", "--exclude", "db"], ["web", "--id", "start"], ["--exclude", "db"]],
    ids=" ".join,
)
def test_the_selection_comes_from_the_file(run, saved, words):
    plan = saved(*words)
    expected = json.loads(run("apply", *words, "--test", "--out", "json").stdout).keys()
    done = run("apply", "--plan", plan, "--out", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout).keys() == expected


@pytest.mark.feature("F228")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    TABLES["another tree is refused and the refusal names what changed"],
)
def test_another_tree_is_refused_and_the_refusal_names_what_changed(run, saved, tree, old, *, new, said):
    plan = saved("web")
    edit(tree / "web.sls", old, new)
    done = run("apply", "--plan", plan)
    assert done.returncode == 1
    assert said in done.stderr
    assert "asyncstate plan --plan-out" in done.stderr
    assert not (tree.parent / "conf").exists()


def test_a_refusal_is_data_where_data_was_asked_for(run, saved, tree):
    plan = saved("web")
    edit(tree / "web.sls", "'0644'", "'0600'")
    done = run("apply", "--plan", plan, "--out", "json")
    assert done.returncode == 1
    assert "mode" in json.loads(done.stdout)[0]


def test_a_change_outside_of_the_plan_is_no_reason_to_refuse(run, saved, tree):
    plan = saved("web")
    edit(tree / "db.sls", "db:", "other:")
    assert run("apply", "--plan", plan).returncode == 0


def test_pillar_of_the_command_line_is_given_again(run, saved, tmp_path):
    plan = saved("web", "--pillar", '{"port": "hunter22"}')
    assert b'"pillar":["port"]' in plan.read_bytes().replace(b" ", b"").replace(b"\n", b"")
    done = run("apply", "--plan", plan)
    assert done.returncode == 1
    assert "--pillar" in done.stderr
    assert "port" in done.stderr
    done = run("apply", "--plan", plan, "--pillar", '{"port": "other"}')
    assert done.returncode == 1
    assert "pillar key port changed" in done.stderr
    assert run("apply", "--plan", plan, "--pillar", '{"port": "hunter22"}').returncode == 0
    assert (tmp_path / "conf").read_text() == "hunter22\n"


def test_only_the_command_line_names_a_file_to_compile(run, tree, tmp_path):
    """A plan is data of somebody else: a file that it names is not even opened."""
    (own := tmp_path / "own.sls").write_text("a: {test.nop: []}\n")
    (other := tmp_path / "other.sls").write_text(f"#!py\nopen({str(tmp_path / 'ran')!r}, 'w').close()\n")
    plan = tmp_path / "web.plan"
    assert run("plan", "--file", own, "--plan-out", plan).returncode == 0
    words = ["apply", "--plan", plan]
    done = run(*words)
    assert done.returncode == 1
    assert "the plan " + said_of("file-again", path=own) in done.stderr
    assert run(*words, "--file", other).returncode == 1
    plan.write_text(plan.read_text().replace(str(own), str(other)))
    assert f"the plan was made of the file {other}" in run(*words).stderr
    assert f"not of {own}" in run(*words, "--file", own).stderr
    plan.write_text(plan.read_text().replace(str(other), str(own)))
    assert run(*words, "--file", "own.sls", cwd=tmp_path).returncode == 0
    assert not (tmp_path / "ran").exists()
    assert run("plan", "web", "--plan-out", plan).returncode == 0
    assert "the plan was made of SLS files, not of" in run("apply", "--plan", plan, "--file", own).stderr


def test_a_plan_of_another_key_is_refused(run, saved, tmp_path, monkeypatch):
    plan = saved("web")
    monkeypatch.setenv("ASYNCSTATE_STATE_DIR", str(tmp_path / "elsewhere"))
    done = run("apply", "--plan", plan)
    assert done.returncode == 1
    assert "another key" in done.stderr
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("content", ["", "{}", "\x00", '{"version": 99}', "[" * 5000], ids=range(5))
def test_what_is_no_plan_is_a_clear_error(run, tmp_path, content):
    (path := tmp_path / "bad.plan").write_text(content)
    done = run("apply", "--plan", path)
    assert done.returncode == 1
    assert str(path) in done.stderr
    assert "--plan-out" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    TABLES["options that contradict each other"],
)
def test_options_that_contradict_each_other(run, saved, words, said):
    plan = saved("web")
    done = run(*(word.format(plan=plan) for word in words))
    assert done.returncode == 1
    assert said in done.stderr


def test_what_the_dry_run_did_not_foresee_is_said(run, saved, tree, tmp_path):
    (tree / "web.sls").write_text(f"touch:\n  cmd.run:\n    - name: 'true'\n    - onlyif: test -e {tmp_path}/now\n")
    plan = saved("web")
    (tmp_path / "now").write_text("")
    done = run("apply", "--plan", plan)
    assert done.returncode == 0
    assert "did not foresee" in done.stderr
    assert "touch" in done.stderr


def test_a_secret_is_not_in_the_file(saved, tree):
    (tree / "web.sls").write_text("a:\n  cmd.run:\n    - name: echo hunter22\n    - no_log: True\n")
    assert "hunter22" not in saved("web").read_text()


def test_a_plan_that_could_not_be_read_is_not_written(run, tmp_path, monkeypatch):
    monkeypatch.setattr("asyncstate.plans.record.LARGEST", 100)
    done = run("apply", "web", "--test", "--plan-out", tmp_path / "web.plan")
    assert done.returncode == 74
    assert "this plan cannot be read" in done.stderr
    assert not (tmp_path / "web.plan").exists()


def altered(value):
    """Yield data with one value in it replaced by another of its kind, for each value there is."""
    match value:
        case dict() | list():
            for place, item in value.items() if isinstance(value, dict) else enumerate(value):
                for other in altered(item):
                    copy = value.copy()
                    copy[place] = other
                    yield copy
        case bool():
            yield not value
        case int() | float():
            yield value + 1
        case str():
            yield value + "x"


def test_nobody_reads_one_plan_and_applies_another(saved):
    """Whatever is altered in the file, and not only what its digests stand for, it is refused."""
    data = json.loads(saved().read_bytes())
    reviewed = decode(json.dumps(data).encode())
    require_same(reviewed, reviewed, "the plan")
    del data["program"], data["foreseen"]  # the version that wrote it; what a run reports at its end
    plans = [json.dumps(other).encode() for other in altered(data)]
    assert len(plans) > 50
    for plan in plans:
        with pytest.raises(PlanError):
            require_same(decode(plan), reviewed, "the plan")


def test_a_plan_whose_words_were_altered_is_told_from_the_true_one(run, saved, tmp_path):
    path = saved()
    edit(path, '"contents": 80', '"contents": 81')
    done = run("apply", "--plan", path)
    assert (done.returncode, (tmp_path / "conf").exists()) == (1, False)
