"""The public names as a program and a plugin use them. It is never run: mypy, strict, checks each type it states."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, Unpack, assert_never, assert_type

import asyncstate
from asyncstate import (
    AsyncStateError,
    CompileError,
    ConfigError,
    EventLoopError,
    Issue,
    LockHeld,
    LowChunk,
    Plan,
    Row,
    Run,
    RunKeywords,
    RunReport,
    Settings,
    StateRuntime,
    errors,
    events,
    interfaces,
    load_settings,
)
from asyncstate import dunders as for_plugins
from asyncstate.filesystem import Access, give, makedirs, open_read, read_bytes, remove_tree, replace_content
from asyncstate.interfaces import cron, group, locale, lowpkg, pkg, service, sysctl, timezone, user
from asyncstate.logs import RimFilter, hide_secrets
from asyncstate.prefetch import announce, fetching, folder, wait
from asyncstate.testing import BrokenContract, Proof, States, states

if TYPE_CHECKING:
    from collections.abc import MutableMapping

assert_type(asyncstate.__version__, str)

# --- programs


def configure() -> Settings:
    try:
        settings = load_settings([Path("/etc/salt/minion"), "more.yaml"], {"test": True, "mine": 1}, {"X": "y"})
    except ConfigError as error:
        raise SystemExit(str(error)) from error
    assert_type(settings, Settings)
    assert_type(settings.file_roots, dict[str, list[str]])
    assert_type(settings.implicit_order, Literal["none", "footprint", "learned", "strict", "file"])
    return Settings(file_roots={"base": ["srv/salt"]}, pillar={"a": 1}, concurrency=4)


async def deployed(name: str, version: int) -> Row:
    await asyncio.sleep(0)
    return {"name": name, "result": True, "changes": {"version": version}, "comment": ""}


async def program(settings: Settings) -> int:
    async with StateRuntime(settings, states={"app.deployed": deployed}) as runtime:
        assert_type(runtime, StateRuntime)
        assert_type(runtime.settings, Settings)
        runtime.secrets.add("pa55word")
        runtime.register_state("app.also", deployed)
        try:
            plan = await runtime.compile(["web"], saltenv="base", exclude=["old"], ids=["nginx"])
        except CompileError as error:
            assert_type(error.issues, tuple[Issue, ...])
            return 1
        assert_type(plan, Plan)
        data = await runtime.compile_data({"motd": {"file.managed": [{"name": "/etc/motd"}]}}, sls="motd")
        assert_type(data, Plan)
        assert_type(runtime.shown(plan), Plan)
        read_plan(plan)
        run = runtime.run(
            plan, concurrency=16, test=None, failhard=True, shuffle=7, timeout=60.0, mock=False, prefetch=2
        )
        run = runtime.run(plan, observers=[watch, told_of], events=True, lock=None, wait=30)
        assert_type(run, Run)
        async with run as entered:
            assert_type(entered, Run)
            async for event in run:
                assert_type(event, events.AnyEvent)
            assert_type(run.rows, dict[str, Row])
            assert_type(run.running, list[str])
            assert_type(run.is_reported, bool)
            run.stop("enough")
            run.cancel("now")
            await run.wait()
        read_report(run.report)
        try:
            assert_type(await runtime.apply(["web"], test=True, wait=5, lock=False), RunReport)
        except LockHeld as held:
            assert_type((held.pid, held.since), tuple[int, str])
        assert_type(await runtime.single("test.nop", {"name": "x"}, mock=True), RunReport)
        assert_type(await forwarded(runtime, timeout=3.0, concurrency=2), RunReport)
        assert_type(await runtime.call("test.ping"), Any)
    return run.report.exit_code


async def forwarded(runtime: StateRuntime, **options: Unpack[RunKeywords]) -> RunReport:
    return await runtime.apply(**options)


async def misspelt(runtime: StateRuntime, plan: Plan) -> None:
    runtime.run(plan, concurency=2)  # type: ignore[call-arg]
    await runtime.apply(["web"], concurency=2)  # type: ignore[call-arg]
    await runtime.single("test.nop", {}, timeout="long")  # type: ignore[arg-type]
    await runtime.apply(["web"], events=True)  # type: ignore[call-arg]
    await runtime.compile_data(["web"])  # type: ignore[arg-type]
    States(Path(), pillar={})  # type: ignore[call-arg]


def blocking(settings: Settings) -> None:
    with StateRuntime(settings).open_sync() as runtime:
        assert_type(runtime.compile_sync(["web"], texts={"/srv/salt/web.sls": ""}), Plan)
        assert_type(runtime.compile_data_sync({"a": "test.nop"}), Plan)
        assert_type(runtime.compile_file_sync(Path("web.sls")), Plan)
        assert_type(runtime.single_plan("test.nop", {}), Plan)
        assert_type(runtime.top_sync(), dict[str, list[str]])
        assert_type(runtime.call_sync("test.ping"), Any)


def read_plan(plan: Plan) -> None:
    assert_type(plan.chunks, tuple[LowChunk, ...])
    assert_type(plan.warnings, tuple[Issue, ...])
    assert_type(plan.rows, dict[str, Row])
    assert_type((plan.saltenv, plan.digest), tuple[str, str])
    assert_type(plan.lowstate(), list[dict[str, Any]])
    for chunk in plan.chunks:
        assert_type([chunk.tag, chunk.function, chunk.state, chunk.fun, chunk.id], list[str])
        assert_type([chunk.name, chunk.sls, chunk.env, chunk.file], list[str])
        assert_type(chunk.args, dict[str, Any])
        assert_type(chunk.line, int)


def read_report(report: RunReport) -> None:
    assert_type(report.rows, dict[str, Row])
    assert_type(report.repeatable_rows, dict[str, Row])
    assert_type((report.ok, report.test), tuple[bool, bool])
    assert_type((report.exit_code, report.concurrency, report.shuffle), tuple[int, int, int | None])
    assert_type(report.failed, list[str])
    assert_type([report.handled, report.not_started, report.notices], list[tuple[str, ...]])
    assert_type(report.warnings, tuple[Issue, ...])
    for race in report.races:
        assert_type([race.earlier.tag, race.later.file], list[str])
        assert_type([contact.path for contact in race.contacts], list[str])
    assert_type([report.cancelled, report.digest, report.run_id], list[str])
    assert_type((report.wall_ms, report.busy_ms), tuple[float, float])
    for issue in report.warnings:
        assert_type(
            (issue.message, issue.file, issue.line, issue.hint, issue.rule, issue.mistake),
            tuple[str, str, int, str, str, bool],
        )


# --- events


def watch(event: events.Event) -> None:
    assert_type((event.run_id, event.seq, event.time, event.v), tuple[str, int, float, int])
    line = events.encode_event(event)
    assert_type(line, bytes)
    told(events.decode_event(line))


def told_of(event: events.AnyEvent) -> None:
    told(event)


def told(event: events.AnyEvent) -> str:
    """Each event, none forgotten: a new one is an error here."""
    match event:
        case events.RunStarted(chunks=chunks):
            assert_type(chunks, int)
        case events.ChunkReady(tag=tag, after=after):
            return tag + after
        case events.ChunkStarted(function=function):
            return function
        case events.ChunkRetried(interval=interval):
            assert_type(interval, float)
        case events.ChunkOutput(text=text):
            return text
        case events.ChunkFinished(row=row):
            assert_type(row, dict[str, Any])
        case events.PrefetchStarted(what=what):
            return what
        case events.PrefetchEnded(result=result):
            return result
        case events.StateEvent(name=name):
            return name
        case events.RunFinished(exit_code=code):
            assert_type(code, int)
        case _:
            assert_never(event)
    return ""


# --- errors

raised: list[type[AsyncStateError]] = [errors.AsyncStateError, errors.EventLoopError, EventLoopError]
raised += [errors.ArgumentError, errors.CommandExecutionError, errors.CompileError, errors.ConfigError]
raised += [errors.CycleError, errors.FleetError, errors.FunctionNotFound, errors.InvocationError, errors.JournalError]
raised += [errors.LoaderError, errors.LockHeld, errors.NotYet, errors.PathRefused, errors.PillarError]
raised += [errors.PlanError, errors.RenderError, errors.ResumeRefused, errors.RunCancelled]


def explain_elsewhere(error: errors.RaisedElsewhere) -> str:
    assert_type(error.shown, str)
    return error.shown


def explain(error: AsyncStateError) -> str:
    assert_type((error.message, error.strerror), tuple[str, str])
    if isinstance(error, errors.RenderError):
        assert_type((error.file, error.line, error.buffer, error.excerpt), tuple[str, int, str, str])
    if isinstance(error, errors.FunctionNotFound):
        assert_type((error.name, error.reason, error.suggestion), tuple[str, str, str])
    if isinstance(error, errors.CommandExecutionError):
        assert_type((error.error, error.strerror_without_changes), tuple[str, str])
    return str(errors.Issue(error.message, hint="look there"))


# --- plugins


def present(name: str) -> for_plugins.Row:
    """A state."""
    for_plugins.check_cancelled()
    for_plugins.hide("secret")
    now = for_plugins.__salt__["motd.get"](name)
    if now == name:
        return for_plugins.unchanged(name, "In place")
    if for_plugins.is_dry_run():
        return for_plugins.would_change(name, "Would be written", {name: now})
    if not now:
        return for_plugins.failed(name, "No luck")
    assert_type(for_plugins.not_told(name, "It depends"), for_plugins.Row)
    assert_type(for_plugins.changed(name, "Written", {name: now}), for_plugins.Row)
    return for_plugins.make_row(name, result=True, comment="Written", changes={})


def put(path: str) -> int:
    with for_plugins.editing(path) as edit:
        assert_type(edit, for_plugins.Editing)
        assert_type(for_plugins.entry_of(f"path:{path}", "key", 1), str)
        return edit.place(["a", None], "b")


def sees() -> None:
    mappings: list[MutableMapping[str, Any]] = [for_plugins.__context__, for_plugins.__file_client__]
    mappings += [for_plugins.__grains__, for_plugins.__low__, for_plugins.__lowstate__, for_plugins.__opts__]
    mappings += [for_plugins.__orig_opts__, for_plugins.__pillar__, for_plugins.__proxy__, for_plugins.__running__]
    mappings += [for_plugins.__serializers__, for_plugins.__states__, for_plugins.__utils__]
    assert_type(mappings[0].get("x"), Any | None)
    for text in (for_plugins.__env__, for_plugins.__instance_id__, for_plugins.__sls__, for_plugins.__user__):
        assert_type(str(text), str)


def asks() -> None:
    services = for_plugins.runtime_services()
    assert_type(services, for_plugins.Services)
    assert_type(services.render_template("{{ x }}", "jinja", {"x": 1}, "base"), str)
    assert_type(services.match("glob", "web*"), bool)
    kind: for_plugins.PluginKind = "modules"
    plugins = services.plugins(kind)
    assert_type(plugins, for_plugins.Plugins)
    assert_type(plugins.get("test.ping"), for_plugins.PluginFunction)
    assert_type(plugins.module("test"), for_plugins.PluginModule | None)
    assert_type(services.orchestra(), for_plugins.Orchestra)
    assert_type(services.fire("app/ready", {"port": 80}), bool)


def reads() -> None:
    files = for_plugins.tree_files()
    assert_type(files, for_plugins.TreeFiles)
    roots: for_plugins.FileRoots = files
    assert_type((roots.envs(), roots.roots("base")), tuple[list[str], list[str]])
    assert_type(files.find("web.sls", "base"), str | None)


def touches(path: str) -> None:
    makedirs(path)
    assert_type(read_bytes(path), bytes)
    replace_content(path, b"new")
    give(path, Access(uid=0, gid=0, mode=0o644))
    with open_read(path) as file:
        file.read()
    remove_tree(path)


# --- fetching ahead


def fetch_ahead(name: str) -> bool:
    with fetching(name, f"{name} too"):
        assert_type(folder("x"), str)
        return bool(folder("x", directory="/srv", mode=0o711))


def use(name: str) -> None:
    wait(name)
    announce("lists")


# --- logs

logging.StreamHandler[TextIO]().addFilter(RimFilter())
assert_type(hide_secrets(None, "info", {"event": "x"}), dict[str, Any])


# --- interfaces


class QueueInterface(interfaces.Interface):
    """What every queue offers."""

    __modulename__ = "queue"

    def length(self, name: str) -> int:
        """How many messages wait."""
        return 0

    @interfaces.Interface.supported(os_family=["Debian"])
    def hold(self, name: str) -> dict[str, Any]:
        """Let nobody take a message."""
        return {}

    @interfaces.Interface.not_applicable(os=["Alpine"])
    def owner(self, *names: str) -> dict[str, Any]:
        """Whose it is."""
        return {}


bundled: list[type[interfaces.Interface]] = [cron.CronInterface, group.GroupInterface, locale.LocaleInterface]
bundled += [lowpkg.LowpkgInterface, pkg.PkgInterface, service.ServiceInterface, sysctl.SysctlInterface]
bundled += [timezone.TimezoneInterface, user.UserInterface]
faults: list[type[AsyncStateError]] = [interfaces.InterfaceError, interfaces.StructureError]
faults += [interfaces.SMINotImplementedError, interfaces.SMINotSupportedError]

__virtualname__ = QueueInterface(__name__)()
assert_type(__virtualname__, interfaces.VirtualName)
assert_type(QueueInterface(__name__).length("mail"), int)
assert_type(list(interfaces.functions_of(QueueInterface(__name__))), list[str])
assert_type(interfaces.interface_of(__virtualname__), interfaces.Interface | None)


# --- tests of states


def test_marker(states: States) -> None:
    states.settings.pillar = {"who": "you"}
    assert_type(states.settings, Settings)
    assert_type(states.root, Path)
    assert_type(states.tree("_states/marker.py", ""), Path)
    assert_type(states.path("marker"), str)
    assert_type(states.run("marker.present", test=True, name="x"), Row)
    try:
        proof = states.prove("marker.present", changes=False, name="x")
    except BrokenContract:
        return
    assert_type(proof, Proof)
    assert_type(proof.changes, dict[str, Any])
    assert_type([proof.foretold, proof.row, proof.again, proof.settled], list[Row])
    assert_type(states.prove_watch("marker.present", result=False, name="x"), Row)
    assert_type(states.prove_aggregate("marker.present", {"name": "x"}, {"name": "y"}, before=print), list[Row])
    assert_type(states.prove_prefetch("marker.present", before=print, name="x"), Row)


fixture = states
own = States(Path("/tmp/own"), Settings(pillar={"who": "me"}))
