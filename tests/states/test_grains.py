from __future__ import annotations

import pytest
import yaml
from asyncstate.states import grains as grains_states
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError, InvocationError

START = {
    "lst": ["a", "b"],
    "dct": {"x": 1, "y": {"z": 2}},
    "txt": "t",
    "none": None,
    "mix": ["m", {"k": 1}],
    "num": 5,
    "empty": [],
    "keys": {80: "x", 81: ["a"], 82: {"x": 1}, None: "n", True: ["a"]},
    7: "seven",
}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.opts["conf_file"] = str(tmp_path / "minion")
    harness.load("modules", "grains")
    harness.load("states", "grains")
    (tmp_path / "grains").write_text(yaml.safe_dump(START))
    harness.grains.update(yaml.safe_load(yaml.safe_dump(START)))
    return harness


def stored(plugins):
    return yaml.safe_load((plugins.tmp_path / "grains").read_text())


CHANGED = [
    ("present", {"name": "new", "value": "v"}, "Set grain new to v", {"new": "v"}),
    ("present", {"name": "dct:x", "value": 2}, "Set grain dct:x to 2", {"dct": {"x": 2, "y": {"z": 2}}}),
    ("present", {"name": "dct:y:z", "value": 3}, "Set grain dct:y:z to 3", {"dct": {"x": 1, "y": {"z": 3}}}),
    ("present", {"name": "dct", "value": "s", "force": True}, "Set grain dct to s", {"dct": "s"}),
    ("present", {"name": "txt:sub", "value": 1, "force": True}, "Set grain txt:sub to 1", {"txt": {"sub": 1}}),
    ("present", {"name": "mix:k", "value": 9}, "Set grain mix:k to 9", {"mix": ["m", {"k": 9}]}),
    ("present", {"name": "mix:n", "value": 9}, "Set grain mix:n to 9", {"mix": ["m", {"k": 1}, {"n": 9}]}),
    ("present", {"name": "mix:m", "value": 9}, "Set grain mix:m to 9", {"mix": [{"m": 9}, {"k": 1}]}),
    ("present", {"name": "a,b", "value": 1, "delimiter": ","}, "Set grain a:b to 1", {"a": {"b": 1}}),
    ("list_present", {"name": "lst", "value": "c"}, "Append value c to grain lst", {"new": {"lst": ["a", "b", "c"]}}),
    (
        "list_present",
        {"name": "lst", "value": ["b", "c"]},
        "Removed value ['b'] from update due to value found in \"lst\" (or pending).\nAppend value ['c'] to grain lst",
        {"new": {"lst": ["a", "b", "c"]}},
    ),
    ("list_present", {"name": "new", "value": "x"}, "Append value x to grain new", {"new": {"new": ["x"]}}),
    ("list_present", {"name": "deep:l", "value": "x"}, "Append value x to grain deep:l", {"new": {"deep": {"l": ["x"]}}}),
    ("list_absent", {"name": "lst", "value": ["a", "q"]}, "Value a was deleted from grain lst\nValue q is absent from grain lst", {"deleted": ["a"]}),
    ("append", {"name": "lst", "value": "z"}, "Value z was added to grain lst", {"added": "z"}),
    ("absent", {"name": "num"}, "Value for grain num was set to None", {"grain": "num", "value": None}),
    ("absent", {"name": "num", "destructive": True}, "Grain num was deleted", {"deleted": "num"}),
    ("absent", {"name": "dct:x", "destructive": True}, "Grain dct:x was deleted", {"deleted": "dct:x"}),
    ("absent", {"name": "lst", "destructive": True, "force": True}, "Grain lst was deleted", {"deleted": "lst"}),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "comment", "changes"), CHANGED)
def test_changes_once(plugins, function, arguments, comment, changes):
    row = plugins.state(f"grains.{function}", **arguments)
    name = arguments["name"].replace(",", ":")
    assert row == {"name": name, "result": True, "comment": comment, "changes": changes}
    assert stored(plugins) == {key: plugins.grains[key] for key in stored(plugins)}
    if function != "absent" or arguments.get("destructive"):
        again = plugins.state(f"grains.{function}", **arguments)
        assert (again["result"], again["changes"]) == (True, {})


