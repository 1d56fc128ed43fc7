"""Footprints: the implicit order between states that touch the same things.

A state module says what a state reads and writes (``mod_footprint(low)``), a state may say it itself (``footprint:``).
In serial order, a state waits for those before it that wrote what it touches, or touched what it writes. It also says
which folders it ``makes`` where they are missing: two who make one do not wait for each other, but those who need it
do. Edges go forward in serial order, so they never make a cycle.
"""

from __future__ import annotations

import re
from itertools import islice
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from asyncstate.compile.effects.scoreboard import Scoreboard
from asyncstate.errors import meant_for_program
from asyncstate.model.dag import FOOTPRINT
from asyncstate.model.encode import Reduction, plain
from asyncstate.model.hooks import MOD_FOOTPRINT
from asyncstate.model.plan import Node, NodeKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.graph.assemble import PlanBuilder
    from asyncstate.load.plugin import LoadedFunction
    from asyncstate.model.chunk import LowChunk

_WITHOUT = frozenset({"test"})
_HOLDS_FORMULA = frozenset({"pkg", "service"})
"""What a package installs and a daemon reads cannot be named beforehand: they keep their place within their formula."""

_COMMANDS = frozenset({"cmd", "module"})
_CONDITIONS = ("onlyif", "unless", "creates", "check_cmd")
_ABSOLUTE_PATH = re.compile(r"""(?<![^\s'"`;|&<>()=,])/[^\s'"`;|&<>()$*?{}\[\],\\:]+""")
_MOST_NAMES = 100_000
"""How many resources a state may read, write or make: a list of a module's own class may be endless."""
_NOT_FILES = ("/dev/", "/proc/", "/sys/")


