"""LowChunk: one state to run, frozen.

Its tag, ``state_|-id_|-name_|-fun``, is the key of its row in every report. The engine shares further names with state
modules: hooks that a module may define, and marks in low data.
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any, Final

import msgspec

from asyncstate.model.requisite import KEYWORDS_OF_TIME, REQUISITE_KEYWORDS
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MOD_INIT: Final = "mod_init"
"""``mod_init(low)``: called once a run, before the first state of the module."""

MOD_WATCH: Final = "mod_watch"
"""``mod_watch(name, **kwargs)``: called when a watched state has changes, with the state's arguments."""

MOD_FOOTPRINT: Final = "mod_footprint"
"""``mod_footprint(low)``: returns what one state reads and writes; called while compiling."""

MOD_AGGREGATE: Final = "mod_aggregate"
"""``mod_aggregate(low, chunks, running)``: returns the low data of one call that does the work of several states."""

MOD_AGGREGATE_SPLIT: Final = "mod_aggregate_split"
"""``mod_aggregate_split(low, chunks, ret)``: returns the changes of the common call by state."""

MOD_TRANSACTION: Final = "mod_transaction"
"""``mod_transaction(low, first)``: returns why a state cannot share a transaction with later (``first``) or earlier."""

MOD_PREFETCH: Final = "mod_prefetch"
"""``mod_prefetch(low)``: returns what can be fetched ahead for one state; called when a run begins."""

MOD_RUN_CHECK: Final = "mod_run_check"
"""A module with this function evaluates ``onlyif``, ``unless`` and ``creates`` itself."""

MOD_RUN_CHECK_CMD: Final = "mod_run_check_cmd"
"""A module with this function runs the ``check_cmd`` of its states itself, where they take it as an argument."""

EXCLUSIVE: Final = "__exclusive__"
"""``__exclusive__ = True``: each state of the module runs alone."""

LANE: Final = "__lane__"
"""``__lane__ = "name"``: each state of the module takes a place in that lane."""

AGGREGATED: Final = "__agg__"
"""Key of low data, true where another state's common call does the work."""

TRANSACTION: Final = "__transaction__"
"""Key of low data: ``{"id": text, "later": [low, …], "kept": {…}}``: the later members of its transaction that may run,
and plain data that its members keep for one another, also for a run that is resumed."""

SCRIPT: Final = "__script__"
"""Key of low data given to ``mod_footprint``: the text of the script that the state runs, where it is known."""
SCRIPTS = frozenset({"cmd.script", "cmd.wait_script"})
"""Functions that run the file that their ``source`` or ``name`` says."""

SLOT: Final = "__slot__:"
"""The prefix of an argument that a run replaces by the result of a function."""

REQUISITE_LOWS: Final = "__reqs__"
"""Key of low data given to ``mod_watch``: the low data of the watched states, by requisite."""


SEPARATOR = "_|-"


class TagParts(Value):
    """The four parts of a state tag."""

    state: str
    id: str
    name: str
    fun: str


def state_tag(state: str, id_: str, name: str, fun: str) -> str:
    """Build the tag of one state, as Salt's ``gen_state_tag`` does."""
    return f"{state}{SEPARATOR}{id_}{SEPARATOR}{name}{SEPARATOR}{fun}"


def parse_tag(tag: str) -> TagParts:
    """Split a tag into its parts. If an ID or a name contains the separator, the ID ends at the first one.

    Raises ValueError when ``tag`` has fewer than four parts.
    """
    state, sep, rest = tag.partition(SEPARATOR)
    middle, sep2, fun = rest.rpartition(SEPARATOR)
    id_, sep3, name = middle.partition(SEPARATOR)
    if not (sep and sep2 and sep3):
        msg = f"not a state tag: {tag!r}"
        raise ValueError(msg)
    return TagParts(state, id_, name, fun)


LISTENER = "listener_"
"""The prefix of a listener's ID, before the ID of its state."""


class Lines:
    """Finds the line of a declaration in one file, on request: few lines of a large tree are ever shown.

    All instances compare equal, because the line of a declaration is not part of a chunk's identity.
    """

    __slots__ = ("_find",)

    def __init__(self, find: Callable[..., int]) -> None:
        self._find = find

    def of(self, id_: Any, state: str | None = None, argument: str | None = None) -> int:
        """Return the line of an ID, of a state of it, or of an argument of that state; 0 if it has no own line."""
        if not isinstance(id_, (str, int, float)):
            return 0
        return self._find(id_, state) if argument is None else self._find(id_, state, argument)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lines)

    def __hash__(self) -> int:
        return hash(Lines)


