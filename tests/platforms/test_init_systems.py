"""The providers of ``service`` for OpenRC, runit and supervisord, each with its real programs."""

import os

import pytest
from init_roots import INIT_SYSTEMS

pytestmark = [
    pytest.mark.platform,
    pytest.mark.skipif(os.geteuid() != 0, reason="OpenRC runs in a chroot, which root alone may enter"),
]


@pytest.fixture(params=sorted(INIT_SYSTEMS))
def init(request, tmp_path, monkeypatch):
    made = INIT_SYSTEMS[request.param](tmp_path, monkeypatch)
    yield made
    made.close()


def test_a_service_runs_and_is_dead_again(init):
    call, state = init.harness.call, init.harness.state
    assert call("service.get_all") == ["sun"]
    assert (call("service.available", "sun"), call("service.missing", "moon")) == (True, True)
    assert call("service.enabled", "sun") is False
    dry = state("service.running", test=True, name="sun", enable=True)
    assert (dry["result"], dry["comment"], dry["changes"]) == (None, "Service sun is set to start", {})
    row = state("service.running", name="sun", enable=True)
    assert row == {
        "name": "sun", "result": True, "changes": {"sun": True},
        "comment": "Service sun has been enabled, and is running",
    }, init.ran  # fmt: skip
    again = state("service.running", name="sun", enable=True)
    assert (again["comment"], again["changes"]) == ("The service sun is already running", {})
    assert call("service.status", "s*") == {"sun": True}
    assert call("service.get_enabled") == ["sun"]
    assert call("service.restart", "sun") is True
    assert call("service.status", "sun") is True
    row = state("service.mod_watch", name="sun", sfun="running")
    assert (row["comment"], row["changes"]) == ("Service restarted", {"sun": True})
    row = state("service.dead", name="sun", enable=False)
    assert (row["result"], row["changes"]) == (True, {"sun": True}), row
    assert row["comment"] == "Service sun has been disabled, and is dead"
    again = state("service.dead", name="sun", enable=False)
    assert (again["comment"], again["changes"]) == ("The service sun is already dead", {})
    assert call("service.get_disabled") == ["sun"]


def test_a_service_is_enabled_without_being_started(init):
    state = init.harness.state
    assert state("service.enabled", test=True, name="sun")["result"] is None
    row = state("service.enabled", name="sun")
    assert (row["result"], row["changes"]) == (True, {"sun": True}), row
    assert state("service.enabled", name="sun")["changes"] == {}
    assert init.harness.call("service.status", "sun") is False
    assert state("service.disabled", name="sun")["changes"] == {"sun": True}
    assert state("service.disabled", name="sun")["changes"] == {}


def test_a_service_that_is_not_there(init):
    row = init.harness.state("service.running", name="moon")
    assert (row["result"], row["comment"]) == (False, "The named service moon is not available")
    assert init.harness.call("service.start", "moon") is False
    assert init.harness.state("service.masked", name="sun")["comment"] == "Service masking not available on this minion"