@pytest.mark.parametrize(("function", "arguments"), [(function, arguments) for function, arguments, *_ in CHANGED])
def test_dry_run_changes_nothing(plugins, function, arguments):
    row = plugins.state(f"grains.{function}", **arguments, test=True)
    assert row["result"] is None
    assert row["changes"] or arguments.get("value") == "x"  # a new list grain is shown as the nothing that is there
    assert stored(plugins) == START


@pytest.mark.parametrize(
    ("function", "arguments", "comment", "changes"),
    [
        ("present", {"name": "new", "value": "v"}, "Grain new is set to be added", {"new": "new"}),
        ("present", {"name": "num", "value": 6}, "Grain num is set to be changed", {"changed": {"num": 6}}),
        (
            "list_present",
            {"name": "lst", "value": "c"},
            "Value c is set to be appended to grain lst",
            {"new": ["a", "b"]},
        ),
        ("list_present", {"name": "new", "value": "c"}, "Grain new is set to be added", {"new": ""}),
        ("list_absent", {"name": "lst", "value": "a"}, "Value a in grain lst is set to be deleted", {"deleted": ["a"]}),
        ("append", {"name": "lst", "value": "c"}, "Value c in grain lst is set to be added", {"added": "c"}),
        (
            "append",
            {"name": "num", "value": "c", "convert": True},
            "Grain num is set to be converted to list and value c will be added",
            {"added": "c"},
        ),
        ("absent", {"name": "num", "destructive": True}, "Grain num is set to be deleted", {"deleted": "num"}),
        (
            "absent",
            {"name": "num"},
            "Value for grain num is set to be deleted (None)",
            {"grain": "num", "value": None},
        ),
        ("absent", {"name": "none"}, "", {}),
    ],
)
def test_dry_run_rows(plugins, function, arguments, comment, changes):
    row = plugins.state(f"grains.{function}", **arguments, test=True)
    assert row == {"name": arguments["name"], "result": None, "comment": comment, "changes": changes}


@pytest.mark.parametrize(
    ("function", "arguments", "result", "comment"),
    [
        ("exists", {"name": "dct:y:z"}, True, "Grain exists"),
        ("exists", {"name": "none"}, True, "Grain exists"),
        ("exists", {"name": "dct:q"}, False, "Grain does not exist"),
        ("present", {"name": "num", "value": 5}, True, "Grain is already set"),
        (
            "present",
            {"name": "dct", "value": "s"},
            False,
            "The key 'dct' exists but is a dict or a list. Use 'force=True' to overwrite.",
        ),
        (
            "present",
            {"name": "txt", "value": [1]},
            False,
            "The key 'txt' exists and the given value is a dict or a list. Use 'force=True' to overwrite.",
        ),
        (
            "present",
            {"name": "txt:sub", "value": 1},
            False,
            "The key 'txt' value is 't', which is different from the provided key 'sub'. Use 'force=True' to overwrite.",
        ),
        ("list_present", {"name": "lst", "value": "a"}, True, "Value a is already in grain lst (or pending)"),
        ("list_present", {"name": "num", "value": "a"}, False, "Grain num is not a valid list"),
        ("list_absent", {"name": "lst", "value": "q"}, True, "Value q is absent from grain lst"),
        ("list_absent", {"name": "gone", "value": "q"}, True, "Grain gone does not exist"),
        ("list_absent", {"name": "num", "value": "q"}, False, "Grain num is not a valid list"),
        ("append", {"name": "lst", "value": "a"}, True, "Value a is already in the list for grain lst"),
        ("append", {"name": "num", "value": "a"}, False, "Grain num is not a valid list"),
        ("append", {"name": "gone", "value": "a"}, False, "Grain gone does not exist"),
        ("absent", {"name": "gone"}, True, "Grain gone does not exist"),
        (
            "absent",
            {"name": "lst"},
            False,
            "The key 'lst' exists but is a dict or a list. Use 'force=True' to overwrite.",
        ),
    ],
)
def test_nothing_to_do_or_refused(plugins, function, arguments, result, comment):
    row = plugins.state(f"grains.{function}", **arguments)
    assert row == {"name": arguments["name"], "result": result, "comment": comment, "changes": {}}
    assert stored(plugins) == START


