from __future__ import annotations

import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from asyncstate import dunders
from asyncstate.dunders.context import CallContext, CancelToken, SharedContext, current
from asyncstate.errors import RunCancelled


def make(**overrides):
    values = {"opts": {"test": False, "id": "m"}, "grains": {"os": "Debian"}, "pillar": {}, "salt": {}, "states": {}}
    values |= {"context": SharedContext(threading.RLock()), "utils": {}}
    return CallContext(**values | overrides)


@pytest.fixture
def call():
    context = make()
    token = current.set(context)
    yield context
    current.reset(token)


def test_the_overlay_belongs_to_one_call(call):
    dunders.__opts__["test"] = True
    dunders.__opts__["other"] = 1
    assert dunders.__opts__["test"] is True
    assert call.base_opts == {"test": False, "id": "m"}
    assert "other" not in call.derive().opts


def test_test_mode_is_laid_over_the_options(call):
    assert call.derive(test=True).opts == {"test": True, "id": "m"}
    assert make(opts={"test": True}).test is True
    assert make(opts={"test": True}, test=False).opts["test"] is False


def test_a_dry_run_is_a_matter_of_the_call_under_way(call):
    assert dunders.is_dry_run() is False
    token = current.set(call.derive(test=True))
    assert dunders.is_dry_run() is True
    current.reset(token)
    assert dunders.is_dry_run() is False
    dunders.__opts__["test"] = True
    assert dunders.is_dry_run() is True, "what a call sets for itself holds"


def test_a_part_of_a_call_shares_what_the_call_leaves_behind(call):
    part = call.cancelled_by(CancelToken())
    part.opts["x"] = 1
    part.retcode = 3
    assert call.opts["x"] == 1
    assert call.retcode == 3
    assert call.derive().retcode == 0
    assert call.cancel is None


def test_the_return_code_in_the_shared_context_is_of_one_call(call):
    dunders.__context__["retcode"] = 3
    dunders.__context__["cache"] = 1
    assert call.retcode == dunders.__context__.get("retcode") == 3
    assert call.context == {"cache": 1}
    token = current.set(call.derive())
    assert dunders.__context__["retcode"] == 0
    current.reset(token)
    assert dunders.__context__.pop("retcode") == 3
    assert call.retcode == 0
    assert dunders.__context__.pop("cache") == 1


def test_proxies_behave_like_what_they_stand_for(call):
    assert dunders.__grains__ == {"os": "Debian"}
    assert dunders.__grains__.get("nope", 1) == 1
    assert dict(dunders.__grains__) == {"os": "Debian"}
    assert "os" in dunders.__grains__
    assert not dunders.__pillar__
    assert repr(dunders.__grains__) == "{'os': 'Debian'}"
    assert copy.deepcopy(dunders.__grains__) == {"os": "Debian"}
    assert copy.copy(dunders.__grains__) == {"os": "Debian"}
    dunders.__context__["k"] = 1
    del dunders.__context__["k"]
    assert len(dunders.__context__) == 0


def test_text_proxies(call):
    call.env = "dev"
    assert dunders.__env__ == "dev"
    assert f"{dunders.__env__:>5}" == "  dev"
    assert dunders.__env__.upper() == "DEV"
    assert {"dev": 1}[dunders.__env__] == 1
    assert not dunders.__sls__


def test_outside_any_call():
    for asks in (lambda: dunders.__opts__["test"], dunders.is_dry_run):
        with pytest.raises(LookupError):
            asks()
    assert "outside any call" in repr(dunders.__opts__)
    dunders.check_cancelled()


def test_everything_injected_is_a_dunder():
    assert {"__salt__", "__opts__", "__grains__", "__pillar__", "__context__", "__env__", "__low__"} <= set(
        dunders.proxies.INJECTED
    )
    assert all(name.startswith("__") and name.endswith("__") for name in dunders.proxies.INJECTED)


@pytest.fixture
def token():
    """A token that nobody has cancelled."""
    return CancelToken()


def test_a_token_calls_back_once_and_keeps_its_first_reason(token):
    seen = []
    token.on_cancel(lambda: seen.append(token.reason))
    token.cancel("first")
    token.cancel("second")
    assert seen == ["first"]
    with pytest.raises(RunCancelled, match="first"):
        token.check()


def test_a_cancelled_token_calls_back_at_once(token):
    seen = []
    token.cancel("")
    token.on_cancel(lambda: seen.append(1))
    assert (seen, token.reason) == ([1], "cancelled")


def test_what_is_taken_back_is_not_called_though_it_was_registered_twice(token):
    seen = []
    callback = partial(seen.append, 1)
    release = token.on_cancel(callback)
    token.on_cancel(callback)
    release()
    token.cancel("x")
    release()
    assert seen == [1]


def test_a_failing_callback_does_not_stop_the_others(token, caplog):
    seen = []
    token.on_cancel(lambda: 1 / 0)
    token.on_cancel(lambda: seen.append(1))
    token.cancel("x")
    assert seen == [1]
    assert "clean-up" in caplog.text


def test_registering_while_another_thread_cancels_calls_exactly_once():
    start = threading.Barrier(2)
    with ThreadPoolExecutor(1) as pool:
        for _ in range(50):
            token, seen = CancelToken(), []
            cancelling = pool.submit(lambda token=token: (start.wait(), token.cancel("x")))
            start.wait()
            token.on_cancel(lambda seen=seen: seen.append(1))
            cancelling.result()
            assert seen == [1]


def test_once_makes_a_value_once():
    shared, made, start = SharedContext(threading.RLock()), [], threading.Barrier(8)

    def factory():
        made.append(1)
        return object()

    def ask(_number):
        start.wait()
        return shared.once("k", factory)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(map(id, pool.map(ask, range(8))))) == len(made) == 1


def test_check_cancelled_asks_the_current_call(call):
    dunders.check_cancelled()
    call.cancel = CancelToken()
    call.cancel.cancel("over")
    with pytest.raises(RunCancelled, match="over"):
        dunders.check_cancelled()


def test_resolved_replaces_dunders_wherever_they_are(call):
    call.env = "dev"
    cyclic = {"env": dunders.__env__}
    cyclic["self"] = cyclic
    returned = {
        "changes": {"env": dunders.__env__, "list": [dunders.__env__, 1], "pair": (dunders.__env__, 2)},
        "grains": dunders.__grains__,
        "cyclic": cyclic,
        "plain": ("a", "b"),
    }
    assert dunders.proxies.resolved(returned) is returned
    assert type(returned["changes"]["env"]) is str
    assert returned["changes"] == {"env": "dev", "list": ["dev", 1], "pair": ("dev", 2)}
    assert type(returned["changes"]["pair"][0]) is str
    assert returned["grains"] is call.grains
    assert type(cyclic["env"]) is str
    assert dunders.proxies.resolved(dunders.__env__) == "dev"
    assert dunders.proxies.resolved(7) == 7
