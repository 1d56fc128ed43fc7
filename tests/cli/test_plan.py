"""``asyncstate plan``: the dry run of apply, and what its last line foretells."""

from __future__ import annotations

import pytest

from asyncstate.cli import main
from tests.cli.test_saved_plan import run, tree  # noqa: F401 - fixtures

WEB = """
conf:
  file.managed:
    - name: {root}/conf
    - contents: new
reload:
  cmd.run:
    - name: touch {root}/reloaded
    - onchanges:
      - file: conf
told:
  cmd.wait:
    - name: touch {root}/told
    - watch:
      - file: conf
always:
  cmd.run:
    - name: touch {root}/always
fine:
  test.nop: []
"""


@pytest.mark.feature("F228")
def test_a_plan_is_what_apply_test_says_and_changes_nothing(run, tree, tmp_path, capfd):  # noqa: F811
    (tree / "web.sls").write_text(WEB.format(root=tmp_path))
    brief = ("--state-output", "brief", "--progress", "none")
    done = run("plan", "web", "--journal", "on", "--plan-out", tmp_path / "web.plan", *brief)
    assert done.returncode == 0
    *_, counts, last = done.stdout.splitlines()
    assert counts.startswith("5 states in ")
    assert counts.endswith(": 1 as wanted")
    assert last == "Dry run: 1 to change, 2 triggered, 1 cannot be told; nothing was changed."
    words = [line.split("  ")[0] for line in done.stdout.splitlines()[:4]]
    assert sorted(words) == ["cannot be told", "to change", "triggered", "triggered"]
    assert main(["replay", *brief[:2]]) == 0
    assert capfd.readouterr().out == done.stdout
    assert main(["runs", "show"]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == last
    assert run("apply", "web", "--test", "--progress", "none").stdout.splitlines()[-1] == last
    assert not any((tmp_path / name).exists() for name in ("conf", "reloaded", "told", "always"))
    assert run("plan", "web", "test=True", "--detailed-exitcode").returncode == 3
    assert run("apply", "--plan", tmp_path / "web.plan").returncode == 0
    assert (tmp_path / "told").exists()


def test_a_saved_plan_in_place_of_an_sls_says_what_to_do_with_it(run, tmp_path):  # noqa: F811
    path = tmp_path / "web.plan"
    run("plan", "db", "--plan-out", path)
    for command in ("plan", "apply"):
        said = run(command, path).stderr
        assert f"{path} is a saved plan, not an SLS. To do what it says: asyncstate apply --plan {path}" in said
