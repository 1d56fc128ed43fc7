"""Fetching ahead with plugins: what their hooks offer, and what becomes of the calls."""

import asyncio
import os

import pytest
from fake_host import FakeHost
from plans import PlanBuilder

from asyncstate import prefetch
from asyncstate.ahead.offers import Offers, offered
from asyncstate.ahead.prefetcher import Fetch, Fetched
from asyncstate.errors import CommandExecutionError, NotYet, RunCancelled


@pytest.fixture
def host(tmp_path):
    fake = FakeHost()
    fake.opts["cachedir"] = str(tmp_path / "cache")
    fake.state("test.mod_prefetch", lambda low: [{"function": "x.fetch", "arguments": {"url": low["name"]}}])
    return fake


def offers(plan, host):
    return [(fetch.chunk, fetch.function, fetch.arguments) for fetch in offered(plan, host)]


def test_hooks_offer_fetches_for_their_states(host):
    plan = PlanBuilder().chunk("a").chunk("b", "cmd.run").build()
    assert offers(plan, host) == [(0, "x.fetch", {"url": "a"})]


@pytest.mark.parametrize("arguments", [{"onlyif": "true"}, {"unless": []}, {"x": "__slot__:salt:test.echo(1)"}])
def test_states_that_only_their_turn_decides_about_are_left_out(host, arguments):
    assert offers(PlanBuilder().chunk("a", args=arguments).build(), host) == []


@pytest.mark.parametrize("returned", [None, 3, [{}], [{"function": "x", "arguments": 3}], "text"])
def test_what_a_hook_returns_amiss_is_logged(host, returned, caplog):
    host.state("test.mod_prefetch", lambda low: returned)
    assert offers(PlanBuilder().chunk("a").build(), host) == []
    assert "mod_prefetch of test.nop failed" in caplog.text


def test_a_hook_may_fail(host, caplog):
    def broken(low):
        raise SystemExit(3)

    host.state("test.mod_prefetch", broken)
    assert offers(PlanBuilder().chunk("a").build(), host) == []
    assert "SystemExit" in caplog.text


def fetched(host, function, *, args=None, together=False):
    host.salt = {"x.fetch": function}
    plan = PlanBuilder().chunk("a", args=args or {}).build()

    async def fetch():
        ahead = Offers(plan, host, lambda _: None)
        try:
            return await ahead.fetch([Fetch(0, "x.fetch", {"url": "u"}, together=together)])
        finally:
            ahead.prefetched.close()

    return asyncio.run(fetch())


def raising(error):
    def fetch(url):
        raise error

    return fetch


@pytest.mark.parametrize(
    ("function", "came"),
    [
        (lambda url: url == "u", Fetched("fetched")),
        (lambda url: False, Fetched("nothing")),
        (raising(NotYet("lists")), Fetched("later", "waits for lists", "lists")),
        (raising(CommandExecutionError("gone")), Fetched("failed", "gone")),
        (raising(ValueError("odd")), Fetched("failed", "ValueError('odd')")),
        (raising(RunCancelled("x")), None),
    ],
)
def test_a_fetch_always_comes_to_something(host, function, came):
    if came is None:
        with pytest.raises(asyncio.CancelledError):
            fetched(host, function)
    else:
        assert fetched(host, function) == came


def test_fetches_that_go_together_are_one_call(host):
    seen = []
    assert fetched(host, seen.append, together=True) == Fetched("nothing")
    assert seen == [[{"url": "u"}]]


def test_nothing_is_fetched_for_what_exists(host, tmp_path):
    assert fetched(host, lambda url: True, args={"creates": str(tmp_path)}) == Fetched("nothing")
    assert fetched(host, lambda url: True, args={"creates": str(tmp_path / "x")}) == Fetched("fetched")
    assert fetched(host, lambda url: True, args={"creates": {"odd": 1}}) == Fetched("fetched")


def test_nothing_is_fetched_without_room(host, monkeypatch):
    monkeypatch.setattr(prefetch, "ROOM", 1 << 62)
    came = fetched(host, lambda url: True)
    assert came.result == "failed"
    assert "are free" in came.text


def test_a_function_fetches_into_a_folder_of_the_run(host, tmp_path):
    found = []
    fetched(host, lambda url: found.append(os.path.isdir(prefetch.folder("files"))))
    assert found == [True]
    assert os.listdir(tmp_path / "cache") == []