def texts_in(value: Any, *, keys: bool = False) -> Iterator[str]:
    """Yield every text in nested lists and mappings, in their order, with the ``keys`` of mappings or without."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, tuple)):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            for key, each in reversed(value.items()):
                waiting.append(each)
                if keys:
                    waiting.append(key)


class Declared:
    """A state by its names, and the place of its declaration: for types with these fields."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def state(self) -> str:
            """The state module."""

        @property
        def fun(self) -> str:
            """The function of the module."""

        @property
        def id(self) -> str:
            """The ID of the declaration."""

        @property
        def name(self) -> str:
            """The name, one of several if the declaration has ``names``."""

        @property
        def sls(self) -> str:
            """The SLS."""

        @property
        def file(self) -> str:
            """The file of the SLS, "" if unknown."""

        @property
        def line(self) -> int:
            """The line of the declaration, before rendering; 0 if unknown."""

        @property
        def included_from(self) -> tuple[str, ...]:
            """The SLS that include its SLS."""

    @property
    def tag(self) -> str:
        """The key of the state's row."""
        return state_tag(self.state, self.id, self.name, self.fun)

    @property
    def place(self) -> str:
        """``sls:id (file:line)``, for messages; unknown parts are left out."""
        where = self.where
        return f"{self.sls}:{self.id} ({where})" if where else f"{self.sls}:{self.id}"

    @property
    def where(self) -> str:
        """``file:line``, as far as known."""
        return file_line(self.file, self.line)


class LowChunk(Declared, msgspec.Struct, frozen=True, gc=False):
    """One call of one state function, as the compiler produces it.

    ``index`` is the position in serial order and breaks every tie. ``args`` holds all arguments of the state in the SLS
    file, requisites and global arguments included, except the keys that have a field of their own. ``file``
    is the file that declares the state; ``declared`` is its line there, or the `Lines` that find it. ``name`` is a str
    unless ``names`` lists something else; such a state fails when it runs. ``tag`` is the key of its row in every
    report, ``function`` is ``state.fun``, as the loader knows it; both follow from the other fields.
    """

    index: int
    state: str
    fun: str
    id: str
    name: str
    sls: str
    env: str
    order: int | float
    args: dict[str, Any]
    included_from: tuple[str, ...] = ()
    file: str = ""
    declared: int | Lines = 0
    tag: str = ""
    function: str = ""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "tag", state_tag(self.state, self.id, self.name, self.fun))
        msgspec.structs.force_setattr(self, "function", intern(f"{self.state}.{self.fun}"))

    @property
    def line(self) -> int:
        """The line of the declaration, before rendering; 0 if unknown."""
        if isinstance(self.declared, int):
            return self.declared
        id_ = self.id.removeprefix(LISTENER) if self.fun == MOD_WATCH else self.id
        return self.declared.of(id_, self.state)

    @property
    def own_args(self) -> dict[str, Any]:
        """The arguments that decide what the state does: without requisites, order and footprint."""
        return {key: value for key, value in self.args.items() if key not in KEYWORDS_OF_TIME}

    def texts(self, *, keys: bool = False, own: bool = False) -> Iterator[str]:
        """Yield the name and every text in the arguments, with ``own`` in `own_args` alone."""
        return texts_in([self.name, self.own_args if own else self.args], keys=keys)

    def as_listener(self) -> LowChunk:
        """Return the chunk that calls ``mod_watch`` for this one: ID ``listener_…``, no requisites of its own."""
        kept = {key: value for key, value in self.args.items() if key not in REQUISITE_KEYWORDS}
        return msgspec.structs.replace(self, id=LISTENER + self.id, fun=MOD_WATCH, args={**kept, "sfun": self.fun})

    def as_low(self) -> dict[str, Any]:
        """Return this chunk as Salt's low data, in a fresh dict: changing it does not change the chunk."""
        low = {key: fresh(value) if type(value) in _COPIED else value for key, value in self.args.items()}
        low["state"] = self.state
        low["name"] = self.name
        low["__sls__"] = self.sls or None
        if "__env__" not in self.args:
            low["__env__"] = self.env
        if self.included_from:
            low["__sls_included_from__"] = list(self.included_from)
        low["__id__"] = self.id
        low["fun"] = self.fun
        low["order"] = self.order
        return low


def has_slot(values: Iterable[Any]) -> bool:
    """Whether `fill_slots` would find anything to do."""
    for value in values:
        if isinstance(value, str):
            if value.startswith(SLOT):
                return True
        elif isinstance(value, (dict, list)):
            inner = value.values() if isinstance(value, dict) else value
            for item in inner:
                parts = item.values() if isinstance(item, dict) else (item,)
                if any(isinstance(part, str) and part.startswith(SLOT) for part in parts):
                    return True
    return False


def file_line(file: str, line: int) -> str:
    """Return ``file:line``, or the file alone if the line is 0 (unknown)."""
    return f"{file}:{line}" if file and line else file


def fresh(value: Any) -> Any:
    """Copy dicts and lists to any depth and share everything else, which is immutable in SLS data."""
    kind = type(value)
    if kind is dict:
        return {key: fresh(item) if type(item) in _COPIED else item for key, item in value.items()}
    if kind is list:
        return [fresh(item) if type(item) in _COPIED else item for item in value]
    return value


_COPIED = (dict, list)
