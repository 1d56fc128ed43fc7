from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.dunders import Orchestra
from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "saltutil")
    return harness


def test_nothing_to_synchronise(plugins):
    assert plugins.call("saltutil.sync_all")["modules"] == []
    for kind in ("modules", "states", "grains", "utils", "renderers", "pillar"):
        assert plugins.call(f"saltutil.sync_{kind}", refresh=True) == []


def test_refreshing(plugins):
    for function in ("refresh_modules", "refresh_grains", "refresh_pillar", "pillar_refresh"):
        assert plugins.call(f"saltutil.{function}") is True
    assert plugins.services.calls == [
        ("reload",),
        ("refresh", {"grains": True, "pillar": False}),
        ("refresh", {"grains": False, "pillar": True}),
        ("refresh", {"grains": False, "pillar": True}),
    ]


def test_no_jobs(plugins):
    assert plugins.call("saltutil.is_running", "state.*") == []
    assert plugins.call("saltutil.running") == []
    assert plugins.call("saltutil.kill_all_jobs") == plugins.call("saltutil.term_all_jobs") == []
    assert (
        plugins.call("saltutil.signal_job", "20200101000000000000", 15) == plugins.call("saltutil.kill_job", "1") == ""
    )
    assert plugins.call("saltutil.find_cached_job", "1") == {}


def test_what_has_no_meaning_here_succeeds(plugins, caplog):
    for name in ("clear_cache", "clear_job_cache", "refresh_beacons", "refresh_matchers", "regen_keys", "revoke_auth"):
        assert plugins.call(f"saltutil.{name}") is True
    assert "no Salt master" in caplog.text


def test_what_needs_a_master(plugins):
    with pytest.raises(CommandExecutionError, match="needs a Salt master"):
        plugins.call("saltutil.wheel", "key.list")


@pytest.mark.parametrize(("function", "arguments"), [("runner", ("jobs.list",)), ("cmd", ("*", "test.ping"))])
def test_what_needs_a_fleet(plugins, function, arguments):
    with pytest.raises(CommandExecutionError, match="there is no fleet"):
        plugins.call(f"saltutil.{function}", *arguments)
    with pytest.raises(CommandExecutionError, match="leave out ssh"):
        plugins.call("saltutil.cmd", "*", "test.ping", ssh=True)


class Hosts(Orchestra):
    async def command(self, target, function, arg=(), kwarg=None, **asked):
        return {"web1": {"ret": [target, function, *arg, kwarg, asked]}}

    async def runner(self, function, arg=(), kwarg=None):
        return {"retcode": 1, "said": [function, *arg, kwarg]}


def test_hosts_of_a_fleet_are_reached(plugins):
    plugins.services.hosts = Hosts()
    answers = plugins.call("saltutil.cmd", "a,b", "test.ping", ["x"], 5, "list", kwarg={"k": 1}, subset=2, roster="r")
    assert answers == {
        "web1": {"ret": ["a,b", "test.ping", "x", {"k": 1}, {"kind": "list", "deadline": 5, "subset": 2}]}
    }
    value = {"retcode": 1, "said": ["manage.up", {"b": 2, "a": 1}]}
    assert plugins.call("saltutil.runner", "manage.up", kwarg={"a": 1}, b=2, __env__="base") == value
    assert plugins.call("saltutil.runner", "manage.up", kwarg={"a": 1}, b=2, full_return=True) == {
        "return": value,
        "success": False,
    }


def test_the_answers_of_hosts_one_by_one(plugins):
    class Hosts:
        async def command(self, *words, **options):
            return {"a": {"ret": 1}, "b": {"ret": 2}}

    plugins.services.hosts = Hosts()
    assert plugins.call("saltutil.cmd_iter", "*", "test.ping") == [{"a": {"ret": 1}}, {"b": {"ret": 2}}]


def test_a_module_of_an_environment_and_an_update(plugins):
    plugins.salt["test.echo"] = lambda text: text
    assert plugins.call("saltutil.mmodule", "base", "test.echo", "x") == "x"
    assert "such as pip" in plugins.call("saltutil.update")["_error"]