class Footprint(NamedTuple):
    """What a state touches; ``unknown``: nobody can say what else it does."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    unknown: bool = False

    @classmethod
    def of(cls, declared: dict[str, Any]) -> Footprint:
        """Read what a module or a state says."""
        reads, writes, makes = (_names(declared.get(key)) for key in ("reads", "writes", "makes"))
        return cls(reads, writes, makes, bool(declared.get("unknown")))

    def everything(self) -> tuple[str, ...]:
        """Return every name in it."""
        return (*self.reads, *self.writes, *self.makes)


class FootprintSource(Protocol):
    """What is asked about state modules."""

    def find(self, name: str, /) -> LoadedFunction | None:
        """Return the function called ``module.function``, None if there is none."""


class _Module(NamedTuple):
    declare: Callable[[dict[str, Any]], Any] | None
    bundled: bool


class Footprints:
    """Footprints of chunks. ``mode`` is the option ``implicit_order``: ``footprint`` or ``strict``.

    ``real_path`` tells where a path leads: what is touched through a link is touched under both names.
    """

    def __init__(
        self,
        source: FootprintSource,
        mode: str,
        findings: Findings,
        real_path: Callable[[str], str] | None = None,
    ) -> None:
        self._source = source
        self._real_path = real_path
        self._strict = mode == "strict"
        self._findings = findings
        self._modules: dict[str, _Module] = {}
        self.unknown: list[int] = []

    def of(self, chunk: LowChunk) -> Footprint:
        """Return what a chunk touches, the rule of its formula included."""
        named = self._named(chunk)
        if self._real_path is None:
            return named
        reads, writes, makes = (self._with_real_names(names) for names in (named.reads, named.writes, named.makes))
        return Footprint(reads, writes, makes, named.unknown)

    def _with_real_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        more = []
        for name in names:
            if name.startswith("path:/") and self._real_path is not None:
                path, tree, _ = name[5:].partition("/**")
                real = self._real_path(path)
                if real != path:
                    more.append(f"path:{real}{tree}")
        return (*names, *more) if more else names

    def _named(self, chunk: LowChunk) -> Footprint:
        if chunk.args.get("parallel") is True:
            return Footprint()
        written = chunk.args.get("footprint")
        if isinstance(written, dict):
            return Footprint.of(written)._replace(unknown=False)
        formula = f"formula:{chunk.sls.replace('/', '.').split('.', 1)[0]}"
        looked_at = _conditions_read(chunk.args)
        if chunk.state in _WITHOUT:
            return Footprint((*looked_at, formula) if looked_at is not None else ())
        module = self._module(chunk)
        own = self._declared(module, chunk)
        if looked_at:
            own = own._replace(reads=(*own.reads, *looked_at))
        if chunk.state in _HOLDS_FORMULA or (self._strict and (own.unknown or chunk.state in _COMMANDS)):
            return own._replace(writes=(*own.writes, formula))
        if own.unknown:
            self.unknown.append(chunk.index)
        if module.bundled or looked_at is not None:  # what a condition looks at, a package may have brought
            return own._replace(reads=(*own.reads, formula))
        return own

    def _declared(self, module: _Module, chunk: LowChunk) -> Footprint:
        if module.declare is None:
            return Footprint(unknown=True)
        try:
            declared = module.declare(chunk.as_low())
            if isinstance(declared, dict):
                return Footprint.of(declared)
            _refuse_awaitables(declared)
        except BaseException as error:
            if meant_for_program(error):
                raise
            said = f"{MOD_FOOTPRINT} of {chunk.function} failed: {_words(error)}"
            self._findings.warn_at(said, chunk.file, chunk.line)
        return Footprint(unknown=True)

    def _module(self, chunk: LowChunk) -> _Module:
        known = self._modules.get(chunk.state)
        if known is None:
            known = self._modules[chunk.state] = self._find(chunk)
        return known

    def _find(self, chunk: LowChunk) -> _Module:
        function = self._source.find(f"{chunk.state}.{MOD_FOOTPRINT}")
        any_function = function if function is not None else self._source.find(chunk.function)
        bundled = any_function is not None and any_function.module.bundled
        return _Module(None if function is None else function.func, bundled)


def _refuse_awaitables(declared: Any) -> None:
    if isinstance(declared, CoroutineType):
        declared.close()
        raise TypeError("it is an async function, and must be a plain one")
    reduction = Reduction()
    reduction.of(declared)
    if reduction.forgotten:
        raise TypeError(f"it forgot to await {', '.join(reduction.forgotten)}")


def add_footprints(builder: PlanBuilder, footprints: Footprints) -> None:
    """Add an edge, with what it is about, for every two nodes with a conflict.

    A check, or a group's conditions, only read.
    """
    dag = builder.dag

    def join(nodes: list[int], resource: str) -> int:
        members = tuple(node for node in nodes if node < len(builder.chunks))
        joined = builder.add_node(Node(NodeKind.SET, members=members, label=FOOTPRINT))
        about = (resource,)
        for node in nodes:
            dag.add(node, joined, FOOTPRINT, about)
        return joined

    board = Scoreboard(join)
    known = [footprints.of(chunk) for chunk in builder.chunks]
    _share_in_groups(builder, known)
    for node in builder.in_serial_order():
        what = builder.nodes[node]
        if what.kind is NodeKind.CHUNK:
            touched = known[node]
        else:
            chunks = [what.chunk] if what.kind is NodeKind.CHECK else what.members
            touched = Footprint(tuple(name for chunk in chunks for name in known[chunk].everything()))
        if touched.reads or touched.writes:
            for before, resources in board.touch(node, touched.reads, touched.writes, touched.makes).items():
                if not dag.sources(before, node):
                    dag.add(before, node, FOOTPRINT, resources)


def _share_in_groups(builder: PlanBuilder, known: list[Footprint]) -> None:
    """Give every member of an aggregate group what all of them touch: whichever runs does the work of the rest."""
    for node in builder.nodes:
        if node.kind is NodeKind.GROUP:
            members = [known[member] for member in node.members]
            shared = Footprint(
                tuple(dict.fromkeys(name for footprint in members for name in footprint.reads)),
                tuple(dict.fromkeys(name for footprint in members for name in footprint.writes)),
                tuple(dict.fromkeys(name for footprint in members for name in footprint.makes)),
            )
            for member in node.members:
                known[member] = shared._replace(unknown=known[member].unknown)


def _conditions_read(args: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the files that the conditions of a state name; None if it has no conditions.

    What is asked of a folder may be what is in it, and whether it is there may depend on who needed it for a file.
    """
    if args.keys().isdisjoint(_CONDITIONS):
        return None
    found: dict[str, None] = {}
    stack = [args[key] for key in _CONDITIONS if key in args]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            paths = _ABSOLUTE_PATH.findall(value)
            found.update((f"path:{path}/**", None) for path in paths if not path.startswith(_NOT_FILES))
        elif isinstance(value, (list, tuple)):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(value.values())
    return tuple(found)


def _words(error: BaseException) -> str:
    return str(plain(error)) or type(error).__name__


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, (list, tuple, set, frozenset)):
        return ()
    names = tuple(str(name) for name in islice(value, _MOST_NAMES + 1))
    if len(names) > _MOST_NAMES:
        raise ValueError(f"it names more than {_MOST_NAMES:,} resources")
    return names
