"""A composer from YAML events to data, without recursion and without PyYAML's tree of nodes.

PyYAML's own loaders build a node for every scalar and then walk the nodes recursively. Events and a stack of the open
containers are enough, in a fraction of the time. Data that is too deep, or too large with its aliases expanded, is
refused with its place (`asyncstate.data.limits`).
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Final

from yaml import MappingStartEvent, ScalarEvent, SequenceStartEvent
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError
from yaml.events import DocumentStartEvent, MappingEndEvent, SequenceEndEvent

from asyncstate.data.limits import DEEPEST, MOST_VALUES, TOO_DEEP, TOO_MANY, Meter, TooMuch
from asyncstate.data.yaml.scalar import PREFIX, SCALARS, VALUE, VALUE_KEY, Indicator, read_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Mark = Any  # libyaml's marks and PyYAML's own are two classes with the same attributes

_ABSENT: Final = object()
_NO_IDS: Final = frozenset({"include", "extend", "exclude"})
_IN_MAPPING: Final = "while constructing a mapping"


class KeyLines:
    """The lines (1-based) of the keys of the two outermost levels of a document.

    They are kept as two flat sequences, because a large document has many keys and few lookups.
    """

    __slots__ = ("_index", "_keys", "_places")

    def __init__(self, keys: list[Any] | None = None, places: bytes = b"") -> None:
        self._keys: list[Any] = [] if keys is None else keys
        self._places = array("Q", places)
        self._index: dict[tuple[Any, ...], int] | None = None

    def noters(self) -> tuple[Callable[[Any], None], Callable[[int], None]]:
        """Return two functions: they take each key, and its ``line * 2`` (0-based), plus 1 below the top, in order."""
        return self._keys.append, self._places.append

    def parts(self) -> tuple[list[Any], bytes]:
        """Return the arguments that make an equal object on this machine."""
        return self._keys, self._places.tobytes()

    def find(self, *path: Any) -> int:
        """Return the line of a top-level key, or of a key right below it; 0 if there is none.

        Below, ``pkg`` also finds the first ``pkg.…`` if there is no such key.
        """
        if self._index is None:
            self._index = self._build()
        return self._index.get(path, 0)

    def _build(self) -> dict[tuple[Any, ...], int]:
        index: dict[tuple[Any, ...], int] = {}
        top: list[Any] = []
        waiting: list[tuple[Any, int]] = []
        for key, place in zip(self._keys, self._places, strict=True):
            line, inner = divmod(place, 2)
            if inner:
                waiting.append((key, line + 1))
                continue
            self._enter(index, top, waiting)
            waiting.clear()
            top.append(key)
            index.setdefault((key,), line + 1)
        self._enter(index, top, waiting)
        return index

    def _enter(self, index: dict[tuple[Any, ...], int], top: list[Any], keys: list[tuple[Any, int]]) -> None:
        """Add the keys directly below the last key of ``top`` to the index."""
        for name, at in keys:
            index.setdefault((top[-1], name), at)
        for name, at in keys:
            if isinstance(name, str) and "." in name:
                index.setdefault((top[-1], name.partition(".")[0]), at)


class Composer:
    """Builds the data of one document from a parser's events.

    Mappings become ``mapping``; an alias yields the same object as its anchor, as in Salt. Raises PyYAML's
    MarkedYAMLError with Salt's wording, also for a key that a mapping has twice. With ``first_wins`` the outermost
    mapping may repeat keys: the first counts, and ``repeated`` has the others with their lines.
    """

    def __init__(
        self,
        next_event: Callable[[], Any],
        mapping: type[dict[Any, Any]] = dict,
        *,
        first_wins: bool = False,
    ) -> None:
        self._next_event = next_event
        self._mapping = mapping
        self._first_wins = first_wins
        self.repeated: list[tuple[Any, int]] = []
        self._anchors: dict[str, Any] = {}
        self._meter = Meter()
        self._anchor_marks: dict[str, Mark] = {}
        self._merges: dict[int, list[tuple[dict[Any, Any], Mark]]] = {}
        self._finishers: dict[int, Callable[[Any, Mark], Any]] = {}
        self.lines: KeyLines = KeyLines()

    def single_document(self) -> Any:
        """Return the data of the only document; None if the stream is empty."""
        self._next_event()
        first = self._next_event()
        if first.__class__ is not DocumentStartEvent:
            return None
        data = self._compose()
        self._next_event()
        second = self._next_event()
        if second.__class__ is DocumentStartEvent:
            marks: list[Any] = [first.start_mark, second.start_mark]
            raise ComposerError(
                "expected a single document in the stream", marks[0], "but found another document", marks[1]
            )
        return data

    def _compose(self) -> Any:
        """Read events up to the end of one node.

        ``container`` is the innermost open container, ``key`` its key that has no value yet, ``start`` the event that
        opened it; ``stack`` holds the same for the containers around it.
        """
        next_event = self._next_event
        note_key, note_place = self.lines.noters()
        known: dict[str, Any] = {}
        stack: list[tuple[Any, Any, Any, Any]] = []
        container: Any = None
        start: Any = None
        key: Any = _ABSENT
        key_event: Any = None
        for _ in range(MOST_VALUES):
            event = next_event()
            kind = event.__class__
            if kind is ScalarEvent:
                if event.implicit[0]:
                    value = known.get(event.value, known)
                    if value is known:
                        value = known[event.value] = self._plain(event)
                else:
                    value = event.value if event.tag is None else self._tagged(event)
                if event.anchor is not None:
                    self._define(event, value)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                stack.append((container, start, key, key_event))
                if len(stack) > DEEPEST:
                    raise ConstructorError(None, None, TOO_DEEP, event.start_mark)
                start = event
                key = _ABSENT
                container = self._mapping() if kind is MappingStartEvent else []
                if event.anchor is not None:
                    self._define(event, _ABSENT)
                if event.tag is not None and event.tag != "!":
                    self._finishers[len(stack)] = self._finisher(event, is_mapping=kind is MappingStartEvent)
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                value = container
                event = start
                if self._merges and len(stack) in self._merges:
                    self._merge(container, self._merges.pop(len(stack)), start)
                if self._finishers and len(stack) in self._finishers:
                    value = self._finishers.pop(len(stack))(value, start.start_mark)
                if start.anchor is not None:
                    self._anchors[start.anchor] = value
                container, start, key, key_event = stack.pop()
            else:
                value = self._alias(event, len(stack))
            if key is not _ABSENT:
                if key.__class__ is Indicator:
                    merges = self._merges.setdefault(len(stack), [])
                    merges.extend(_sources(value, start.start_mark, event.start_mark))
                    key = _ABSENT
                    continue
                if value.__class__ is Indicator:
                    raise _no_constructor(value.tag, event.start_mark)
                try:
                    if key in container:
                        if not self._first_wins or len(stack) > 1 or key in _NO_IDS:
                            raise _conflict(key, start, key_event.start_mark)
                        self.repeated.append((key, key_event.start_mark.line + 1))
                        key = _ABSENT
                        continue
                except TypeError:
                    raise _unacceptable(key, start, key_event) from None
                container[key] = value
                key = _ABSENT
            elif start.__class__ is MappingStartEvent:
                key = VALUE_KEY.text if value is VALUE_KEY else value
                key_event = event
                if len(stack) < 3 and stack[-1][1].__class__ is not SequenceStartEvent:
                    note_key(key)
                    note_place(event.start_mark.line * 2 + len(stack) - 1)
            elif value.__class__ is Indicator:
                raise _no_constructor(value.tag, event.start_mark)
            elif stack:
                container.append(value)
            else:
                return value
        raise ConstructorError(None, None, TOO_MANY, event.start_mark)

    def _plain(self, event: Any) -> Any:
        try:
            return read_plain(event.value)
        except ValueError as error:
            raise ConstructorError(None, None, str(error), event.start_mark) from None

    def _tagged(self, event: Any) -> Any:
        read = SCALARS.get(event.tag)
        if read is None:
            name = event.tag.removeprefix(PREFIX)
            if name in _COLLECTION_TAGS:
                raise ConstructorError(None, None, _expected(name, "scalar"), event.start_mark)
            raise _no_constructor(event.tag, event.start_mark)
        try:
            return read(event.value)
        except ValueError as error:
            raise ConstructorError(None, None, str(error), event.start_mark) from None

    def _finisher(self, event: Any, *, is_mapping: bool) -> Callable[[Any, Mark], Any]:
        """Return the function that turns the finished container into the type of its tag."""
        name = event.tag.removeprefix(PREFIX)
        if event.tag == VALUE or (event.tag in SCALARS and name not in _COLLECTION_TAGS):
            raise ConstructorError(None, None, _expected("scalar", _kind(is_mapping)), event.start_mark)
        if not event.tag.startswith(PREFIX) or name not in _COLLECTION_TAGS:
            raise _no_constructor(event.tag, event.start_mark)
        if name == "pairs":
            if is_mapping:
                raise ConstructorError(
                    "while constructing pairs", None, "expected a sequence, but found mapping", event.start_mark
                )
            return _pairs
        if is_mapping is (name == "seq"):
            raise ConstructorError(None, None, _expected(name, _kind(is_mapping)), event.start_mark)
        return _as_set if name == "set" else _unchanged

    def _define(self, event: Any, value: Any) -> None:
        """Set the value of an anchor; _ABSENT as long as the container is open."""
        name = event.anchor
        if name in self._anchor_marks:
            raise ComposerError(
                "found duplicate anchor; first occurrence",
                self._anchor_marks[name],
                "second occurrence",
                event.start_mark,
            )
        self._anchor_marks[name] = event.start_mark
        self._anchors[name] = value

    def _alias(self, event: Any, depth: int) -> Any:
        name = event.anchor
        if name not in self._anchors:
            raise ComposerError(None, None, f"found undefined alias {name!r}", event.start_mark)
        value = self._anchors[name]
        if value is _ABSENT:
            raise ConstructorError(
                None, None, f"found unconstructable recursive node: alias {name!r} stands inside it", event.start_mark
            )
        try:
            self._meter.repeat(value, depth)
        except TooMuch as error:
            raise ConstructorError(None, None, str(error), event.start_mark) from None
        return value

    def _merge(self, own: Any, sources: Iterable[tuple[dict[Any, Any], Mark]], start: Any) -> None:
        """Put the merged keys first, as Salt does; the mapping's own keys win, two sources must not share a key."""
        merged = self._mapping()
        for source, mark in sources:
            for key, value in source.items():
                if key in own:
                    continue
                if key in merged:
                    raise _conflict(key, start, mark)
                merged[key] = value
        merged.update(own)
        own.clear()
        own.update(merged)


