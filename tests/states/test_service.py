"""Service states against a service whose behaviour each test sets."""

import asyncstate.states.service as states
import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


class FakeService:
    """One init system with one service ``sun``; ``fails`` names the functions that return False, ``broken`` those that raise."""

    def __init__(self, *, alive=False, boot=False, masked=False):
        self.alive, self.boot, self.is_masked = alive, boot, masked
        self.fails, self.broken, self.calls = set(), set(), []

    def act(self, name, **changes):
        self.calls.append(name)
        if name in self.broken:
            raise CommandExecutionError(f"{name} is broken")
        if name in self.fails:
            return False
        vars(self).update(changes)
        return True

    def functions(self, *, systemd=False):
        found = {
            "available": lambda name: name == "sun",
            "status": lambda name, sig=None: self.alive,
            "start": lambda name, no_block=False, unmask=False: self.act("start", alive=True),
            "stop": lambda name, no_block=False: self.act("stop", alive=False),
            "restart": lambda name, no_block=False: self.act("restart", alive=True),
            "reload": lambda name: self.act("reload"),
            "force_reload": lambda name: self.act("force_reload"),
            "enabled": lambda name, **_: self.boot,
            "disabled": lambda name, **_: not self.boot,
            "enable": lambda name, **_: self.act("enable", boot=True),
            "disable": lambda name, **_: self.act("disable", boot=False),
        }
        if systemd:
            found |= {
                "masked": lambda name, runtime=False: self.is_masked,
                "mask": lambda name, runtime=False: self.act("mask", is_masked=True),
                "unmask": lambda name, runtime=False: self.act("unmask", is_masked=False),
            }
        return {f"service.{name}": function for name, function in found.items()}


@pytest.fixture
def prepare(tmp_path):
    def make(*, systemd=False, fails=(), broken=(), **status):
        harness = PluginHarness(tmp_path)
        harness.service = FakeService(**status)
        harness.service.fails, harness.service.broken = set(fails), set(broken)
        harness.salt.update(harness.service.functions(systemd=systemd))
        harness.load("states", "service")
        return harness

    return make


START = "service.running"
NOT_ENABLED = "Failed when setting service sun to start at boot"
DETAILS = ". Additional information follows:\n\n"
STOP = "service.dead"


@pytest.mark.parametrize(
    ("function", "arguments", "status", "test", "expected"),
    [
        (START, {}, {}, False, (True, "Started service sun", {"sun": True})),
        (START, {}, {}, True, (None, "Service sun is set to start", {})),
        (START, {}, {"alive": True}, False, (True, "The service sun is already running", {})),
        (START, {"enable": True}, {"alive": True}, False,
         (True, "Service sun has been enabled, and is in the desired state", {"sun": True})),
        (START, {"enable": True}, {"alive": True}, True, (None, "Service sun set to be enabled", {})),
        (START, {"enable": "false"}, {"alive": True, "boot": True}, False,
         (True, "Service sun has been disabled, and is in the desired state", {"sun": True})),
        (START, {"enable": True}, {"boot": True}, False,
         (True, "Service sun is already enabled, and is running", {"sun": True})),
        (START, {}, {"fails": ["start"]}, False, (False, "Service sun failed to start", {})),
        (START, {"enable": True}, {"fails": ["start"]}, False,
         (False, "Service sun has been enabled, and is dead", {"sun": True})),
        (START, {}, {"broken": ["start"]}, False, (False, "start is broken", {})),
        (START, {"enable": True}, {"broken": ["enable"]}, False,
         (False, f"{NOT_ENABLED}, but the service is running{DETAILS}enable is broken", {"sun": True})),
        (START, {"enable": False}, {"boot": True, "fails": ["disable"]}, False,
         (False, "Failed when setting service sun to not start at boot, and is running", {"sun": True})),
        (START, {"enabled": True}, {}, False,
         (False, 'Service sun uses non-existent option "enabled".  Perhaps "enable" option was intended?', {})),
        (START, {"init_delay": 0.01}, {}, False,
         (True, "Started service sun\nDelayed return for 0.01 seconds", {"sun": True})),
        (STOP, {}, {"alive": True}, False, (True, "Service sun was killed", {"sun": False})),
        (STOP, {}, {"alive": True}, True, (None, "Service sun is set to be killed", {})),
        (STOP, {}, {}, False, (True, "The service sun is already dead", {})),
        (STOP, {"enable": False}, {"boot": True}, False,
         (True, "Service sun has been disabled, and is in the desired state", {"sun": True})),
        (STOP, {}, {"alive": True, "fails": ["stop"]}, False, (False, "Service sun failed to die", {})),
        (STOP, {}, {"alive": True, "broken": ["stop"]}, False, (False, "stop is broken", {})),
        ("service.enabled", {}, {}, False,
         (True, "Service sun has been enabled, and is in the desired state", {"sun": True})),
        ("service.enabled", {}, {"boot": True}, False,
         (True, "Service sun is already enabled, and is in the desired state", {})),
        ("service.disabled", {}, {"boot": True}, True, (None, "Service sun set to be disabled", {})),
        ("service.masked", {}, {"systemd": True}, False,
         (True, "Service sun was masked", {"masked": {"old": False, "new": True}})),
        ("service.masked", {}, {"systemd": True}, True,
         (None, "Service sun would be masked", {"masked": {"old": False, "new": True}})),
        ("service.masked", {"runtime": True}, {"systemd": True, "masked": True}, False,
         (True, "Service sun is already runtime masked", {})),
        ("service.masked", {}, {}, False, (False, "Service masking not available on this minion", {})),
        ("service.unmasked", {}, {"systemd": True, "masked": True}, False,
         (True, "Service sun was unmasked", {"masked": {"old": True, "new": False}})),
        ("service.unmasked", {}, {"systemd": True}, False, (True, "Service sun was already unmasked", {})),
        ("service.unmasked", {}, {"systemd": True, "masked": True, "fails": ["unmask"]}, False,
         (False, "Failed to unmask service sun", {})),
    ],
)  # fmt: skip
def test_rows(prepare, function, arguments, status, test, expected):  # noqa: PLR0917 - one row of the table
    harness = prepare(**status)
    before = {key: vars(harness.service)[key] for key in ("alive", "boot", "is_masked")}
    row = harness.state(function, name="sun", test=test, **arguments)
    assert (row["result"], row["comment"], row["changes"]) == expected
    if test:
        assert {key: vars(harness.service)[key] for key in before} == before
        assert harness.service.calls == []


