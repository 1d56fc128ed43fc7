"""``asyncstate footprints``: recorded accesses, for people and for programs."""

import json

import pytest

from asyncstate.cli import main
from asyncstate.extras.proof.trace import store
from asyncstate.extras.proof.trace.learned import Effects, Record


@pytest.fixture
def config(tmp_path):
    """A configuration whose state directory has two records."""
    effects = Effects(reads=("path:/in",), writes=tuple(f"path:/out/{n}" for n in range(10)))
    common = {"function": "cmd.run", "sls": "web", "effects": effects}
    records = [
        Record(key="1", id="build", text="make", whole=True, runs=2, **common),
        Record(key="2", id="idle", text="true\nfalse", **common),
    ]
    store.save(str(tmp_path / "state"), records)
    path = tmp_path / "config"
    path.write_text(f"state_dir: {tmp_path}/state\ncachedir: {tmp_path}/cache\n")
    return str(path)


def answer(capsys, *words):
    assert main(["footprints", *words]) == 0
    return capsys.readouterr().out


def test_show_for_people(config, capsys):
    lines = answer(capsys, "show", "--config", config).splitlines()
    assert lines[:3] == ["cmd.run", "  make  (web:build, seen 2 times)", "    reads  path:/in"]
    assert lines[3] == "    writes path:/out/0"
    assert lines[11] == "           and 2 more"
    assert "  true  (web:idle, seen once, not at its work)" in lines


def test_show_as_data(config, capsys):
    (data,) = json.loads(answer(capsys, "show", "bui", "--config", config, "--out", "json"))
    assert (data["function"], data["id"], data["whole"], data["runs"]) == ("cmd.run", "build", True, 2)
    assert data["footprint"]["reads"] == ["path:/in"]


def test_export_has_what_was_seen_at_its_work(config, capsys):
    found = json.loads(answer(capsys, "export", "--config", config, "--out", "json"))
    assert set(found) == {"web"}
    assert set(found["web"]) == {"build"}
    (argument,) = found["web"]["build"]["cmd.run"]
    assert set(argument["footprint"]) == {"reads", "writes"}


def test_without_records_it_says_how_to_get_them(tmp_path, capsys):
    (tmp_path / "config").write_text(f"state_dir: {tmp_path}/none\n")
    assert main(["footprints", "show", "--config", str(tmp_path / "config")]) == 0
    assert "asyncstate apply --trace-effects" in capsys.readouterr().err


def test_a_bad_table_is_an_error_with_its_name(tmp_path, capsys):
    (tmp_path / "footprints.json").write_text("no")
    (tmp_path / "config").write_text(f"state_dir: {tmp_path}\n")
    assert main(["footprints", "show", "--config", str(tmp_path / "config")]) == 1
    assert f"{tmp_path}/footprints.json" in capsys.readouterr().err
