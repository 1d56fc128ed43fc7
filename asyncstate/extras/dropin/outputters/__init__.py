"""The outputters of Salt's ``--out``, with the text that Salt 3008 writes: programs read it.

Forms for people are beside this folder: `asyncstate.report.human` and `asyncstate.report.nested`.
"""

from __future__ import annotations

import json
import pprint
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.extras.dropin.outputters.highstate import highstate
from asyncstate.extras.dropin.outputters.table import table
from asyncstate.report.nested import nested_lines
from asyncstate.report.terminal import Palette

if TYPE_CHECKING:
    from collections.abc import Callable

PRETTY = "pretty"
"""The ``indent`` that asks for four spaces and sorted keys."""
_UNSET = "unset"
_SALT = Palette(
    green=Palette.colour("0;32"),
    cyan=Palette.colour("0;36"),
    yellow=Palette.colour("0;1;33"),
    red=Palette.colour("0;31"),
    bold=Palette.colour("0;1;37"),
    dim=Palette.colour("0;37"),
    reset=Palette.colour("0;0"),
)
"""The sequences that Salt writes."""


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """The format of shown data. ``opts`` are the settings under Salt's names.

    ``indent`` is the number of spaces of a level in JSON and YAML, negative for one line, None for one line of JSON,
    ``pretty``, or ``unset``. ``retcode`` is the exit code of the function.
    """

    coloured: bool = False
    indent: int | str | None = _UNSET
    retcode: int = 0
    opts: Mapping[str, Any] = {}

    @property
    def palette(self) -> Palette:
        """The colours."""
        return _SALT if self.coloured else Palette()


def printed(data: dict[str, Any], name: str, form: Form, complain: Callable[[str], None]) -> str:
    """Return ``data``, a value by host, in the form of an outputter.

    ``complain`` gets a message if there is no such outputter: then, as in Salt, it is ``nested``.
    """
    name = "txt" if name == "text" else name
    if name not in OUTPUTTERS:
        complain(f"Invalid outputter {name} specified, fall back to nested")
        name = "nested"
    return OUTPUTTERS[name](data, form)


def _nested(data: Any, form: Form) -> str:
    palette = form.palette
    if form.retcode:
        palette = palette._replace(cyan=palette.red)
    return "\n".join(nested_lines(data, 0, palette))


def _highstate(data: Any, form: Form) -> str:
    return highstate(data, form.opts, form.palette)


def _table(data: Any, form: Form) -> str:
    return table(data, form.opts, form.palette)


def _json(data: Any, form: Form) -> str:
    indent: Any = form.indent
    if indent in (_UNSET, PRETTY):
        indent = 4
    elif not isinstance(indent, int) or indent < 0:
        indent = None
    return json.dumps(data, default=repr, indent=indent, sort_keys=form.indent == PRETTY, ensure_ascii=False)


def _yaml(data: Any, form: Form) -> str:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    layout: dict[str, Any] = {"default_flow_style": False}
    if isinstance(form.indent, int):
        layout = {"default_flow_style": form.indent < 0, "indent": max(form.indent, 0)}
    text: str = yaml.dump(data, Dumper=dumper, allow_unicode=True, **layout)
    return text


def _txt(data: Any, _form: Form) -> str:
    lines = []
    for host, value in data.items():
        lines += [f"{host}: {line}" for line in (value.splitlines() if isinstance(value, str) else [value])]
    return "\n".join(lines)


def _raw(data: Any, _form: Form) -> str:
    return str(data)


def _pprint(data: Any, form: Form) -> str:
    if isinstance(form.indent, int) and form.indent >= 0:
        return pprint.pformat(data, indent=form.indent)
    return pprint.pformat(data)


def _quiet(_data: Any, _form: Form) -> str:
    return ""


def _values_only(data: Any, _form: Form) -> str:
    """Return all values, each on a line of its own: an outputter that Salt had until 3007."""
    return "\n".join(_leaves(data))


def _leaves(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [leaf for each in value for leaf in _leaves(each)]
    return [str(value)]


OUTPUTTERS: dict[str, Callable[[Any, Form], str]] = {
    "nested": _nested,
    "highstate": _highstate,
    "json": _json,
    "yaml": _yaml,
    "txt": _txt,
    "raw": _raw,
    "pprint": _pprint,
    "table": _table,
    "quiet": _quiet,
    "newline_values_only": _values_only,
}
"""Name of an outputter -> the function that formats."""
