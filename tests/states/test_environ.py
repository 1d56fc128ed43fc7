from __future__ import annotations

import os

import pytest
from plugin_harness import PluginHarness
from tables import beside

TABLES = beside(__file__)


def fake_environ(variables):
    real = type(os.environ)
    return real(variables, os.fsencode, os.fsdecode, os.fsencode, os.fsdecode)


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", fake_environ({b"SET": b"value", b"EMPTY": b""}))
    harness = PluginHarness(tmp_path)
    harness.load("modules", "environ")
    harness.load("modules", "cmd")
    harness.load("states", "environ")
    # pytest writes this one, into whatever os.environ is at that time.
    harness.call("environ.setval", "PYTEST_CURRENT_TEST", False, false_unsets=True)
    return harness


ALREADY = "Environ values were already set with the correct values"


@pytest.mark.parametrize(("arguments", "changes"), TABLES["changes once"])
def test_changes_once(plugins, arguments, changes):
    row = plugins.state("environ.setenv", **arguments)
    assert row == {"name": arguments["name"], "result": True, "comment": "Environ values were set", "changes": changes}
    again = plugins.state("environ.setenv", **arguments)
    assert again == {"name": arguments["name"], "result": True, "comment": ALREADY, "changes": {}}


@pytest.mark.parametrize("arguments", TABLES["already right"])
def test_already_right(plugins, arguments):
    row = plugins.state("environ.setenv", **arguments)
    assert row == {"name": arguments["name"], "result": True, "comment": ALREADY, "changes": {}}


@pytest.mark.parametrize("value", [{"NEW": ["a"]}, {"SET": "x", "NEW": 1}, {"NEW": None}])
def test_a_dry_run_fails_as_the_run_does(plugins, value):
    dry, real = plugins.three_runs("environ.setenv", name="x", value=value)[:2]
    assert (dry["result"], dry["comment"]) == (False, "Failed to set environ variables")
    assert dry == real


def test_dry_run(plugins):
    row = plugins.state("environ.setenv", name="NEW", value="x", test=True)
    assert row == {"name": "NEW", "result": True, "comment": "Environ values will be changed", "changes": {"NEW": "x"}}
    assert plugins.call("environ.get", "NEW") == ""
    row = plugins.state("environ.setenv", name="SET", value="value", test=True)
    assert row["comment"] == "Environ values are already set with the correct values"


@pytest.mark.parametrize("value", [3, None, True, ["a"]])
def test_bad_value(plugins, value):
    row = plugins.state("environ.setenv", name="NEW", value=value)
    assert row == {
        "name": "NEW",
        "result": False,
        "comment": "Environ value must be string, dict or False",
        "changes": {},
    }


def test_bad_value_among_good_ones(plugins):
    row = plugins.state("environ.setenv", name="x", value={"NEW": 3})
    assert (row["result"], row["comment"]) == (False, "Failed to set environ variables")


def test_commands_see_it_and_this_process_does_not(plugins):
    plugins.state("environ.setenv", name="NEW", value="seen")
    plugins.state("environ.setenv", name="SET", value=False, false_unsets=True)
    assert plugins.call("cmd.shell", "echo $NEW ${SET-unset}", shell="/bin/sh") == "seen unset"
    assert "NEW" not in os.environ
    assert os.environ["SET"] == "value"


def test_each_runtime_has_its_own(plugins, tmp_path):
    plugins.state("environ.setenv", name="NEW", value="seen")
    other = PluginHarness(tmp_path / "other")
    other.load("modules", "environ")
    assert other.call("environ.get", "NEW", "nothing") == "nothing"


def test_execution_functions(plugins):
    assert plugins.call("environ.get", "SET") == "value"
    assert plugins.call("environ.get", "GONE", "default") == "default"
    assert plugins.call("environ.get", 3) is False
    assert plugins.call("environ.has_value", "SET") is True
    assert plugins.call("environ.has_value", "SET", "other") is False
    assert plugins.call("environ.has_value", "GONE") is False
    assert plugins.call("environ.has_value", 3) is False
    assert plugins.call("environ.item", ["SET", "GONE"]) == {"SET": "value", "GONE": ""}
    assert plugins.call("environ.item", "SET") == {"SET": "value"}
    assert plugins.call("environ.items") == {"SET": "value", "EMPTY": ""}
    assert plugins.call("environ.setval", "NEW", 3) is False
    assert plugins.call("environ.setval", "A=B", "x") is False
    assert plugins.call("environ.setenv", "no dict") is False


def test_a_value_that_cannot_be_set_leaves_all_variables_as_they_are(plugins):
    row = plugins.state("environ.setenv", name="x", value={"NEW": "x", "ODD": 1})
    assert (row["result"], row["comment"]) == (False, "Failed to set environ variables")
    assert plugins.call("environ.setenv", {"NEW": "x", "ODD": 1}) is False
    assert plugins.call("environ.get", "NEW", "unset") == "unset"
