"""Reads of the execution functions that a state calls during its run, in slots and in templates.

A slot, ``__slot__:salt:file.read(/a)``, is an argument. A template calls ``salt['file.read']('/a')``.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from asyncstate.effects.resources import ENVIRONMENT, PATH, TREE
from asyncstate.model.chunk import SLOT, texts_in
from asyncstate.pattern import lazy_pattern
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from asyncstate.model.chunk import LowChunk

_IN_SLOT = lazy_pattern(r"__slot__:salt:([\w.]+)\s*\(?(.*)", re.DOTALL)
_IN_TEMPLATE = lazy_pattern(
    r"""(?<![A-Za-z0-9])salt(?:__)?(?:\[\s*['"]([\w.]+)['"]\s*\]|\.(\w+\.\w+))\s*\((?=([^()]*))"""
)
_PATH = lazy_pattern(r"""(?<![^\s'"=,(])/[^\s'",()]+""")
_LOOK_AT_DATA = frozenset(
    "config data defaults dnsutil environ grains hashutil jinja match mine network pillar random sdb slsutil"
    " test".split()
)
"""Modules that read no files that a tree writes: slots and templates read grains, pillar and environment anyway."""


_BLOCK = lazy_pattern(r"\{[{%](.*?)[%}]\}", re.DOTALL)
_MAY_LOOK = lazy_pattern(
    r"\b(?:(?:__)?salt(?:__)?|ifelse|import\w*|include|extends"
    r"|file_hashsum|get_uid|is_bin_file|is_empty|is_text_file|list_files|which)\b"
)
"""The parts of a template that may read a file: functions, other templates, filters."""


class CallsRead(Value):
    """The resources that calls read; ``unknown`` says why they may read more, "" if they do not."""

    reads: tuple[str, ...] = ()
    unknown: str = ""


def slots_read(args: dict[str, Any]) -> CallsRead | None:
    """Return what the slots of a state read; None if it has none. A path counts with everything below it."""
    slots = list(_slots(args))
    if not slots:
        return None
    calls = [match.groups() for match in map(_IN_SLOT.match, slots) if match is not None]
    read = _calls_read(calls, "a slot")
    return CallsRead((ENVIRONMENT, "grains", *read.reads), read.unknown)


class Templates:
    """Reads the templates that states render.

    ``template_of`` returns the text of a chunk's templates, "" if it has none, and whether the text is complete.
    ``usual_syntax``: no option gives Jinja other marks than ``{{`` and ``{%``.
    """

    def __init__(self, template_of: Callable[[LowChunk], tuple[str, bool]], *, usual_syntax: bool = True) -> None:
        self._template_of = template_of
        self._usual_syntax = usual_syntax
        self._known: dict[tuple[str, ...], tuple[CallsRead, bool]] = {}

    def read(self, chunk: LowChunk) -> CallsRead:
        """Return what a template of a state reads: what it calls functions for, and the paths in its variables.

        A template that calls nothing only prints such a path.
        """
        args = chunk.args
        if not args.get("template"):
            return CallsRead()
        key = (chunk.env, *(str(args.get(each)) for each in ("saltenv", "source", "contents", "template")))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._read(chunk)
        called, only_prints = known
        return called if only_prints else called.replaced(reads=(*_variables_name(args), *called.reads))

    def _read(self, chunk: LowChunk) -> tuple[CallsRead, bool]:
        text, whole = self._template_of(chunk)
        calls = [(match[1] or match[2], match[3]) for match in _IN_TEMPLATE.finditer(text)]
        usual = whole and self._usual_syntax and chunk.args["template"] == "jinja" and "#jinja2:" not in text
        looks = any(_is_of_files(function) for function, _ in calls)
        rest = _IN_TEMPLATE.sub("", text) if calls else text
        only_prints = usual and not looks and not any(map(_MAY_LOOK.search, _BLOCK.findall(rest)))
        return _calls_read(calls, "its template"), only_prints


def _variables_name(args: Mapping[str, Any]) -> list[str]:
    """Return the files that the variables of a template name."""
    given = texts_in([args.get("context"), args.get("defaults")], keys=True)
    return [f"{PATH}{posixpath.normpath(text)}{TREE}" for text in given if text.startswith("/") and text.strip("/")]


def _is_of_files(function: str) -> bool:
    """Whether an execution function may read files that a tree writes."""
    return function.partition(".")[0] not in _LOOK_AT_DATA


def _calls_read(calls: Iterable[tuple[str | Any, ...]], where: str) -> CallsRead:
    found: dict[str, None] = {}
    unknown = ""
    for function, arguments in calls:
        if not _is_of_files(function):
            continue
        paths = [path.rstrip("/") for path in _PATH.findall(arguments)]
        found.update((f"{PATH}{path}{TREE}", None) for path in paths if path)
        if not paths and not unknown:
            unknown = f"{where} calls {function}, whose reads are unknown"
    return CallsRead(tuple(found), unknown)


def _slots(args: dict[str, Any]) -> Iterator[str]:
    """Yield the slots: arguments, and what is one level deep in lists and mappings, as in a run."""
    for value in args.values():
        kind = type(value)
        if kind is str:
            if value.startswith(SLOT):
                yield value
        elif kind is list or kind is dict:
            for item in value if kind is list else value.values():
                for part in item.values() if type(item) is dict else (item,):
                    if type(part) is str and part.startswith(SLOT):
                        yield part
