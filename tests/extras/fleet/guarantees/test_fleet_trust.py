"""Refusals of a host, whoever has a key of the fleet: by its policy, and of old runs. Real programs."""

import asyncio
import json
import shutil

import pytest
from fleet_programs import FleetPrograms, until

from asyncstate.extras.fleet import subjects


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with FleetPrograms(tmp_path_factory.mktemp("fleet")) as programs:
        programs.start()
        for host in ("db1", "web1"):
            programs.enrol(host)
        configure(programs, allow_sls=["app", "web.*"], allow_functions=["cmd.run"])
        for host in ("db1", "web1"):
            programs.start_agent(host)
        yield programs


def configure(fleet, **policy):
    (fleet.home / "db1" / "config.yaml").write_text(json.dumps({"fleet_policy": policy}))


@pytest.mark.slow
def test_what_a_policy_forbids_is_told_by_setting_and_file_and_the_others_go_on(fleet):
    fleet.forget()
    fleet.tree(
        "db1", app=fleet.state("database"), evil="{% do salt['cmd.run']('touch " + str(fleet.out) + "/evil') %}\n"
    )
    fleet.tree("web1", app=fleet.state("site"), evil=fleet.state("site"))
    config = fleet.home / "db1" / "config.yaml"
    end = fleet.apply("evil", "--target", "*").end()
    assert end.code == 2
    words = f"db1: this host does not allow the SLS evil (allow_sls of fleet_policy in {config}: app, web.*)"
    assert words in end.said
    assert f"is refused: {words.removeprefix('db1: ')}" in fleet.said("db1")
    assert end.results() == {"db1": {}, "web1": {"site": True}}
    fleet.tree("db1", app="include: [evil]\n" + fleet.state("database"))
    end = fleet.apply("app", "--target", "*").end()
    assert "this host does not allow the SLS evil" in end.said
    fleet.tree("db1", app=fleet.state("database") + "more:\n  test.nop: []\n")
    end = fleet.apply("app", "--target", "*").end()
    assert f"this host does not allow the function test.nop (allow_functions of fleet_policy in {config}: " in end.said
    assert "/db1/tree/app.sls:5) asks for it" in end.said
    assert not (fleet.out / "evil").exists()
    assert "database" not in fleet.ran()
    fleet.tree("db1", app=fleet.state("database"))
    assert fleet.apply("app", "--target", "*").end().code == 0
    assert fleet.ran().count("database") == 1


@pytest.mark.slow
def test_a_slip_in_a_policy_keeps_the_agent_from_starting(fleet):
    fleet.kill_agent("db1")
    configure(fleet, allow_slss=["app"])
    fleet.start_agent("db1", ready=False)
    assert fleet.until_gone("db1") == 1
    assert "fleet_policy: there is no setting 'allow_slss'. Did you mean 'allow_sls'?" in fleet.said("db1")
    configure(fleet, deny_test_false=True)
    fleet.start_agent("db1")
    fleet.forget()
    fleet.tree("db1", app=fleet.state("database"))
    end = fleet.apply("app", "--target", "db1").end()
    assert (end.code, "allows dry runs only (deny_test_false of fleet_policy in " in end.said) == (1, True)
    assert fleet.apply("app", "--target", "db1", "--test").end().code == 0
    assert fleet.ran() == []


def test_an_old_offer_is_refused_whoever_sends_it_again(fleet):
    fleet.forget()
    fleet.tree("web1", app=fleet.state("site"))
    assert fleet.apply("app", "--target", "web1").end().code == 0
    run = fleet.run()
    asyncio.run(again(fleet, run))
    fleet.kill_agent("web1")
    kept = fleet.home / "web1" / "state" / "fleet" / "web1" / f"{run}.run"
    shutil.move(kept, fleet.home)  # a host that forgets what it did still knows what it took
    fleet.start_agent("web1")
    until(lambda: f"run {run} was taken before: its offer was sent again" in fleet.said("web1"))
    assert fleet.ran() == ["site"]


async def again(fleet, run):
    """Write what is on the board anew, as one does who has taken over the server."""
    async with fleet.server.board() as board:
        for key in (subjects.offer("web1", run), subjects.go("web1", run)):
            await board.put(key, await board.get(key))


@pytest.mark.slow
def test_a_hosts_key_is_replaced_in_the_middle_of_a_run_which_goes_on_with_the_new_one(tmp_path):
    with FleetPrograms(tmp_path) as own:
        own.start("db1", "web1")
        own.tree("db1", app=own.state("first") + own.state("second", "first", held=True) + own.state("third", "second"))
        own.tree("web1", app=own.state("last", "db1/third"))
        applied = own.apply("app", "--target", "*", "--on-lost", "wait")
        own.until_begun("second")
        new = own.home / "new"
        own.command("enroll", "db1", "--dir", own.server.folder.path, "--out", str(new))
        own.let_go("second")
        assert own.until_gone("db1") == 1
        assert "does not know the key of db1" in own.said("db1")
        shutil.copy(new, own.home / "db1" / "creds")
        own.start_agent("db1")
        end = applied.end()
        assert end.code == 0, end.said
        assert own.ran() == ["first", "second", "third", "last"]
