"""The page of a run across hosts, in a real browser."""

from __future__ import annotations

import json

import pytest
from fleet_events import elsewhere, ran
from fleet_events import tag as fleet_tag
from looked_at import chosen, listed, middle
from report_page import row

from asyncstate.extras.fleet.controller.event_stream import HostEnd
from asyncstate.extras.fleet.report.html import fleet_html_report
from asyncstate.extras.fleet.report.profile import FleetProfile
from asyncstate.model.result import HostResult, RunReport

pytestmark = pytest.mark.browser


def test_hosts_are_groups_of_lanes(looking):
    profile = FleetProfile()
    rows = {"db1": {"data": row()}, "web1": {"site": row(result=False, comment="no port")}}
    for host in rows:
        profile.begun(host, 1)
    ran(profile, "db1", "data", (0.0, 2.0))
    ran(profile, "web1", "site", (2.5, 4.0), elsewhere("db1", "data"))
    profile.told("db1", 2.0, 102.0)
    profile.told("web1", 4.0, 104.5)
    results = [
        HostResult(host=host, report=RunReport(rows={fleet_tag(name): each for name, each in own.items()}))
        for host, own in rows.items()
    ]
    text = fleet_html_report("r1", {"db1": HostEnd(0), "web1": HostEnd(2)}, results, profile)
    with looking(text) as page:
        assert page.evaluate("[...timeline.groups.values()].map((each) => each.first)") == [0, 1]
        page.mouse.click(*middle(page, "timeline", "data"))
        assert chosen(page) == "data"
        page.mouse.click(*middle(page, "dag", "site"))
        assert page.locator(".item.chosen .detail").inner_text().count("web1") >= 1
        page.fill("#search", "web1")
        assert listed(page) == ["site"]
        assert json.loads(page.locator("#data").text_content())["failedHosts"] == [0]
