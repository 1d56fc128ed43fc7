from __future__ import annotations

import xml.etree.ElementTree as ET

from asyncstate.model.result import HostResult, RunReport
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
        tag("victim"): row(False, "One or more requisite failed", __state_ran__=False),
        tag("saved"): row(False),
        "strange": row(__sls__=None),
    }
    report = RunReport(rows=rows, handled=(tag("saved"),), not_started=(tag("late"),), wall_ms=2500.0)
    held = {tag("victim"): "requires test: bad, which failed"}
    suite = ET.fromstring(junit_xml([HostResult(host="a & b", report=report, held=held)]))[0]
    assert suite.attrib == {
        "name": "a & b",
        "tests": "8",
        "failures": "1",
        "errors": "0",
        "skipped": "4",
        "time": "2.500",
    }
    cases = {case.get("name"): case for case in suite}
    assert cases["test.nop: good"].attrib == {"classname": "web.test.nop", "name": "test.nop: good", "time": "1.500"}
    failure = cases["test.nop: bad"].find("failure")
    assert failure.get("message") == "first line"
    assert failure.text == 'first line\nsecond <line> & "more" \\x00'
    assert cases["test.nop: skipped"].find("skipped").get("message") == "unless condition is true"
    assert cases["test.nop: held"].find("failure") is None
    assert cases["test.nop: held"].find("skipped").get("message") == "One or more requisite failed"
    assert cases["test.nop: victim"][0].attrib == {"message": "held back: requires test: bad, which failed"}
    assert cases["test.nop: saved"].find("failure") is None
    assert cases["test.nop: late"].find("skipped") is not None
    assert cases["strange"].get("classname") == "single."


def test_a_failed_command_comes_with_its_output_its_exit_code_and_its_place():
    changes = {"pid": 7, "retcode": 4, "stdout": "working", "stderr": "disk <full>"}
    rows = {tag("bad"): {**row(False, 'Command "x" run'), "changes": changes}, tag("fine"): row()}
    places = {tag("bad"): ("/srv/salt/web.sls", 12), tag("fine"): ("/srv/salt/web.sls", 0)}
    bad, fine = ET.fromstring(junit_xml([HostResult(report=RunReport(rows=rows), places=places)]))[0]
    assert (bad.get("file"), bad.get("line")) == ("/srv/salt/web.sls", "12")
    assert bad.find("failure").text == 'Command "x" run\nretcode: 4\nat /srv/salt/web.sls:12'
    assert bad.find("system-out").text == "working"
    assert bad.find("system-err").text == "disk <full>"
    assert (fine.get("file"), fine.get("line")) == ("/srv/salt/web.sls", None)


def test_a_suite_for_each_host_and_an_error_for_one_that_did_not_take_part():
    here = HostResult(host="web1", report=RunReport(rows={tag("a"): row()}), places={tag("a"): ("/srv/a.sls", 2)})
    gone = HostResult(host="web2", report=RunReport(rows={}), problem="did not answer\nwithin 60 s")
    web1, web2 = ET.fromstring(junit_xml([here, gone]))
    assert [each.get("name") for each in (web1, web2)] == ["web1", "web2"]
    assert web1[0].get("file") == "/srv/a.sls"
    assert (web2.get("tests"), web2.get("errors"), web2.get("failures")) == ("1", "1", "0")
    assert web2[0].find("error").get("message") == "did not answer"
