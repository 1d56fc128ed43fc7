"""Deaths during a run across hosts: ended states ran once, waiting hosts get the reason, the report is whole.

Server, agents and operators are real programs on this machine.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path

import pytest
from fleet_cluster import Cluster
from fleet_programs import FleetPrograms, Operator, until
from message_line import MessageLine
from networks import Networks
from slow_line import SlowLine

from asyncstate.extras.fleet.nats.server import running

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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["again", "late", "swap", "lose", "all"])
def test_messages_that_come_twice_late_in_another_order_or_never_change_nothing(own, kind):
    """Between each party and the server stands a line that does so to every fifth message, or loses every twentieth."""
    faults = dict.fromkeys(("again", "late", "swap") if kind == "all" else (kind,), 0.05 if kind == "lose" else 0.2)
    own.start()
    lengths = 4
    with ExitStack() as stack:
        port = int(own.server.url.rpartition(":")[2])
        lines = [
            stack.enter_context(MessageLine(port, own.server.folder.within, seed=seed, **faults)) for seed in range(3)
        ]
        for host, line in zip(("db1", "web1"), lines, strict=False):
            own.enrol(host)
            own.start_agent(host, url=line.url)
        for host, other in (("db1", "web1"), ("web1", "db1")):  # each state waits for the one before on the other host
            before = [
                [] if n == 0 and host == "db1" else [f"{other}/{other}-{n - (host == 'db1')}"] for n in range(lengths)
            ]
            own.tree(host, app="".join(own.state(f"{host}-{n}", *before[n]) for n in range(lengths)))
        end = own.apply("app", "--target", "*", url=lines[2].url).end()
        assert all(sum(line.done[each] for line in lines) for each in faults)
        own.stop_agents()
    assert end.code == 0, end.said
    assert own.ran() == [f"{host}-{n}" for n in range(lengths) for host in ("db1", "web1")]
    assert end.results() == {host: {f"{host}-{n}": GOOD for n in range(lengths)} for host in ("db1", "web1")}


@pytest.fixture
def parted(own):
    """A fleet whose host db1 is behind a cable."""
    with Networks() as networks:
        own.server.prefix = networks.outside
        own.prepare("db1", "web1", address=f"{networks.OUTSIDE}:4222")
        own.server.start()
        own.start_agent("db1", prefix=networks.inside)
        own.start_agent("web1")
        chain(own)
        yield networks


@pytest.mark.slow
def test_a_network_that_is_parted_for_a_moment_is_not_noticed(own, parted):
    applied = own.apply("app", "--target", "*")
    own.until_begun("second")
    parted.cut()
    own.let_go("second")
    until(lambda: "second" in own.ran())
    time.sleep(3)
    parted.heal()
    end = applied.end()
    assert (end.code, end.results()) == (0, DONE), end.said
    assert once(own)


@pytest.mark.slow
def test_a_network_that_is_parted_for_long_and_heals(own, parted):
    applied = own.apply("app", "--target", "*", "--on-lost", "wait")
    own.until_begun("second")
    parted.cut()
    own.let_go("second")
    until(lambda: "db1 is lost" in applied.said())
    time.sleep(20)  # both ends have given up their connection
    parted.heal()
    end = applied.end()
    assert (end.code, end.results()) == (0, DONE), end.said
    assert once(own)


@pytest.mark.slow
def test_a_network_that_is_parted_and_does_not_heal(own, parted):
    applied = own.apply("app", "--target", "*")
    own.until_begun("second")
    parted.cut()
    own.let_go("second")
    end = applied.end()
    assert (end.code, end.results()["web1"]) == (2, {"page": GOOD, "last": False})
    assert "Host db1 is lost: there was no sign of it for" in end.rows["web1"]["last"]["comment"]
    assert once(own, "first", "second", "page")
    assert "last" not in own.ran()


@pytest.mark.slow
def test_a_host_on_a_slow_link_is_not_lost(own):
    """At 4 kB/s, and with more to report than goes through while the states run."""
    with SlowLine(4000) as line:
        own.start("web1")
        line.to(own.server.url)
        own.enrol("db1")
        noise = "head -c 15000 /dev/urandom | base64 -w 0 #"
        states = "".join(f"s{n}:\n  cmd.run:\n    - name: '{noise} {n}'\n" for n in range(10))
        own.tree("db1", app=states)
        own.tree("web1", app=own.state("page"))
        own.start_agent("db1", url=line.url)
        end = own.apply("app", "--target", "*", "--deadline", "120").end(400)
    assert "lost" not in end.said
    assert end.code == 0, end.said
    assert len(end.results()["db1"]) == 10


CLOCK = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec += atol(getenv("HOURS_AHEAD")) * 3600;
    return failed;
}
time_t time(time_t *kept) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (kept) *kept = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *found, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    found->tv_sec = now.tv_sec;
    found->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


@pytest.fixture(scope="module")
def other_clock(tmp_path_factory):
    """A function that returns the environment of programs whose clock is hours ahead."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler, to give programs another clock")
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "clock.so", folder / "clock.c"], check=True)
    return lambda hours: {"LD_PRELOAD": str(folder / "clock.so"), "HOURS_AHEAD": str(hours)}


