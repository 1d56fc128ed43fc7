"""The source of an interface, generated from a module that serves as its reference."""

from __future__ import annotations

import ast
import inspect
import keyword
from inspect import Parameter
from typing import TYPE_CHECKING, Any

from asyncstate.interfaces.conformance import signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def interface_source(module: str, exports: Mapping[str, Callable[..., Any]]) -> str:
    """Return a Python file that declares every function of ``exports`` as part of the interface of ``module``.

    Bodies return {}: the author of the interface declares what each function returns at least.
    """
    renamed = {f"{name}_": name for name in exports if keyword.iskeyword(name)}
    lines = [
        f'"""The interface of ``{module}``."""',
        "",
        "from asyncstate.interfaces import Interface",
        "",
        "",
        f"class {_class_name(module)}(Interface):",
        f'    """What every provider of ``{module}`` offers."""',
        "",
        f'    __modulename__ = "{module}"',
        *([f"    __func_alias__ = {renamed!r}"] if renamed else []),
    ]
    for name, func in sorted(exports.items()):
        lines += _method(f"{name}_" if keyword.iskeyword(name) else name, func)
    return "\n".join([*lines, ""])


def _class_name(module: str) -> str:
    return "".join(part.capitalize() for part in module.split("_")) + "Interface"


def _method(name: str, func: Callable[..., Any]) -> Iterator[str]:
    signature = signature_of(func)
    parameters = ["self", *_parameters(signature)] if signature else ["self", "*args", "**kwargs"]
    summary = (inspect.getdoc(func) or "").partition("\n")[0].replace("\\", "\\\\").replace('"""', "'''")
    yield ""
    yield f"    def {name}({', '.join(parameters)}):"
    if summary.endswith('"'):
        summary = f'{summary[:-1]}\\"'
    if summary:
        yield f'        """{summary}"""'
    yield "        return {}"


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    previous: Any = None
    for parameter in signature.parameters.values():
        kind = parameter.kind
        if previous is Parameter.POSITIONAL_ONLY and kind is not previous:
            yield "/"
        if kind is Parameter.KEYWORD_ONLY and previous not in {Parameter.KEYWORD_ONLY, Parameter.VAR_POSITIONAL}:
            yield "*"
        stars = "*" if kind is Parameter.VAR_POSITIONAL else "**" if kind is Parameter.VAR_KEYWORD else ""
        default = "" if parameter.default is Parameter.empty else f"={_literal(parameter.default)}"
        yield f"{stars}{parameter.name}{default}"
        previous = kind
    if previous is Parameter.POSITIONAL_ONLY:
        yield "/"


def _literal(value: Any) -> str:
    """Return a default as Python source; None if no literal can express it."""
    text = repr(value)
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return "None"
    return text
