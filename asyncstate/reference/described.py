"""What each argument of the bundled states means: for ``asyncstate doc file.managed`` and the pages of the site.

The texts are in ``arguments/``, one line each: an argument, or ``module.argument``, or ``module.function.argument``,
and its meaning after two blanks or in the next line. The most exact name holds.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.reference.function import signature_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_FOLDER = Path(__file__).resolve().parent / "arguments"
_ENTRY = re.compile(r"^([\w.]+)(?: {2,}|\n +)(.+)$", re.MULTILINE)


class Argument(NamedTuple):
    """``type`` is an annotation, "any" if there is none; ``default`` is None if a value is required, else its text.

    ``meaning`` is "" if nothing is known.
    """

    name: str
    type: str
    default: str | None
    meaning: str

    @property
    def line(self) -> str:
        """The argument as it stands in a signature, in words where a value is required."""
        return f"{self.name}: {self.type}, " + ("required" if self.default is None else f"default {self.default}")


@cache
def meanings() -> dict[str, str]:
    """Return all texts by name. Raises ValueError if a name has two."""
    found: dict[str, str] = {}
    for file in sorted(_FOLDER.glob("*.txt")):
        for name, text in _ENTRY.findall(file.read_text(encoding="utf-8")):
            if name in found:
                raise ValueError(f"{file}: {name} is described twice")
            found[name] = text
    return found


def described(name: str, func: Callable[..., Any]) -> list[Argument]:
    """Return the arguments of the bundled state function ``name`` in their order, without ``**kwargs``.

    The default of an argument ``name`` is the ID of the state.
    """
    signature = signature_of(func)
    if signature is None:
        return []
    module = name.partition(".")[0]
    texts = meanings()
    found: list[Argument] = []
    for parameter in signature.parameters.values():
        if parameter.kind in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}:
            continue
        meaning = next(
            (
                texts[key]
                for key in (f"{name}.{parameter.name}", f"{module}.{parameter.name}", parameter.name)
                if key in texts
            ),
            "",
        )
        found.append(Argument(parameter.name, _type(parameter), _default(parameter), meaning))
    return found


def _type(parameter: inspect.Parameter) -> str:
    text = "any" if parameter.annotation is parameter.empty else inspect.formatannotation(parameter.annotation)
    return re.sub(r"\bAny\b", "any", text)


def _default(parameter: inspect.Parameter) -> str | None:
    if parameter.default is not parameter.empty:
        return repr(parameter.default)
    return "the ID" if parameter.name == "name" else None
