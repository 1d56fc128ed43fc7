"""Rows of a dry run for states that depend on one that is to change."""

import asyncio

import pytest
from messages import said as said_of
from msgspec import structs
from plans import PlanBuilder

from asyncstate.ahead.foresight import Foresight
from asyncstate.compile.planning import Touched
from asyncstate.dunders import NOT_TOLD
from asyncstate.effects.declared import Footprint
from asyncstate.model.dag import FOOTPRINT
from asyncstate.model.plan import Contradiction, NodeKind
from asyncstate.model.result import STATE_RAN
from asyncstate.run.gate import Verdict
from asyncstate.run.machine import Work
from asyncstate.run.rows import sub_rows

GONE = "path:/nonexistent/of/tests"
THERE = "path:/etc"


def row(result, changes=None, **more):
    return {"name": "n", "result": result, "changes": changes or {}, "comment": "as it is", **more}


def pair(first, second, *, first_function="file.managed", second_function="file.replace", args=None, **requisites):
    """A plan of two states, what they touch, and the row of the second after the first is to change."""
    plan = PlanBuilder().chunk("a", first_function).chunk("b", second_function, args=args, **requisites).build()
    return plan, Touched([first, second], {})


class Rows:
    """A dispatch that returns these rows."""

    def __init__(self, rows):
        self.rows = rows

    async def run_chunk(self, work, chunk):
        return self.rows[chunk.index]


def last_row(plan, touched, *rows, kind=NodeKind.CHUNK, verdict=Verdict.MET):
    """The last of the rows of a plan's states; ``kind`` and ``verdict`` are its own."""

    async def looked_up():
        return touched

    async def completed():
        foresight = Foresight(plan, Rows(rows), looked_up)
        for chunk in plan.chunks[:-1]:
            await foresight.run_chunk(Work(chunk.index, NodeKind.CHUNK, chunk.index), chunk)
        last = plan.chunks[-1]
        return await foresight.run_chunk(Work(last.index, kind, last.index, verdict), last)

    return asyncio.run(completed())


def second_row(planned, first, second, **last):
    return last_row(*planned, first, second, **last)


@pytest.mark.parametrize("second", ["user:app", "service:app", "path:/etc/app.conf"])
@pytest.mark.parametrize(("changes", "told"), [({"p": {"old": "", "new": "1"}}, True), ({"p": {"old": "1"}}, False)])
def test_a_new_package_may_bring_what_is_missing(changes, told, second):
    misses = Footprint(reads=(second,))
    planned = pair(Footprint(writes=("pkgdb",)), misses, first_function="pkg.installed", require=["a"])
    last = second_row(planned, row(None, changes), row(False))
    assert (last.get(NOT_TOLD, False), last["result"]) == (told, None if told else False)


@pytest.mark.parametrize(
    ("result", "comment", "told"),
    [
        (False, "umount: /srv: target is busy: process 5 (app) uses it", True),
        (False, "unknown filesystem type 'oddfs'", False),
        (True, "Target was already unmounted", False),
        (None, "/srv would be mounted", False),
    ],
)
def test_a_state_that_ends_processes_may_free_a_mount(result, comment, told):
    mount = Footprint(reads=("processes",), writes=("mount:/srv",))
    ends = {"first_function": "service.dead", "second_function": "mount.unmounted"}
    planned = pair(Footprint(writes=("service:app", "processes#app")), mount, **ends, require=["a"])
    assert second_row(planned, row(None), row(result, comment=comment)).get(NOT_TOLD, False) is told


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("mount.unmounted", True),
        ("cmd.run", True),
        ("file.absent", False),
        ("service.running", False),
        ("kmod.present", False),
    ],
)
def test_what_leaves_processes_and_mounts_alone_frees_no_mount(function, told):
    mount = Footprint(reads=("processes",), writes=("path:/srv", "path:/srv/**", "mount:/srv"))
    first = Footprint(writes=("processes#a",) if function == "service.running" else ("path:/srv/x", "path:/srv/x/**"))
    planned = pair(first, mount, first_function=function, second_function="mount.unmounted", require=["a"])
    busy = row(False, comment="umount: /srv: target is busy: /srv/x is mounted on it")
    assert second_row(planned, row(None), busy).get(NOT_TOLD, False) is told


