"""Completion on the command line: its script, the answers to a shell, and what it imports."""

from __future__ import annotations

import json

import pytest
from click.shell_completion import ShellComplete
from imported import HEAVY, imported

from asyncstate.cli import main
from asyncstate.cli.root import root


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "complete -o"), ("zsh", "#compdef asyncstate"), ("fish", "complete -c asyncstate")]
)
def test_completion_scripts(shell, sign, capfdbinary):
    assert main(["completion", shell]) == 0
    script = capfdbinary.readouterr().out.decode()
    assert sign in script
    assert "_ASYNCSTATE_COMPLETE" in script


def complete(monkeypatch, capsys, line):
    monkeypatch.setenv("_ASYNCSTATE_COMPLETE", "bash")
    monkeypatch.setenv("COMP_LINE", line)
    assert main(["never", "looked", "at"]) == 0
    return capsys.readouterr().out.split()[1:]


def test_commands_and_options_are_completed(monkeypatch, capsys):
    assert complete(monkeypatch, capsys, "asyncstate ch") == ["check"]
    assert complete(monkeypatch, capsys, "asyncstate show g") == ["graph"]
    assert "--state-output" in complete(monkeypatch, capsys, "asyncstate apply --state-o")


def test_sls_names_are_completed_from_the_tree(monkeypatch, capsys, tmp_path):
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "init.sls").touch()
    (tmp_path / "web" / "conf.sls").touch()
    (tmp_path / "db.sls").touch()
    line = f"asyncstate apply --file-root {tmp_path} we"
    assert sorted(complete(monkeypatch, capsys, line)) == ["web", "web.conf"]


def test_completion_imports_no_engine():
    assert not imported("completion", "bash") & (HEAVY - {"msgspec"})


def test_an_unknown_shell_is_named(capsys):
    assert main(["completion", "tcsh"]) == 1
    assert "'tcsh' is not one of" in capsys.readouterr().err


def test_runs_are_completed_newest_first(tmp_path, capsys, monkeypatch):
    (tmp_path / "a.sls").write_text("a: {test.nop: []}\n")
    config = tmp_path / "config"
    config.write_text(
        json.dumps({"file_roots": {"base": [str(tmp_path)]}, "state_dir": f"{tmp_path}/s", "journal": True})
    )
    monkeypatch.setenv("ASYNCSTATE_CONFIG", str(config))
    for _ in range(2):
        assert main(["apply", "a"]) == 0
    capsys.readouterr()
    assert main(["runs", "list", "--out", "json"]) == 0
    runs = [run["id"] for run in json.loads(capsys.readouterr().out)]
    complete = ShellComplete(root, {}, "asyncstate", "_ASYNCSTATE_COMPLETE")
    for words in (["runs", "show"], ["replay"], ["what-if"], ["runs", "diff"], ["runs", "diff", runs[0]]):
        assert [item.value for item in complete.get_completions(words, "")] == runs, words
    assert [item.value for item in complete.get_completions(["replay"], runs[1][:8])] == runs[1:]
