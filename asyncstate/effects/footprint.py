"""Footprints: the implicit order between states that touch the same resources.

A state module declares what a state reads and writes (``mod_footprint(low)``), or the state does (``footprint:``). A
state waits for earlier states, in serial order, that wrote what it touches, or touched what it writes. A footprint also
names the folders a state ``makes`` if they are missing: two states that make one folder do not wait for each other, but
a state that needs it waits. What a state ``leaves`` are folders that are there once it has run and succeeded: behind
it, those two wait for each other only if it fails. And it names the ``links`` a state makes, with their targets: a path
that leads through one counts under both names; ``copies`` are what it copies or moves, with where that comes from:
links go along. Edges go forward in serial order, so they never form a cycle.
"""

from __future__ import annotations

from types import CoroutineType
from typing import TYPE_CHECKING, Any

from asyncstate.effects.calls import slots_read
from asyncstate.effects.declared import CONDITIONED, WITHOUT, Footprint, says_it_itself
from asyncstate.effects.formula import HOLDERS, Touching
from asyncstate.effects.homes import Homes
from asyncstate.effects.links import LinkedPaths
from asyncstate.effects.resources import ENTRY, ENVIRONMENT, PATH, TREE
from asyncstate.effects.surroundings import RELOADS
from asyncstate.errors import meant_for_program
from asyncstate.model.chunk import MOD_FOOTPRINT, SCRIPT, SCRIPTS
from asyncstate.model.encode import Reduction, plain
from asyncstate.model.plan import NodeKind
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from asyncstate.effects.calls import Templates
    from asyncstate.effects.formula import FormulaRule
    from asyncstate.effects.observed import Learned
    from asyncstate.effects.surroundings import Surroundings
    from asyncstate.load.plugin import StateIndex
    from asyncstate.model.chunk import LowChunk
    from asyncstate.sources.machine import RealPaths

_CHUNK = NodeKind.CHUNK
_GROUP = NodeKind.GROUP
_RELOADS = frozenset(RELOADS)
_SAYS_NOTHING = "its module does not say what its states touch (mod_footprint)"


class _Own(Value):
    """The own resources of a state, the programs of its conditions, and whether the rule of formulas applies."""

    footprint: Footprint
    tested: tuple[str, ...] | None = ()
    in_formula: bool = False


class _Module(Value):
    declare: Callable[[dict[str, Any]], Any] | None
    bundled: bool
    loaded: bool = True


