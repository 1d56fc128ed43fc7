"""One time line for the states of many hosts, whatever their clocks say."""

from fleet_events import elsewhere, ran, tag
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.fleet.report.profile import FleetProfile
from asyncstate.model.event import RunFinished


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0.1, 9), st.floats(0, 3)), min_size=1, max_size=6))
def test_a_chain_across_hosts_is_the_critical_path_however_late_reports_are_stored(hosts):
    """A host begins at some time, its state takes some time, and its report is stored some time after it."""
    profile = FleetProfile()
    free = 0.0
    names = []
    for number, (begin, seconds, delay) in enumerate(hosts):
        host, after = f"h{number}", elsewhere(f"h{number - 1}", number - 1) if number else ""
        ready = max(free, begin)
        profile.begun(host, 1)
        ran(profile, host, number, (ready - begin, ready - begin + seconds), after)
        free = ready + seconds
        profile.told(host, free - begin, 1e9 + free + delay)
        names.append(host)
    assert [step.host for step in profile.critical_path()] == names
    begins = profile.begins()
    assert min(begins.values()) == 0
    ends = [begins[host] + profile.hosts[host].timing(tag(number)).ended for number, host in enumerate(names)]
    readies = [begins[host] + profile.hosts[host].timing(tag(number)).ready for number, host in enumerate(names)]
    assert all(ready >= end - 1e-5 for end, ready in zip(ends, readies[1:], strict=False))


def test_the_report_that_was_stored_soonest_after_its_event_says_where_a_host_begins():
    profile = FleetProfile()
    for host, delays in (("a", (3.0, 0.5)), ("b", (0.1, 2.0))):
        profile.begun(host, 1)
        ran(profile, host, "x", (1.0, 2.0))
        for time, delay in zip((1.0, 2.0), delays, strict=True):
            profile.told(host, time, 100.0 + time + delay)
    begins = profile.begins()
    assert (round(begins["a"], 6), begins["b"]) == (0.4, 0.0)
    assert round(profile.wall, 6) == 2.4


def test_an_attempt_before_is_forgotten_and_clocks_that_cannot_fit_end_in_a_time_line():
    profile = FleetProfile()
    for host, other in (("a", "b"), ("b", "a")):
        profile.begun(host, 1)
        ran(profile, host, "old", (0.0, 500.0))
        profile.told(host, 500.0, 600.0)
        profile.begun(host, 2)
        ran(profile, host, "first", (0.0, 2.0))
        ran(profile, host, "then", (1.0, 2.0), elsewhere(other, "first"))
        profile.told(host, 2.0, 200.0)
    assert set(profile.begins()) == {"a", "b"}
    assert profile.critical_path()
    assert profile.hosts["a"].timing(tag("old")) is None


def test_names_with_colons_and_states_that_are_not_known():
    profile = FleetProfile()
    profile.begun("a: b", 1)
    ran(profile, "a: b", "c: d", (0.0, 1.0))
    profile.told("a: b", 1.0, 10.0)
    profile.begun("e", 1)
    ran(profile, "e", "f", (5.0, 6.0), elsewhere("a: b", "c: d"))
    ran(profile, "e", "g", (0.0, 1.0), elsewhere("lost", "h"))
    profile.told("e", 6.0, 12.0)
    assert [(step.host, step.tag) for step in profile.critical_path()] == [
        ("a: b", tag("c: d")),
        ("e", tag("f")),
    ]


def test_a_host_that_told_nothing_has_no_place_on_the_time_line():
    profile = FleetProfile()
    assert (profile.begins(), profile.critical_path(), profile.wall) == ({}, [], 0.0)
    profile.begun("a", 1)
    profile.event("a", RunFinished(run_id="a", seq=0, time=1.0, exit_code=0, succeeded=0, changed=0, failed=0))
    assert profile.begins() == {}
