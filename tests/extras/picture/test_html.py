from __future__ import annotations

import base64
import hashlib
import re

import msgspec
from plans import PlanBuilder
from report_page import Page, page_of, row, tag

from asyncstate.errors import Issue
from asyncstate.extras.analyse.profile import Profile
from asyncstate.extras.picture.html import html_report
from asyncstate.model.result import HostResult, RunReport

HOSTILE = "</script><script>alert(1)</script><!--<b>\x1b[0m\x00\u2028\u202e\udcff & \"'"


def test_no_text_of_a_run_is_markup_or_a_script():
    """Whatever a text is, it is in the data only, where nothing ends the element; or escaped, in the basics."""
    rows = {
        HOSTILE: row(result=False, changes={HOSTILE: HOSTILE}, comment=HOSTILE, warnings=[HOSTILE], __sls__=HOSTILE)
    }
    text = page_of(rows, warnings=(Issue(HOSTILE),), cancelled=HOSTILE)
    text.encode()
    page = Page(text)
    scripts = [attributes for name, attributes in page.outline.elements if name == "script"]
    assert scripts == [{"id": "data", "type": "application/json"}, {}]
    assert text.count("<b>") == 1  # of the count
    assert not re.search("[\x00\x1b\u2028\u202e]", text)
    state = page.data["states"][0]
    for field in ("comment", "changes", "id", "sls"):
        assert "</script><script>alert(1)</script>" in state[field]
    assert "alert(1)" not in page.script


def test_the_policy_lets_nothing_run_but_the_script_of_the_page():
    page = Page(page_of({"a": row()}))
    for source, text in (("script-src", page.script), ("style-src", page.style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}';" in page.policy
    assert page.policy.startswith("default-src 'none';")
    assert not {"link", "img", "iframe", "object"} & {name for name, _ in page.outline.elements}
    assert "http" not in page.script + page.style
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", page.script)
    handlers = [key for _, attributes in page.outline.elements for key in attributes if key.startswith(("on", "style"))]
    assert handlers == []


def test_the_page_says_which_run_it_was_and_counts_without_scripts():
    rows = {"good": row(), "bad": row(result=False, comment="it broke"), "new": row(changes={"a": 1})}
    page = Page(page_of(rows))
    text = page.outline.text
    for fact in ("web1", "asyncstate apply web", "2023-11-1", "Took1.5 s"):
        assert fact in text
    counts = [attributes["data-kind"] for name, attributes in page.outline.elements if "data-kind" in attributes]
    assert counts == ["failed", "changed", "unchanged"]
    basics = page.static.partition("<noscript>")[2]
    assert "test.nop: bad" in basics
    assert "it broke" in basics


def test_each_state_has_its_kind():
    """What a failed requisite held back is no failure of its own."""
    held = row(result=False, __state_ran__=False)
    rows = {"held": held, "unmet": row(__state_ran__=False), "made good": row(result=False), "same": row()}
    page = Page(page_of(rows, handled=(tag("made good"),), not_started=(tag("late"),)))
    kinds = {name: state["kind"] for name, state in page.states.items()}
    assert kinds == {
        "held": "held", "unmet": "skipped", "made good": "handled", "same": "unchanged", "late": "waiting",
    }  # fmt: skip
    dry = Page(page_of({"a": row(result=None), "b": row()}, test=True))
    assert [state["kind"] for state in dry.data["states"]] == ["would", "unchanged"]
    assert "Dry run" in dry.outline.text


def test_what_was_held_back_names_its_requisite():
    plan = PlanBuilder().chunk("bad").chunk("late", require=["bad"]).build()
    page = Page(page_of({"bad": row(result=False), "late": row(result=False, __state_ran__=False)}, plan))
    assert page.states["late"]["held"] == "requires test: bad, which failed"
    assert "held" not in page.states["bad"]


def test_the_page_of_a_dry_run_foretells_what_the_terminal_does():
    plan = PlanBuilder().chunk("a").chunk("b", onchanges=["a"]).chunk("c").build()
    rows = {"a": row(result=None, changes={"a": 1}), "b": row(result=None), "c": row()}
    facts = Page(page_of(rows, plan, test=True)).outline.text
    assert "Dry run1 to change, 1 triggered; nothing was changed" in facts
    assert "Dry runnothing to change" in Page(page_of({"a": row()}, test=True)).outline.text


def test_bars_have_lanes_and_the_critical_path_is_marked():
    page = Page(page_of({"a": row(), "b": row(), "c": row()}, after={"c": "a"}))
    assert {name: state.get("critical", False) for name, state in page.states.items()} == {
        "a": True, "b": False, "c": True,
    }  # fmt: skip
    assert page.states["b"]["began"] == page.states["a"]["ended"] == 0.5
    assert page.data["wall"] == 1.5
    assert page.joined() == {("a", "c"): ["require", "requisite"]}


def test_the_graph_is_that_of_the_plan_and_marks_what_other_paths_stand_for():
    plan = PlanBuilder().chunk("a").chunk("b", require=["a"]).chunk("c", require=["b", "a"]).set("all", "a").build()
    declared = msgspec.structs.replace(plan.chunks[0], file="/srv/web.sls", declared=3)
    plan = msgspec.structs.replace(plan, chunks=(declared, *plan.chunks[1:]))
    page = Page(page_of({"a": row(), "b": row(), "c": row()}, plan))
    assert set(page.joined()) == {("a", "b"), ("b", "c"), ("a", "all")}
    assert set(page.joined(needed=False)) == {("a", "c")}
    assert page.states["a"]["place"] == "/srv/web.sls:3"


def test_changes_have_marks_for_colours_that_no_text_can_have():
    page = Page(page_of({"a": row(changes={"diff": "--- a\n+++ b\n@@ -1 +1 @@\n-old\x01\n+new"})}))
    assert "\x02-old\\x01\x04\n\x01+new\x04" in "\n".join(map(str.strip, page.states["a"]["changes"].splitlines()))


def test_a_run_of_nothing_has_a_page():
    page = Page(html_report(HostResult(report=RunReport(rows={})), Profile()))
    assert page.data["states"] == []