def test_two_states_that_end_processes_do_not_decide_each_other():
    ends = Footprint(writes=("processes#packages",))
    planned = pair(ends, ends, first_function="pkg.removed", second_function="pkg.removed", require=["a"])
    assert second_row(planned, row(None), row(True)).get(NOT_TOLD, False) is False


WRITES = Footprint(writes=(f"{GONE}/x",))
READS = Footprint(reads=(f"{GONE}/x",))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (WRITES, READS),
        (WRITES, WRITES),
        (WRITES, Footprint(reads=(f"{GONE}/**",))),
        (Footprint(writes=(f"{GONE}/**",)), READS),
        (Footprint(makes=(GONE,)), READS),
        (Footprint(makes=(f"{GONE}?0700:a:b",)), READS),
        (Footprint(writes=(f"{GONE}/x#entry",)), READS),
        (Footprint(writes=(f"{GONE}/x#entry",)), Footprint(writes=(f"{GONE}/x#entry/of",))),
        (Footprint(writes=("user:app",)), Footprint(reads=("user:app#id",))),
        (Footprint(writes=("pkgdb",)), Footprint(writes=("pkgdb",))),
        (Footprint(unknown="a script"), READS),
    ],
)
def test_a_state_that_needs_what_is_to_come_has_not_failed(first, second):
    said = second_row(pair(first, second, require=["a"]), row(None), row(False))
    assert (said["result"], said["changes"], said[NOT_TOLD]) == (None, {}, True)
    assert said["comment"].startswith(said_of("not-told-yet", states="s.a has run"))
    assert said["comment"].endswith("Now: as it is")


@pytest.mark.parametrize("comment", ["as it is", ["as it", "is"], ""])
@pytest.mark.parametrize("result", [True, False])
def test_sub_states_follow_their_state(result, comment):
    low = {"name": "part", "state": "file", "__id__": "b", "fun": "managed"}
    sub = {"low": low, "result": result, "changes": {"x": 1}, "comment": comment}
    row_of_b = row(result, sub_state_run=[sub, "malformed"], start_time="10:00:00.000000")
    said = second_row(pair(WRITES, READS, require=["a"]), row(None), row_of_b)
    good, malformed = sub_rows(said, {**low, "__sls__": "s"}).values()
    assert (good["result"], good["changes"], good[NOT_TOLD]) == (None, {}, True)
    assert good["comment"].startswith(said_of("not-told-yet", states="s.a has run"))
    assert good["comment"].endswith("is") is bool(comment)
    assert (malformed["result"], malformed.get(NOT_TOLD)) == (False, None)


def test_a_state_that_a_run_refuses_calls_no_sub_states():
    plan, touched = pair(WRITES, READS, require=["a"])
    plan = structs.replace(plan, contradictions=(Contradiction("E431", 0, 1, "it is refused", "say so"),))
    said = second_row((plan, touched), row(None), row(None, sub_state_run=[{"result": None, "changes": {}}]))
    assert said == row(False, comment="it is refused; say so.")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (WRITES, Footprint(reads=(f"{GONE}/y",))),
        (Footprint(writes=(f"{GONE}/x#one",)), Footprint(writes=(f"{GONE}/x#two",))),
        (Footprint(makes=(THERE,)), Footprint(reads=(f"{THERE}/nonexistent",))),
        (READS, READS),
        (Footprint(), READS),
    ],
)
def test_a_state_fails_if_nothing_that_it_needs_is_to_come(first, second):
    assert second_row(pair(first, second, require=["a"]), row(None), row(False))["result"] is False


def test_a_state_that_does_not_wait_for_the_other_fails():
    """Another order of the two is as good, so it cannot count on the first."""
    assert second_row(pair(WRITES, READS), row(None), row(False))["result"] is False


def test_a_footprint_edge_is_as_good_as_a_requisite():
    planned = pair(WRITES, READS)
    planned[0].dag.add(0, 1, FOOTPRINT, (f"{GONE}/x",))
    assert second_row(planned, row(None), row(False))["result"] is None


