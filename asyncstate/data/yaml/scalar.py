"""Single values of YAML: YAML 1.1 scalars as Salt reads them, and quoting.

PyYAML's table gives the tag of a text; the values differ from PyYAML's in two ways, both Salt's: a leading zero does
not make a number octal (``0644`` is 644, so the digits of a file mode survive), and dates stay strings.
"""

from __future__ import annotations

import base64
import binascii
import io
import sys
from typing import TYPE_CHECKING, Any, Final

from yaml import ScalarNode
from yaml.constructor import SafeConstructor
from yaml.emitter import Emitter
from yaml.representer import SafeRepresenter
from yaml.resolver import Resolver

from asyncstate.data.limits import TOO_LONG, check_number

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX: Final = "tag:yaml.org,2002:"
MERGE: Final = f"{PREFIX}merge"
VALUE: Final = f"{PREFIX}value"
_STR: Final = f"{PREFIX}str"

_BY_FIRST_CHARACTER: Final = dict(Resolver.yaml_implicit_resolvers)
_BOOLEANS: Final = SafeConstructor.bool_values
_LONGEST_TEXT: Final = 4_300
_INFINITY: Final = float("inf")


class Indicator:
    """A plain ``<<`` or ``=``: not a value, but a key with a special meaning."""

    __slots__ = ("tag", "text")

    def __init__(self, tag: str, text: str) -> None:
        self.tag: str = tag
        self.text: str = text


MERGE_KEY: Final = Indicator(MERGE, "<<")
VALUE_KEY: Final = Indicator(VALUE, "=")


def plain_tag(text: str) -> str:
    """Return the tag that the text of an untagged plain scalar implies."""
    for tag, pattern in _BY_FIRST_CHARACTER.get(text[:1], ()):
        if pattern.match(text):
            return str(tag)
    return _STR


def read_plain(text: str) -> Any:
    """Return the value of an untagged plain scalar; an Indicator for ``<<`` and ``=``.

    Raises ValueError for text that has the form of a number but is none (``0_``).
    """
    if text[:1] not in _BY_FIRST_CHARACTER:
        return text
    tag = plain_tag(text)
    if tag == _STR:
        return text
    read = SCALARS.get(tag)
    if read is None:
        raise ValueError(f"could not determine a constructor for the tag {tag!r}")
    return read(text)


def _read_int(text: str) -> int:
    if text.startswith("0") and not text.startswith(("0b", "0x")):
        text = text.lstrip("0") or "0"
    digits = text.replace("_", "")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.removeprefix("-") if sign < 0 else digits.removeprefix("+")
    number = _magnitude(digits)
    check_number(number)
    return sign * number


def _magnitude(digits: str) -> int:
    if len(digits) > _LONGEST_TEXT:
        raise ValueError(TOO_LONG)
    if digits.startswith(("0b", "0x")):
        return int(digits, 0)
    if digits != "0" and digits.startswith("0"):
        return int(digits, 8)
    if ":" in digits:
        return int(_sexagesimal(digits, int))
    return int(digits)


def _read_float(text: str) -> float:
    digits = text.replace("_", "").lower()
    sign = -1.0 if digits.startswith("-") else 1.0
    digits = digits.removeprefix("-") if sign < 0 else digits.removeprefix("+")
    if digits == ".inf":
        return sign * _INFINITY
    if digits == ".nan":
        return float("nan")
    if ":" in digits:
        return sign * _sexagesimal(digits, float)
    return sign * float(digits)


def _sexagesimal(digits: str, number: Callable[[str], float]) -> float:
    total: float = 0
    for part in digits.split(":"):
        total = total * 60 + number(part)
    return total


def _read_bool(text: str) -> bool:
    try:
        return _BOOLEANS[text.lower()]
    except KeyError:
        raise ValueError(f"{text!r} is no boolean") from None


def _read_binary(text: str) -> bytes:
    """Decode base64; the padding may be missing."""
    try:
        raw = text.encode("ascii")
    except UnicodeEncodeError as error:
        raise ValueError(f"failed to convert base64 data into ascii: {error}") from None
    if len(raw) % 4:
        raw += b"=" * (4 - len(raw) % 4)
    try:
        return base64.decodebytes(raw)
    except binascii.Error as error:
        raise ValueError(f"failed to decode base64 data: {error}") from None


SCALARS: Final[dict[str, Callable[[str], Any]]] = {
    f"{PREFIX}null": lambda _text: None,
    f"{PREFIX}bool": _read_bool,
    f"{PREFIX}int": _read_int,
    f"{PREFIX}float": _read_float,
    f"{PREFIX}binary": _read_binary,
    f"{PREFIX}timestamp": str,
    f"{PREFIX}python/unicode": str,
    _STR: str,
    MERGE: lambda _text: MERGE_KEY,
    VALUE: lambda _text: VALUE_KEY,
}
"""The value of a scalar by its tag. Each raises ValueError for text it cannot read."""


def _written(write: Callable[[Emitter], None]) -> str:
    stream = io.StringIO()
    write(Emitter(stream, width=sys.maxsize))
    return stream.getvalue()


def yaml_dquote(text: Any) -> str:
    """Return the text as a double-quoted YAML scalar on one line."""
    return _written(lambda emitter: emitter.write_double_quoted(str(text)))


def yaml_squote(text: Any) -> str:
    """Return the text as a single-quoted YAML scalar."""
    return _written(lambda emitter: emitter.write_single_quoted(str(text)))


def yaml_encode(data: Any) -> str:
    """Return one value as YAML: text in double quotes, ``true``, ``null``, a number. Containers raise TypeError."""
    node = SafeRepresenter().represent_data(data)
    if not isinstance(node, ScalarNode):
        raise TypeError(f"yaml_encode() only works with YAML scalar data; failed for {type(data)}")
    value = str(node.value)
    return yaml_dquote(value) if node.tag.endswith(":str") else value
