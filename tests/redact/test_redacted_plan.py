import threading
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from plans import PlanBuilder

from asyncstate.errors import Issue
from asyncstate.model.chunk import parse_tag
from asyncstate.model.event import (
    ChunkFinished,
    ChunkOutput,
    ChunkReady,
    ChunkRetried,
    ChunkStarted,
    Event,
    PrefetchEnded,
    PrefetchStarted,
    RunFinished,
    RunStarted,
    StateEvent,
)
from asyncstate.model.plan import BrokenListener
from asyncstate.model.result import Contact, Race, RacingState, RunReport
from asyncstate.redact import MASK, Redactor, Secrets
from asyncstate.redact.redacted_plan import RedactedPlan

HEAD = {"run_id": "hunter2hunter2", "seq": 1, "time": 0.5}


def row(name="n", **more):
    return {"name": name, "changes": {}, "result": True, "comment": "", "__id__": "i", **more}


@pytest.fixture
def plan():
    return (
        PlanBuilder()
        .chunk("a", "cmd.run", name="echo hunter2", args={"env": [{"PW": "hunter2"}]})
        .chunk("b", "cmd.run", name="echo s3cret", require=["a"])
        .chunk("hunter2", "cmd.run")
        .chunk("s3cret", "cmd.run")
        .chunk("quiet", "cmd.run", name="told to nobody", args={"no_log": True, "cwd": "/nobody"})
        .chunk("named", "cmd.run", args={"no_log": True})
        .build()
    )


@pytest.fixture
def shown(plan):
    return RedactedPlan(plan, Secrets(["hunter2", "s3cret"]))


def test_tags_stay_different(plan, shown):
    assert [shown.tag(chunk.tag) for chunk in plan.chunks] == [
        f"cmd_|-a_|-echo {MASK}_|-run",
        f"cmd_|-b_|-echo {MASK}_|-run",
        f"cmd_|-{MASK}_|-{MASK} (3)_|-run",
        f"cmd_|-{MASK}_|-{MASK} (4)_|-run",
        f"cmd_|-quiet_|-{MASK}_|-run",
        "cmd_|-named_|-named_|-run",
    ]
    assert shown.tag("x_|-hunter2_|-n_|-y") == f"x_|-{MASK}_|-n_|-y"
    assert shown.tag("hunter2_|-a_|-n_|-hunter2") == f"{MASK}_|-a_|-n_|-{MASK}"
    shown.hush("hunter2_|-b_|-n_|-hunter2", "quiet")
    assert shown.tag("hunter2_|-b_|-n_|-hunter2") == f"{MASK}_|-quiet_|-{MASK}_|-{MASK}"
    assert shown.tag("x_|-s3cret_|-n_|-y") == f"x_|-{MASK}_|-n (2)_|-y"
    assert shown.tag("x_|-hunter2_|-n_|-y") == f"x_|-{MASK}_|-n_|-y"


def test_tags_of_events_are_those_of_the_report(plan, shown):
    tags = [shown.event(ChunkReady(tag=chunk.tag, **HEAD)).tag for chunk in plan.chunks]
    report = shown.report(RunReport({chunk.tag: row() for chunk in plan.chunks}))
    assert list(report.rows) == tags


def test_a_secret_that_becomes_known_is_hidden_from_then_on(plan):
    secrets = Secrets()
    shown = RedactedPlan(plan, secrets)
    assert shown.tag(plan.chunks[0].tag) == plan.chunks[0].tag
    secrets.add("hunter2")
    assert shown.tag(plan.chunks[0].tag) == f"cmd_|-a_|-echo {MASK}_|-run"


