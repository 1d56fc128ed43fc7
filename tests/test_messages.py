"""The cases of messages.yaml."""

import pytest
from messages import catalogue, compiled, compiled_pillar, ran

TREES = {str(number): case for number, case in enumerate(catalogue()["trees"])}
COMMANDS = {f"{number} {case['command']}": case for number, case in enumerate(catalogue()["commands"])}


@pytest.mark.parametrize("case", TREES)
def test_trees(case):
    case = TREES[case]
    options = case.get("options", {})
    found = compiled_pillar(case["pillar"], **options) if "pillar" in case else compiled(case["tree"], **options)
    assert found == case["says"]


@pytest.mark.parametrize("case", COMMANDS)
def test_commands(case, tmp_path, monkeypatch, capfd):
    for name in ("HOME", "XDG_CONFIG_HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("ASYNCSTATE_ID", "mine")
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("NO_COLOR", "FORCE_COLOR", "ASYNCSTATE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    roots = {"file_roots": str(tmp_path / "salt"), "pillar_roots": str(tmp_path / "pillar")}
    monkeypatch.setattr("asyncstate.config.values.DEFAULT_ROOTS", roots)
    monkeypatch.setattr("asyncstate.config.settings.JOURNALED", True)
    monkeypatch.chdir(tmp_path)
    case = COMMANDS[case]
    expected = {"code": 0, "stdout": "", "stderr": ""} | {key: case[key] for key in SAID if key in case}
    assert ran(case, tmp_path, capfd.readouterr) == expected


SAID = ("code", "stdout", "stderr")
"""What a case says of a command."""
