"""The search, on a simulated system: it finds every missing edge that one delayed node shows, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder
from reached import node_of_check, reach

from asyncstate.extras.proof.shake.orders import Orders, Pair
from asyncstate.extras.proof.shake.outcome import Entry, Outcome
from asyncstate.extras.proof.shake.report import result_data, result_lines
from asyncstate.extras.proof.shake.search import search
from tests.run.test_machine import plans


def system(plan, secrets, ended=""):
    """Runs an order on a system in which each secret pair writes another file if its two nodes are exchanged."""
    serial = Orders(plan).serial

    def run(order):
        paths = {}
        for earlier, later in secrets:
            early = order.index(earlier) < order.index(later)
            paths[f"/{earlier}-{later}"] = Entry("file", 0o644, 0, 0, "right" if early else "wrong")
        return Outcome({}, paths, ended if order == serial else "")

    return run


def searched(plan, run, most=10**9, **options):
    """Search, and make at most so many runs."""
    searching = search(plan, **options)
    tried = []
    try:
        batch = next(searching)
        while True:
            made = batch.orders[: max(0, most - len(tried))]
            tried += made
            batch = searching.send((*map(run, made), *[None] * (len(batch.orders) - len(made))))
    except StopIteration as end:
        return end.value, tried


@given(plan=plans(), data=st.data())
def test_every_pair_that_a_delay_can_exchange_is_found(plan, data):
    serial = Orders(plan).serial
    free = [
        Pair(a, b) for place, a in enumerate(serial) for b in serial[place + 1 :] if b not in reach(plan.dag, [a])
    ]  # fmt: skip
    secrets = data.draw(st.lists(st.sampled_from(free), max_size=4, unique=True)) if free else []
    result, tried = searched(plan, system(plan, secrets))
    found = [each.pair for each in result.found]
    assert set(found) <= set(secrets)
    orders = Orders(plan)
    for pair in found:
        orders.keep(pair)
    for earlier, later in set(secrets) - set(found):
        order = orders.delayed(earlier)
        assert order.index(earlier) < order.index(later), "what was found orders this pair, too"
    assert len(tried) == result.runs == len(set(tried)) + (len(tried) > 1), "each runs once, the serial one twice"
    for each in result.found:
        assert [difference.name for difference in each.differences].count(
            f"/{each.pair.earlier}-{each.pair.later}"
        ) == 1


@given(plan=plans(), most=st.integers(0, 30), at_once=st.integers(1, 5), data=st.data())
def test_a_search_that_is_cut_off_returns_what_it_knows(plan, most, at_once, data):
    serial = Orders(plan).serial
    free = [Pair(a, b) for place, a in enumerate(serial) for b in serial[place + 1 :] if b not in reach(plan.dag, [a])]
    secrets = data.draw(st.lists(st.sampled_from(free), max_size=4, unique=True)) if free else []
    run = system(plan, secrets)
    result, tried = searched(plan, run, most, at_once=at_once)
    assert len(tried) == result.runs <= most
    assert {each.pair for each in result.found} <= set(secrets)
    assert all(each.differences for each in (*result.found, *result.unexplained))
    if result.complete:
        assert (result.untried, result.unexplained) == (0, ())
        assert bool(result.found) == bool(searched(plan, run)[0].found)
    if not (result.found or result.unexplained):
        assert all(run(order) == run(serial) for order in tried), "a difference that was seen is reported"


def test_what_a_search_that_is_cut_off_says():
    plan = PlanBuilder().chunk("a").chunk("b").chunk("c").chunk("d").build()
    result, _ = searched(plan, system(plan, [(0, 2)]), 3, at_once=1)
    lines = list(result_lines(plan, result))
    assert lines[0] == (
        "test.nop: a must run before a later state, and nothing says so; the search was cut off before it knew which"
    )
    assert lines[2] == "    /0-2: content: sha256 right (serial), sha256 wrong (delayed)"
    assert lines[-2:] == [
        "No missing order so far: 2 states delayed, 3 runs.",
        "Cut off: 2 states not delayed yet.",
    ]
    data = result_data(plan, result, Outcome({}, {}))
    assert [each["delayed"]["state"].split("_|-")[1] for each in data["unexplained"]] == ["a"]
    assert (data["complete"], data["untried"]) == (False, 2)


def test_only_the_wanted_states_are_delayed():
    plan = PlanBuilder().chunk("a").chunk("b").chunk("c").build()
    run = system(plan, [(0, 1), (1, 2)])
    assert [each.pair for each in searched(plan, run, only={1})[0].found] == [(1, 2)]
    assert searched(plan, run, only={2})[0].found == ()


def test_what_is_ignored_or_random_is_no_difference():
    plan = PlanBuilder().chunk("a").chunk("b").build()
    run = system(plan, [(0, 1)])
    assert searched(plan, run, ignore=("/0-*",))[0].found == ()
    numbers = iter(range(9))

    def dice(order):
        return Outcome({}, {**run(order).paths, "/dice": Entry("file", 0, 0, 0, str(next(numbers)))})

    result, _ = searched(plan, dice)
    assert [each.name for each in result.random] == ["/dice"]
    assert [difference.name for difference in result.found[0].differences] == ["/0-1"]
    assert "Two serial runs differ in 1 thing, which were not compared:" in list(result_lines(plan, result))


def test_a_serial_run_that_breaks_off_ends_the_search():
    plan = PlanBuilder().chunk("a").chunk("b").build()
    result, tried = searched(plan, system(plan, [(0, 1)], ended="failhard"))
    assert (result.broken_off, result.found, len(tried)) == ("failhard", (), 2)


def test_a_finding_names_both_states_and_what_would_settle_it():
    builder = PlanBuilder().chunk("conf", "file.managed", name="/etc/x").chunk("make", "cmd.run", name="make")
    builder.chunk("target", "cmd.run").chunk("asks", prereq=["target"])
    plan = builder.build()
    result, _ = searched(plan, system(plan, [(0, 1), (1, node_of_check(plan, 2))]))
    text = "\n".join(result_lines(plan, result))
    assert "cmd.run: make must run after file.managed: conf (/etc/x), and nothing says so" in text
    assert "/0-1: content: sha256 right (serial), sha256 wrong (delayed)" in text
    assert "- require: [{file: conf}]" in text
    assert "the check for a prereq of cmd.run: target must run after cmd.run: make" in text
    assert text.endswith("2 orders missing: 5 states delayed, 10 runs.")
    data = result_data(plan, result, Outcome({}, {}))
    assert [each["earlier"]["state"].split("_|-")[1] for each in data["found"]] == ["conf", "make"]
    assert data["found"][1]["later"]["node"] == "check"
    assert list(result_lines(plan, searched(plan, system(plan, []))[0])) == ["No difference: 5 states delayed, 4 runs."]
