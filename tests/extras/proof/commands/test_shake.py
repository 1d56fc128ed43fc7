"""asyncstate shake with simulated rooms: its output, its files and its exit code."""

from __future__ import annotations

import errno
import itertools
import json
import os
import signal
import threading
from functools import partial

import pytest
from plans import PlanBuilder

from asyncstate.cli import main
from asyncstate.errors import AsyncStateError
from asyncstate.extras.proof.shake.outcome import Entry, Outcome

PLAN = PlanBuilder().chunk("conf", "file.managed", name="/etc/x").chunk("make", "cmd.run").chunk("rest").build()


class SimulatedRooms:
    """The file ``/out`` is other if make runs before conf."""

    wrong = True
    failed = False
    ended = ""
    late: dict = {}  # noqa: RUF012
    """What happens in the run with this number, counted from 0."""
    options: dict
    closed: threading.Event

    def __init__(self, root, settings, job, **options):
        type(self).options = {"root": root, "sls": job.sls, **options}
        type(self).closed = threading.Event()
        self._numbers = itertools.count()

    def first(self):
        self._happens()
        return PLAN, self._outcome(True)

    def _happens(self):
        self.late.get(next(self._numbers), lambda: None)()

    def _outcome(self, right):
        row = {"result": not self.failed, "comment": "no\nluck", "changes": {}}
        entry = Entry("file", 0o644, 0, 0, "right" if right or not self.wrong else "wrong")
        return Outcome({PLAN.chunks[2].tag: row}, {"/out": entry, "/srv/cache/1": entry}, self.ended)

    def run(self, priority, *, keep=""):
        self._happens()
        if keep:
            open(os.path.join(keep, "out"), "w").close()
        return self._outcome(priority[0] < priority[1])

    def before(self, _path):
        return None

    def close(self):
        self.closed.set()


@pytest.fixture
def rooms(monkeypatch):
    class Rooms(SimulatedRooms):
        pass

    monkeypatch.setattr("asyncstate.extras.proof.shake.rooms.Rooms", Rooms)
    monkeypatch.setattr("asyncstate.extras.proof.shake.rooms.refusal", lambda root: "no" if root == "/" else "")
    return Rooms


@pytest.fixture
def shake(tmp_path, capfd, rooms):
    (tmp_path / "salt").mkdir()

    def call(*words):
        code = main(["shake", "web", "--root", str(tmp_path), "--file-root", f"{tmp_path}/salt", *map(str, words)])
        return code, *capfd.readouterr()

    return call


def test_a_difference_is_a_finding(shake, rooms, tmp_path):
    code, out, errors = shake()
    assert code == 2
    assert "cmd.run: make must run after file.managed: conf (/etc/x), and nothing says so" in out
    assert out.endswith("1 order missing: 3 states delayed, 6 runs.\n")
    assert "3 states; one run takes" in errors
    assert "orders to try" in errors
    assert rooms.options == {"root": str(tmp_path), "sls": ["web"], "network": False, "limit": None}


def test_no_difference(shake, rooms):
    rooms.wrong = False
    code, out, _ = shake("-j", 2)
    assert (code, out) == (0, "No difference: 3 states delayed, 4 runs.\n")


def test_data(shake):
    code, out, errors = shake("--out", "json", "--ignore", "/srv/cache/*")
    (found,) = json.loads(out)["found"]
    assert (code, errors) == (2, "")
    assert [each["name"] for each in found["differences"]] == ["/out"]
    assert found["earlier"]["state"].startswith("file_|-conf")


def test_only_one_state(shake):
    assert shake("--only", "rest")[0] == 0
    assert shake("--only", "conf")[0] == 2
    code, _, errors = shake("--only", "cnf")
    assert code == 1
    assert "Did you mean 'conf'?" in errors


def test_kept_roots(shake, tmp_path):
    assert shake("--keep", tmp_path / "kept")[0] == 2
    assert sorted(os.listdir(tmp_path / "kept")) == ["1", "serial"]
    code, _, errors = shake("--keep", tmp_path / "kept")
    assert code == 1
    assert "is not an empty folder" in errors


def test_what_failed_in_the_serial_run_is_said(shake, rooms):
    rooms.failed = True
    _, _, errors = shake()
    assert "1 state failed in the serial run: what they would do is not tried\n  test.nop: rest: no luck" in errors


def test_a_serial_run_that_breaks_off_cannot_be_compared(shake, rooms):
    rooms.ended = "a state with failhard failed: x"
    code, out, errors = shake()
    assert (code, out) == (1, "")
    assert "the serial run broke off: a state with failhard failed: x" in errors


def test_what_was_found_is_reported_when_the_time_is_over(shake, rooms):
    for seconds in (0.7, 5, 50):  # until the runs before the late one have ended in time
        begun = []
        rooms.late = {3: partial(begun.append, 3), 4: lambda: rooms.closed.wait(50)}
        code, out, errors = shake("--timeout", seconds, "-j", 1)
        assert code == 124
        if begun:
            break
    assert "out of time: the search is not complete" in errors
    assert "test.nop: conf must run before" not in out
    assert "file.managed: conf (/etc/x) must run before a later state, and nothing says so" in out
    assert out.endswith("Cut off: 0 states not delayed yet.\n")


def test_the_first_run_is_out_of_time(shake, rooms):
    rooms.late = {0: lambda: rooms.closed.wait(50)}
    code, out, errors = shake("--timeout", 0.3, "--out", "json")
    assert (code, json.loads(out)["complete"], json.loads(out)["runs"]) == (124, False, 0)
    assert "out of time: the search is not complete" in errors


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_what_was_found_is_reported_at_a_signal(shake, rooms, name):
    number = getattr(signal, name)

    def interrupted():
        os.kill(os.getpid(), number)
        rooms.closed.wait(50)

    rooms.late = {4: interrupted}
    code, out, errors = shake("--out", "json", "-j", 1)
    data = json.loads(out)
    assert code == 128 + number
    assert f"{name}: the search is not complete" in errors
    assert not data["complete"]
    assert len(data["found"]) + len(data["unexplained"]) == 1


def test_what_was_found_is_reported_when_a_run_cannot_be_made(shake, rooms):
    def full():
        raise OSError(errno.ENOSPC, "No space left on device")

    rooms.late = {4: full}
    code, out, errors = shake("-j", 1)
    assert code == 1
    assert "must run before a later state" in out
    assert "the search is not complete: [Errno 28] No space left on device" in errors


def test_progress(shake, rooms, monkeypatch):
    monkeypatch.setattr("asyncstate.extras.proof.shake.progress._EVERY", 0)
    _, _, errors = shake("--progress", "plain", "--out", "json", "-j", 1)
    assert "2 orders to try, about" in errors
    assert "1 of 2 orders tried" in errors
    assert "; there is a difference: looking for the two states" in errors
    assert shake("--progress", "none")[2] == ""


def test_wrong_usage(shake, rooms):
    assert shake("--root", "/")[0] == 1
    assert shake("--implicit-order", "x")[0] == 1
    assert main(["shake", "web"]) == 1

    def broken(self):
        raise AsyncStateError("no overlay")

    rooms.first = broken
    code, _, errors = shake()
    assert code == 1
    assert "no overlay" in errors