_COLLECTION_TAGS: Final = frozenset({"map", "seq", "omap", "set", "pairs"})


def _kind(is_mapping: bool) -> str:
    return "mapping" if is_mapping else "sequence"


def _expected(wanted: str, found: str) -> str:
    node = {"seq": "sequence", "pairs": "sequence", "scalar": "scalar"}.get(wanted, "mapping")
    return f"expected a {node} node, but found {found}"


def _no_constructor(tag: str, mark: Mark) -> ConstructorError:
    return ConstructorError(None, None, f"could not determine a constructor for the tag {tag!r}", mark)


def _conflict(key: Any, start: Any, mark: Mark) -> ConstructorError:
    return ConstructorError(_IN_MAPPING, start.start_mark, f"found conflicting ID '{key}'", mark)


def _unacceptable(key: Any, start: Any, key_event: Any) -> ConstructorError:
    problem = f"found unacceptable key {key}"
    if isinstance(key, dict):
        problem += "\nInvalid YAML, possible double curly-brace"
    return ConstructorError(_IN_MAPPING, start.start_mark, problem, key_event.start_mark)


def _sources(value: Any, mapping_mark: Mark, mark: Mark) -> Iterable[tuple[dict[Any, Any], Mark]]:
    """Return the mappings that a ``<<`` merges, in the order in which their keys are added."""
    if isinstance(value, dict):
        return [(value, mark)]
    if not isinstance(value, list):
        raise ConstructorError(
            _IN_MAPPING,
            mapping_mark,
            "expected a mapping or list of mappings for merging, but found scalar",
            mark,
        )
    for item in value:
        if not isinstance(item, dict):
            found = "sequence" if isinstance(item, list) else "scalar"
            raise ConstructorError(
                _IN_MAPPING, mapping_mark, f"expected a mapping for merging, but found {found}", mark
            )
    return [(item, mark) for item in reversed(value)]


def _unchanged(value: Any, _mark: Mark) -> Any:
    return value


def _as_set(value: dict[Any, Any], _mark: Mark) -> set[Any]:
    return set(value)


def _pairs(value: list[Any], mark: Mark) -> list[tuple[Any, Any]]:
    pairs: list[tuple[Any, Any]] = []
    for item in value:
        if not isinstance(item, dict):
            raise ConstructorError(
                "while constructing pairs", mark, "expected a mapping of length 1, but found another node", mark
            )
        if len(item) != 1:
            raise ConstructorError(
                "while constructing pairs", mark, f"expected a single mapping item, but found {len(item)} items", mark
            )
        pairs.extend(item.items())
    return pairs