class Footprints:
    """Footprints of chunks. ``formula`` is the rule that says what they hold of their formulas.

    ``warn`` is called with a code, a message, a file and a line. ``links`` are the links of this machine, ``homes``
    finds the homes of users. Without ``surroundings`` and ``templates`` a state has only its declared reads.
    ``script_of`` returns path and text of the script that a state runs; without it, and where it returns none, the
    effects of a script are unknown. ``learned`` says what a state was seen to touch: that replaces guesses.
    """

    def __init__(
        self,
        source: StateIndex,
        formula: FormulaRule,
        warn: Callable[[str, str, str, int], None],
        links: RealPaths | None = None,
        *,
        surroundings: Surroundings | None = None,
        templates: Templates | None = None,
        script_of: Callable[[LowChunk], tuple[str, str]] | None = None,
        homes: Homes | None = None,
        learned: Learned | None = None,
    ) -> None:
        self._source = source
        self._homes = homes or Homes()
        self._learned = learned
        self._links = links
        self._surroundings = surroundings
        self._templates = templates
        self._script_of = script_of
        self._formula = formula
        self._warn = warn
        self._modules: dict[str, _Module] = {}
        self.unknown: dict[int, str] = {}

    def of_all(self, chunks: Sequence[LowChunk], serial: Sequence[int]) -> list[Footprint]:
        """Return what each chunk touches, under all names, and the resources that stand for its formula.

        ``serial`` are the chunks' numbers in the order of a serial run.
        """
        named = [Footprint()] * len(chunks)
        owns = self._owns(chunks, serial)
        held = []
        home = self._homes.ours()
        for number in serial:
            touched = owns[number]
            own, tested, in_formula = touched.footprint, touched.tested, touched.in_formula
            if not home.isdisjoint(own.writes):  # where a command without ``cwd`` runs
                own = own.replaced(writes=(*own.writes, ENVIRONMENT))
            named[number] = own
            if in_formula:
                state = Touching(chunks[number], own.reads, own.writes, own.programs, tested, bool(own.unknown))
                held.append((number, state))
        for (number, _), more in zip(held, self._formula.of_all([state for _, state in held]), strict=True):
            if more.reads or more.writes:
                own = named[number]
                named[number] = own.replaced(reads=(*own.reads, *more.reads), writes=(*own.writes, *more.writes))
        if self._learned is not None:
            self._replace_guesses(self._learned, chunks, named)
        paths = LinkedPaths(
            self._links,
            [link for footprint in named for link in footprint.links],
            [copy for footprint in named for copy in footprint.copies],
        )
        known = [_under_all_names(footprint, paths) for footprint in named]
        _compare_entries(known, lambda number: "" if says_it_itself(chunks[number].args) else chunks[number].state)
        if self._surroundings is not None:
            self._add_surroundings(self._surroundings, chunks, known, paths)
        return known

    def _owns(self, chunks: Sequence[LowChunk], serial: Sequence[int]) -> dict[int, _Own]:
        """Return what each chunk touches itself. Scripts are read unless another state writes them."""
        scripts = [number for number in serial if chunks[number].function in SCRIPTS]
        owns = {number: self._own(chunks[number], "") for number in serial if chunks[number].function not in SCRIPTS}
        if scripts:
            written = {name for own in owns.values() for name in own.footprint.writes}
            for number in scripts:
                owns[number] = self._own(chunks[number], self._script(chunks[number], written))
                written.update(owns[number].footprint.writes)
            self.unknown = dict(sorted(self.unknown.items()))
        return owns

    def _script(self, chunk: LowChunk, written: set[str]) -> str:
        if self._script_of is None:
            return ""
        from asyncstate.effects.surroundings import around  # noqa: PLC0415 - few states run a script

        path, text = self._script_of(chunk)
        return text if path and written.isdisjoint(around(path)) else ""

    def _replace_guesses(self, learned: Learned, chunks: Sequence[LowChunk], named: list[Footprint]) -> None:
        from asyncstate.effects.observed import in_place_of, seen_at_work  # noqa: PLC0415 - as asked for

        written = [footprint.writes for footprint in named]
        known = seen_at_work(chunks, written, learned, lambda chunk: self._module(chunk).bundled)
        for number, record in known.items():
            own, chunk = named[number], chunks[number]
            reads, writes, makes = in_place_of((own.reads, own.writes, own.makes), record, chunk)
            named[number] = own.replaced(reads=reads, writes=writes, makes=makes, unknown="")
            self.unknown.pop(chunk.index, None)

    def _add_surroundings(
        self, surroundings: Surroundings, chunks: Sequence[LowChunk], known: list[Footprint], paths: LinkedPaths
    ) -> None:
        changed = surroundings.changed_by({name for footprint in known for name in footprint.writes})
        if changed is None:
            return
        for index, chunk in enumerate(chunks):
            if not says_it_itself(chunk.args):
                declared = not known[index].unknown and (chunk.state in WITHOUT or self._module(chunk).bundled)
                more = surroundings.reads(chunk, changed, declared=declared)
                if more:
                    known[index] = known[index].and_reads(paths.all_names(tuple(more)))

    def _own(self, chunk: LowChunk, script: str) -> _Own:
        """Return what a chunk touches itself, each path under the name it has there.

        ``script`` is the text of the script that it runs, "" if that is not known.
        """
        args = chunk.args
        if says_it_itself(args):
            written = {} if args.get("parallel") is True else args["footprint"]
            return _Own(_below_homes(Footprint.of(written).replaced(unknown=""), self._homes))
        tested = None
        if not CONDITIONED.isdisjoint(args):
            from asyncstate.effects.conditions import conditions_read  # noqa: PLC0415 - few states have any

            tested = conditions_read(args)
        without = chunk.state in WITHOUT
        if without and tested is None:
            return _NOTHING
        module = self._module(chunk)
        own = Footprint() if without else self._with_arguments(self._declared(module, chunk, script), chunk)
        if tested is not None:
            unknown = "; ".join(filter(None, (own.unknown, tested.unknown)))
            own = own.and_reads(tested.reads).replaced(unknown=unknown, leaves=())  # skipped, it succeeds, too
        own = _below_homes(own, self._homes)
        if not (without or module.loaded) and self._surroundings is not None:
            own = own.and_reads(self._surroundings.bringers)
        holds = self._formula.holds(chunk, unknown=bool(own.unknown))
        if own.unknown and not holds:
            self.unknown[chunk.index] = own.unknown
        # A package may install what a condition tests.
        in_formula = holds or module.bundled or chunk.state in HOLDERS or tested is not None
        return _Own(own, () if tested is None else tested.programs, in_formula)

    def _with_arguments(self, own: Footprint, chunk: LowChunk) -> Footprint:
        """Return what a state touches because of arguments that any state may have."""
        args = chunk.args
        slots = slots_read(args)
        if slots is not None:
            own = own.with_wholes().and_calls(slots)
        if "template" in args and self._templates is not None:
            own = own.and_calls(self._templates.read(chunk))
        if not _RELOADS.isdisjoint(args) and self._surroundings is not None:
            reads, writes = self._surroundings.reloads(args)
            own = own.and_reads(reads).replaced(writes=(*own.writes, *writes))
        return own

    def _declared(self, module: _Module, chunk: LowChunk, script: str) -> Footprint:
        if module.declare is None:
            return Footprint(unknown=_SAYS_NOTHING)
        try:
            low = chunk.as_low()
            if script:
                low[SCRIPT] = script
            declared = module.declare(low)
            if isinstance(declared, dict):
                return Footprint.of(declared)
            _refuse_awaitables(declared)
        except BaseException as error:
            if meant_for_program(error):
                raise
            said = f"{MOD_FOOTPRINT} of {chunk.function} failed: {_error_text(error)}"
            self._warn("W208", said, chunk.file, chunk.line)
            return Footprint(unknown=f"{MOD_FOOTPRINT} of its module failed")
        return Footprint(unknown=_SAYS_NOTHING)

    def _module(self, chunk: LowChunk) -> _Module:
        known = self._modules.get(chunk.state)
        if known is None:
            known = self._modules[chunk.state] = self._find(chunk)
        return known

    def _find(self, chunk: LowChunk) -> _Module:
        function = self._source.find(f"{chunk.state}.{MOD_FOOTPRINT}")
        any_function = function if function is not None else self._source.find(chunk.function)
        if any_function is not None:
            return _Module(None if function is None else function.func, any_function.module.bundled)
        return self._not_loaded(chunk.state)

    def _not_loaded(self, name: str) -> _Module:
        """Return a module that does not load yet: it touches the same once the tree has installed what it lacks."""
        module = self._source.refused(name)
        if module is None:
            return _Module(None, bundled=False, loaded=False)
        function = module.functions.get(MOD_FOOTPRINT)
        return _Module(None if function is None else function.func, module.bundled, loaded=False)