def test_all_states_that_are_to_change_are_named():
    builder = PlanBuilder().chunk("a", name="one").chunk("b", require=["a"])
    plan = builder.chunk("c", require=["a", "b"]).build()
    touched = Touched([WRITES, WRITES, READS], {})
    last = last_row(plan, touched, row(None), row(None), row(False))

    said = said_of("not-told-yet", states="s.a and s.b have run, which change /nonexistent/of/tests/x. Now: as it is")
    assert last["comment"] == said


def test_states_between_two_do_not_part_them():
    builder = PlanBuilder().chunk("a").chunk("between", require=["a"]).set("all", "between")
    plan = builder.chunk("b", require=["all"]).build()
    touched = Touched([WRITES, Footprint(), READS], {})
    last = last_row(plan, touched, row(None), row(True), row(False))

    assert last["result"] is None


@pytest.mark.parametrize("first", [row(True), row(False)])
def test_a_state_that_is_not_to_change_explains_nothing(first):
    assert second_row(pair(WRITES, READS, require=["a"]), first, row(False))["result"] is False


NOT_CALLED = {STATE_RAN: False}


@pytest.mark.parametrize(
    ("kind", "verdict", "second", "told"),
    [
        ("onchanges", Verdict.ONCHANGES, row(True, **NOT_CALLED), False),
        ("watch", Verdict.ONCHANGES, row(True, **NOT_CALLED), False),
        ("watch", Verdict.MET, row(True), False),
        ("require", Verdict.MET, row(True), True),
        ("onchanges", Verdict.FAIL, row(False, **NOT_CALLED), True),
        ("onfail", Verdict.ONFAIL, row(True, **NOT_CALLED), True),
    ],
)
def test_a_state_that_waits_for_changes_that_are_not_shown_cannot_be_told(kind, verdict, second, told):
    planned = pair(Footprint(), Footprint(), first_function="cmd.script", **{kind: ["a"]})
    for first in (row(None, **{NOT_TOLD: True}), row(None)):
        assert second_row(planned, first, dict(second), verdict=verdict).get(NOT_TOLD, False) is not told
    assert NOT_TOLD not in second_row(planned, row(None, {"x": 1}), dict(second), verdict=verdict)


def test_changes_without_a_dry_run_count_as_to_change():
    assert second_row(pair(WRITES, READS, require=["a"]), row(True, {"x": 1}), row(False))["result"] is None


@pytest.mark.parametrize(
    "second", [row(None), row(None, {"x": 1}), row(True, {"x": 1}), row(False, **{STATE_RAN: False})]
)
def test_rows_that_say_enough_stay(second):
    assert second_row(pair(WRITES, READS, require=["a"]), row(None), dict(second)) == second


def test_the_row_of_a_prereq_check_is_completed_and_that_of_a_listener_is_not():
    planned = pair(WRITES, READS, require=["a"])
    assert second_row(planned, row(None), row(False), kind=NodeKind.CHECK)["result"] is None
    assert second_row(planned, row(None), row(False), kind=NodeKind.LISTENER)["result"] is False


