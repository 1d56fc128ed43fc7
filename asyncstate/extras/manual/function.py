"""The documentation of a plugin function: its arguments, an example, its platforms.

The example of a function whose documentation has none is built from the examples of its arguments.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from asyncstate.extras.manual.entries import example_of
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable

_CODE_FOLLOWS = re.compile(r"::[ ]*$", re.MULTILINE)
_BEGINS_CODE = re.compile(r"( ?::)[ ]*$", re.MULTILINE)
_STARRED = frozenset({inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
TITLES = {"states": "State", "modules": "Execution module"}
"""The title of each kind of plugin."""

_MORE = {
    "cron.present": {"minute": "'30'", "hour": "'3'"},
    "file.append": {"text": "server a"},
    "file.blockreplace": {
        "marker_start": "'# begin'", "marker_end": "'# end'", "content": "port = 8080", "append_if_not_found": "True",
    },
    "file.decode": {"encoded_data": "cG9ydCA9IDgwODAK"},
    "file.directory": {"mode": "'0755'", "makedirs": "True"},
    "file.keyvalue": {"key": "port", "value": "'8080'", "separator": "' = '", "append_if_not_found": "True"},
    "file.line": {"mode": "ensure", "content": "port = 8080", "after": "^host"},
    "file.managed": {"source": "salt://app/app.conf", "mode": "'0644'"},
    "file.prepend": {"text": "server a"},
    "file.serialize": {"dataset": "{port: 8080}", "serializer": "json"},
    "test.check_pillar": {"present": "[app]"},
    "test.show_notification": {"text": "Read the release notes"},
}  # fmt: skip
"""Further arguments that an example needs, or is better with."""
_BESIDE = {
    "file.accumulated": """
    - require_in:
      - file: app

app:
  file.managed:
    - name: /etc/app.conf
    - source: salt://app/app.conf
    - template: jinja""",
}
"""The states that follow an example."""


class Function(Value):
    """One function with the name that callers use; ``kind`` is states or modules."""

    kind: str
    name: str
    func: Callable[..., Any]

    @property
    def signature(self) -> str:
        """The arguments as in the source, ``(name: str, user: str = 'root')``; ``(...)`` if they are unknown."""
        signature = signature_of(self.func)
        return "(...)" if signature is None else str(signature)

    @property
    def doc(self) -> str:
        """The docstring, without its indentation."""
        return inspect.getdoc(self.func) or ""

    @property
    def example(self) -> str:
        """A minimal example with the required arguments only; "" if its documentation has an example."""
        signature = signature_of(self.func)
        if signature is None or _CODE_FOLLOWS.search(self.doc):
            return ""
        needed = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.default is parameter.empty and parameter.kind not in _STARRED
        ]
        return state_example(self.name, needed) if self.kind == "states" else call_example(self.name, needed)


def call_lines(name: str, signature: str, width: int = 96) -> list[str]:
    """Return name and arguments, broken between arguments into lines of up to ``width`` characters."""
    if len(name) + len(signature) <= width:
        return [name + signature]
    indent = " " * (len(name) + 1)
    whole = signature.replace(" ", _UNBROKEN).replace(f",{_UNBROKEN}", ", ")
    lines = textwrap.wrap(name + whole, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace(_UNBROKEN, " ") for line in lines]


_UNBROKEN = "\0"
"""Stands for a space at which no line is broken."""


class _Plain(str):
    """An annotation that prints without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def signature_of(func: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature with annotations as they are written in the source; None if it is unknown."""
    try:
        signature = inspect.signature(func)
    except (ValueError, TypeError):
        return None
    parameters = [
        parameter.replace(annotation=_Plain(parameter.annotation))
        if isinstance(parameter.annotation, str)
        else parameter
        for parameter in signature.parameters.values()
    ]
    return signature.replace(parameters=parameters, return_annotation=signature.empty)


@lru_cache(maxsize=256)
def platforms(file: str) -> str:
    """Return in words where the plugin in a file loads: everywhere, or with the reasons of its ``__virtual__``.

    The answer is read from the source, so it is the same on every platform.
    """
    try:
        with open(file, encoding="utf-8") as text:
            tree = ast.parse(text.read())
    except (OSError, ValueError, SyntaxError):
        return ""
    asked = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "__virtual__"]
    if not asked:
        return "all"
    reasons = [_text(node.value) for node in ast.walk(asked[0]) if isinstance(node, ast.Return)]
    said = "; ".join(dict.fromkeys(reason for reason in reasons if reason))
    if said:
        return f"all but where it refuses: {said}"
    return "those its __virtual__ accepts"


def _text(returned: ast.expr | None) -> str:
    """Return the reason in ``return False, reason``, also as one branch of a condition; "" for any other return."""
    if isinstance(returned, ast.IfExp):
        return _text(returned.body) or _text(returned.orelse)
    if isinstance(returned, ast.Tuple) and len(returned.elts) == 2:
        match returned.elts[1]:
            case ast.Constant(value=str(reason)):
                return reason
            case ast.JoinedStr(values=parts):
                words = (str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)
                return "".join(words)
    return ""


def state_example(name: str, needed: list[str]) -> str:
    """Return SLS text that calls a state function with a name, the arguments ``needed``, and what they need beside."""
    arguments: dict[str, str] = {}
    for each in ("name", *needed):
        if each not in arguments:
            arguments |= example_of(name, each) or {each: "example"}
    arguments |= _MORE.get(name, {})
    lines = ["my-id:", f"  {name}:", *(f"    - {key}: {value}" for key, value in arguments.items())]
    return "\n".join(lines) + _BESIDE.get(name, "")


def call_example(name: str, needed: list[str]) -> str:
    """Return the command line that calls an execution function with the required arguments ``needed``."""
    return " ".join(["asyncstate call", name, *(each.upper() for each in needed)])


def markdown(doc: str) -> str:
    """Return a docstring as Markdown: ``::`` before an example becomes a colon, or nothing after a full stop."""
    return _BEGINS_CODE.sub(lambda match: "" if match[1].startswith(" ") else ":", doc)
