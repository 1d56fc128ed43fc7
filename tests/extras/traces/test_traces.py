"""Spans made from events, and what a collector gets of a run."""

from __future__ import annotations

import sys

import pytest
from imaginary_run import WALL, Script, spans, tag
from opentelemetry.trace import StatusCode
from otlp_collector import Collector, values

from asyncstate.cli import main
from asyncstate.config import Settings
from asyncstate.extras.traces.spans import RunTrace, waits_in
from asyncstate.model.event import (
    ChunkReady,
    ChunkRetried,
    Phase,
    PrefetchEnded,
    PrefetchStarted,
)
from asyncstate.runtime import StateRuntime

__all__ = ["spans"]

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TREE = (
    "conf:\n  file.managed:\n    - name: {out}/conf\n    - contents: x\n"
    "broke:\n  cmd.run:\n    - name: exit 3\n    - require: [file: conf]\n"
)


def times(span):
    return round(span.start_time / 1e9 - WALL, 6), round(span.end_time / 1e9 - WALL, 6)


def test_a_run_is_a_span_with_its_phases_and_states_below(spans):
    trace = RunTrace(spans.tracer, "asyncstate apply", "web1")
    trace.places = {tag("a"): ("/srv/s.sls", 7)}
    script = Script(trace.on_event)
    trace.waits = {(tag("b"), False): {(tag("c"), False): ("footprint",), (tag("a"), False): ("group",)}}
    script.begin(
        phases=(
            Phase("grains", "", WALL - 4, 0.5),
            Phase("pillar", "", WALL - 3, 0.5),
            Phase("render", "p", WALL - 3, 0.5),
            Phase("compile", "", WALL - 2, 1.5),
            Phase("render", "s", WALL - 1.9, 0.25),
        )
    )
    script.start("c", 0.25)
    script.finish("c", 0.5)
    script.start("a", 0.5)
    script.add(ChunkRetried, 0.75, tag=tag("a"), attempt=1, result=False, comment="no", interval=0.25)
    script.add(PrefetchStarted, 0.75, tag=tag("b"), what="http://x/y")
    script.add(PrefetchEnded, 1.0, tag=tag("b"), what="http://x/y", result="fetched")
    script.finish("a", 1.25, changes={"x": 1})
    script.add(ChunkReady, 1.25, tag=tag("b"), after=tag("a"), because=("require", "watch"))
    script.start("b", 1.5)
    script.finish("b", 2.0, False, comment="broke\nat once \ud800\x1b[0m")
    script.start("held", 2.0)
    script.finish("held", 2.0, False, __state_ran__=False)
    script.end(2.5, 2)
    found = spans()
    run, a, b, held = (found[name] for name in ("asyncstate apply", "test.nop: a", "test.nop: b", "test.nop: held"))
    assert (times(run), times(a), times(b)) == ((-4.0, 2.5), (0.5, 1.25), (1.5, 2.0))
    assert times(found["compile"]) == (-2.0, -0.5)
    assert found["render s"].parent.span_id == found["compile"].context.span_id
    assert found["render p"].parent.span_id == found["pillar"].context.span_id
    directly = [found[name] for name in ("grains", "pillar", "compile", "fetch ahead")]
    assert {each.parent.span_id for each in (a, b, held, *directly)} == {run.context.span_id}
    assert {each.context.trace_id for each in found.values()} == {run.context.trace_id}
    assert a.attributes == {
        "host.name": "web1",
        "asyncstate.tag": tag("a"),
        "asyncstate.id": "a",
        "asyncstate.name": "a",
        "asyncstate.sls": "s",
        "asyncstate.function": "test.nop",
        "asyncstate.check": False,
        "asyncstate.result": "true",
        "asyncstate.changed": True,
        "asyncstate.ran": True,
        "asyncstate.why": "met",
        "asyncstate.retries": 1,
        "code.file.path": "/srv/s.sls",
        "code.line.number": 7,
    }
    assert [(link.context.span_id, link.attributes) for link in b.links] == [
        (a.context.span_id, {"asyncstate.because": ("require", "watch"), "asyncstate.last": True}),
        (found["test.nop: c"].context.span_id, {"asyncstate.because": ("footprint",), "asyncstate.last": False}),
    ]
    assert (b.status.status_code, b.status.description) == (StatusCode.ERROR, "broke")
    assert b.events[0].attributes["exception.message"] == "broke\nat once \\ud800"
    assert held.status.status_code is StatusCode.UNSET
    assert run.attributes["asyncstate.exit_code"] == 2
    assert run.status.description == "1 state failed"


def test_what_has_no_end_ends_where_the_run_was_last_heard_of(spans):
    trace = RunTrace(spans.tracer, "asyncstate apply", "")
    script = Script(trace.on_event)
    script.begin()
    script.start("a", 1.0)
    script.start("b", 2.0, check=True)
    trace.close()
    found = spans()
    assert {name: (times(span)[1], span.status.status_code) for name, span in found.items()} == dict.fromkeys(
        ["asyncstate apply", "test.nop: a", "check test.nop: b"], (2.0, StatusCode.ERROR)
    )