@pytest.mark.parametrize(
    "case",
    [
        (WRITES, "file.managed", {}, READS, "file.managed", False),
        (Footprint(makes=(THERE,)), "file.managed", {}, Footprint(writes=(f"{THERE}/x",)), "file.managed", True),
        (Footprint(makes=(GONE,)), "file.managed", {}, Footprint(reads=(f"{GONE}/**",)), "file.missing", False),
        # another mode of a folder leaves alone what is in it
        (Footprint(writes=(THERE,)), "file.directory", {}, Footprint(reads=(THERE,)), "file.managed", True),
        (Footprint(writes=(THERE,)), "file.directory", {}, Footprint(writes=(THERE,)), "file.directory", False),
        (Footprint(writes=(f"{THERE}/**",)), "file.directory", {}, Footprint(reads=(THERE,)), "file.managed", False),
        (Footprint(writes=(THERE,)), "file.symlink", {}, Footprint(writes=(f"{THERE}/x",)), "file.managed", False),
        # what a package brings is not there yet if the package is new
        (Footprint(writes=("formula:f/packages:/etc/f",)), "pkg.installed", {"f": {"old": "", "new": "1"}},
         Footprint(reads=("formula:f/packages:/etc/f",)), "file.absent", False),
        (Footprint(writes=("formula:f/packages:/etc/f",)), "pkg.installed", {"f": {"old": "1", "new": "2"}},
         Footprint(reads=("formula:f/packages:/etc/f",)), "file.absent", True),
        (Footprint(writes=("formula:f/packages",)), "cmd.run", {}, Footprint(reads=("formula:f/packages",)),
         "file.absent", False),
        (Footprint(writes=("pkgdb", "packages")), "cmd.run", {}, Footprint(writes=("pkgdb",)), "pkg.installed", False),
        (Footprint(writes=("pkgdb",)), "cmd.run", {}, Footprint(writes=("pkgdb",)), "pkg.installed", True),
        (Footprint(writes=("formula:packages/accounts",)), "cmd.run", {},
         Footprint(reads=("formula:packages/accounts",)), "file.absent", True),
        (Footprint(writes=("formula:f/daemons",)), "service.running", {}, Footprint(reads=("formula:f/daemons",)),
         "file.managed", True),
        (Footprint(writes=("pkgdb",)), "pkg.installed", {}, Footprint(writes=("pkgdb",)), "pkg.installed", True),
        (Footprint(writes=("pkgdb",)), "pkgrepo.managed", {}, Footprint(writes=("pkgdb",)), "pkg.latest", False),
        # an installed package needs no sources, nor the network
        (Footprint(writes=("path:/etc/hosts#db",)), "host.present", {}, Footprint(reads=("path:/etc/hosts",)),
         "pkg.installed", True),
        (Footprint(writes=("path:/etc/apt/apt.conf",)), "file.managed", {}, Footprint(reads=("path:/etc/apt/**",)),
         "pkg.removed", True),
        (Footprint(writes=("path:/etc/hosts#db",)), "host.present", {}, Footprint(reads=("path:/etc/hosts",)),
         "pkg.latest", False),
        (Footprint(writes=("path:/etc/hosts#db",)), "host.present", {}, Footprint(reads=("path:/etc/hosts",)),
         "git.latest", False),
        # an entry of a file changes the file, and not its folder
        (Footprint(writes=("path:/etc/a.ini#b",)), "ini.options_present", {}, Footprint(reads=("path:/etc/a.ini",)),
         "file.managed", False),
        (Footprint(writes=("path:/etc/a.ini#b",)), "ini.options_present", {}, Footprint(reads=("path:/etc",)),
         "file.managed", True),
        (Footprint(writes=("path:/etc/a.ini#b",)), "ini.options_present", {}, Footprint(reads=("path:/etc/**",)),
         "file.managed", False),
        # who owns a file depends on the number of an account only
        (Footprint(writes=("user:a",)), "user.present", {"shell": "x"}, Footprint(reads=("user:a#id",)),
         "file.managed", True),
        (Footprint(writes=("user:a",)), "user.present", {"uid": 7}, Footprint(reads=("user:a#id",)),
         "file.managed", False),
        (Footprint(writes=("user:a",)), "user.absent", {}, Footprint(reads=("user:a#id",)), "cron.present", False),
        (Footprint(writes=("user:a#groups",)), "group.present", {}, Footprint(writes=("user:a",)), "user.present",
         False),
        (Footprint(writes=("user:a", "path:/etc/passwd")), "user.present", {"uid": 7},
         Footprint(writes=("user:b", "path:/etc/passwd")), "user.present", True),
        (Footprint(writes=("user:a", "path:/etc/passwd")), "user.present", {"uid": 7},
         Footprint(reads=("path:/etc/passwd/**",)), "file.managed", False),
        (Footprint(writes=("service:a",)), "service.dead", {}, Footprint(writes=("service:a",)), "service.running",
         False),
        # a requisite says that what nobody can know is needed
        (Footprint(unknown="a script"), "cmd.run", {}, READS, "file.managed", False),
        (Footprint(unknown="a script"), "cmd.run", {}, Footprint(), "test.nop", True),
    ],
)  # fmt: skip
def test_nothing_to_do_holds_where_the_earlier_change_does_not_matter(case):
    first, function, changes, second, second_function, told = case
    planned = pair(first, second, first_function=function, second_function=second_function, require=["a"])
    said = second_row(planned, row(None, changes), row(True))
    assert (said["result"] is True) is told
    assert (NOT_TOLD in said) is not told


