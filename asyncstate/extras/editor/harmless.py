"""Calls that unfinished templates may make: functions that only read, and change nothing.

A stand-in takes the place of any other function, as a half-written text must not change the machine. The calls left
out are kept by the file whose template makes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from jinja2 import ChainableUndefined

from asyncstate.extras.editor.reading import READING
from asyncstate.load.restrained import RestrainedFunctions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NETWORK_FILTERS: Final = ("http_query", "dns_check")


class LeftOut:
    """A `Restraint`. ``by_file`` has the functions and programs left out of templates, by path."""

    deep: Final = False

    def __init__(self) -> None:
        self.by_file: dict[str, dict[str, None]] = {}
        self._file = ""

    def functions(self, functions: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """Return the functions with stand-ins for those that may do more than read."""
        self._file = path or self._file  # a text without a path is rendered by a template of the last file
        return _Functions(functions, self._file, self)

    def filters(self, path: str) -> Mapping[str, Callable[..., Any]]:
        """Return stand-ins for the filters that ask other hosts."""
        file = path or self._file
        return {name: _stand_in(self, name, file) for name in _NETWORK_FILTERS}

    def refusal(self, renderer: str, path: str) -> str:
        """Return the reason: no program is run."""
        self.note(renderer, path or self._file)
        return f"the renderer '{renderer}' would run this text as a program"

    def note(self, name: str, path: str) -> None:
        """Note that a call was left out."""
        self.by_file.setdefault(path, {})[name] = None


class _Functions(RestrainedFunctions):
    """Execution functions for the templates of one file."""

    def __init__(self, functions: Any, path: str, left_out: LeftOut) -> None:
        super().__init__(functions)
        self._path = path
        self._left_out = left_out

    def __getitem__(self, name: str) -> Callable[..., Any]:
        function = self._functions[name]
        stand_in = _stand_in(self._left_out, name, self._path)
        if name not in READING or not self._functions.is_bundled(name):
            return stand_in

        def call(*args: Any, **kwargs: Any) -> Any:
            return (stand_in if any(map(_is_elsewhere, (*args, *kwargs.values()))) else function)(*args, **kwargs)

        return call


def _is_elsewhere(value: Any) -> bool:
    """Return whether an argument is a URL of something outside the tree."""
    return isinstance(value, str) and "://" in value and not value.startswith(("salt://", "file://"))


def _stand_in(left_out: LeftOut, name: str, path: str) -> Callable[..., Any]:
    def stand_in(*_args: Any, **_kwargs: Any) -> _Unknown:
        left_out.note(name, path)
        return _Unknown(name=name)

    return stand_in


class _Unknown(ChainableUndefined):
    """The value of a call that was left out. Any operation on it returns such a value, or an empty one."""

    __slots__ = ()

    def __call__(self, *_args: Any, **_kwargs: Any) -> Self:  # type: ignore[override]
        """Return an unknown value, too."""
        return self

    def __str__(self) -> str:
        return "unknown"

    def __int__(self) -> int:  # type: ignore[override]  # Jinja's raises
        return 0

    def __float__(self) -> float:  # type: ignore[override]
        return 0.0

    def _unchanged(self, *_other: Any) -> Self:
        return self

    def _no(self, _other: Any) -> bool:
        return False

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _unchanged  # type: ignore[assignment]  # Jinja's raise
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _unchanged  # type: ignore[assignment]
    __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __pos__ = _unchanged  # type: ignore[assignment]
    __lt__ = __le__ = __gt__ = __ge__ = _no  # type: ignore[assignment]
    __contains__ = _no