@pytest.mark.slow
@pytest.mark.parametrize("hours", [-11, 11])
def test_clocks_that_differ_by_hours_change_nothing(own, other_clock, hours):
    own.start()
    chain(own)
    for host, ahead in (("db1", hours), ("web1", -hours)):
        own.enrol(host)
        own.start_agent(host, environ=other_clock(ahead))
    own.let_go("second")
    end = own.apply("app", "--target", "*").end()
    assert (end.code, end.results()) == (0, DONE), end.said
    assert once(own)


@pytest.mark.slow
def test_a_clock_that_is_more_than_a_day_wrong_is_told(own, other_clock):
    own.start()
    chain(own)
    own.enrol("db1")
    own.start_agent("db1", ready=False, environ=other_clock(-30))
    assert own.until_gone("db1") == 1
    assert "certificate is not yet valid" in own.said("db1")
    assert "Is the clock of this machine right?" in own.said("db1")
    own.start_agent("db1", ready=False, environ=other_clock(24 * 800))
    assert own.until_gone("db1") == 1
    assert "certificate has expired" in own.said("db1")
    own.start_agent("db1", environ=other_clock(30))
    end = own.apply("app", "--target", "L@db1", "--deadline", "3").end()
    words = "was issued 30 hours ago by the clock of this host. More than 24 hours are refused: set"
    assert (end.code, end.said.startswith("db1: this host refuses the offer: ")) == (1, True), end.said
    assert words in end.said
    assert words in own.said("db1")
    assert own.ran() == []


TMPFS = 'mkdir -p "$0" && mount -t tmpfs -o size=3m,mode=700 none "$0" && exec "$@"'