PLACES = [
    *START,
    "zero",
    "no",
    "blank",
    "map",
    "new",
    "new:a",
    "txt:t",
    "txt:sub",
    "none:a",
    "lst:a",
    "lst:1",
    "lst:7",
    "mix:k",
    "dct:y",
    "zero:a",
    *(f"keys:{key}" for key in (80, 81, 82, "82:x", "80:x", None, "true", "yes", 83)),
]
SET = [None, "t", 5, ["a"], ["a", "q"], [], {"x": 1}]
OPTIONS = [{}, {"force": True}]
EVERY = [
    *(("present", {"value": value, **options}) for value in SET for options in OPTIONS),
    *(("absent", {"destructive": destructive, **options}) for destructive in (True, False) for options in OPTIONS),
    *((function, {"value": value}) for function in ("list_present", "list_absent") for value in ("a", ["a", "q"], None)),
    *(("append", {"value": "q", "convert": convert}) for convert in (True, False)),
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("function", "arguments"), EVERY)
def test_a_dry_run_foretells_what_is_there_of_any_kind(plugins, function, arguments, place):
    place = str(place)
    for key, value in {"zero": 0, "no": False, "blank": "", "map": {}}.items():
        plugins.grains[key] = value
    (plugins.tmp_path / "grains").write_text(yaml.safe_dump({**plugins.grains}))
    plugins.opts["foresight"] = True
    rows = []
    for test in (True, False, False):
        plugins.context.clear()
        rows.append(plugins.state(f"grains.{function}", name=place, **arguments, test=test))
    dry, real, again = rows
    assert dry["result"] is (None if real["changes"] and real["result"] else real["result"]), real["comment"]
    if real["result"]:
        assert (again["result"], again["changes"]) == (True, {})
    if real["result"] is False:
        assert (dry["comment"], real["changes"]) == (real["comment"], {})


def test_append_converts(plugins):
    plugins.state("grains.append", name="num", value="z", convert=True)
    plugins.state("grains.append", name="none", value="z", convert=True)
    assert (stored(plugins)["num"], stored(plugins)["none"]) == ([5, "z"], ["z"])


def test_unreadable_grains_file(plugins):
    (plugins.tmp_path / "grains").write_text("a: [")
    row = plugins.state("grains.present", name="new", value="v")
    assert row["result"] is False
    assert row["comment"].startswith("Unable to read existing grains file: ")
    assert "new" not in plugins.grains
    with pytest.raises(CommandExecutionError):
        plugins.call("grains.append", "lst", "c")


