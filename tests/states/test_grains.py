from __future__ import annotations

import pytest
import yaml
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
