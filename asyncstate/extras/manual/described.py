"""Meanings of the arguments of the bundled states, for ``asyncstate doc file.managed`` and the pages of the site.

Types and defaults are those of the signature; meanings and examples are in ``arguments/`` (`entries`).
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

from asyncstate.extras.manual.entries import entry_of, example_of
from asyncstate.extras.manual.function import signature_of
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Argument(Value):
    """``type`` is an annotation, "any" if there is none; ``default`` is None if a value is required, else its text.

    ``meaning`` is "" if nothing is known. ``example`` are lines of a state, without indentation: this argument, and
    what else it needs.
    """

    name: str
    type: str
    default: str | None
    meaning: str
    example: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The argument as it stands in a signature, in words where a value is required."""
        return f"{self.name}: {self.type}, " + ("required" if self.default is None else f"default {self.default}")


def described(name: str, func: Callable[..., Any]) -> list[Argument]:
    """Return the arguments of the bundled state function ``name`` in their order, without ``**kwargs``.

    The default of an argument ``name`` is the ID of the state.
    """
    signature = signature_of(func)
    if signature is None:
        return []
    return [
        Argument(
            parameter.name,
            _type(parameter),
            _default(parameter),
            entry_of(name, parameter.name).meaning,
            _example(name, parameter),
        )
        for parameter in signature.parameters.values()
        if parameter.kind not in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}
    ]


def _example(name: str, parameter: inspect.Parameter) -> tuple[str, ...]:
    """Return the example of an argument; for a switch without one, the opposite of its default."""
    found = example_of(name, parameter.name)
    if not found and isinstance(parameter.default, bool):
        found = {parameter.name: str(not parameter.default)}
    return tuple(f"- {key}: {value}" for key, value in found.items())


def _type(parameter: inspect.Parameter) -> str:
    text = "any" if parameter.annotation is parameter.empty else inspect.formatannotation(parameter.annotation)
    return re.sub(r"\bAny\b", "any", text)


def _default(parameter: inspect.Parameter) -> str | None:
    if parameter.default is not parameter.empty:
        return repr(parameter.default)
    return "the ID" if parameter.name == "name" else None
