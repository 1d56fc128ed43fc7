from fleet_events import elsewhere, ran, tag
from html_outline import Outline

from asyncstate.errors import Issue
from asyncstate.fleet.controller.tale import HostEnd
from asyncstate.model.result import RunReport
from asyncstate.report.fleet_html import fleet_html_report
from asyncstate.report.fleet_profile import FleetProfile


def row(result, comment=""):
    return {
        "name": "x",
        "result": result,
        "changes": {"old": "a"} if result else {},
        "comment": comment,
        "duration": 5.0,
    }


def page():
    profile = FleetProfile()
    for host in ("db1", "web<1>"):
        profile.begun(host, 1)
    ran(profile, "db1", "data", (0.0, 2.0))
    ran(profile, "db1", "beside", (0.0, 1.0))
    ran(profile, "web<1>", "site", (2.5, 4.0), elsewhere("db1", "data"))
    profile.told("db1", 2.0, 102.0)
    profile.told("web<1>", 4.0, 104.5)
    reports = {
        "db1": RunReport(rows={tag("data"): row(True), tag("beside"): row(True)}),
        "web<1>": RunReport(rows={tag("site"): row(False, "<b>broken</b>\x1b[0m")}),
    }
    ends = {"db1": HostEnd(0), "web<1>": HostEnd(2), "gone": HostEnd(2, "did not answer within 60 s")}
    return fleet_html_report("r1", ends, reports, profile)


def parsed(text):
    outline = Outline()
    outline.feed(text)
    outline.close()
    assert outline.open == []
    return outline


def test_the_page_is_well_formed_escaped_and_needs_no_network():
    text = page()
    outline = parsed(text)
    assert "<b>broken" not in text
    assert "web<1>" not in text
    assert "\x1b" not in text
    assert not {"script", "link", "img"} & {name for name, _ in outline.elements}
    assert "http" not in text


def test_failures_come_first_with_their_words_and_hosts_that_failed_have_the_first_lanes():
    text = page()
    assert "3 hosts, 2 failed" in text
    places = [text.index(each) for each in ("What failed", "did not answer", "broken", "When each host", "States")]
    assert places == sorted(places)
    lanes = text[text.index('<div class="hosts">') :]
    assert lanes.index("gone") < lanes.index("web&lt;1&gt;") < lanes.index(">db1<")


def test_the_critical_path_goes_across_hosts_and_is_outlined():
    outline = parsed(page())
    bars = [dict(attributes)["class"] for name, attributes in outline.elements if name == "rect"]
    assert sum("critical" in each for each in bars) == 2
    table = outline.text[outline.text.index("Critical path") :]
    assert table.index("data") < table.index("site")
    assert "beside" not in table[: table.index("States")]


def test_a_run_that_did_not_begin_shows_why():
    text = fleet_html_report("r1", {"a": HostEnd(1, "nothing began")}, {}, FleetProfile(), [Issue("no host <x> fits")])
    outline = parsed(text)
    assert "no host <x> fits" in outline.text
    assert "Critical path" not in outline.text


def test_a_long_page_only_counts_states_that_were_as_described(monkeypatch):
    monkeypatch.setattr("asyncstate.report.fleet_html._MOST", 2)
    same = {**row(True, "as it was"), "changes": {}}
    rows = {tag("changed"): row(True, "it changed"), tag("same"): same, tag("too"): same}
    text = fleet_html_report("r1", {"a": HostEnd(0)}, {"a": RunReport(rows=rows)}, FleetProfile())
    assert "it changed" in text
    assert "as it was" not in text
    assert "2 states already as described" in parsed(text).text
