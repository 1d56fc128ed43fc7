from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import InvocationError

CHANGES = {"testing": {"old": "Unchanged", "new": "Something pretended to change"}}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("states", "test")
    return harness


@pytest.mark.parametrize(
    ("function", "test", "expected"),
    [
        ("nop", False, (True, "Success!", {})),
        ("nop", True, (True, "Success!", {})),
        ("succeed_without_changes", False, (True, "said", {})),
        ("succeed_without_changes", True, (True, "said", {})),
        ("fail_without_changes", False, (False, "said", {})),
        ("fail_without_changes", True, (False, "If we weren't testing, this would be a failure!", {})),
        ("succeed_with_changes", False, (True, "said", CHANGES)),
        (
            "succeed_with_changes",
            True,
            (None, "If we weren't testing, this would be successful with changes", CHANGES),
        ),
        ("fail_with_changes", False, (False, "said", CHANGES)),
        ("fail_with_changes", True, (None, "If we weren't testing, this would be failed with changes", CHANGES)),
    ],
)
def test_fixed_rows(plugins, function, test, expected):
    row = plugins.state(f"test.{function}", name="x", comment="said", foo="bar", test=test)
    result, comment, changes = expected
    assert row == {"name": "x", "result": result, "comment": comment, "changes": changes}


@pytest.mark.parametrize("function", ["succeed_without_changes", "succeed_with_changes"])
def test_default_comment_of_success(plugins, function):
    assert plugins.state(f"test.{function}", name="x")["comment"] == "Success!"


@pytest.mark.parametrize("function", ["fail_without_changes", "fail_with_changes"])
def test_default_comment_of_failure(plugins, function):
    assert plugins.state(f"test.{function}", name="x")["comment"] == "Failure!"


@pytest.mark.parametrize("changes", [True, False])
@pytest.mark.parametrize("result", [True, False])
def test_configurable_returns_what_is_asked_for(plugins, changes, result):
    row = plugins.state("test.configurable_test_state", name="x", changes=changes, result=result, comment="c")
    assert row == {"name": "x", "result": result, "comment": "c", "changes": CHANGES if changes else {}}


@pytest.mark.parametrize(
    ("changes", "result", "allowed", "expected"),
    [
        (True, True, False, None),
        (True, False, False, None),
        (False, False, False, True),
        (True, False, True, False),
        (False, False, True, False),
        (True, True, True, None),
    ],
)
def test_configurable_in_a_dry_run(plugins, changes, result, allowed, expected):
    row = plugins.state(
        "test.configurable_test_state",
        name="x",
        changes=changes,
        result=result,
        allow_test_mode_failure=allowed,
        test=True,
    )
    assert row["result"] is expected
    assert row["comment"] == "This is a test"


def test_configurable_random_takes_both_values(plugins):
    rows = [
        plugins.state("test.configurable_test_state", name="x", changes="Random", result="random") for _ in range(80)
    ]
    assert {row["result"] for row in rows} == {True, False}
    assert {bool(row["changes"]) for row in rows} == {True, False}


@pytest.mark.parametrize(("warnings", "expected"), [("one", ["one"]), (["a", "b"], ["a", "b"])])
def test_configurable_warnings(plugins, warnings, expected):
    assert plugins.state("test.configurable_test_state", name="x", warnings=warnings)["warnings"] == expected


@pytest.mark.parametrize(
    ("arguments", "option", "allowed"),
    [
        ({"changes": "perhaps"}, "changes", "either True, False, or 'Random'"),
        ({"result": 3}, "result", "either True, False, or 'Random'"),
        ({"warnings": 3}, "warnings", "a string or a list of strings"),
    ],
)
def test_configurable_bad_arguments(plugins, arguments, option, allowed):
    with pytest.raises(InvocationError) as caught:
        plugins.state("test.configurable_test_state", name="x", **arguments)
    assert str(caught.value) == (
        f"You have specified the state option '{option}' with invalid arguments. It must be {allowed}"
    )


def test_show_notification(plugins):
    row = plugins.state("test.show_notification", name="x", text="look here")
    assert row == {"name": "x", "result": True, "comment": "look here", "changes": {}}
    with pytest.raises(InvocationError, match=r"^Missing required argument text\.$"):
        plugins.state("test.show_notification", name="x")


def chunk(name):
    return {"state": "test", "__id__": name, "name": name, "fun": "nop"}


def test_mod_watch_lists_the_watched_states_that_changed(plugins):
    plugins.running = {
        "test_|-a_|-a_|-nop": {"changes": {"x": 1}},
        "test_|-b_|-b_|-nop": {"changes": {}},
        "test_|-c_|-c_|-nop": {"changes": {"y": 1}},
    }
    low = {"__reqs__": {"watch": [chunk("a"), chunk("b"), chunk("c")]}}
    row = plugins.state("test.mod_watch", name="x", sfun="nop", low=low)
    assert row == {
        "name": "x",
        "result": True,
        "comment": "Watch statement fired.",
        "changes": {"Requisites with changes": ["test: a", "test: c"]},
    }


def test_mod_watch_can_be_told_what_to_return(plugins):
    row = plugins.state("test.mod_watch", name="x", sfun="nop", result=False, comment="mine", changes={"a": "b"})
    assert row == {"name": "x", "result": False, "comment": "mine", "changes": {"a": "b"}}


PILLAR = {"b": True, "i": 3, "s": "text", "l": [1], "d": {"deep": {"key": "v"}}, "none": None}


@pytest.mark.parametrize(
    ("arguments", "result", "comment"),
    [
        ({"present": ["b", "d:deep:key"]}, True, ""),
        ({"present": "s"}, True, ""),
        (
            {"boolean": "b", "integer": "i", "string": "s", "listing": "l", "dictionary": ["d", "d:deep"]},
            True,
            "",
        ),
        ({"present": ["gone", "none"]}, False, 'Pillar key "gone" is missing.\nPillar key "none" is missing.\n'),
        ({"integer": "s"}, False, "Pillar key \"s\" is not <class 'int'>.\n"),
        ({"string": "i"}, False, "Pillar key \"i\" is not (<class 'str'>,).\n"),
        (
            {"present": "b", "integer": "i", "verbose": True},
            True,
            "Those keys passed the check:\n- b (None)\n- i (<class 'int'>)\n",
        ),
    ],
)
def test_check_pillar(plugins, arguments, result, comment):
    plugins.pillar = PILLAR
    row = plugins.state("test.check_pillar", name="x", **arguments)
    assert row == {"name": "x", "result": result, "comment": comment, "changes": {}}


@pytest.mark.parametrize("arguments", [{}, {"present": {"a": 1}}])
def test_check_pillar_bad_arguments(plugins, arguments):
    with pytest.raises(InvocationError):
        plugins.state("test.check_pillar", name="x", **arguments)
