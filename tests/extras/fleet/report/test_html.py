from fleet_events import elsewhere, ran, tag
from report_page import Page

from asyncstate.errors import Issue
from asyncstate.extras.fleet.controller.event_stream import HostEnd
from asyncstate.extras.fleet.protocol import HostPlan, State
from asyncstate.extras.fleet.report.html import fleet_html_report
from asyncstate.extras.fleet.report.profile import FleetProfile
from asyncstate.model.result import HostResult, RunReport


def row(result, comment=""):
    return {
        "name": "x",
        "result": result,
        "changes": {"old": "a"} if result else {},
        "comment": comment,
        "duration": 5.0,
    }


def page(plans=None):
    profile = FleetProfile()
    for host in ("db1", "web<1>"):
        profile.begun(host, 1)
    ran(profile, "db1", "data", (0.0, 2.0))
    ran(profile, "db1", "beside", (0.0, 1.0))
    ran(profile, "web<1>", "site", (2.5, 4.0), elsewhere("db1", "data"))
    profile.told("db1", 2.0, 102.0)
    profile.told("web<1>", 4.0, 104.5)
    results = [
        HostResult(host="db1", report=RunReport(rows={tag("data"): row(True), tag("beside"): row(True)})),
        HostResult(
            host="web<1>",
            report=RunReport(rows={tag("site"): row(False, "<b>broken</b>\x1b[0m")}),
            places={tag("site"): ("/srv/site.sls", 7)},
        ),
        HostResult(host="gone", report=RunReport(rows={}), problem="did not answer within 60 s"),
    ]
    ends = {"db1": HostEnd(0), "web<1>": HostEnd(2), "gone": HostEnd(2, "did not answer within 60 s")}
    return fleet_html_report("r1", ends, results, profile, plans=plans)


def test_hosts_that_failed_have_the_first_lanes_and_say_why():
    shown = Page(page())
    assert shown.data["hosts"] == ["gone", "web<1>", "db1"]
    assert shown.data["failedHosts"] == [0, 1]
    assert "3, 2 failed" in shown.outline.text
    assert shown.states["gone"] == {
        "function": "", "id": "gone", "kind": "failed", "comment": "did not answer within 60 s",
    }  # fmt: skip
    assert shown.states["site"]["place"] == "/srv/site.sls:7"
    assert "<b>broken" not in shown.static


def test_what_was_held_back_names_its_requisite():
    report = RunReport(rows={tag("data"): {**row(False), "__state_ran__": False}})
    result = HostResult(host="db1", report=report, held={tag("data"): "requires test: site on web1, which failed"})
    shown = Page(fleet_html_report("r1", {"db1": HostEnd(2)}, [result], FleetProfile()))
    assert shown.states["data"]["held"] == "requires test: site on web1, which failed"


def test_a_dry_run_across_hosts_says_that_nothing_was_changed():
    report = RunReport(rows={tag("data"): row(None)}, test=True)
    ends, results = {"db1": HostEnd(0)}, [HostResult(host="db1", report=report)]
    shown = Page(fleet_html_report("r1", ends, results, FleetProfile()))
    assert "dry run across 1 host" in shown.outline.text
    assert "Dry runnothing was changed" in shown.outline.text
    assert shown.states["data"]["kind"] == "would"
    assert "nothing was changed" not in Page(page()).outline.text


def test_the_critical_path_goes_across_hosts():
    shown = Page(page())
    assert {name for name, state in shown.states.items() if state.get("critical")} == {"data", "site"}
    assert shown.joined() == {("data", "site"): ["require", "across"]}
    assert shown.states["site"]["began"] >= shown.states["data"]["ended"]


def test_the_graph_has_the_plans_of_hosts_and_what_leads_across():
    names = ("data", "beside", "late")
    plan = HostPlan(
        nonce="n",
        states=tuple(State("test", "nop", name, name, "db") for name in names),
        nodes=5,
        edges=(0, 1, 1, 3, 4, 0),
        sources=("require,watch", "set", "prereq"),
        checks=((0, 4),),
    )
    shown = Page(page({"db1": plan}))
    assert shown.data["joints"] == ["db1: test.nop: late", "db1: all of", "db1: check test.nop: data"]
    assert shown.joined() == {
        ("data", "beside"): ["require, watch", "requisite"],
        ("beside", "db1: all of"): ["set", "order"],
        ("db1: check test.nop: data", "data"): ["prereq", "requisite"],
        ("data", "site"): ["require", "across"],
    }


def test_a_run_that_did_not_begin_shows_why():
    ends = {"a": HostEnd(1, "nothing began")}
    page = Page(fleet_html_report("r1", ends, [], FleetProfile(), issues=[Issue("no host <x> fits")]))
    assert "no host <x> fits" in page.outline.text
    assert "failed" in page.outline.text


def test_a_long_page_leaves_out_what_states_say_that_were_as_described(monkeypatch):
    monkeypatch.setattr("asyncstate.extras.fleet.report.html._MOST", 2)
    same = {**row(True, "as it was"), "changes": {}}
    rows = {tag("changed"): row(True, "it changed"), tag("same"): same, tag("too"): same}
    text = fleet_html_report(
        "r1", {"a": HostEnd(0)}, [HostResult(host="a", report=RunReport(rows=rows))], FleetProfile()
    )
    assert "it changed" in text
    assert "as it was" not in text
    assert len(Page(text).data["states"]) == 3
