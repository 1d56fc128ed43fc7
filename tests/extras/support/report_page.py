"""A page of a report for tests: its elements, its data, and the page in a browser."""

from __future__ import annotations

import json

from html_outline import Outline

from asyncstate.extras.analyse.profile import Profile
from asyncstate.extras.picture.html import About, html_report
from asyncstate.model.event import ChunkFinished, ChunkReady, ChunkStarted, RunFinished, RunStarted
from asyncstate.model.plan import places_of
from asyncstate.model.result import HostResult, RunReport
from asyncstate.report.blockers import held_back

BEGAN = 1_700_000_000.0


class Page:
    """A parsed page: ``outline`` of its elements and texts, ``data`` of its states, ``policy`` for its content."""

    def __init__(self, text):
        self.outline = Outline()
        self.outline.feed(text)
        self.outline.close()
        assert self.outline.open == []
        before, _, rest = text.partition('<script id="data" type="application/json">')
        data, _, rest = rest.partition("</script>")
        self.data = json.loads(data)
        self.static = before
        self.script = rest.partition("<script>")[2].partition("</script>")[0]
        self.style = before.partition("<style>")[2].partition("</style>")[0]
        self.states = {state["id"]: state for state in self.data["states"]}

    @property
    def policy(self):
        metas = (attributes for name, attributes in self.outline.elements if name == "meta")
        return next(each["content"] for each in metas if each.get("http-equiv") == "Content-Security-Policy")

    def joined(self, needed=True):
        """The edges that are drawn, as pairs of labels, with their reasons."""
        labels = [state["id"] for state in self.data["states"]] + self.data["joints"]
        return {
            (labels[before], labels[after]): self.data["reasons"][reason]
            for before, after, reason, is_needed in self.data["edges"]
            if is_needed is needed
        }


def tag(name):
    return f"test_|-{name}_|-{name}_|-nop"


def row(result=True, *, changes=None, comment="", **more):
    return {"name": "x", "result": result, "changes": changes or {}, "comment": comment, "__sls__": "web", **more}


def page_of(rows, plan=None, after=None, seconds=0.5, about=None, **report):
    """Return the page of a run whose states ran one after the other, each ``after`` the one that is named."""
    profile = Profile()
    profile.on_event(RunStarted(run_id="r", seq=0, time=0, wall=BEGAN, digest="", chunks=1, concurrency=2, test=False))
    tags = [tag(name) for name in rows]
    for number, (name, each) in enumerate(rows.items()):
        common = {"run_id": "r", "seq": number, "tag": tag(name)}
        begin = number * seconds
        before = tag((after or {})[name]) if name in (after or {}) else ""
        profile.on_event(ChunkReady(time=begin, after=before, because=("require",) if before else (), **common))
        profile.on_event(ChunkStarted(time=begin, function="test.nop", id=name, name=name, sls="s", **common))
        profile.on_event(ChunkFinished(time=begin + seconds, row=each, why="met", **common))
    end = len(rows) * seconds
    profile.on_event(RunFinished(run_id="r", seq=9, time=end, exit_code=2, succeeded=1, changed=1, failed=1))
    made = RunReport(rows=dict(zip(tags, rows.values(), strict=True)), **report)
    places = places_of(plan, tags + list(made.not_started))
    result = HostResult(report=made, places=places, held=held_back(made, plan))
    return html_report(result, profile, plan, about or About("web1", "asyncstate apply web", ("web",)))