def test_no_thread_sees_names_that_another_one_is_just_working_out(plan):
    """A log line of a state and an event may be the first after a secret became known, in two threads at once."""
    asked = threading.Event()
    seen = []

    class Slow(Redactor):
        __slots__ = ()

        def harmless(self, text):
            if threading.current_thread() is thread and not asked.is_set():
                asked.set()
                go_on.wait()
            return super().harmless(text)

    go_on = threading.Event()
    texts = {"hunter2": None, "s3cret": None}
    secrets = SimpleNamespace(redactor=Slow(texts), texts=texts, changes=2)
    shown = RedactedPlan(plan, secrets)
    tags = [chunk.tag for chunk in plan.chunks]
    thread = threading.Thread(target=lambda: seen.extend(map(shown.tag, tags)))
    thread.start()
    asked.wait()
    here = [shown.event(ChunkReady(tag=tag, **HEAD)).tag for tag in tags]
    go_on.set()
    thread.join()
    assert here == seen == list(map(RedactedPlan(plan, Secrets(["hunter2", "s3cret"])).tag, tags))


EVENTS = {
    RunStarted: {"wall": 1.0, "digest": "d", "chunks": 1, "concurrency": 1, "test": False, "warnings": ("hunter2",)},
    ChunkReady: {"after": "cmd_|-hunter2_|-hunter2_|-run", "because": ("footprint",), "resources": ("path:/hunter2",)},
    ChunkStarted: {"function": "cmd.run", "id": "a", "name": "echo hunter2", "sls": "s"},
    ChunkRetried: {"attempt": 1, "result": False, "comment": "hunter2", "interval": 1.0},
    ChunkOutput: {"text": "hunter2"},
    ChunkFinished: {
        "row": row("hunter2", comment="hunter2", hunter2="hunter2"),
        "why": "met",
        "sub_rows": {"x_|-hunter2_|-hunter2_|-y": row("hunter2")},
    },
    PrefetchStarted: {"what": "https://hunter2@h/hunter2"},
    PrefetchEnded: {"what": "hunter2", "result": "failed", "text": "hunter2"},
    StateEvent: {"name": "salt/hunter2", "row": row("hunter2")},
    RunFinished: {
        "exit_code": 0,
        "succeeded": 1,
        "changed": 0,
        "failed": 0,
        "not_started": ("cmd_|-hunter2_|-hunter2_|-run",),
        "cancelled": "hunter2",
        "warnings": ("hunter2",),
        "races": (
            Race(
                RacingState("cmd_|-hunter2_|-hunter2_|-run", "hunter2", "cmd.run", "/hunter2.sls", 1),
                RacingState("cmd_|-b_|-b_|-run", "b", "cmd.run"),
                (Contact("/hunter2", "writes", "reads", earlier_writes=True, later_writes=False),),
                {"cmd": "hunter2"},
            ),
        ),
        "handled": ("cmd_|-hunter2_|-hunter2_|-run",),
        "rows": {"x_|-hunter2_|-hunter2_|-y": row("hunter2", comment="hunter2")},
    },
}


def test_every_event_is_among_these():
    assert set(EVENTS) == set(Event.__subclasses__())


@pytest.mark.parametrize("kind", EVENTS)
def test_no_event_shows_a_secret(kind, plan, shown):
    fields = {**EVENTS[kind], **({"tag": plan.chunks[0].tag} if "tag" in kind.__struct_fields__ else {})}
    event = shown.event(kind(**HEAD, **fields))
    body = msgspec.structs.asdict(event) | {"run_id": ""}
    assert MASK in repr(body)
    assert "hunter2" not in repr(body)
    assert event.run_id == HEAD["run_id"]


@pytest.mark.parametrize(
    "event",
    [
        ChunkReady(tag="", after="cmd_|-a_|-echo hunter2_|-run", resources=("told to nobody",), **HEAD),
        ChunkStarted(tag="", function="cmd.run", id="quiet", name="told to nobody", sls="s", **HEAD),
        ChunkRetried(tag="", attempt=1, result=False, comment="told to nobody", interval=1.0, **HEAD),
        ChunkOutput(tag="", text="told to nobody", **HEAD),
        PrefetchStarted(tag="", what="told to nobody", **HEAD),
        PrefetchEnded(tag="", what="told to nobody", result="failed", text="told to nobody", **HEAD),
        ChunkFinished(tag="", row=row("told to nobody", x="told to nobody"), why="met", **HEAD),
    ],
)
def test_no_event_of_a_state_with_no_log_tells_of_it(event, plan, shown):
    told = shown.event(msgspec.structs.replace(event, tag=plan.chunks[4].tag))
    assert "told to nobody" not in repr(told)
    assert told.tag == f"cmd_|-quiet_|-{MASK}_|-run"


