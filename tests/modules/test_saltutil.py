from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.dunders import Orchestra


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "saltutil")
    return harness


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