@pytest.fixture
def apply(tmp_path, monkeypatch, capfd):
    """Apply a tree in which a command fails; returns the exit code, standard output and standard error."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "web.sls").write_text(TREE.format(out=tmp_path))
    for name in ("HOME", "XDG_CONFIG_HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_SERVICE_NAME", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def call(endpoint, *words):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        code = main(["apply", "web", "--progress", "none", *words, "--file-root", str(tree)])
        return (code, *capfd.readouterr())

    return call


def test_a_collector_gets_the_run_below_what_the_environment_says(apply, monkeypatch, tmp_path):
    monkeypatch.setenv("TRACEPARENT", PARENT)
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=ci")
    with Collector() as collector:
        code, _, errors = apply(collector.url)
    assert (code, "warning" in errors) == (2, False)
    run, conf, broke = (
        next(span for name, span in collector.spans.items() if name.startswith(start))
        for start in ("asyncstate apply", "file.managed: conf", "cmd.run: broke")
    )
    assert run.trace_id.hex() == PARENT.split("-")[1]
    assert run.parent_span_id.hex() == PARENT.split("-")[2]
    assert (conf.parent_span_id, broke.links[0].span_id) == (run.span_id, conf.span_id)
    assert values(broke.attributes)["code.file.path"] == str(tmp_path / "tree/web.sls")
    assert values(broke.attributes)["code.line.number"] == 6
    assert broke.status.message
    assert {"grains", "pillar", "compile", "render web"} <= collector.spans.keys()
    assert collector.resources[0]["service.name"] == "asyncstate"
    assert collector.resources[0]["deployment.environment.name"] == "ci"
    assert collector.paths == ["/v1/traces"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a:\n  test.nop: [require: [test: b]]\n", "Referenced state does not exist"),
        ("{{ nothing.at.all }}\n", "undefined"),
    ],
    ids=["does not compile", "does not render"],
)
def test_a_tree_that_does_not_compile_is_a_trace_that_says_why(apply, tmp_path, monkeypatch, text, said):
    (tmp_path / "tree" / "web.sls").write_text(text)
    monkeypatch.setenv("ASYNCSTATE_ID", "web1")
    with Collector() as collector:
        code, _, errors = apply(collector.url)
    assert (code, "warning" in errors) == (1, False)
    run = collector.spans["asyncstate apply"]
    assert {collector.spans[name].trace_id for name in ("grains", "pillar", "compile", "render web")} == {run.trace_id}
    assert run.status.message
    assert said in values(run.events[0].attributes)["exception.message"]
    assert values(run.attributes) == {"asyncstate.exit_code": 1, "host.name": "web1"}


@pytest.mark.parametrize("status", [400, None], ids=["refuses", "is away"])
def test_without_a_collector_the_run_is_as_ever_and_words_say_so_once(apply, status):
    with Collector(status or 200) as collector:
        url = collector.url
        if status:
            code, _, errors = apply(url)
    if not status:
        code, _, errors = apply(url)
    assert code == 2
    assert errors.count("spans could not be sent") == 1
    assert ("Bad Request" if status else "Connection refused") in errors
    assert errors.count(url) == 1


def test_without_the_extra_it_is_named(apply, monkeypatch):
    for name in [*sys.modules]:
        if name.startswith(("opentelemetry", "asyncstate.extras.traces.spans", "asyncstate.extras.traces.export")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    code, _, errors = apply("http://127.0.0.1:9")
    assert code == 2
    assert (
        "not traced: traces need OpenTelemetry: pip install 'opentelemetry-sdk>=1.30' 'opentelemetry-exporter-otlp-proto-http>=1.30'"
        in errors
    )
    code, text, errors = apply("", "--traces", "on")
    assert code == 1
    assert "pip install 'opentelemetry-sdk>=1.30' 'opentelemetry-exporter-otlp-proto-http>=1.30'" in text + errors
    assert apply("http://127.0.0.1:9", "--traces", "off")[2].count("traces") == 0


def test_what_this_program_does_not_speak_is_said_and_what_is_off_is_off(apply, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    assert "is grpc, and only http/protobuf is known" in apply("http://127.0.0.1:9")[2]
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert "traced" not in apply("http://127.0.0.1:9")[2]


WAITING = {
    "web": """
a: test.nop
b:
  test.nop: [require: [test: a]]
c:
  test.nop: [require: [sls: more], watch: [test: b]]
d:
  test.nop: [prereq: [test: c]]
first:
  test.nop: [order: 1]
""",
    "more": "x: test.nop\ny: test.nop\n",
}


def test_all_that_a_state_waits_for_is_known_also_through_a_set_but_not_through_a_stage(tmp_path):
    for name, text in WAITING.items():
        (tmp_path / f"{name}.sls").write_text(text)
    with StateRuntime(Settings(file_roots={"base": [str(tmp_path)]}, salt_python="off")).open_sync() as runtime:
        plan = runtime.compile_sync(["more", "web"])

    def short(node):
        return node[0].split("_|-")[1] + "?" * node[1]

    waits = {
        short(node): {short(other): set(because) for other, because in awaited.items()}
        for node, awaited in waits_in(plan).items()
        if awaited
    }
    assert waits == {
        "b": {"a": {"require"}},
        "c?": {"x": {"require"}, "y": {"require"}, "b": {"watch"}},
        "c": {"x": {"require"}, "y": {"require"}, "b": {"watch"}, "d": {"prerequired"}},
        "d": {"c?": {"prereq"}},
    }