@pytest.mark.parametrize(
    ("args", "certain"),
    [
        ({"pkgs": ["a", {"b": "1.2"}], "version": "1.*"}, True),
        ({"version": "latest"}, False),
        ({"pkgs": ["a", {"b": "latest"}]}, False),
        ({"sources": [{"a": "/srv/a.deb"}]}, False),
    ],
)
def test_packages_without_a_fixed_version_depend_on_their_sources(args, certain):
    first, second = Footprint(writes=("path:/etc/apt/a",)), Footprint(reads=("path:/etc/apt/**",))
    planned = pair(first, second, second_function="pkg.installed", args=args, require=["a"])
    assert (second_row(planned, row(None), row(True))["result"] is True) is certain


def test_a_condition_that_skipped_a_state_is_what_counts():
    plan, _ = planned = pair(WRITES, WRITES, args={"unless": "test -e /y"}, require=["a"])
    skipped = row(True, skip_watch=True)
    elsewhere = Touched([WRITES, WRITES], {1: Footprint(reads=("path:/y/**",))})
    assert second_row((plan, elsewhere), row(None), dict(skipped))["result"] is True
    there = Touched([WRITES, Footprint()], {1: READS})
    assert second_row((plan, there), row(None), dict(skipped))["result"] is None
    assert second_row(planned, row(None), row(True))["result"] is None


def test_what_is_there_is_not_created_again_by_what_is_put_into_it():
    plan, _ = pair(WRITES, WRITES, args={"creates": "/nonexistent"}, require=["a"])
    touched = Touched([WRITES, Footprint()], {1: Footprint(reads=("path:/nonexistent/**",))})
    assert second_row((plan, touched), row(None), row(True, skip_watch=True))["result"] is True


@pytest.mark.parametrize(
    ("function", "first", "second", "told"),
    [
        ("file.append", {"diff": "-a\n+b"}, {"diff": "+c"}, True),
        ("file.append", {"diff": "-a\n+b"}, {"diff": "--- x\n-a"}, False),
        ("file.keyvalue", {"diff": "- a = 1\n+ a = 2 (from int type)\n"}, {"diff": "-a = 2"}, False),
        ("file.keyvalue", {"diff": "- a = 1\n+ a = 2 (from int type)\n"}, {"diff": "-b = 2"}, True),
        ("file.append", {"diff": "+/srv/a (from x)/b"}, {"diff": "+/srv/a (from x)/c"}, True),
        ("file.append", {"diff": "+/srv/a (from x)/b"}, {"diff": "-/srv/a (from x)/b"}, False),
        ("file.comment", {GONE: "updated"}, {"diff": "+c"}, False),
        ("file.line", {}, {"diff": "+c"}, True),
    ],
)
def test_an_edit_of_what_an_earlier_one_changes_cannot_be_told(function, first, second, told):
    file = Footprint(writes=(f"{GONE}.bak", GONE))
    planned = pair(file, file, first_function=function, second_function="file.line", require=["a"])
    said = second_row(planned, row(None, first), row(None, second))
    assert (NOT_TOLD in said) is not told


def test_what_a_state_is_about_is_named_and_not_its_backup():
    plan = PlanBuilder().chunk("a", name="/n").chunk("b", name="/n", require=["a"]).build()
    both = Footprint(writes=("path:/n", "path:/n.bak"))
    said = second_row((plan, Touched([both, both], {})), row(None, {"x": 1}), row(True))
    assert "which changes /n. Now" in said["comment"]


def test_footprints_are_looked_up_only_if_they_matter():
    plan, _ = pair(WRITES, READS)
    failed = row(False)
    assert last_row(plan, None, row(True), failed) is failed


@pytest.mark.parametrize(("result", "told"), [(True, True), (False, False)])
def test_only_a_failure_needs_unknown_effects_through_other_states(result, told):
    plan = PlanBuilder().chunk("a", "cmd.run").chunk("between", require=["a"]).chunk("b", require=["between"]).build()
    touched = Touched([Footprint(unknown="a script"), Footprint(), READS], {})
    last = last_row(plan, touched, row(None), row(True), row(result))

    assert (last["result"] is result) is told
