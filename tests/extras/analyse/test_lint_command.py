"""lint, show impact, show aggregate, and how check and apply count unknown effects."""

import json
import subprocess

import pytest

from asyncstate.model.rules import RULES

TREE = {
    "salt/top.sls": "base:\n  '*': [web]\n",
    "salt/web.sls": (
        "dir:\n  file.directory:\n    - name: {root}/out\nconf:\n  file.managed:\n    - name: {root}/out/conf\n"
        "    - contents: {{{{ pillar.port }}}} {{{{ salt['pillar.get']('deep:er') }}}}\nfree:\n  cmd.run:\n    - name: warm-up\n"
    ),
    "salt/tidy.sls": "only:\n  test.nop: []\n",
    "salt/odd.sls": (
        "a:\n  test.nop:\n    - require:\n      - sls: 'gone*'\nb:\n  test.nop:\n    - require_in:\n      - nowhere\n"
        "c:\n  test.nop:\n    - listen:\n      - test: c\nd:\n  test.nop:\n    - watch:\n      - sls: 'no*'\n"
    ),
    "salt/itself.sls": "a:\n  test.nop: []\nb:\n  test.nop:\n    - require:\n      - test: b\n",
    "pillar/top.sls": "base:\n  '*': [p]\n",
    "pillar/p.sls": "port: 80\nforgotten: 1\ndeep: {er: 2}\n",
}


@pytest.fixture
def run(tmp_path, run_here):
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.format(root=tmp_path) if name == "salt/web.sls" else text)
    return lambda *words: run_here(*words, "--file-root", tmp_path / "salt", "--pillar-root", tmp_path / "pillar")


def rules(done):
    return [(finding["rule"], finding["line"]) for finding in json.loads(done.stdout)]


@pytest.mark.feature("F164")
def test_findings_have_places_and_only_strict_makes_them_an_error(run, tmp_path):
    done = run("lint")
    assert done.returncode == 0
    assert done.stdout.startswith(f"{tmp_path}/salt/web.sls:5: footprint-order: file.managed: conf")
    assert f"{tmp_path}/pillar/p.sls:2: unused-pillar: no SLS file looks at pillar key 'forgotten'" in done.stdout
    assert "'port'" not in done.stdout
    assert "'deep'" not in done.stdout
    assert done.stdout.endswith("4 findings in 3 states.\n")
    assert run("lint", "--strict").returncode == 2
    assert run("lint", "tidy", "--strict").returncode == 0
    assert run("lint", "nosuch").returncode == 1


def test_findings_as_data(run):
    expected = [("footprint-order", 5), ("definition-order", 9), ("unknown-effects", 9)]
    assert rules(run("lint", "--out", "json")) == [*expected, ("unused-pillar", 2)]
    assert rules(run("lint", "web", "--out", "json")) == expected
    assert run("lint", "tidy", "--out", "yaml").stdout == "[]\n"


@pytest.mark.feature("F164", "F049")
def test_references_to_nothing_and_to_itself_have_places(run, tmp_path):
    found = json.loads(run("lint", "odd", "--out", "json").stdout)
    assert {(one["rule"], one["line"]) for one in found} == {("tree", 3), ("tree", 7), ("self", 10), ("tree", 15)}
    assert {one["file"] for one in found} == {f"{tmp_path}/salt/odd.sls"}
    done = run("lint", "itself")
    assert done.returncode == 1
    assert f"at {tmp_path}/salt/itself.sls:4" in done.stdout


@pytest.mark.feature("F164")
def test_the_diff_can_be_applied(run, tmp_path):
    done = run("lint", "--fix-diff")
    assert done.stderr == ""
    subprocess.run(["git", "apply", "-p1"], cwd="/", input=done.stdout, text=True, check=True)
    assert "    - require:\n      - file: dir\n" in (tmp_path / "salt/web.sls").read_text()
    assert [rule for rule, _ in rules(run("lint", "web", "--out", "json"))] == ["unknown-effects"]


@pytest.mark.feature("F165")
def test_impact(run):
    facts = json.loads(run("show", "impact", "dir", "web", "--out", "json").stdout)
    assert facts[0]["ordered_after"][0]["sources"] == ["footprint"]
    assert "Wait for it" in run("show", "impact", "dir").stdout
    done = run("show", "impact", "dri")
    assert done.returncode == 1
    assert "Did you mean 'dir'?" in done.stderr


