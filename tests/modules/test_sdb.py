from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(
        tmp_path,
        env={"driver": "env"},
        file={"driver": "yaml", "path": str(tmp_path / "secrets.yaml")},
        doc={"driver": "json", "path": str(tmp_path / "secrets.json")},
        own={"driver": "vaultlike", "x": 1},
        bare={"driver": "yaml"},
        odd={"driver": "nonsense"},
    )
    (tmp_path / "secrets.yaml").write_text("a: {b: hush}")
    (tmp_path / "secrets.json").write_text('{"a": "quiet"}')
    harness.load("modules", "sdb")
    store = {"k": "v"}
    harness.salt["vaultlike.sdb_get"] = lambda key, profile: store.get(key) if profile["x"] == 1 else None
    harness.salt["vaultlike.sdb_set"] = lambda key, value, _: store.update({key: value}) or value
    harness.salt["random.get_str"] = lambda length, **_: "r" * length
    return harness


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("sdb://file/a:b", "hush"),
        ("sdb://doc/a", "quiet"),
        ("sdb://file/gone", None),
        ("sdb://own/k", "v"),
        ("sdb://env/NO_SUCH_VARIABLE", None),
        ("plain", "plain"),
        (3, 3),
        ("sdb://unknown/x", "sdb://unknown/x"),
        ("sdb://file", "sdb://file"),
    ],
)
def test_get(plugins, uri, expected):
    assert plugins.call("sdb.get", uri) == expected


def test_env(plugins, monkeypatch):
    monkeypatch.setenv("SECRET_WORD", "s")
    assert plugins.call("sdb.get", "sdb://env/SECRET_WORD") == "s"


def test_set(plugins):
    assert plugins.call("sdb.set", "sdb://own/new", "n") == "n"
    assert plugins.call("sdb.get", "sdb://own/new") == "n"
    assert plugins.call("sdb.set", "sdb://unknown/new", "n") is False
    with pytest.raises(CommandExecutionError, match="cannot store"):
        plugins.call("sdb.set", "sdb://file/new", "n")


def test_get_or_set_hash(plugins):
    assert plugins.call("sdb.get_or_set_hash", "sdb://own/k") == "v"
    assert plugins.call("sdb.get_or_set_hash", "sdb://own/fresh", length=4) == "rrrr"
    assert plugins.call("sdb.get", "sdb://own/fresh") == "rrrr"


def test_deleting(plugins):
    plugins.opts["store"] = {"driver": "vault"}
    with pytest.raises(CommandExecutionError, match="cannot delete values"):
        plugins.call("sdb.delete", "sdb://store/key")
    plugins.salt["vault.sdb_delete"] = lambda key, profile: (key, profile["driver"])
    assert plugins.call("sdb.delete", "sdb://store/key") == ("key", "vault")
    for uri in ("text", "sdb://store", "sdb://other/key", 5):
        assert plugins.call("sdb.delete", uri) is False