def test_what_a_state_waits_for_of_one_with_no_log_is_not_told(plan, shown):
    event = ChunkReady(tag=plan.chunks[0].tag, after=plan.chunks[4].tag, resources=("path:/told to nobody",), **HEAD)
    assert shown.event(event).resources == (MASK,)


def test_how_long_a_state_runs_may_be_said(plan, shown):
    event = ChunkOutput(tag=plan.chunks[4].tag, text="still running after 10 s", seconds=10.0, **HEAD)
    assert shown.event(event).text == "still running after 10 s"


def test_what_comes_of_a_state_with_no_log_is_hushed_like_it(shown):
    shown.hush("sub_|-told to nobody_|-told to nobody_|-state", "quiet")
    tag = shown.tag("sub_|-told to nobody_|-told to nobody_|-state")
    assert tag == f"sub_|-quiet_|-{MASK}_|-state"
    hushed = shown.row("sub_|-told to nobody_|-told to nobody_|-state", row("told to nobody", comment="told"))
    assert hushed["comment"] == hushed["name"] == MASK


def test_the_event_a_state_asks_for(plan, shown):
    names = [shown.state_event(plan.chunks[index], True) for index in (0, 4)]
    assert names == [f"a/echo {MASK}", f"quiet/{MASK}"]
    assert [shown.state_event(plan.chunks[index], "done hunter2") for index in (0, 4)] == [f"done {MASK}", MASK]


def test_the_plan_that_is_shown(plan):
    plan = msgspec.structs.replace(
        plan,
        warnings=(Issue("hunter2"),),
        broken_listeners=(BrokenListener((0,), "hunter2", row("hunter2")),),
        unknown={0: "it uses hunter2", 4: "told to nobody"},
        not_aggregated={0: "hunter2"},
        rows={"x_|-hunter2_|-n_|-y": row("hunter2")},
        nodes=tuple(msgspec.structs.replace(node, label="hunter2") for node in plan.nodes),
    )
    args = {"require": [{"cmd": "told to nobody"}, {"cmd": "a"}]}
    last = msgspec.structs.replace(plan.chunks[5], args=args)
    plan = msgspec.structs.replace(plan, chunks=(*plan.chunks[:5], last))
    for edge in ((0, 1, "path:/hunter2"), (0, 4, "path:/told to nobody"), (4, 5, "user:nobody"), (2, 3, "path:/x")):
        plan.dag.add(*edge[:2], "footprint", edge[2:])
    shown = RedactedPlan(plan, Secrets(["hunter2", "s3cret"])).plan
    told = repr(msgspec.structs.astuple(shown)) + repr(shown.lowstate()) + repr(list(shown.dag.edges()))
    assert not [word for word in ("hunter2", "s3cret", "nobody") if word in told]
    assert shown.chunks[5].args == {"require": [{"cmd": MASK}, {"cmd": "a"}]}
    assert shown.chunks[4].args == {"no_log": True, "cwd": MASK}
    assert [shown.dag.resources(*ends) for ends in ((0, 1), (0, 4), (4, 5), (2, 3))] == [
        (f"path:/{MASK}",),
        (MASK,),
        (MASK,),
        ("path:/x",),
    ]
    assert (list(shown.dag.packed()), shown.rank) == (list(plan.dag.packed()), plan.rank)


def _digest(password, *, secrets=(), url="x", no_log=False):
    """The digest that is shown of a plan with a password."""
    plan = PlanBuilder().chunk("a", args={"password": password, "url": url, **({"no_log": True} if no_log else {})})
    return RedactedPlan(plan.build(), Secrets(secrets)).digest


