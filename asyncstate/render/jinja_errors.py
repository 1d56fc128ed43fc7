"""Jinja's exceptions in Salt's words, with their template and line."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

from jinja2 import (
    TemplateAssertionError,
    TemplateNotFound,
    TemplateRuntimeError,
    TemplateSyntaxError,
    UndefinedError,
)
from jinja2.exceptions import SecurityError

from asyncstate.data.text import excerpt_around
from asyncstate.errors import CommandExecutionError, InvocationError, RenderError, place_in_plugin
from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.render.context import RenderContext
    from asyncstate.render.jinja_loader import RootsLoader
    from asyncstate.render.jinja_options import Source

_UNKNOWN: Final = lazy_pattern(r"No (filter|test) named '(\w+)'")
_NOT_EXPORTED: Final = lazy_pattern(r"the template '([^']+)' .*does not export the requested name '(\w+)'")
_EXPORTING: Final = lazy_pattern(r"\{%[-+]?\s*(?:set|macro|import_\w+\s\S+\s+as)\s+([A-Za-z]\w*)")
_NEXT_STEPS: Final = (
    (TemplateNotFound, "", "correct the path, which begins at a file root, or add the file"),
    (ZeroDivisionError, "", "the divisor is 0 here: test it with {% if … %}, or give it another default"),
    (UndefinedError, "is undefined", "set it above with {% set … %}, or import it; (NAME | default(…)) may be missing"),
    (TypeError, " argument", "asyncstate doc MODULE.FUNCTION lists the arguments of a function"),
    (
        TypeError,
        "",
        "a value has another type than this line needs: |int, |string and |list convert, ~ joins any as text",
    ),
    (LookupError, "", "the data does not have it here: test it with {% if … %}, or give a default"),
    (ValueError, "", "asyncstate call pillar.items and grains.items show the values of this host"),
)
"""Hints for Python errors, by a text in the message."""
_TEMPLATE_FRAMES: Final = ("top-level template code", "template")


def translated(
    error: Exception, source: Source, original: str, path: str, *, context: RenderContext, loader: RootsLoader
) -> RenderError:
    """Return the RenderError for an exception that left a template.

    ``path`` is the template's file name in the traceback; any other template is an imported one.
    """
    file, line = _place(error)
    message = f"{_kind(error)} {_words(error)}"
    if file and file != path:
        text = loader.sources.get(file, "")
        message = f"{message}\n{file}({line}):\n{excerpt_around(text, line)}"
        return RenderError(message, file=file, line=line, hint=_hint(error, text, line, context, loader))
    line = source.line(line) if line else 0
    if line:
        message = f"{message}; line {line}\n\n{excerpt_around(original, line)}"
    return RenderError(message, file=context.path, line=line, hint=_hint(error, original, line, context, loader))


def name_hint(error: Exception) -> str:
    """Return a hint with the nearest filter or test for an unknown one; "" for any other error."""
    unknown = _UNKNOWN.match(str(error)) if isinstance(error, (TemplateAssertionError, TemplateRuntimeError)) else None
    if unknown is None:
        return ""
    from asyncstate.render.jinja_environment import base_environment  # noqa: PLC0415 - for errors only
    from asyncstate.render.jinja_options import Options  # noqa: PLC0415

    environment = base_environment(Options())
    return _meant(unknown[2], environment.filters if unknown[1] == "filter" else environment.tests)


def _meant(name: str, known: Iterable[str]) -> str:
    from asyncstate.nearest import did_you_mean, nearest  # noqa: PLC0415 - for errors only

    return did_you_mean(nearest(name, known))


def _import_hint(error: Exception, context: RenderContext, loader: RootsLoader) -> str:
    """Return the nearest template, or name in a template, for an import that fails; "" if nothing is similar."""
    if isinstance(error, TemplateNotFound):
        return _meant(str(error.name), context.fileclient.list_files(context.saltenv))
    lacking = _NOT_EXPORTED.match(str(error))
    path = context.fileclient.find(lacking[1], context.saltenv) if lacking else None
    return _meant(lacking[2], _EXPORTING.findall(loader.sources.get(path, ""))) if lacking and path else ""


def _hint(error: Exception, text: str, line: int, context: RenderContext, loader: RootsLoader) -> str:
    if place := place_in_plugin(error):
        return f"raised at {place}"
    lines = text.splitlines()
    hint = ""
    if isinstance(error, (UndefinedError, TypeError)) and 0 < line <= len(lines):
        from asyncstate.render.missing_keys import key_hint  # noqa: PLC0415 - for errors only

        hint = key_hint(str(error), lines[line - 1], context)
    steps = (step for kind, words, step in _NEXT_STEPS if isinstance(error, kind) and words in str(error))
    return hint or name_hint(error) or _import_hint(error, context, loader) or next(steps, "")


def _kind(error: Exception) -> str:
    if isinstance(error, UndefinedError):
        return "Jinja variable"
    if isinstance(error, (TemplateRuntimeError, TemplateSyntaxError, SecurityError)):
        return "Jinja syntax error:"
    if isinstance(error, (CommandExecutionError, InvocationError)):
        return "Problem running salt function in Jinja template:"
    return "Jinja error:"


def _words(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"{error}: the template is nested too deeply, or a macro, an include or an import leads back to itself"
    return str(error) or type(error).__name__


def _place(error: Exception) -> tuple[str, int]:
    """Return the file and line of the innermost template in the traceback."""
    if isinstance(error, TemplateSyntaxError):
        return error.filename or error.name or "", error.lineno
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.name in _TEMPLATE_FRAMES or frame.name.startswith("block '"):
            return frame.filename, frame.lineno or 0
    return "", 0
