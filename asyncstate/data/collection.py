"""Lists, sets and dicts."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

_NULLS: Final = (None, "None", "null")


class StableSet(set[Any]):
    """A set in insertion order, when iterated over and printed.

    Salt returns bare sets here, whose order changes from process to process; a plan must not.
    """

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._order = dict.fromkeys(items)
        super().__init__(self._order)

    def __iter__(self) -> Iterator[Any]:
        return iter([item for item in self._order if item in self])

    def __repr__(self) -> str:
        return "{" + ", ".join(map(repr, self)) + "}" if self else "set()"

    def add(self, item: Any) -> None:
        """Add an item, at the end if it is new."""
        super().add(item)
        self._order.setdefault(item)


class _Members:
    """The values of a list, hashable or not, with a fast membership test."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.values: list[Any] = []
        self._keys: set[Any] = set()
        self._without_key: list[Any] = []
        for value in values:
            self.add(value)

    def add(self, value: Any) -> None:
        self.values.append(value)
        try:
            self._keys.add(_key_of(value))
        except TypeError:
            self._without_key.append(value)

    def __contains__(self, value: Any) -> bool:
        try:
            return _key_of(value) in self._keys or (bool(self._without_key) and value in self._without_key)
        except TypeError:
            return value in self.values


def _key_of(value: Any) -> Any:
    """Return a hashable key that is equal for equal values. Raises TypeError for values other than plain data."""
    if isinstance(value, list):
        return list, tuple(map(_key_of, value))
    if isinstance(value, dict):
        return dict, frozenset((key, _key_of(item)) for key, item in value.items())
    hash(value)
    return value


def unique(values: Any) -> Any:
    """Return the values without repetitions: a list for a list, a set for hashable values (a tuple, a generator)."""
    if isinstance(values, Hashable):
        hashable: Any = values
        return StableSet(hashable)
    kept = _Members()
    for value in values:
        if value not in kept:
            kept.add(value)
    return kept.values


def _both_hashable(lst1: Any, lst2: Any) -> bool:
    return isinstance(lst1, Hashable) and isinstance(lst2, Hashable)


def union(lst1: Any, lst2: Any) -> Any:
    """Return the items of both, each once."""
    if _both_hashable(lst1, lst2):
        return StableSet([*lst1, *lst2])
    return unique(lst1 + lst2)


def intersect(lst1: Any, lst2: Any) -> Any:
    """Return the common items, each once."""
    if _both_hashable(lst1, lst2):
        other = set(lst2)
        return StableSet(item for item in lst1 if item in other)
    other_members = _Members(lst2)
    return unique([item for item in lst1 if item in other_members])


def difference(lst1: Any, lst2: Any) -> Any:
    """Return the items that are only in the first, each once."""
    if _both_hashable(lst1, lst2):
        other = set(lst2)
        return StableSet(item for item in lst1 if item not in other)
    other_members = _Members(lst2)
    return unique([item for item in lst1 if item not in other_members])


def symmetric_difference(lst1: Any, lst2: Any) -> Any:
    """Return the items that are in exactly one of the two, each once."""
    if _both_hashable(lst1, lst2):
        one, two = list(lst1), list(lst2)
        both = set(one) & set(two)
        return StableSet(item for item in [*one, *two] if item not in both)
    common = _Members(intersect(lst1, lst2))
    return unique([item for item in union(lst1, lst2) if item not in common])


def smallest(obj: Any) -> Any:
    """Return the smallest item."""
    return min(obj)


def largest(obj: Any) -> Any:
    """Return the largest item."""
    return max(obj)


def avg(lst: Any) -> float:
    """Return the mean of a list, or a single number as a float."""
    return float(lst) if isinstance(lst, Hashable) else float(sum(lst) / len(lst))  # type: ignore[arg-type]


def sequence(data: Any) -> Any:
    """Return a container as it is, anything else as a list of one."""
    return data if isinstance(data, (list, tuple, set, dict)) else [data]


def is_list(value: Any) -> bool:
    """Return whether the value is a list (also the ``list`` test)."""
    return isinstance(value, list)


def is_iter(thing: Any, ignore: type | tuple[type, ...] = (str,)) -> bool:
    """Return whether the value is iterable; text does not count."""
    if ignore and isinstance(thing, ignore):
        return False
    try:
        iter(thing)
    except TypeError:
        return False
    return True


def flatten(data: Any, levels: int | None = None, preserve_nulls: bool = False) -> list[Any]:
    """Return one list of the items of nested lists, to any depth or to ``levels``; nulls are dropped."""
    flat: list[Any] = []
    open_ids: set[int] = set()

    def walk(items: Any, left: float) -> None:
        if id(items) in open_ids:
            raise RecursionError("Reference cycle detected. Check input list.")
        open_ids.add(id(items))
        for item in items:
            if not preserve_nulls and any(item is null or item == null for null in _NULLS):
                continue
            if is_iter(item) and left >= 1:
                walk(item, left - 1)
            else:
                flat.append(item)
        open_ids.discard(id(items))

    walk(data, float("inf") if levels is None else int(levels))
    return flat


def substring_in_list(string_to_search_for: str, list_to_search: Iterable[str]) -> bool:
    """Return whether the text is part of any of the texts."""
    return any(string_to_search_for in text for text in list_to_search)


def sorted_ignorecase(to_sort: Iterable[str]) -> list[str]:
    """Sort text without regard to case."""
    return sorted(to_sort, key=lambda text: text.lower())