@pytest.mark.parametrize(
    ("function", "test", "result", "comment"),
    [
        (START, False, False, "The named service moon is not available"),
        (START, True, None, "Service moon not present; if created in this state run, it would have been started"),
        (STOP, False, True, "The named service moon is not available"),
        (STOP, True, None, "Service moon not present; if created in this state run, it would have been stopped"),
        ("service.enabled", False, False, "The named service moon is not available"),
        ("service.enabled", True, None,
         "Service moon not present; if created in this state run, it would have been enabled"),
        ("service.disabled", False, True, "The named service moon is not available"),
    ],
)  # fmt: skip
def test_a_service_that_is_not_there(prepare, function, test, result, comment):
    row = prepare().state(function, name="moon", test=test)
    assert (row["result"], row["comment"], row["changes"]) == (result, comment, {})


def test_starting_unmasks_first(prepare):
    harness = prepare(systemd=True, masked=True)
    row = harness.state(START, name="sun", unmask=True)
    assert (row["result"], row["comment"]) == (True, "Started service sun\nService sun was unmasked")
    assert harness.service.calls == ["unmask", "start"]


def test_what_only_systemd_can_do_is_a_warning_elsewhere(prepare):
    row = prepare().state(START, name="sun", no_block=True)
    assert row["result"] is True
    assert row["warnings"] == ["The 'no_block' argument is not supported by this platform"]


@pytest.mark.parametrize(
    ("arguments", "alive", "comment", "calls"),
    [
        ({"sfun": "running"}, True, "Service restarted", ["restart"]),
        ({"sfun": "running", "reload": True}, True, "Service reloaded", ["reload"]),
        ({"sfun": "running", "reload": True, "force": True}, True, "Service forcefully reloaded", ["force_reload"]),
        ({"sfun": "running", "full_restart": True}, True, "Service restarted", ["restart"]),
        ({"sfun": "running", "reload": True}, False, "Service started", ["stop", "start"]),
        ({"sfun": "dead"}, True, "Service stopped", ["stop"]),
    ],
)
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


@pytest.mark.parametrize(
    ("name", "units"),
    [
        ("sun", ["sun.service"]),
        ("php8.2-fpm", ["php8.2-fpm.service"]),
        ("sun.timer", ["sun.timer"]),
        ("sun@1", ["sun@1.service", "sun@.service"]),
    ],
)
def test_the_footprint_is_the_service_and_where_it_is_defined(name, units):
    footprint = states.mod_footprint({"name": name, "fun": "running"})
    assert footprint["writes"] == [f"service:{name}", f"processes#{name}"]
    assert states.mod_footprint({"name": name, "fun": "enabled"})["writes"] == [f"service:{name}"]
    own = [path for path in footprint["reads"] if path.startswith("path:/etc/systemd/system/")]
    assert own == [f"path:/etc/systemd/system/{unit}{tree}" for unit in units for tree in ("", ".d/**")]
