"""Entries of ``arguments/``: the meaning, the kind and an example of each argument of the bundled states.

The texts are in ``arguments/``: an entry is an argument, or ``module.argument``, or ``module.function.argument``,
its meaning after two blanks or in the next line, its kind after ``kind:`` and its example after ``e.g.`` in lines of
their own. An example is the value as YAML; where it needs other arguments, they follow ``with``, with semicolons
between them. A kind says which values make sense (`kinds`); ``any`` is none. ``not with:`` names
arguments that exclude the argument. ``needs:`` names arguments; one of them must be given beside it, as in
``location before after if mode=insert``, with semicolons between several such rules. Of several entries for an argument
the most exact one that has a meaning gives the meaning, and likewise the kind, the exclusions, the needs and the
example.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from msgspec.structs import astuple

from asyncstate.value import Value

_FOLDER = Path(__file__).resolve().parent / "arguments"
_FIELDS = {"e.g. ": "example", "kind: ": "kind", "not with: ": "excludes", "needs: ": "needs"}
"""The field of each beginning of a line; any other line is the meaning."""


class Entry(Value):
    """Each field is "" where nothing is written."""

    meaning: str = ""
    example: str = ""
    kind: str = ""
    excludes: str = ""
    needs: str = ""


@cache
def entries() -> dict[str, Entry]:
    """Return all entries by name. Raises ValueError if a name has two."""
    found: dict[str, Entry] = {}
    for file in sorted(_FOLDER.glob("*.txt")):
        name = ""
        for line in file.read_text(encoding="utf-8").splitlines():
            text = line.strip()
            if not text or text.startswith("# "):
                continue
            if not line.startswith(" "):
                name, _, text = (part.strip() for part in line.partition("  "))
                if name in found:
                    raise ValueError(f"{file}: {name} is described twice")
                found[name] = Entry()
            begun = next(filter(text.startswith, _FIELDS), "")
            if text:
                found[name] = found[name].replaced(**{_FIELDS.get(begun, "meaning"): text.removeprefix(begun)})
    return found


@lru_cache(maxsize=4096)  # names come from trees, too
def entry_of(function: str, argument: str) -> Entry:
    """Return what is written of an argument of the state function ``module.function``."""
    module = function.partition(".")[0]
    known = [entries().get(key, Entry()) for key in (f"{function}.{argument}", f"{module}.{argument}", argument)]
    return Entry(*(next(filter(None, texts), "") for texts in zip(*map(astuple, known), strict=True)))


def example_of(function: str, argument: str) -> dict[str, str]:
    """Return the example of an argument and of the arguments that it needs: values as YAML text, by name."""
    value, _, more = entry_of(function, argument).example.partition(" with ")
    needs = dict(each.split(": ", 1) for each in more.split("; ")) if more else {}
    return {argument: value, **needs} if value else {}
