from __future__ import annotations

import errno

import pytest
from asyncstate.states import host
from plugin_harness import PluginHarness
from recorded_states import expected, recorded, replay

from asyncstate.errors import AsyncStateError
from asyncstate.filesystem import change

CASES = recorded("host")
TABLE = "# local\n127.0.0.1\tlocalhost\n10.0.0.1\t\tweb www # front\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "hosts"
    path.write_text(TABLE)
    return path


@pytest.fixture
def plugins(tmp_path, table):
    harness = PluginHarness(tmp_path)
    harness.salt["config.option"] = lambda key: harness.opts.get(key, str(table) if key == "hosts.file" else "")
    harness.load("modules", "hosts")
    harness.load("states", "host")
    return harness


@pytest.mark.parametrize("case", CASES)
def test_the_rows_of_salt(plugins, case):
    assert replay(plugins, CASES[case]) == expected(CASES[case])


@pytest.mark.parametrize(
    "case",
    [
        ({"name": "db", "ip": "10.0.0.2"}, "Host db (10.0.0.2) would be added", "Added host db (10.0.0.2)",
         {"added": {"10.0.0.2": ["db"]}}, "10.0.0.2\t\tdb"),
        ({"name": "db", "ip": "10.0.0.1"}, "Host db (10.0.0.1) would be added", "Added host db (10.0.0.1)",
         {"added": {"10.0.0.1": ["db"]}}, "10.0.0.1\t\tweb www db\t\t# front"),
        ({"name": "web", "ip": "10.0.0.1", "comment": "new"}, "Comment for 10.0.0.1 (new) would be added",
         "Set comment for host 10.0.0.1 (new)", {"comment_added": {"10.0.0.1": ["new"]}}, "10.0.0.1\t\tweb www\t\t# new"),
        ({"name": "db", "ip": ["10.0.0.2", "::2"], "comment": "{x}"},
         ("Host db (10.0.0.2) would be added\nHost db (::2) would be added\n"
          "Comment for 10.0.0.2 ({x}) would be added\nComment for ::2 ({x}) would be added"),
         ("Added host db (10.0.0.2)\nAdded host db (::2)\n"
          "Set comment for host 10.0.0.2 ({x})\nSet comment for host ::2 ({x})"),
         {"added": {"10.0.0.2": ["db"], "::2": ["db"]}, "comment_added": {"10.0.0.2": ["{x}"], "::2": ["{x}"]}},
         "::2\t\tdb\t\t# {x}"),
        ({"name": "www db", "ip": "10.0.0.1"}, "Host www db (10.0.0.1) would be added",
         "Added host www db (10.0.0.1)", {"added": {"10.0.0.1": ["www db"]}}, "10.0.0.1\t\tweb www db\t\t# front"),
        ({"name": " www web", "ip": "10.0.0.9", "clean": True},
         "Host  www web (10.0.0.9) would be added\nHost  www web (10.0.0.1) would be removed",
         "Added host  www web (10.0.0.9)\nRemoved host  www web (10.0.0.1)",
         {"added": {"10.0.0.9": [" www web"]}, "removed": {"10.0.0.1": [" www web"]}}, "10.0.0.9\t\t www web"),
        ({"name": "web", "ip": "10.0.0.9", "clean": True},
         "Host web (10.0.0.9) would be added\nHost web (10.0.0.1) would be removed",
         "Added host web (10.0.0.9)\nRemoved host web (10.0.0.1)",
         {"added": {"10.0.0.9": ["web"]}, "removed": {"10.0.0.1": ["web"]}}, "10.0.0.1\t\twww\t\t# front"),
    ],
)  # fmt: skip
def test_present(plugins, table, case):
    arguments, foretold, said, changes, line = case
    dry, real, again = plugins.three_runs("host.present", **arguments)
    assert (dry["result"], dry["comment"], dry["changes"]) == (None, foretold, changes)
    assert (real["result"], real["comment"], real["changes"]) == (True, said, changes)
    assert line in table.read_text().splitlines()
    assert (again["result"], again["changes"]) == (True, {})
    assert "already present" in again["comment"]


def test_a_name_of_another_address_is_warned_of(plugins):
    row = plugins.state("host.present", name="web", ip="10.0.0.9")
    (warning,) = row["warnings"]
    assert warning.startswith("Host web present for IP address 10.0.0.1. To get rid of this warning, either run")


def test_what_is_no_address_is_refused_before_anything_changes(plugins, table):
    row = plugins.state("host.present", name="web", ip=["10.0.0.7", "10.0.0.777"])
    assert (row["result"], row["comment"]) == (False, "Invalid IP Address for web (10.0.0.777)")
    assert table.read_text() == TABLE


def test_several_names_are_removed_as_one(plugins, table):
    plugins.three_runs("host.absent", name="web www ", ip="10.0.0.1")
    assert table.read_text() == "# local\n127.0.0.1\tlocalhost\n"


