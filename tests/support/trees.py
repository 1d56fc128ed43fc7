"""Small trees for tests of the compiler: SLS texts in, Plan or Issues out."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from memory_files import MemoryFileClient
from reached import reach

from asyncstate.compile.compiler import Compiler
from asyncstate.compile.findings import Findings
from asyncstate.compile.graph import resolve
from asyncstate.compile.graph.order import SerialOrder, settle_orders
from asyncstate.compile.graph.requisite_graph import REQUIRE, RequisiteGraph
from asyncstate.compile.graph.resolve import Resolver
from asyncstate.compile.high.highstate import HighData
from asyncstate.compile.high.verify import verify_high
from asyncstate.compile.low.lowstate import UNSET, Draft, compile_low
from asyncstate.compile.ordering import Given, Machine
from asyncstate.data.packages import package_lists
from asyncstate.errors import CompileError
from asyncstate.model.plan import NodeKind
from asyncstate.render import render_sls
from asyncstate.render.context import RenderContext
from asyncstate.sources.matchers import Matcher


class FakeStates:
    """State modules that have the functions named; ``footprints`` are the mod_footprint of some, ``hooks`` others."""

    def __init__(self, *functions, footprints=None, hooks=None, bundled=True):
        self.hooks = hooks or {}
        self.functions = {*functions, *self.hooks}
        self.footprints = footprints or {}
        self.bundled = bundled
        self.asked = []

    def has(self, name):
        self.asked.append(name)
        return name in self.functions

    def module(self, name):
        return next((each for each in self.functions if each.startswith(f"{name}.")), None)

    def reason(self, name):
        return f"'{name}' is not available."

    def find(self, name):
        self.asked.append(name)
        if name in self.hooks:
            return self._loaded(self.hooks[name])
        module, _, function = name.partition(".")
        if function == "mod_footprint":
            declare = self.footprints.get(module)
            return None if declare is None else self._loaded(declare)
        return self._loaded(None) if module in self.footprints else None

    def refused(self, module_name):
        return None

    def _loaded(self, func):
        return SimpleNamespace(func=func, module=SimpleNamespace(bundled=self.bundled))


WATCHING = ("test.mod_watch", "service.mod_watch")


def compiler(
    tree,
    *,
    states=None,
    grains=None,
    envs=None,
    functions=None,
    links=None,
    learned=None,
    remote=False,
    is_root=False,
    packages=package_lists,
    **opts,
):
    """A compiler of ``{name: SLS text}``, or of one text called ``s``."""
    files = {"s": tree} if isinstance(tree, str) else tree
    roots = {"base": {_path(name): text for name, text in files.items()}}
    for env, more in (envs or {}).items():
        roots[env] = {_path(name): text for name, text in more.items()}
    client = MemoryFileClient(roots)
    options = {"id": "host", "state_auto_order": True, "implicit_order": "none", "file_client": "local", **opts}
    context = RenderContext(
        salt={}, grains=grains or {}, pillar={}, opts=options, fileclient=client, sls="", saltenv="base"
    )
    machine = Machine(links=links, learned=learned, is_root=is_root, packages=packages)
    states = states if states is not None else FakeStates(*WATCHING)
    given = Given(options, grains or {}, client, states, functions, machine=machine, remote=remote)
    return Compiler(given, lambda file, extra: render_sls(file, context), lambda: Matcher(options, grains or {}, {}))


def rendering(client, **options):
    """A function that renders an SLS of these files, with more variables."""
    options = {"renderer": "jinja|yaml", **options}
    context = RenderContext(salt={}, grains={}, pillar={}, opts=options, fileclient=client)
    return lambda file, extra: render_sls(file, context.replaced(extra=extra))


def _path(name):
    if name.startswith("salt://"):  # no SLS
        return name.removeprefix("salt://")
    return name if name.endswith(".sls") else name.replace(".", "/") + ".sls"


def plan(tree, sls=("s",), *, exclude=(), only_ids=(), saltenv=None, **options):
    return compiler(tree, **options).plan(
        None if sls is None else list(sls), exclude=exclude, only_ids=only_ids, saltenv=saltenv
    )


def mistakes(tree, sls=("s",), **options):
    """The Issues of a tree that does not compile. A check finds the same."""
    exclude = options.pop("exclude", ())
    sls = None if sls is None else list(sls)
    found = _issues(lambda: compiler(tree, **options).plan(sls, exclude=exclude))
    if not exclude:
        assert _issues(lambda: compiler(tree, **options).check(sls)) == found
    return found


def _issues(compiling):
    try:
        compiling()
    except CompileError as error:
        return list(error.issues)
    return []


def messages(tree, sls=("s",), **options):
    return [issue.message for issue in mistakes(tree, sls, **options)]


def warnings(tree, sls=("s",), **options):
    """The warnings of a plan. Where the plan is nothing but the serial order, a check finds the same."""
    found = plan(tree, sls, **options).warnings
    if options.get("implicit_order", "none") == "none" and "exclude" not in options:
        options.pop("only_ids", None)
        assert compiler(tree, **options).check(None if sls is None else list(sls)) == found
    return [issue.message for issue in found]


def ids(compiled):
    return [chunk.id for chunk in compiled.chunks]


def names(compiled):
    return [chunk.name for chunk in compiled.chunks]


def chunk_of(compiled, id_):
    return next(chunk for chunk in compiled.chunks if chunk.id == id_)


def edges(compiled, source=None):
    """Edges between chunks, checks (``?id``), sets, stages and groups (their label), as text."""
    return {
        (_node(compiled, edge.before), _node(compiled, edge.after))
        for edge in compiled.dag.edges()
        if source is None or edge.source == source
    }


def _node(compiled, number):
    node = compiled.nodes[number]
    if node.kind is NodeKind.CHUNK:
        return compiled.chunks[node.chunk].id
    if node.kind is NodeKind.CHECK:
        return f"?{compiled.chunks[node.chunk].id}"
    return node.label


def requisites(compiled, id_):
    """(kind, target) of each requisite of a chunk."""
    found = compiled.requisites[chunk_of(compiled, id_).index]
    return [(requisite.kind.value, _node(compiled, requisite.node)) for requisite in found]


def declared(states):
    """High data of states of ``test.nop`` with these arguments."""
    return {id_: {"test": ["nop", *own], "__sls__": "a", "__env__": "base"} for id_, own in states.items()}


def wired(high, *, watching=None):
    """The graph and serial order of high data that is right; ``watching``: the modules with a mod_watch, or all."""
    findings = Findings()
    data = HighData(high, findings)
    verify_high(data, findings)
    low = compile_low(data, findings)
    graph = RequisiteGraph(low.drafts)
    Resolver(graph, data, findings, has_mod_watch=lambda module: watching is None or module in watching).resolve()
    assert not findings.errors, findings.errors
    settle_orders(low.drafts, findings)
    order = SerialOrder(graph)
    return graph, order, order.sort()


def bare_graph(size, edges=()):
    """A graph of states ``s0``, ``s1`` … without requisites, and with edges that have the kind of a ``require``."""
    named = [f"s{number}" for number in range(size)]
    graph = RequisiteGraph(
        [Draft("test", "nop", id_, id_, sls="s", env="base", args={}, order=UNSET, included_from=()) for id_ in named]
    )
    for before, after in edges:
        graph.add_edge(before, after, REQUIRE)
    return graph


@contextmanager
def sets_of(members):
    """Let a reference to this number of states make a set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolve, "SET_THRESHOLD", members)
        yield


def reachable(compiled, before, after):
    """Whether a path leads from one chunk to another, by index."""
    return after in reach(compiled.dag, [before])