_NOTHING = _Own(Footprint())


def _below_homes(footprint: Footprint, homes: Homes) -> Footprint:
    reads = homes.resolved(footprint.reads)
    writes = homes.resolved(footprint.writes)
    makes = homes.resolved(footprint.makes)
    if not (footprint.links or footprint.copies):
        if reads is footprint.reads and writes is footprint.writes and makes is footprint.makes:
            return footprint
        return footprint.replaced(reads=reads, writes=writes, makes=makes)
    links, copies = (
        tuple(each for path, other in pairs for each in homes.link(path, other))
        for pairs in (footprint.links, footprint.copies)
    )
    leaves = tuple(name for name in footprint.leaves if not name.startswith("path:~"))  # where it is, is a guess
    return footprint.replaced(reads=reads, writes=writes, makes=makes, links=links, copies=copies, leaves=leaves)


def _under_all_names(footprint: Footprint, paths: LinkedPaths) -> Footprint:
    if not (footprint.reads or footprint.writes or footprint.makes):
        return footprint
    own = [path for path, _ in footprint.links]
    reads = paths.all_names(footprint.reads, own)
    writes = paths.all_names(footprint.writes, own)
    makes = paths.all_names(footprint.makes, own)
    if reads is footprint.reads and writes is footprint.writes and makes is footprint.makes:
        return footprint
    anywhere = [name for name in makes if name.endswith(TREE)]
    if anywhere:  # more names than count one by one: what is made may be any folder there
        writes, makes = (*writes, *anywhere), tuple(name for name in makes if not name.endswith(TREE))
    return footprint.replaced(reads=reads, writes=writes, makes=makes)


def _compare_entries(known: list[Footprint], module_of: Callable[[int], str]) -> None:
    """Replace written entries of a file by the file, where states of several modules have named some.

    ``module_of(number)`` is the module that has named those of a footprint, "" for the state itself.
    Their names do not compare: what is a setting to one module is a line of a section to another.
    """
    named_by: dict[str, set[str]] = {}
    with_entries = []
    for number, footprint in enumerate(known):
        files = _files_with_entries(footprint) if footprint.reads or footprint.writes else []
        if files:
            with_entries.append(number)
            for file in files:
                named_by.setdefault(file, set()).add(module_of(number))
    mixed = {file for file, modules in named_by.items() if len(modules) > 1}
    for number in with_entries if mixed else ():
        writes = (_file_of(name) if _file_of(name) in mixed else name for name in known[number].writes)
        known[number] = known[number].replaced(writes=tuple(dict.fromkeys(writes)))


def only_entries(footprint: Footprint) -> tuple[str, ...]:
    """Return the paths of files in which a state touches single entries only."""
    files = dict.fromkeys(_files_with_entries(footprint))
    names = (*footprint.reads, *footprint.writes) if files else ()
    return tuple(file.removeprefix(PATH) for file in files if file not in names)


def _files_with_entries(footprint: Footprint) -> list[str]:
    """Return the file of each entry of a file that a state reads or writes."""
    names = (*footprint.reads, *footprint.writes)
    return [_file_of(name) for name in names if ENTRY in name and _is_in_file(name)]


def _is_in_file(entry: str) -> bool:
    return entry.startswith(PATH) and f"/{ENTRY}" not in entry


def _file_of(name: str) -> str:
    return name.partition(ENTRY)[0]


def _refuse_awaitables(declared: Any) -> None:
    if isinstance(declared, CoroutineType):
        declared.close()
        raise TypeError("it is an async function, and must be a plain one")
    reduction = Reduction()
    reduction.of(declared)
    if reduction.forgotten:
        raise TypeError(f"it forgot to await {', '.join(reduction.forgotten)}")


def _error_text(error: BaseException) -> str:
    return str(plain(error)) or type(error).__name__