@pytest.fixture
def small_disk(own):
    """The folder of db1's state directory, on a disk of its own of a few megabytes."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and the program unshare, to mount a file system for itself")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this sandbox gives no mount namespaces")
    own.start("web1")
    own.enrol("db1")
    chain(own)
    state_dir = str(own.home / "db1" / "state")
    own.start_agent("db1", prefix=["unshare", "--mount", "sh", "-c", TMPFS, state_dir])
    return Path(f"/proc/{own.agents['db1'].pid}/root{state_dir}")


def fill(folder):
    with open(folder / "filler", "wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    assert not os.statvfs(folder).f_bavail


@pytest.mark.slow
def test_a_disk_that_is_full_before_a_run(own, small_disk):
    fill(small_disk)
    end = own.apply("app", "--target", "*").end()
    assert end.code
    assert "No space left on device" in end.said
    assert own.ran() == []
    (small_disk / "filler").unlink()
    own.let_go("second")
    again = own.apply("app", "--target", "*").end()
    assert (again.code, again.results()) == (0, DONE), again.said
    assert once(own)


@pytest.mark.slow
def test_a_disk_that_gets_full_in_the_middle_of_a_run(own, small_disk):
    more = [f"more{number}" for number in range(20)]
    texts = [own.state(each, before) for before, each in pairwise(["second", *more])]
    own.tree("db1", app=own.state("first") + own.state("second", "first", held=True) + "".join(texts))
    applied = own.apply("app", "--target", "*")
    own.until_begun("second")
    fill(small_disk)
    own.let_go("second")
    end = applied.end()
    assert (end.code, end.results()["web1"]) == (0, DONE["web1"]), end.said
    assert list(end.results()["db1"].values()) == [GOOD] * 22
    assert once(own, "first", "second", "page", "last", *more)
    (small_disk / "filler").unlink()
    again = own.apply("app", "--target", "*").end()
    assert (again.code, again.results()["web1"]) == (0, DONE["web1"]), again.said


@pytest.fixture
def clustered(own, tmp_path, unused_tcp_port_factory):
    """The servers of a fleet that stands on three of them."""
    cluster = Cluster(tmp_path, [unused_tcp_port_factory() for _ in range(6)])
    own.prepare("db1", "web1", replicas=3)
    for number in range(3):
        cluster.start(number)
    try:
        own.server.url = cluster.url
        until(lambda: not own.operator("status").end().code)
        for host in ("db1", "web1"):
            own.start_agent(host)
        yield cluster
        own.stop_agents()
    finally:
        cluster.end_all()


@pytest.mark.slow
def test_one_of_three_clustered_servers_is_lost(own, clustered):
    for lost in range(3):
        own.forget()
        chain(own)
        applied = own.apply("app", "--target", "*")
        own.until_begun("second")
        clustered.end(lost)
        own.let_go("second")
        end = applied.end()
        assert (end.code, end.results()) == (0, DONE), end.said
        assert once(own)
        clustered.start(lost)
        asyncio.run(clustered.until_whole())


@pytest.mark.slow
def test_two_of_three_clustered_servers_are_away_for_a_minute(own, clustered):
    """The third is there and can do nothing: it has no majority. Nothing ends, and nobody is lost."""
    chain(own)
    applied = own.apply("app", "--target", "*")
    own.until_begun("second")
    for lost in (1, 2):
        clustered.end(lost)
    time.sleep(5)
    looking = own.operator("status")
    own.let_go("second")
    until(lambda: "second" in own.ran())  # it ends while nobody can be told
    time.sleep(55)
    assert applied.process.poll() is None
    for back in (1, 2):
        clustered.start(back)
    end = applied.end()
    assert (end.code, end.results()) == (0, DONE), end.said
    assert "lost" not in end.said
    assert once(own)
    assert looking.end().code == 0
    assert all(agent.poll() is None for agent in own.agents.values())
    own.forget()
    own.let_go("second")
    asyncio.run(clustered.until_whole())
    again = own.apply("app", "--target", "*").end()
    assert (again.code, again.results()) == (0, DONE), again.said


def local_apply(fleet, host, *words):
    """Start `asyncstate apply` on a host, beside its agent."""
    command = [sys.executable, "-m", "asyncstate", "apply", *words, "--file-root", str(fleet.home / host / "tree")]
    return Operator(command, fleet.environ(host), fleet.home / host / "apply.stderr")


def test_a_run_waits_for_a_local_one_on_its_host_and_says_so_if_it_waited_in_vain(fleet):
    fleet.tree("db1", local=fleet.state("local", held=True))
    local = local_apply(fleet, "db1", "local")
    fleet.until_begun("local")
    fleet.let_go("second")
    end = fleet.apply("app", "--target", "*", "--patience", "2").end()
    assert end.code == 2
    assert "db1: another run on this host (process " in end.said
    assert "Host db1 ended without it: another run on this host (process " in end.rows["web1"]["last"]["comment"]
    applied = fleet.apply("app", "--target", "*")
    until(lambda: fleet.ran().count("page") == 2)
    fleet.let_go("local")
    assert local.end().code == 0
    end = applied.end()
    assert (end.code, end.results()) == (0, DONE), end.said
    assert once(fleet, "first", "second", "last", "local")


@pytest.mark.slow
def test_a_local_run_beside_one_across_hosts_is_refused_with_words(fleet):
    fleet.tree("db1", local=fleet.state("local"))
    applied = fleet.apply("app", "--target", "*")
    fleet.until_begun("second")
    refused = local_apply(fleet, "db1", "local").end()
    assert refused.code == 75
    assert f"run.lock: process {fleet.agents['db1'].pid}, since " in refused.said
    fleet.let_go("second")
    assert applied.end().code == 0
    assert local_apply(fleet, "db1", "local").end().code == 0


@pytest.mark.slow
def test_a_host_that_is_revoked_in_the_middle_of_a_run_is_lost_and_ends(own):
    own.start("db1", "web1")
    chain(own)
    applied = own.apply("app", "--target", "*")
    own.until_begun("second")
    own.command("revoke", "db1", "--dir", own.server.folder.path)
    own.let_go("second")
    assert own.until_gone("db1") == 1
    assert "does not know the key of db1" in own.said("db1")
    assert own.ran().count("second") == 1  # what ran came to its end
    end = applied.end()
    assert (end.code, end.results()["web1"]) == (2, {"page": GOOD, "last": False})
    assert "Host db1 is lost" in end.rows["web1"]["last"]["comment"]
    assert own.operator("status").end().out.startswith("web1: there")


@pytest.mark.slow
def test_an_operators_key_is_replaced_and_the_old_one_is_good_for_nothing(own):
    own.start("db1")
    own.tree("db1", app=own.state("first"))
    creds = Path(own.server.folder.path, "operator.creds")
    own.server.stop()
    creds.rename(own.home / "old")
    own.server.start()
    refused = own.apply("app", "--target", "db1").end()
    assert refused.code == 1
    words = (
        "signed with a key that this host does not trust. If the fleet has a new operator's key, enrol the host again."
    )
    assert refused.said.startswith("db1: this host refuses the offer: ")
    assert words in refused.said
    until(lambda: words in own.said("db1"))
    own.kill_agent("db1", signal.SIGTERM)
    own.enrol("db1")
    own.start_agent("db1")
    assert own.apply("app", "--target", "db1").end().code == 0
    assert own.ran() == ["first"]
    creds.rename(own.home / "new")
    shutil.copy(own.home / "old", creds)
    old = own.operator("status").end()
    assert (old.code, "does not know the key of operator" in old.said) == (1, True)
    (own.home / "new").rename(creds)
