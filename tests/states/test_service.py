"""Service states against a service whose behaviour each test sets."""

import asyncstate.states.service as states
import pytest
from fake_service import FakeService, FakeSystemd
from plugin_harness import PluginHarness
from tables import beside

TABLES = beside(__file__)


@pytest.fixture
def prepare(tmp_path):
    def make(*, systemd=False, fails=(), broken=(), **status):
        harness = PluginHarness(tmp_path)
        harness.service = (FakeSystemd if systemd else FakeService)(harness)
        vars(harness.service).update(status, fails=set(fails), broken=set(broken))
        harness.load("states", "service")
        return harness

    return make


START = "service.running"


def test_starting_unmasks_first(prepare):
    harness = prepare(systemd=True, masked=True)
    row = harness.state(START, name="sun", unmask=True)
    assert (row["result"], row["comment"]) == (True, "Started service sun\nService sun was unmasked")
    assert harness.service.calls == ["unmask", "start"]


@pytest.mark.parametrize(("arguments", "alive", "comment", "calls"), TABLES["what watching does"])
def test_what_watching_does(prepare, arguments, alive, comment, calls):
    harness = prepare(alive=alive)
    with harness.calling(test=True):
        dry = states.mod_watch("sun", **arguments)
    assert (dry["result"], dry["changes"]) == (None, {})
    assert dry["comment"] == f"Service is set to be {comment.removeprefix('Service ')}"
    assert harness.service.calls == []
    with harness.calling():
        row = states.mod_watch("sun", **arguments)
    assert (row["result"], row["comment"], row["changes"]) == (True, comment, {"sun": True})
    assert harness.service.calls == calls


def test_watching_in_vain(prepare):
    harness = prepare(fails=["restart"], alive=True)
    with harness.calling():
        assert states.mod_watch("sun", sfun="enabled")["comment"] == "Unable to trigger watch for service.enabled"
        failed = states.mod_watch("sun", sfun="running")
        assert (failed["result"], failed["comment"]) == (False, "Failed to restart the service")
        harness.service.broken = {"reload"}
        assert states.mod_watch("sun", sfun="running", reload=True)["comment"] == "reload is broken"
        harness.service.alive = False
        assert states.mod_watch("sun", sfun="dead")["comment"] == "Service is already stopped"
