"""The text that ``{{ value }}`` prints for containers: flow style that YAML reads back."""

from __future__ import annotations

from typing import Any, Final

from asyncstate.data.limits import CONTAINERS, check_written

_SCALARS: Final = frozenset({str, int, bool, float, type(None)})


class PrintableDict(dict[Any, Any]):
    """A dict that prints like Python's, but quotes text with line breaks or tabs as YAML does."""

    def __str__(self) -> str:
        return self._text(str)

    def __repr__(self) -> str:
        return self._text(repr)

    def _text(self, write: type[str] | Any) -> str:
        return "{" + ", ".join(f"{key!r}: {_quoted(value, write)}" for key, value in self.items()) + "}"


def _quoted(value: Any, write: type[str] | Any) -> str:
    if not isinstance(value, str):
        return str(write(value))
    if "\n" in value or "\r" in value or "\t" in value:
        from asyncstate.data.yaml.write import double_quoted  # noqa: PLC0415 - rarely needed, and the dumper is slow to import

        return double_quoted(value)
    return repr(value)


def printable(value: Any) -> Any:
    """Return the value that Jinja prints for ``value``: in containers, every dict becomes a PrintableDict.

    Raises TooMuch for a container that contains itself.
    """
    if value.__class__ in _SCALARS:
        return value
    if isinstance(value, CONTAINERS):
        check_written(value)
    return _printable(value)


def _printable(value: Any) -> Any:
    if value.__class__ in _SCALARS:
        return value
    if isinstance(value, dict):
        return PrintableDict({key: _printable(item) for key, item in value.items()})
    if value.__class__ in (list, tuple, set):
        return value.__class__([_printable(item) for item in value])
    return value
