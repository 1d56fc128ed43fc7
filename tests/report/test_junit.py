from __future__ import annotations

import xml.etree.ElementTree as ET

from asyncstate.model.result import RunReport
from asyncstate.report.junit import junit_xml


def row(result=True, comment="fine", **more):
    return {
        "name": "n",
        "result": result,
        "changes": {},
        "comment": comment,
        "duration": 1500.0,
        "__sls__": "web",
        **more,
    }


def tag(name):
    return f"test_|-{name}_|-{name}_|-nop"


def test_a_case_for_each_state():
    rows = {
        tag("good"): row(),
        tag("bad"): row(False, 'first line\nsecond <line> & "more" \x00\x1b[31m'),
        tag("skipped"): row(comment="unless condition is true", __state_ran__=False),
        tag("held"): row(False, "One or more requisite failed", __state_ran__=False),
        tag("saved"): row(False),
        "strange": row(__sls__=None),
    }
    report = RunReport(rows=rows, handled=(tag("saved"),), not_started=(tag("late"),), wall_ms=2500.0)
    suite = ET.fromstring(junit_xml(report, name="a & b"))[0]
    assert suite.attrib == {
        "name": "a & b",
        "tests": "7",
        "failures": "2",
        "errors": "0",
        "skipped": "2",
        "time": "2.500",
    }
    cases = {case.get("name"): case for case in suite}
    assert cases["test.nop: good"].attrib == {"classname": "web.test.nop", "name": "test.nop: good", "time": "1.500"}
    failure = cases["test.nop: bad"].find("failure")
    assert failure.get("message") == "first line"
    assert failure.text == 'first line\nsecond <line> & "more" \\x00'
    assert cases["test.nop: skipped"].find("skipped").get("message") == "unless condition is true"
    assert cases["test.nop: held"].find("failure") is not None
    assert cases["test.nop: saved"].find("failure") is None
    assert cases["test.nop: late"].find("skipped") is not None
    assert cases["strange"].get("classname") == "single."
