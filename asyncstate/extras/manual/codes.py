"""The codes of mistakes in trees: the meaning of each, an example, and the remedy.

The texts are in ``code_pages/``; an extra has its own. An entry has ``title``, ``means`` and ``mend``; ``wrong`` is a
tree with the mistake and ``right`` the same tree without it: the text of one SLS file, or texts by path, where
``pillar/`` is a pillar root. ``options``, ``ids`` and ``exclude`` are what the example needs from the configuration or
the command.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate import extend
from asyncstate.data.formats import yaml_data

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FOLDER = Path(__file__).resolve().parent / "code_pages"


class Code(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry. ``wrong`` is empty if no single tree shows the mistake."""

    title: str
    means: str
    mend: str
    wrong: str | dict[str, str] = ""
    right: str | dict[str, str] = ""
    options: dict[str, Any] = {}
    ids: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@cache
def codes() -> Mapping[str, Code]:
    """Return all entries in the order of their codes."""
    found: dict[str, Code] = {}
    texts = [file.read_text(encoding="utf-8") for file in sorted(_FOLDER.glob("*.yaml"))]
    texts += [extend.text_of(extra.codes) for extra in extend.extras() if extra.codes]
    for text in texts:
        found |= msgspec.convert(yaml_data(text), dict[str, Code])
    return dict(sorted(found.items()))


def files_of(example: str | Mapping[str, str]) -> dict[str, str]:
    """Return the files of an example by path; a single text is ``a.sls``."""
    return {"a.sls": example} if isinstance(example, str) else dict(example)


def code_lines(code: str, entry: Code) -> Iterator[str]:
    """Yield the page of a code for a terminal."""
    from textwrap import wrap

    yield f"{code}: {entry.title}"
    yield from ("", *wrap(entry.means, 100, break_long_words=False, break_on_hyphens=False))
    if entry.wrong:
        yield from ("", "For example:", *_indented(entry.wrong))
    if entry.options:
        yield f"    with the options {entry.options}"
    yield from ("", *wrap(entry.mend, 100, break_long_words=False, break_on_hyphens=False))
    if entry.right:
        yield from _indented(entry.right)


def _indented(example: str | Mapping[str, str]) -> Iterator[str]:
    for path, text in files_of(example).items():
        yield ""
        if not isinstance(example, str):
            yield f"    # {path}"
        yield from (f"    {line}".rstrip() for line in text.splitlines())