@pytest.mark.feature("F166")
def test_aggregate(run):
    assert json.loads(run("show", "aggregate", "--out", "json").stdout) == {"groups": [], "refused": []}
    assert run("show", "aggregate").stdout.startswith("No state may be aggregated")


def test_check_and_a_run_for_people_say_how_many_states_run_free(run):
    said = "1 state has unknown effects: only requisites order it (asyncstate lint names them)."
    assert said in run("check").stdout
    assert json.loads(run("check", "--out", "json").stdout)["unknown_effects"] == 1
    assert said in run("apply", "--test").stderr
    assert run("apply", "--test", "--out", "json").stderr == ""
    assert "unknown effects" not in run("check", "tidy").stdout


@pytest.mark.feature("F164")
def test_rules_can_be_listed_selected_and_ignored(run):
    assert [line.split()[0] for line in run("lint", "--rules").stdout.splitlines()] == list(RULES)
    assert json.loads(run("lint", "--rules", "--out", "json").stdout) == RULES
    every = [("footprint-order", 5), ("definition-order", 9), ("unknown-effects", 9)]
    assert rules(run("lint", "web", "--out", "json", "--select", "footprint-order, unknown-effects")) == every[::2]
    assert rules(run("lint", "web", "--out", "json", "--ignore", "footprint-order", "--ignore", "tree")) == every[1:]
    assert rules(run("lint", "web", "--out", "json", "--select", "tree", "--ignore", "tree")) == []
    done = run("lint", "--select", "footprint-ordre")
    assert done.returncode == 1
    assert "Did you mean 'footprint-order'?" in done.stderr


def test_a_setting_and_comments_silence_rules_for_every_command(run, tmp_path, monkeypatch):
    sls = tmp_path / "salt/wrong.sls"
    sls.write_text("a:\n  test.nop:\n    - requires: [b]\n# asyncstate: ignore[unknown-function]\nb: test.npo\n")
    assert run("check", "wrong").returncode == 1
    assert rules(run("lint", "wrong", "--out", "json")) == [("requisite-word", 3)]
    monkeypatch.setenv("ASYNCSTATE_IGNORE_RULES", "requisite-word")
    assert run("check", "wrong").returncode == 0
    assert rules(run("lint", "wrong", "--out", "json")) == []
    assert run("apply", "wrong", "--test", "--progress", "none").stderr == ""
    monkeypatch.setenv("ASYNCSTATE_IGNORE_RULES", "[requisite-wrod]")
    assert "Did you mean 'requisite-word'?" in run("check", "wrong").stderr


def test_what_the_diff_leaves_is_described_once_for_each_place(run, tmp_path):
    (tmp_path / "salt/loop.sls").write_text(
        f"dir:\n  file.directory:\n    - name: {tmp_path}/out\n"
        f"{{% for n in [1, 2] %}}\nf{{{{ n }}}}:\n  file.managed:\n    - name: {tmp_path}/out/{{{{ n }}}}\n{{% endfor %}}\n"
    )
    done = run("lint", "loop", "--fix-diff")
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith(f"{tmp_path}/salt/loop.sls:6: if 'f1' needs it, write - require: [{{file: dir}}] by hand; ")
    assert line.endswith("(and 1 more declared in this line)")


def test_a_diff_with_which_an_sls_would_not_compile_is_not_printed(run, tmp_path):
    """Another SLS takes this one as data, and counts the arguments in it."""
    (tmp_path / "salt/counted.sls").write_text(
        f"dir:\n  file.directory:\n    - name: {tmp_path}/out\nf:\n  file.managed:\n    - name: {tmp_path}/out/f\n"
    )
    (tmp_path / "salt/counts.sls").write_text(
        "{% import_yaml 'counted.sls' as own %}\ninclude: [counted]\n{{ own.f['file.managed'] | length }}:\n  test.nop: []\n".replace(
            "{{", "n{{"
        )
    )
    assert "+      - file: dir\n" in run("lint", "counted", "--fix-diff").stdout
    done = run("lint", "counts", "--fix-diff")
    assert done.stdout == ""
    assert "with it the tree would not compile as it does: it would have other states" in done.stderr


def test_the_tree_of_init_has_no_findings(tmp_path, run_here):
    roots = ("--file-root", tmp_path / "salt", "--pillar-root", tmp_path / "pillar")
    assert run_here("init", tmp_path).returncode == 0
    assert run_here("lint", "--strict", *roots).returncode == 0


def test_findings_are_annotations_of_github(run):
    assert "::warning file=" in run("lint", "odd", "--out", "github").stdout
