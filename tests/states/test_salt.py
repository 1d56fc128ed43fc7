"""The states of an orchestration give the rows of Salt's, as recorded, for the same answers of hosts."""

import asyncio
import copy
import json
import re
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from asyncstate.states import salt as states
from call_tables import is_like
from plugin_harness import PluginHarness

from asyncstate.dunders import Orchestra
from asyncstate.errors import CommandExecutionError

RECORDED = json.loads((Path(__file__).parents[1] / "recorded" / "saltmod_rows.json").read_text())
WAYS = {"state", "function"}


class Hosts(Orchestra):
    """Events come as they are listed, then none."""

    def __init__(self, events=()):
        self.listed = [{"tag": tag, "data": {"data": {}, **data}} for tag, data in events]

    @asynccontextmanager
    async def events(self):
        async def found():
            for event in self.listed:
                yield event
            await asyncio.Event().wait()

        yield found()


@pytest.fixture
def plugins(tmp_path):
    return PluginHarness(tmp_path)


def called(plugins, function, kwargs, *, test=False):
    with plugins.calling(test=test):
        made = getattr(states, function)(**copy.deepcopy(kwargs))
        return asyncio.run(made) if asyncio.iscoroutine(made) else made


def comparable(row):
    """A row without the order of hosts in its comment, which is that of a set in Salt, and without times."""
    comment = re.sub(
        r"(?<=minions: )[a-z, ]+?(?= Function|\n|$)",
        lambda found: ", ".join(sorted(found[0].split(", "))),
        row["comment"],
    )
    comment = re.sub(r"(?<=to )[a-z, ]+", lambda found: ", ".join(sorted(found[0].split(", "))), comment)
    return {**row, "comment": re.sub(r"[\d.e-]+ seconds", "N seconds", comment)}


@pytest.mark.parametrize(
    "case", RECORDED, ids=lambda case: f"{case['function']}-{case.get('answers', case.get('events'))}"[:60]
)
def test_rows_are_those_of_salt(plugins, case):
    sent = []

    async def cmd(tgt, fun, **asked):
        sent.append({"tgt": tgt, "fun": fun, **asked})
        return copy.deepcopy(case["answers"])

    async def runner(name, *, full_return, kwarg, arg=()):
        assert full_return
        assert not arg
        sent.append({"name": name, **kwarg})
        return copy.deepcopy(case["answers"][0])

    async def accepts(ret):
        return ret == 1

    plugins.salt |= {"saltutil.cmd": cmd, "saltutil.runner": runner, "own.accepts": accepts}
    plugins.services.hosts = Hosts(case.get("events", ()))
    row = called(plugins, case["function"], case["kwargs"], test=case.get("test", False))
    assert comparable(row) == comparable(case["row"])
    if case["function"] in WAYS:
        assert [_asked(each) for each in sent] == [_asked(each) for each in case["sent"]]
    else:
        assert sent == case["sent"]


def _asked(call):
    """What a call asks for: what is not asked for may be left out. Salt adds things of its own."""
    return {
        key: value
        for key, value in call.items()
        if key not in ("ret", "ssh", "_cmd_meta") and value not in (None, False)
    }


@pytest.mark.parametrize("function", ["state", "function", "wait_for_event", "runner", "parallel_runners"])
def test_without_a_fleet_words_say_what_to_do(plugins, function):
    plugins.load("modules", "saltutil")
    kwargs = {
        "state": {"tgt": "*", "sls": "web"},
        "function": {"tgt": "*"},
        "wait_for_event": {"id_list": ["a"]},
        "parallel_runners": {"runners": {"manage.up": None}},
    }
    row = called(plugins, function, {"name": "x", **kwargs.get(function, {})})
    assert row["result"] is False
    assert "there is no fleet" in row["comment"]


def test_a_failure_that_a_host_has_handled_is_none(plugins):
    handled = {"ret": {"a_|-x_|-x_|-nop": {"result": False, "changes": {}}}, "retcode": 0}

    async def cmd(*_, **__):
        return {"a": handled}

    plugins.salt["saltutil.cmd"] = cmd
    row = called(plugins, "state", {"name": "x", "tgt": "a", "sls": "web"})
    assert row["result"] is True


def test_nested_orchestrations_that_fail_are_failures(plugins):
    async def runner(name, **_):
        return {"return": {"data": {"m": {}}, "outputter": "highstate", "retcode": 1}, "success": name == "manage.up"}

    plugins.salt["saltutil.runner"] = runner
    row = called(plugins, "parallel_runners", {"name": "x", "runners": {"manage.up": None, "b": None, "c": None}})
    assert (row["result"], row["comment"]) == (False, "Runners b, c failed.")


def test_a_dry_run_calls_no_runner(plugins):
    row = called(plugins, "parallel_runners", {"name": "x", "runners": {"manage.up": None, "b": None}}, test=True)
    assert (row["result"], row["comment"]) == (None, "Runner functions would be executed: manage.up, b.")


@pytest.mark.parametrize("test", [False, True])
@pytest.mark.parametrize(
    ("given", "comment"),
    [
        (1, "The settings of runner a must be a dict or a list of dicts, not 1."),
        ({"arg": 1}, "'arg' of runner a … a list, not 1."),
        ([{"kwarg": [1]}], "'kwarg' of runner a must be a dict, not [1]."),
    ],
)
def test_odd_settings_of_a_runner_are_told(plugins, given, comment, test):
    row = called(plugins, "parallel_runners", {"name": "x", "runners": {"b": None, "a": given}}, test=test)
    assert row["result"] is False
    assert is_like(comment, row["comment"])


def test_trouble_of_one_runner_is_told(plugins):
    async def runner(name, **_):
        raise CommandExecutionError(f"no {name}")

    plugins.salt["saltutil.runner"] = runner
    row = called(plugins, "parallel_runners", {"name": "x", "runners": {"a.b": None}})
    assert (row["result"], row["comment"]) == (False, "One of the runners raised an exception: no a.b")


@pytest.mark.parametrize(
    ("function", "kwargs", "words"),
    [
        ("wheel", {}, "Wheel function 'x' works on a Salt master"),
        ("state", {"tgt": "*", "sls": "a", "ssh": True}, "no agentless hosts"),
        ("function", {"tgt": "*", "ssh": True}, "no agentless hosts"),
        ("wait_for_event", {"id_list": 3}, "'id_list' must be a list"),
        ("wait_for_event", {"id_list": ["a"], "node": "minion"}, "'node' must be 'master'"),
    ],
)
def test_what_is_not_there_is_refused_in_words(plugins, function, kwargs, words):
    row = called(plugins, function, {"name": "x", **kwargs})
    assert row["result"] is False
    assert words in row["comment"]


def test_an_empty_list_waits_for_nothing(plugins):
    plugins.services.hosts = Hosts()
    assert called(plugins, "wait_for_event", {"name": "t", "id_list": []})["result"] is True
    assert called(plugins, "wait_for_event", {"name": "t", "id_list": "a", "timeout": 0})["result"] is False