def test_no_digest_that_is_shown_lets_a_reader_try_passwords():
    for said in ({"secrets": ("hunter2", "hunter3")}, {"no_log": True}):
        assert _digest("hunter2", **said) == _digest("hunter3", **said)
    urls = [f"https://me:{password}@host/" for password in ("hunter2", "hunter3")]
    assert _digest("x", url=urls[0]) == _digest("x", url=urls[1]) != _digest("x", url="https://host/")


def test_where_nothing_is_hidden_the_digest_is_that_of_the_plan():
    plan = PlanBuilder().chunk("a", args={"x": object(), "y": "ü", 1: b"\xff"}).chunk("b").build()
    assert RedactedPlan(plan, Secrets()).digest == plan.digest
    assert _digest("one") != _digest("two")


def test_events_and_reports_have_the_digest_that_is_shown():
    plan = PlanBuilder().chunk("a", args={"password": "hunter2"}).build()
    shown = RedactedPlan(plan, Secrets(["hunter2"]))
    began = RunStarted(run_id="r", seq=0, time=0, wall=0, digest=plan.digest, chunks=1, concurrency=1, test=False)
    found = {shown.event(began).digest, shown.report(RunReport({}, digest=plan.digest)).digest, shown.plan.digest}
    assert found == {shown.digest}
    assert plan.digest not in found


def test_a_report_shows_no_secret(plan, shown):
    tag = plan.chunks[0].tag
    report = RunReport(
        {tag: row("hunter2")},
        not_started=(tag,),
        handled=(tag,),
        warnings=(Issue("hunter2", hint="hunter2"),),
        notices=("hunter2",),
        cancelled="hunter2",
    )
    assert "hunter2" not in repr(shown.report(report))
    assert report.rows[tag]["name"] == "hunter2"


def test_listeners_are_told_of_like_their_states():
    builder = PlanBuilder().chunk("a", name="hunter2").chunk("b", name="told to nobody", args={"no_log": True})
    plan = builder.chunk("c", args={"no_log": True}).listen("a", "b").listen("b", "a").listen("c", "a").build()
    shown = RedactedPlan(plan, Secrets(["hunter2"]))
    tags = [f"test_|-listener_a_|-{MASK}_|-mod_watch", f"test_|-listener_b_|-{MASK}_|-mod_watch"]
    tags.append("test_|-listener_c_|-c_|-mod_watch")
    assert [shown.tag(node.label) for node in plan.listeners] == tags
    assert [node.label for node in shown.plan.listeners] == tags
    assert shown.row(plan.listeners[1].label, row("told to nobody"))["name"] == MASK


WORDS = st.lists(st.sampled_from(["hunter2", "s3cret", "a", "**********", " (1)", " (2)", " "]), min_size=1, max_size=3)


@given(st.lists(st.tuples(WORDS, WORDS, st.booleans()), min_size=1, max_size=6))
@example([(["hunter2"], ["a"], False), (["s3cret"], ["a"], False), (["**********"], ["a", " (1)"], False)])
def test_tags_hide_secrets_and_stay_as_different_as_they_were(states):
    builder, ids = PlanBuilder(), set()
    for id_, name, no_log in states:
        if "".join(id_) not in ids:
            ids.add("".join(id_))
            builder.chunk("".join(id_), name="".join(name), args={"no_log": True} if no_log else {})
    plan = builder.build()
    shown = RedactedPlan(plan, Secrets(["hunter2", "s3cret"]))
    tags = [shown.tag(chunk.tag) for chunk in plan.chunks]
    assert len(set(tags)) == len({chunk.tag for chunk in plan.chunks})
    assert not [tag for tag in tags if "hunter2" in tag or "s3cret" in tag]
    assert [chunk.tag for chunk in shown.plan.chunks] == tags
    for chunk, tag in zip(plan.chunks, tags, strict=True):
        if chunk.args.get("no_log") and chunk.name != chunk.id:
            assert parse_tag(tag).name.startswith(MASK)
    report = shown.report(RunReport({chunk.tag: row() for chunk in plan.chunks}))
    assert list(report.rows) == list(dict.fromkeys(tags))