def test_failures(plugins):
    plugins.salt["hosts.add_host"] = lambda *_: False
    row = plugins.state("host.present", name="db", ip="10.0.0.2")
    assert (row["result"], row["comment"], row["changes"]) == (False, "Failed to add host db (10.0.0.2)", {})
    plugins.salt["hosts.rm_host"] = lambda *_: False
    row = plugins.state("host.absent", name="web", ip="10.0.0.1")
    assert (row["result"], row["comment"]) == (False, "Failed to remove host")
    plugins.salt["hosts.set_host"] = lambda *_: False
    row = plugins.state("host.only", name="10.0.0.1", hostnames="x")
    assert (row["result"], row["comment"]) == (
        False,
        'hosts.set_host failed to change 10.0.0.1 from "web www" to "x"',
    )


def test_absent(plugins, table):
    dry, real, again = plugins.three_runs("host.absent", name="web", ip=["10.0.0.1", "10.0.0.5"])
    assert (dry["result"], dry["comment"]) == (
        None,
        "Host web (10.0.0.1) needs to be removed\nHost web (10.0.0.5) already absent",
    )
    assert (real["result"], real["changes"]) == (True, {"host": "web"})
    assert real["comment"] == "Removed host web (10.0.0.1)\nHost web (10.0.0.5) already absent"
    assert again["changes"] == {}
    assert "web" not in table.read_text()


def test_only(plugins, table):
    dry, real, again = plugins.three_runs("host.only", name="10.0.0.1", hostnames=["a", " b "])
    assert (dry["result"], dry["comment"]) == (None, 'Would change 10.0.0.1 from "web www" to "a b"')
    assert real["comment"] == 'successfully changed 10.0.0.1 from "web www" to "a b"'
    assert real["changes"] == {"10.0.0.1": {"old": "web www", "new": "a b"}}
    assert (again["result"], again["comment"]) == (True, 'IP address 10.0.0.1 already set to "a b"')


def test_footprint():
    assert host.mod_footprint({"name": "x"}) == {"reads": [], "writes": ["path:/etc/hosts"]}


def test_no_second_line_comes_with_a_name_or_a_comment(plugins):
    for arguments in ({"name": "a\n6.6.6.6 bank"}, {"name": "a", "comment": "x\n6.6.6.6 bank"}):
        row = plugins.state("host.present", ip="10.0.0.1", **arguments)
        assert (row["result"], row["changes"]) == (False, {})
        assert "is one line" in row["comment"]


NAMES = [
    "#x",
    "a#b",
    "a #b",
    "",
    " ",
    "a b",
    "a\tb",
    "a\u00a0b",
    "a\x0cb",
    "a\nb",
    "ä",
    "x" * 300,
    "a\udcffb",
    "localhost",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("state", "arguments"),
    [
        ("host.present", lambda name: {"name": name, "ip": "10.0.0.9"}),
        ("host.present", lambda name: {"name": name, "ip": "10.0.0.1", "clean": True}),
        ("host.present", lambda name: {"name": "web", "ip": ["10.0.0.1", "10.0.0.9"], "comment": name}),
        ("host.only", lambda name: {"name": "10.0.0.9", "hostnames": name}),
        ("host.only", lambda name: {"name": "10.0.0.1", "hostnames": [name, "other"]}),
        ("host.only", lambda name: {"name": name, "hostnames": "web"}),
        ("host.absent", lambda name: {"name": name, "ip": "10.0.0.1"}),
    ],
)
def test_what_a_line_cannot_say_is_refused_and_the_rest_is_said_once(plugins, table, state, arguments, name):
    plugins.opts["foresight"] = True
    dry, real, again = plugins.three_runs(state, **arguments(name), errors=(AsyncStateError,))
    assert dry["result"] is (None if real["changes"] else real["result"]), (dry, real)
    assert (again["result"], again["changes"]) == (real["result"], {})
    if real["result"] is False:
        assert table.read_text() == TABLE


@pytest.mark.parametrize(
    "case",
    [
        ("present", {"name": "db", "ip": "10.0.0.2"}, True),
        ("present", {"name": "web", "ip": "10.0.0.1"}, False),
        ("absent", {"name": "web", "ip": "10.0.0.1"}, True),
        ("absent", {"name": "db", "ip": "10.0.0.1"}, False),
        ("only", {"name": "10.0.0.1", "hostnames": ["a"]}, True),
        ("only", {"name": "10.0.0.1", "hostnames": ["web", "www"]}, False),
    ],
)
def test_a_table_that_cannot_be_written_is_foretold(plugins, table, monkeypatch, case):
    function, arguments, needed = case
    plugins.opts["foresight"] = True
    monkeypatch.setattr(change, "refusal", lambda _entry: errno.EROFS)
    row = plugins.state(f"host.{function}", test=True, **arguments)
    assert row["result"] is not needed
    assert needed == (row["comment"] == f"Cannot write {table}: Read-only file system")
    plugins.opts["foresight"] = False
    assert plugins.state(f"host.{function}", test=True, **arguments)["result"] is (None if needed else True)