def test_a_planted_link_is_replaced_not_followed(plugins, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept: true")
    (tmp_path / "grains").unlink()
    (tmp_path / "grains").symlink_to(victim)
    plugins.state("grains.present", name="new", value="v")
    assert victim.read_text() == "kept: true"
    assert stored(plugins)["new"] == "v"


def test_mode_of_the_file_is_kept(plugins, tmp_path):
    (tmp_path / "grains").chmod(0o600)
    plugins.state("grains.present", name="new", value="v")
    assert (tmp_path / "grains").stat().st_mode & 0o777 == 0o600


def test_reading(plugins):
    assert plugins.call("grains.get", "dct:y:z") == 2
    assert plugins.call("grains.get", "lst:1") == "b"
    assert plugins.call("grains.get", "mix:k") == 1
    assert plugins.call("grains.get", "gone", "default") == "default"
    assert plugins.call("grains.fetch", "txt") == "t"
    assert plugins.call("grains.has_value", "none") is True
    assert plugins.call("grains.has_value", "gone") is False
    assert plugins.call("grains.equals", "num", "5") is True
    assert plugins.call("grains.item", "num", "gone") == {"num": 5, "gone": ""}
    assert plugins.call("grains.items")["num"] == 5
    assert plugins.call("grains.ls") == sorted(plugins.grains, key=str)


def test_sanitized(plugins):
    plugins.grains.update(serialnumber="12345678", domain="d", host="h")
    shown = plugins.call("grains.items", sanitize=True)
    assert (shown["id"], shown["host"], shown["domain"], shown["serialnumber"]) == (
        "MINION.DOMAINNAME",
        "MINION",
        "DOMAINNAME",
        "123456XX",
    )
    assert plugins.call("grains.item", "id", sanitize=True) == {"id": "MINION.DOMAINNAME"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {"a": 1, "deep": {"x": 1}}),
        ({"grain": "os"}, {"other": 1}),
        ({"grain": "lst", "default": "none"}, "by list"),
        ({"merge": {"deep": {"y": 2}}}, {"a": 1, "deep": {"x": 1, "y": 2}}),
        ({"base": "base"}, {"a": 1, "b": 0, "deep": {"x": 1}}),
        ({"grain": "gone", "default": "nothing", "base": "base"}, {"a": 0, "b": 0}),
        ({"grain": "gone", "default": "nothing", "merge": {"m": 1}}, {"m": 1}),
        ({"grain": "gone", "default": "nothing"}, None),
    ],
)
def test_filter_by(plugins, arguments, expected):
    table = {
        "Deb*": {"a": 1, "deep": {"x": 1}},
        "b": "by list",
        "default": {"other": 1},
        "base": {"a": 0, "b": 0},
    }
    if arguments.get("grain") == "os":
        plugins.grains["os"] = "Other"
    before = yaml.safe_dump(table)
    assert plugins.call("grains.filter_by", table, **arguments) == expected
    assert yaml.safe_dump(table) == before


@pytest.mark.parametrize("arguments", [{"merge": "x"}, {"base": "base", "grain": "lst"}])
def test_filter_by_refuses(plugins, arguments):
    with pytest.raises(InvocationError):
        plugins.call("grains.filter_by", {"b": "text", "default": {}, "base": {}}, **arguments)


def test_writing(plugins):
    assert plugins.call("grains.setval", "k", "v") == {"k": "v"}
    assert plugins.call("grains.setvals", {"k": None, "j": 1}, destructive=True) == {"k": None, "j": 1}
    assert "k" not in stored(plugins)
    assert plugins.call("grains.append", "txt", "x") == "The key txt is not a valid list"
    assert plugins.call("grains.append", "txt", "x", convert=True) == {"txt": ["t", "x"]}
    assert plugins.call("grains.append", "lst", "a") == "The val a was already in the list lst"
    assert plugins.call("grains.remove", "lst", "a") == {"lst": ["b"]}
    assert plugins.call("grains.remove", "lst", "a") == "The val a was not in the list lst"
    assert plugins.call("grains.remove", "num", "a") == "The key num is not a valid list"
    assert plugins.call("grains.delval", "num")["changes"] == {"num": None}
    assert plugins.call("grains.delkey", "num")["result"] is True
    assert "num" not in stored(plugins)
    with pytest.raises(InvocationError):
        plugins.call("grains.setvals", ["k"])


def test_footprint():
    file = "path:/etc/salt/grains"
    for low, writes in (
        ({"fun": "present", "name": "a:b"}, ["grains", file]),
        ({"fun": "append", "name": "a", "convert": True}, ["grains", file]),
        ({"fun": "append", "name": "a,b", "delimiter": ","}, ["grains#a", f"{file}#a"]),
    ):
        assert grains_states.mod_footprint(low) == {"reads": [], "writes": writes}
    assert grains_states.mod_footprint({"fun": "exists", "name": "a:b"}) == {"reads": ["grains#a"], "writes": []}
