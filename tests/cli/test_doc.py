"""``asyncstate doc``: what trees can use, and why something cannot be used here."""

import os

import pytest

from asyncstate.cli import main


@pytest.fixture
def doc(tmp_path, monkeypatch, capsys):
    """Run doc on a tree; return exit code, standard output and error."""
    monkeypatch.setenv("ASYNCSTATE_CACHEDIR", str(tmp_path / "cache"))
    (tmp_path / "salt/_modules").mkdir(parents=True)

    def run(*words):
        code = main(["doc", *words, "--file-root", str(tmp_path / "salt")])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_what_only_the_engine_calls_is_not_listed(doc):
    code, out, _ = doc("file")
    assert code == 0
    assert "file.managed" in out
    assert "mod_footprint" not in out


def test_why_a_module_cannot_be_used_is_said_where_it_is_asked_for(doc, tmp_path):
    (tmp_path / "salt/_modules/moon.py").write_text(
        "def __virtual__():\n    return False, 'needs a clear night'\n\ndef rise():\n    return True\n"
    )
    for name in ("moon", "moon.rise"):
        code, out, err = doc(name)
        assert (code, out) == (1, "")
        assert f"{name} is not available here: needs a clear night" in err


def test_a_misspelt_function_of_a_module_that_loads_gets_the_nearest_name(doc):
    assert "Did you mean file.managed?" in doc("file.manged")[2]


def test_pillar_of_the_command_line_is_merged_over_that_of_the_configuration(run_cli, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("pillar: {app: {port: 80, host: a}, other: 1}\n")
    os.chmod(config, 0o600)
    words = ("pillar.items", "--config", config, "--pillar-root", tmp_path, "--pillar", "{app: {port: 8080}}")
    done = run_cli("call", *words, "--out", "yaml")
    assert done.stdout == "app:\n  port: 8080\n  host: a\nother: 1\n", done.stderr