def exactly_n_true(iterable: Iterable[Any], amount: int = 1) -> bool:
    """Return whether exactly ``amount`` items are true."""
    return sum(1 for item in iterable if item) == amount


def exactly_one_true(iterable: Iterable[Any]) -> bool:
    """Return whether exactly one item is true."""
    return exactly_n_true(iterable)


def compare_lists(old: Sequence[Any], new: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the items only in the ``new`` and only in the ``old`` list; keys without items are left out."""
    added = [item for item in new if item not in old]
    gone = [item for item in old if item not in new]
    return ({"new": added} if added else {}) | ({"old": gone} if gone else {})


def compare_dicts(
    old: Mapping[Any, Any] | None = None, new: Mapping[Any, Any] | None = None
) -> dict[Any, dict[str, Any]]:
    """Return ``{key: {old, new}}`` for every key that differs; a missing value is ``''``."""
    missing = object()
    changes = {}
    old, new = old or {}, new or {}
    for key in dict.fromkeys([*new, *old]):
        before, after = old.get(key, missing), new.get(key, missing)
        if before is missing:
            changes[key] = {"old": "", "new": after}
        elif after is missing:
            changes[key] = {"new": "", "old": before}
        elif before != after:
            changes[key] = {"old": before, "new": after}
    return changes


def to_entries(data: Any) -> list[dict[str, Any]]:
    """Return ``[{key, value}, …]`` for a dict or a list."""
    if isinstance(data, dict):
        pairs: Iterable[tuple[Any, Any]] = data.items()
    elif isinstance(data, list):
        pairs = enumerate(data)
    else:
        raise TypeError("Input data must be a dict or list")
    return [{"key": key, "value": value} for key, value in pairs]


def from_entries(entries: Iterable[Mapping[Any, Any]]) -> dict[Any, Any]:
    """Return the dict of ``[{key or name, value}, …]``; these three keys in upper or lower case."""
    result = {}
    for entry in entries:
        lower = {key.lower() if isinstance(key, str) else key: value for key, value in entry.items()}
        name = lower.get("key") or lower.get("name")
        if name:
            result[name] = lower.get("value")
    return result


def _encoded(data: Any) -> Any:
    """Return the data with every text as UTF-8 bytes and tuples as lists."""
    if isinstance(data, str):
        return data.encode()
    if isinstance(data, Mapping):
        return {_encoded(key): _encoded(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_encoded(item) for item in data]
    return data


def encode_dict(data: Mapping[Any, Any]) -> Any:
    """Return the dict with every text as UTF-8 bytes, to any depth."""
    return _encoded(dict(data))


def encode_list(data: Iterable[Any]) -> Any:
    """Return the list with every text as UTF-8 bytes, to any depth."""
    return _encoded(list(data))


def simple_types_filter(data: Any) -> Any:
    """Return a dict or list with all but dicts, lists, text, numbers and booleans replaced by their ``repr``."""
    if isinstance(data, (list, tuple)):
        return [_simple(item) for item in data]
    if isinstance(data, dict):
        return {key if _is_simple(key) else repr(key): _simple(value) for key, value in data.items()}
    return data


def _simple(value: Any) -> Any:
    if _is_simple(value) or isinstance(value, tuple):
        return value
    return simple_types_filter(value) if isinstance(value, (dict, list)) else repr(value)


def _is_simple(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float))


def mysql_to_dict(data: Iterable[str], key: str) -> dict[Any, dict[str, Any]]:
    """Read the table that ``mysql`` prints: a dict for each row, by the column ``key``."""
    from asyncstate.data.text import to_num  # noqa: PLC0415 - needed by one rarely used filter

    rows: dict[Any, dict[str, Any]] = {}
    headers: list[str] = []
    for line in data:
        if not line or line.startswith("+"):
            continue
        cells = [cell.strip() for cell in line.split("|")][1:-1]
        if not headers:
            headers = cells
            continue
        row = {header: to_num(cell) for header, cell in zip(headers, cells, strict=False)}
        rows[row[key]] = row
    return rows


def json_query(data: Any, expr: str) -> Any:
    """Return what a JMESPath expression finds. Needs the ``jmespath`` package."""
    try:
        import jmespath  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: PLC0415
    except ImportError:
        raise RuntimeError("json_query requires jmespath module installed") from None
    return jmespath.search(expr, data)


def method_call(obj: Any, f_name: str, *f_args: Any, **f_kwargs: Any) -> Any:
    """Call a method by its name; None if there is no such method."""
    method = getattr(obj, f_name, None)
    return method(*f_args, **f_kwargs) if method is not None else None


def random_sample(value: Sequence[Any], size: int, seed: Any = None) -> list[Any]:
    """Return ``size`` different items; the same ones for the same ``seed``."""
    return _generator(seed).sample(value, size)


def random_shuffle(value: Sequence[Any], seed: Any = None) -> list[Any]:
    """Return the items in random order; the same one for the same ``seed``."""
    return random_sample(value, len(value), seed=seed)


def _generator(seed: Any) -> random.Random:
    """Return a generator, seeded as Salt does it: with the hex SHA-512 of the text."""
    if isinstance(seed, (str, bytes)):
        seed = hashlib.sha512(seed.encode() if isinstance(seed, str) else seed).hexdigest()
    return random.Random(seed)  # noqa: S311 - not used for secrets
