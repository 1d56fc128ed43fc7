"""The dunders: proxies that forward to an attribute of the call under way."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from asyncstate.dunders.context import current


class _MappingDunder(MutableMapping[str, Any]):
    """Forwards to a mapping of the current context."""

    __slots__ = ("_attribute",)

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute

    def _target(self) -> Any:
        return getattr(current.get(), self._attribute)

    def value(self) -> Any:
        """Return the object behind the proxy, for code that needs the dict itself."""
        return self._target()

    def __getitem__(self, key: str) -> Any:
        return self._target()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._target()[key] = value

    def __delitem__(self, key: str) -> None:
        del self._target()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._target())

    def __len__(self) -> int:
        return len(self._target())

    def __contains__(self, key: object) -> bool:
        return key in self._target()

    if not TYPE_CHECKING:  # its types are those of `MutableMapping.get`

        def get(self, key: str, default: Any = None) -> Any:
            return self._target().get(key, default)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target(), name)

    def __copy__(self) -> Any:
        return dict(self._target())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        import copy  # noqa: PLC0415 - only plugins that copy their options need it

        return copy.deepcopy(self._target(), memo)

    def __repr__(self) -> str:
        try:
            return repr(self._target())
        except LookupError:
            return f"<{self._attribute} outside any call>"

    def __bool__(self) -> bool:
        return bool(self._target())

    def __eq__(self, other: object) -> bool:
        return bool(self._target() == (other.value() if isinstance(other, _MappingDunder) else other))

    __hash__ = None  # type: ignore[assignment]  # a mapping, unhashable like its dict


class _ContextDunder(_MappingDunder):
    """``__context__``, whose ``retcode`` belongs to the call under way, as other calls run at the same time."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        return current.get().retcode if key == "retcode" else super().__getitem__(key)

    if not TYPE_CHECKING:  # its types are those of `MutableMapping.get`

        def get(self, key: str, default: Any = None) -> Any:
            return current.get().retcode if key == "retcode" else super().get(key, default)

    def __setitem__(self, key: str, value: Any) -> None:
        if key == "retcode":
            current.get().retcode = value
        else:
            super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        if key == "retcode":
            current.get().retcode = 0
        else:
            super().__delitem__(key)

    def __contains__(self, key: object) -> bool:
        return key == "retcode" or super().__contains__(key)


class _TextDunder:
    """Forwards to a string of the current context: ``str(__env__)``, comparison, formatting."""

    __slots__ = ("_attribute",)

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute

    def value(self) -> str:
        """Return the text behind the proxy."""
        return str(getattr(current.get(), self._attribute))

    def __str__(self) -> str:
        return self.value()

    def __repr__(self) -> str:
        return self.value()

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __bool__(self) -> bool:
        return bool(str(self))

    def __getattr__(self, name: str) -> Any:
        return getattr(str(self), name)


__salt__: _MappingDunder = _MappingDunder("salt")
__states__: _MappingDunder = _MappingDunder("states")
__utils__: _MappingDunder = _MappingDunder("utils")
__opts__: _MappingDunder = _MappingDunder("opts")
__grains__: _MappingDunder = _MappingDunder("grains")
__pillar__: _MappingDunder = _MappingDunder("pillar")
__context__: _ContextDunder = _ContextDunder("context")
__low__: _MappingDunder = _MappingDunder("low")
__running__: _MappingDunder = _MappingDunder("running")
__lowstate__: _MappingDunder = _MappingDunder("lowstate")
__env__: _TextDunder = _TextDunder("env")
__sls__: _TextDunder = _TextDunder("sls")
__instance_id__: _TextDunder = _TextDunder("instance_id")
__user__: _TextDunder = _TextDunder("user")
__file_client__: _MappingDunder = _MappingDunder("file_client")
__serializers__: _MappingDunder = _MappingDunder("serializers")
__proxy__: _MappingDunder = _MappingDunder("proxy")
__orig_opts__: _MappingDunder = _MappingDunder("base_opts")

_PROXIES = (_MappingDunder, _TextDunder)

INJECTED: dict[str, Any] = {
    name: value for name, value in list(globals().items()) if isinstance(value, _PROXIES) and name.startswith("__")
} | {"__salt_loader__": None, "__salt_system_encoding__": "utf-8"}
"""The names that the loader puts into the namespace of a stock Salt-style file."""

TEXTS: dict[str, _TextDunder] = {name: value for name, value in INJECTED.items() if isinstance(value, _TextDunder)}
"""The dunders that are texts. No proxy is a ``str`` to code in C (``json.dumps``, ``",".join``)."""


class TextBuiltins(dict[str, Any]):
    """Builtins in which ``__env__`` and the like are the text of the current context, each time they are read."""

    def __missing__(self, name: str) -> str:
        if name not in TEXTS:
            raise KeyError(name)
        return TEXTS[name].value()


def is_mapping_dunder(value: object) -> bool:
    """Whether ``value`` is a proxy of a dict, which plugins treat as the dict itself."""
    return type(value) in (_MappingDunder, _ContextDunder)


_ATOMS = frozenset({str, bool, int, float, bytes, type(None)})


def resolved(value: Any) -> Any:
    """Return ``value`` with every proxy in it replaced by its present value.

    Apply it to what a plugin returned (``"changes": {"env": __env__}``) while the context of that call is current:
    afterwards the proxies mean nothing. Dicts and lists are changed in place.
    """
    box = [value]
    stack: list[Any] = [box]
    seen: set[int] = set()
    while stack:
        container = stack.pop()
        if id(container) in seen:
            continue
        seen.add(id(container))
        for key, item in container.items() if isinstance(container, dict) else enumerate(container):
            if type(item) in _ATOMS:
                continue
            if isinstance(item, tuple) and any(isinstance(part, _PROXIES) for part in item):
                container[key] = tuple(map(resolved, item))
            elif isinstance(item, _PROXIES):
                container[key] = item.value()
            elif isinstance(item, (dict, list)):
                stack.append(item)
    return box[0]
