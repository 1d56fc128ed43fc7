"""Whatever dies on the way of a run across hosts: what ended runs once, what waits is told why, the report is whole.

Server, agents and operators are real programs on this machine.
"""

import os
import shutil
import signal
import time

import pytest
from fleet_programs import FleetPrograms, until

from asyncstate.fleet.nats.server import running

GOOD = True
DONE = {"db1": {"first": GOOD, "second": GOOD}, "web1": {"page": GOOD, "last": GOOD}}
"""The results of `chain`."""


def chain(fleet):
    """Two states on db1, of which the second is held; web1 waits for it with its last state, not with its first."""
    fleet.tree("db1", app=fleet.state("first") + fleet.state("second", "first", held=True))
    fleet.tree("web1", app=fleet.state("page") + fleet.state("last", "db1/second"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server with two agents that tests share which leave them as they were."""
    with FleetPrograms(tmp_path_factory.mktemp("fleet")) as programs:
        programs.start("db1", "web1")
        yield programs


@pytest.fixture
def fleet(shared):
    shared.forget()
    chain(shared)
    for host in ("db1", "web1"):
        if host not in shared.agents:
            shared.start_agent(host)
    return shared


@pytest.fixture
def own(tmp_path):
    """A fleet whose server a test may end."""
    with FleetPrograms(tmp_path) as programs:
        yield programs


def once(fleet, *states):
    """Say whether each of these states, or each of `chain`, came to its end once."""
    return all(fleet.ran().count(each) == 1 for each in states or ("first", "second", "page", "last"))


def test_an_agent_that_is_killed_goes_on_from_its_journal(fleet):
    applied = fleet.apply("app", "--target", "*")
    fleet.until_begun("second")
    fleet.kill_agent("db1")
    fleet.start_agent("db1")
    fleet.let_go("second")
    end = applied.end()
    assert (end.code, end.results()) == (0, DONE), end.said
    assert once(fleet, "first", "page", "last")  # the program of `second`, which had not ended, outlived its agent


@pytest.mark.slow
def test_what_waits_for_an_agent_that_never_comes_back_fails_with_words(fleet):
    applied = fleet.apply("app", "--target", "*")
    fleet.until_begun("second")
    fleet.kill_agent("db1")
    end = applied.end()
    assert end.code == 2
    assert "db1 is lost: there was no sign of it for" in end.said
    assert end.results()["web1"] == {"page": GOOD, "last": False}
    assert "Host db1 is lost: there was no sign of it for" in end.rows["web1"]["last"]["comment"]
    fleet.let_go("second")
    fleet.start_agent("db1")  # the run is over: its part does not go on
    again = fleet.apply("app", "--target", "*").end()
    assert (again.code, again.results()) == (0, DONE), again.said
    assert once(fleet, "last")


@pytest.mark.slow
def test_what_is_to_wait_for_a_lost_agent_goes_on_when_it_is_back(fleet):
    applied = fleet.apply("app", "--target", "*", "--on-lost", "wait")
    fleet.until_begun("second")
    fleet.kill_agent("db1")
    until(lambda: "db1 is lost" in applied.said())
    fleet.let_go("second")
    fleet.start_agent("db1")
    end = applied.end()
    assert (end.code, end.results()) == (0, DONE), end.said
    assert once(fleet, "first", "page", "last")


@pytest.mark.slow
def test_nobody_waits_for_a_lost_agent_longer_than_the_patience_of_the_run(fleet):
    applied = fleet.apply("app", "--target", "*", "--on-lost", "wait", "--patience", "20")
    fleet.until_begun("second")
    fleet.kill_agent("db1")
    end = applied.end()
    assert (end.code, end.results()["web1"]) == (2, {"page": GOOD, "last": False})
    assert "Host db1 is lost: there was no sign of it for 2" in end.rows["web1"]["last"]["comment"]
    fleet.let_go("second")


def test_a_server_that_is_away_for_a_while_is_waited_for(own):
    own.start("db1", "web1")
    chain(own)
    applied = own.apply("app", "--target", "*")
    own.until_begun("second")
    own.server.stop()
    own.let_go("second")
    until(lambda: "second" in own.ran())  # it ends while nobody can be told
    own.server.start()
    end = applied.end()
    assert (end.code, end.results()) == (0, DONE), end.said
    assert once(own)


@pytest.mark.slow
def test_nobody_is_lost_because_the_server_was_away(own):
    own.start("db1", "web1")
    chain(own)
    applied = own.apply("app", "--target", "*")
    own.until_begun("second")
    os.kill(running(own.server.folder), signal.SIGKILL)
    own.server.stop()
    time.sleep(25)
    own.server.start()
    time.sleep(5)
    own.let_go("second")
    end = applied.end()
    assert (end.code, end.results()) == (0, DONE), end.said
    assert "lost" not in end.said
    assert once(own)


def test_a_run_whose_operators_program_was_killed_is_taken_up(fleet):
    applied = fleet.apply("app", "--target", "*")
    fleet.until_begun("second")
    applied.kill()
    fleet.let_go("second")
    end = fleet.operator("attach", fleet.run(), "--out", "json").end()
    assert (end.code, end.results()) == (0, DONE), end.said
    assert once(fleet)


@pytest.mark.slow
def test_without_the_operators_program_hosts_come_to_an_end_with_words(fleet):
    applied = fleet.apply("app", "--target", "*", "--patience", "3")
    fleet.until_begun("second")
    run = fleet.run()
    applied.kill()
    until(lambda: "There was no sign of the controller of the run for 3 s" in fleet.operator("show", run).end().out)
    fleet.let_go("second")
    until(lambda: fleet.ran().count("second"))
    again = fleet.operator("attach", run, "--out", "json").end()
    assert again.results() == {"db1": {"first": GOOD, "second": GOOD}, "web1": {"page": GOOD, "last": False}}
    assert sorted(fleet.ran()) == ["first", "page", "second"]


def test_an_operators_program_that_was_stopped_takes_nobody_for_lost(fleet):
    applied = fleet.apply("app", "--target", "*")
    fleet.until_begun("second")
    applied.process.send_signal(signal.SIGSTOP)
    fleet.let_go("second")
    until(lambda: "last" in fleet.ran())  # hosts do not need it
    applied.process.send_signal(signal.SIGCONT)
    end = applied.end()
    assert (end.code, end.results()) == (0, DONE), end.said


@pytest.mark.slow
def test_an_operators_program_that_was_stopped_for_long_takes_nobody_for_lost(fleet):
    applied = fleet.apply("app", "--target", "*")
    fleet.until_begun("second")
    applied.process.send_signal(signal.SIGSTOP)
    time.sleep(40)
    applied.process.send_signal(signal.SIGCONT)
    time.sleep(7)
    fleet.let_go("second")
    end = applied.end()
    assert (end.code, end.results()) == (0, DONE), end.said
    assert "lost" not in end.said


@pytest.mark.slow
def test_a_host_that_comes_late_takes_part(fleet):
    fleet.kill_agent("web1", signal.SIGTERM)
    applied = fleet.apply("app", "--target", "L@db1,web1")
    until(lambda: fleet.operator("runs").end().out)
    fleet.start_agent("web1")
    fleet.until_begun("second")
    fleet.let_go("second")
    end = applied.end()
    assert (end.code, end.results()) == (0, DONE), end.said


@pytest.mark.slow
def test_a_host_that_comes_too_late_does_not_run(fleet):
    fleet.kill_agent("web1", signal.SIGTERM)
    applied = fleet.apply("app", "--target", "L@db1,web1", "--deadline", "2")
    fleet.until_begun("second")
    fleet.start_agent("web1")
    fleet.let_go("second")
    end = applied.end()
    assert (end.code, end.results()) == (2, {"db1": DONE["db1"], "web1": {}})
    assert "web1: did not answer within 2 s" in end.said
    again = fleet.apply("app", "--target", "*").end()
    assert (again.code, again.results()) == (0, DONE), again.said
    assert fleet.ran().count("page") == 1


def test_two_runs_at_once_are_one_after_the_other_or_refused_with_words(fleet):
    first = fleet.apply("app", "--target", "*")
    fleet.until_begun("second")
    other = fleet.apply("app", "--target", "*").end()
    assert other.code == 2
    assert "the host takes part in run" in other.said
    fleet.let_go("second")
    end = first.end()
    assert (end.code, end.results()) == (0, DONE), end.said
    assert once(fleet)


@pytest.mark.slow
def test_two_runs_that_begin_at_once_end_both(fleet):
    fleet.let_go("second")
    ends = [each.end() for each in [fleet.apply("app", "--target", "*") for _ in range(3)]]
    assert all(each.code in {0, 2} for each in ends)
    for each in ends:
        if each.code:
            assert "takes part in run" in each.said or "ended without it" in each.said, each
    assert sum(each.code == 0 for each in ends) <= fleet.ran().count("last")


@pytest.mark.slow
def test_another_operator_cancels_a_run(fleet):
    applied = fleet.apply("app", "--target", "*")
    fleet.until_begun("second")
    said = fleet.operator("cancel", fleet.run()[:6], "--now").end()
    assert said.code == 0
    end = applied.end()
    assert end.code == 2
    assert end.results()["web1"]["page"] is GOOD
    assert "last" not in fleet.ran()


def test_an_agent_waits_for_a_server_that_is_not_there_yet(own):
    own.prepare("db1", address="127.0.0.1:0")
    chain(own)
    own.server.start("--listen", "127.0.0.1:0")
    own.server.stop()
    own.start_agent("db1", ready=False)
    until(lambda: "Waiting for the server: no server of the fleet answers at tls://127.0.0.1:" in own.said("db1"))
    own.server.start()
    own.until_ready("db1")


def test_an_agent_whose_key_is_not_known_does_not_wait(own):
    own.start("db1")
    own.command("enroll", "db1", "--dir", own.server.folder.path, "--out", str(own.home / "new"))
    assert own.until_gone("db1") == 1
    assert "does not know the key of db1" in own.said("db1")
    own.start_agent("db1", ready=False)
    assert own.until_gone("db1") == 1
    assert own.said("db1").count("does not know the key of db1") == 2
    shutil.copy(own.home / "new", own.home / "db1" / "creds")
    own.start_agent("db1")
