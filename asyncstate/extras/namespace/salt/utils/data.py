"""Nested data: looking values up, comparing, cleaning, and turning lists of pairs into dicts."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final

from asyncstate.data import merging
from asyncstate.data.collection import (
    compare_dicts,
    compare_lists,
    encode_dict,
    encode_list,
    flatten,
    from_entries,
    is_iter,
    is_list,
    json_query,
    mysql_to_dict,
    simple_types_filter,
    sorted_ignorecase,
    to_entries,
)
from asyncstate.data.collection import exactly_n_true as exactly_n
from asyncstate.data.collection import exactly_one_true as exactly_one
from asyncstate.data.collection import random_sample as sample
from asyncstate.data.collection import random_shuffle as shuffle
from asyncstate.data.collection import substring_in_list as substr_in_list
from asyncstate.data.paths import subdict_match as _subdict_match
from asyncstate.data.paths import traverse as traverse_dict_and_list
from asyncstate.extras.namespace.codec import decode, decode_dict, decode_list, decode_tuple, encode
from asyncstate.extras.namespace.difference import data_diff as recursive_diff
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt.utils.yaml import YAMLError, safe_load
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "CaseInsensitiveDict",
    "compare_dicts",
    "compare_lists",
    "decode",
    "decode_dict",
    "decode_list",
    "decode_tuple",
    "encode",
    "encode_dict",
    "encode_list",
    "exactly_n",
    "exactly_one",
    "filter_by",
    "filter_falsey",
    "flatten",
    "from_entries",
    "is_dictlist",
    "is_iter",
    "is_list",
    "is_true",
    "json_query",
    "mysql_to_dict",
    "recursive_diff",
    "repack_dictlist",
    "sample",
    "shuffle",
    "simple_types_filter",
    "sorted_ignorecase",
    "stringify",
    "subdict_match",
    "substr_in_list",
    "to_entries",
    "to_lowercase",
    "to_uppercase",
    "traverse_dict",
    "traverse_dict_and_list",
]

log: Final = get_logger(__name__)


class CaseInsensitiveDict(MutableMapping[Any, Any]):
    """A dict whose text keys are compared without regard to case, and shown as they were first written."""

    def __init__(self, init: Any = None, **kwargs: Any) -> None:
        self._data: dict[Any, tuple[Any, Any]] = {}
        self.update({} if init is None else init)
        self.update(kwargs)

    def __len__(self) -> int:
        return len(self._data)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._data[to_lowercase(key)] = (key, value)

    def __delitem__(self, key: Any) -> None:
        del self._data[to_lowercase(key)]

    def __getitem__(self, key: Any) -> Any:
        return self._data[to_lowercase(key)][1]

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._data.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return False
        return dict(self.items_lower()) == dict(CaseInsensitiveDict(other).items_lower())

    __hash__ = None  # type: ignore[assignment]  # a mutable mapping

    def __repr__(self) -> str:
        return repr(dict(self.items()))

    def items_lower(self) -> Iterator[tuple[Any, Any]]:
        """Yield the pairs with lower-case keys."""
        return ((key, pair[1]) for key, pair in self._data.items())

    def copy(self) -> CaseInsensitiveDict:
        """Return a shallow copy."""
        return CaseInsensitiveDict(dict(self.items()))


def to_lowercase(data: Any, preserve_dict_class: bool = False) -> Any:
    """Return the data with its text, keys too, in lower case."""
    return _cased(data, str.lower, keep_class=preserve_dict_class)


def to_uppercase(data: Any, preserve_dict_class: bool = False) -> Any:
    """Return the data with its text, keys too, in upper case."""
    return _cased(data, str.upper, keep_class=preserve_dict_class)


def _cased(data: Any, change: Callable[[str], str], *, keep_class: bool) -> Any:
    if isinstance(data, str):
        return change(data)
    if isinstance(data, Mapping):
        pairs = (
            (_cased(key, change, keep_class=keep_class), _cased(value, change, keep_class=keep_class))
            for key, value in data.items()
        )
        return type(data)(pairs) if keep_class else dict(pairs)  # type: ignore[call-arg]  # any dict takes pairs
    if isinstance(data, (list, tuple, set)):
        return type(data)(_cased(item, change, keep_class=keep_class) for item in data)
    return data


def traverse_dict(data: Any, key: str, default: Any = None, delimiter: str = ":") -> Any:
    """Follow ``a:b:c`` into nested dicts."""
    here = data
    for part in key.split(delimiter):
        try:
            here = here[part]
        except (KeyError, IndexError, TypeError):
            return default
    return here


def subdict_match(
    data: Mapping[str, Any], expr: str, delimiter: str = ":", regex_match: bool = False, exact_match: bool = False
) -> bool:
    """Return whether ``a:b:pattern`` matches nested data, without regard to case."""

    def fits(value: Any, pattern: str) -> bool:
        text, wanted = str(value).lower(), str(pattern).lower()
        if regex_match:
            try:
                return re.match(wanted, text) is not None
            except re.error:
                log.error("Invalid regex '%s' in match", wanted)  # noqa: TRY400 - the trace says no more
                return False
        return text == wanted if exact_match else fnmatch.fnmatch(text, wanted)

    return _subdict_match(data, expr, delimiter, fits)


def filter_by(  # noqa: PLR0917 - Salt's signature
    lookup_dict: Mapping[Any, Any],
    lookup: str,
    traverse: Any,
    merge: Any = None,
    default: str = "default",
    base: str | None = None,
) -> Any:
    """Return the entry of ``lookup_dict`` whose key matches the value at ``lookup`` in ``traverse``, else ``default``.

    It is merged into the entry ``base``, and ``merge`` into the result. Raises SaltException if that is impossible.
    """
    return merging.filter_by(lookup_dict, traverse_dict_and_list(traverse, lookup, []), merge, default, base)


def is_dictlist(data: Any) -> bool:
    """Return whether this is a list of dicts of one key each; an empty one too."""
    return isinstance(data, list) and all(isinstance(item, dict) and len(item) == 1 for item in data)


def repack_dictlist(
    data: Any,
    strict: bool = False,
    recurse: bool = False,
    key_cb: Callable[[Any], Any] | None = None,
    val_cb: Callable[[Any, Any], Any] | None = None,
) -> dict[Any, Any]:
    """Return one dict for a list of dicts of one key; plain items become keys without a value.

    Text is read as YAML. Data of another form is logged, and the result is ``{}``; with ``strict`` also for nested
    lists of dicts, unless ``recurse`` repacks those. The callbacks change keys, and values by key.
    """
    if isinstance(data, str):
        try:
            data = safe_load(data)
        except YAMLError as error:
            log.error(error)  # noqa: TRY400 - its text says where
            return {}
    wrong = _not_a_dictlist(data)
    if wrong:
        log.error("Invalid input for repack_dictlist: %s", wrong)
        return {}
    packed = {}
    for item in data:
        key, value = next(iter(item.items())) if isinstance(item, dict) else (item, None)
        if isinstance(item, dict) and recurse and is_dictlist(value):
            value = repack_dictlist(value, recurse=recurse)
        elif isinstance(item, dict):
            if strict and is_dictlist(value):
                log.error("Invalid input for repack_dictlist: nested dictlist found, but recurse is set to False")
                return {}
            value = val_cb(key, value) if val_cb is not None else value
        packed[key_cb(key) if key_cb is not None else key] = value
    return packed


def _not_a_dictlist(data: Any) -> str:
    if not isinstance(data, list):
        return f"data passed is not a list ({data})"
    for item in data:
        if isinstance(item, dict) and len(item) != 1:
            return f"key/value pairs must contain only one element (data passed: {item})"
        if not isinstance(item, (dict, str, int, float)):
            return f"element {item} is not a string/dict/numeric value"
    return ""


def is_true(value: Any = None) -> bool:
    """Return whether a value means true: a positive number, ``true`` in any case, another value that is not empty."""
    for number in (int, float):
        try:
            value = number(value)
        except (ValueError, TypeError):
            continue
    if isinstance(value, (int, float)):
        return value > 0
    return value.lower() == "true" if isinstance(value, str) else bool(value)


def filter_falsey(data: Any, recurse_depth: int | None = None, ignore_types: tuple[type, ...] = ()) -> Any:
    """Return a container without empty values; ``False`` and values of ``ignore_types`` stay."""

    def inner(value: Any) -> Any:
        return filter_falsey(value, recurse_depth - 1, ignore_types) if recurse_depth else value

    def counts(value: Any) -> bool:
        return isinstance(value, bool) or type(value) in ignore_types or bool(value)

    if isinstance(data, dict):
        return type(data)((key, value) for key, value in ((k, inner(v)) for k, v in data.items()) if counts(value))
    if is_iter(data):
        return type(data)(value for value in map(inner, data) if counts(value))
    return data


def stringify(data: Iterable[Any]) -> list[str]:
    """Return the items of a list as text."""
    return [str(item) for item in data]


__getattr__: ModuleGetattr = nothing_else(__name__)
