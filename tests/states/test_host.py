from __future__ import annotations

import errno

import pytest
from plugin_harness import PluginHarness
from recorded_states import expected, recorded, replay
from tables import beside

from asyncstate.errors import AsyncStateError
from asyncstate.filesystem import change

TABLES = beside(__file__)

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


@pytest.mark.parametrize("case", TABLES["a table that cannot be written is foretold"])
def test_a_table_that_cannot_be_written_is_foretold(plugins, table, monkeypatch, case):
    function, arguments, needed = case
    plugins.opts["foresight"] = True
    monkeypatch.setattr(change, "refusal", lambda _entry: errno.EROFS)
    row = plugins.state(f"host.{function}", test=True, **arguments)
    assert row["result"] is not needed
    assert needed == (row["comment"] == f"Cannot write {table}: Read-only file system")
    plugins.opts["foresight"] = False
    assert plugins.state(f"host.{function}", test=True, **arguments)["result"] is (None if needed else True)
