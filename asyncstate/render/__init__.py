"""Rendering: from SLS text to data, through a pipe of renderers.

``#!jinja|yaml|gpg`` in the first line names the renderers; without it the option ``renderer`` does. Each renderer
takes the result of the previous one: text, later data.
"""

from __future__ import annotations

import io
import re
from collections import OrderedDict
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

import yaml

from asyncstate.data import yaml as dialect
from asyncstate.data.limits import plain_data
from asyncstate.data.yaml import Document, compose, parse_document, scalar
from asyncstate.dunders.context import check_cancelled
from asyncstate.errors import RenderError, RunCancelled
from asyncstate.logs import get_logger
from asyncstate.model.chunk import fresh
from asyncstate.nearest import nearest
from asyncstate.render.context import RenderContext
from asyncstate.render.jinja_options import options_of, read_header
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, MutableSet

    from asyncstate.data.yaml.compose import KeyLines
    from asyncstate.render.source_lines import SourceLines
    from asyncstate.sources.fileclient import SlsFile

__all__ = [
    "RenderContext",
    "Rendered",
    "parse_pipe",
    "render_jinja",
    "render_sls",
    "render_text",
]

logger: Final = get_logger(__name__)

_DEFAULT: Final = "jinja|yaml"
_OLD_NAMES: Final = {"yaml_jinja": "jinja|yaml", "json_jinja": "jinja|json"}
BUILT_IN: Final = {
    "gpg": "Decrypt PGP messages in text or data.",
    "jinja": "Render a Jinja template to text.",
    "json": "Read JSON.",
    "py": "Run a Python program, and take what its function run returns.",
    "text": "Keep the text as it is.",
    "toml": "Read TOML.",
    "yaml": "Read YAML.",
}
"""The renderers of the engine, with a line of help each."""
_WORTH_KEEPING: Final = 500
"""The characters of a text from which on it is worth finding its parsed form, which takes less time than parsing it."""
_PROGRAMS: Final = ("py", "pyobjects")
"""Renderers that run the text as a program."""


class Stage(Value):
    """One renderer of a pipe and the arguments after its name."""

    name: str
    argline: str


class Rendered:
    """The data of a rendered file, and the lines of its keys in the file.

    ``line_of`` does not keep the data alive: a caller that only wants lines can hold that function. ``repeated`` are
    repeated declarations of an ID, with their lines in the file; the first declaration counts.
    """

    __slots__ = ("data", "line_of", "repeated")

    def __init__(
        self, data: Any, lines: KeyLines | None = None, source: SourceLines | None = None, text: str = ""
    ) -> None:
        self.data: Any = data
        self.line_of: LineOf = _Places(lines, source, text).line_of
        self.repeated: list[tuple[Any, int]] = []

    def copy(self) -> Rendered:
        """Return a rendering whose data may be changed."""
        copied = Rendered(fresh(self.data))
        copied.line_of, copied.repeated = self.line_of, list(self.repeated)
        return copied


class LineOf(Protocol):
    """Returns the line (from 1) of a top-level key in the file before rendering, 0 if it is not known.

    With ``state``, it returns the line of that key below it; ``pkg`` also finds ``pkg.installed``. With ``argument``,
    it returns the line of that argument of the state, or of the state if it has no such argument.
    """

    def __call__(self, id: Any, state: str | None = None, argument: str | None = None) -> int: ...


class _Places:
    """The places of a rendered file's keys: their lines in the parsed text, mapped to lines of the source."""

    __slots__ = ("_lines", "_source", "_text")

    def __init__(self, lines: KeyLines | None, source: SourceLines | None, text: str) -> None:
        self._lines = lines
        self._source = source
        self._text = text

    def line_of(self, id: Any, state: str | None = None, argument: str | None = None) -> int:
        """Return a line; see `LineOf`."""
        if self._lines is None:
            return 0
        line = (self._lines.find(id, state) if state is not None else 0) or self._lines.find(id)
        if line and argument is not None:
            line = argument_line(self._text.splitlines(), line, argument) or line
        return self._source.line(line) if line and self._source is not None else line


def argument_line(lines: list[str], state: int, argument: str) -> int:
    """Return the line of an argument of the state declared in line ``state``; 0 if there is none."""
    written = re.compile(rf"""(?:^|[\s{{\[,-])(['"]?){re.escape(argument)}\1\s*:""")
    outer = _indentation(lines[state - 1])
    for number in range(state, len(lines) + 1):
        text = lines[number - 1]
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        own = _indentation(text)
        if number > state and (own < outer or (own == outer and not text.lstrip().startswith("-"))):
            return 0
        if written.search(text):
            return number
    return 0


def _indentation(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def render_sls(file: SlsFile, context: RenderContext) -> Rendered:
    """Render an SLS through its pipe; a blank SLS, or one that renders to nothing, has the data {}.

    Raises RenderError with the file and the line in it.
    """
    context = context.for_file(file)
    text = decode(context.fileclient.read(file.path), file.path)
    if not text.strip():
        return Rendered({})
    pipe = _shebang(text)
    if pipe is None:
        pipe = str(context.opts.get("renderer") or _DEFAULT)
    first_wins = context.opts.get("duplicate_ids") == "first" and not context.ordered
    return _run(parse_pipe(pipe, context), text, context, template_env="jinja_sls_env", first_wins=first_wins)


def render_text(text: str, context: RenderContext, pipe: str | None = "jinja", template_env: str = "jinja_env") -> Any:
    """Render text that is no SLS, such as the template of a managed file; returns text or data, as the pipe does.

    The first line of the text does not name the pipe, because a script may start with ``#!``. With ``pipe=None`` it
    does, or else the option ``renderer``. ``template_env`` names the option with Jinja's settings,
    ``jinja_env`` or ``jinja_sls_env``; the latter also gives the template the variables of an SLS. Raises RenderError.
    """
    if pipe is None:
        pipe = _shebang(text) or str(context.opts.get("renderer") or _DEFAULT)
    return _run(parse_pipe(pipe, context), text, context, template_env=template_env).data


def decode(raw: bytes, path: str) -> str:
    """Return the text of a file with line feeds as line ends. Raises RenderError if it is not UTF-8 text."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        what = "a binary file, not text: " if b"\0" in raw else ""
        raise RenderError(f"{what}{error}", file=path, line=line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise RenderError("a binary file, not text: it holds a NUL character", file=path, line=line)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def parse_pipe(pipe: str, context: RenderContext) -> list[Stage]:
    """Return the stages named by ``pipe``.

    Renderers that ``renderer_blacklist`` or ``renderer_whitelist`` refuses are left out, with a warning. Raises
    RenderError for an unknown renderer, naming the nearest one, and if none is left.
    """
    allowed = context.opts.get("renderer_whitelist")
    refused = context.opts.get("renderer_blacklist")
    stages = []
    for part in _OLD_NAMES.get(pipe.strip(), pipe).split("|"):
        name, _, argline = part.strip().partition(" ")
        if (allowed and name not in allowed) or (refused and name in refused):
            logger.warning('The renderer "%s" is disallowed by configuration and will be skipped.', name)
            continue
        if name not in BUILT_IN and name not in built_in() and name not in context.renderers:
            raise _unknown(name, context)
        stages.append(Stage(name, argline.strip()))
    if not stages:
        raise RenderError(f'no renderer of "{pipe}" is allowed by configuration', file=context.path, line=1)
    return stages


def built_in() -> dict[str, str]:
    """Return the renderers of the engine and of extras, with a line of help each."""
    from asyncstate import extend  # noqa: PLC0415 - few trees name others than the engine's

    return dict(sorted({**BUILT_IN, **{name: text for name, (text, _) in extend.renderers().items()}}.items()))


def _unknown(name: str, context: RenderContext) -> RenderError:
    try:
        context.renderers[name]
    except KeyError as error:
        why = getattr(error.__cause__, "reason", "")
        if why and not why.endswith("is not available."):  # the renderer exists but does not load
            hint = "it stands in _renderers of a file root: mend it, or install what it imports beside asyncstate"
            message = f'The renderer "{name}" does not load: {why}'
            return RenderError(message, file=context.path, line=1, hint=hint)
    known = sorted({*built_in(), *context.renderers})
    near = nearest(name.lower(), known)
    hint = f'Did you mean "{near}"?' if near else f"Known are: {', '.join(known)}."
    return RenderError(f'The renderer "{name}" is not available. {hint}', file=context.path, line=1)


def _shebang(text: str) -> str | None:
    """Return the pipe that the first line names; ``#!/bin/sh`` names none."""
    if not text.startswith("#!") or text.startswith("#!/"):
        return None
    return text.partition("\n")[0][2:].strip() or None


def _run(
    stages: list[Stage], text: str, context: RenderContext, *, template_env: str, first_wins: bool = False
) -> Rendered:
    """Send text through the stages, mapping rendered lines to source lines."""
    repeated: list[tuple[Any, int]] = []
    data: Any = text
    lines: KeyLines | None = None
    source: SourceLines | None = None
    parsed = ""
    decrypted: list[str] = []
    for stage in stages:
        if stage.name == "jinja" and isinstance(data, str):
            data = render_jinja(data, context, stage.argline, template_env=template_env, is_file=data is text)
            continue
        if isinstance(data, str) and data != text:
            from asyncstate.render.source_lines import SourceLines  # noqa: PLC0415 - templates

            source = SourceLines(text, data)
        try:
            if stage.name == "yaml" and isinstance(data, str):
                parsed = data
                document = _document(data, context, first_wins=first_wins, is_file=data is text)
                data, lines, repeated = document.data or {}, document.lines, document.repeated
            elif stage.name == "gpg" and isinstance(data, str):
                known = set(context.secrets)
                data = _other(stage, data, context)
                decrypted += set(context.secrets) - known
            else:
                data = plain_data(_other(stage, data, context), context.path)
                check_cancelled()  # whatever it has started was ended, so it may have returned too early
        except RenderError as error:
            check_cancelled()
            raise _at_source(error, source, context) from error.__cause__
    if decrypted:
        _hide_values(data, decrypted, context.secrets)
    rendered = Rendered({} if data is None else data, lines, source, parsed)
    rendered.repeated = [(key, source.line(line) if source else line) for key, line in repeated]
    return rendered


def _hide_values(data: Any, decrypted: list[str], secrets: MutableSet[str]) -> None:
    """Add each value of data that was decrypted as one text to the secrets: a value may be shown by itself."""
    from asyncstate.redact.forms import TELLING  # noqa: PLC0415 - few trees have anything encrypted

    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and len(value) >= TELLING and any(value in text for text in decrypted):
            secrets.add(value)


def _document(text: str, context: RenderContext, *, first_wins: bool, is_file: bool) -> Document:
    def parsed() -> Document:
        mapping = OrderedDict if context.ordered else dict
        return parse_document(text, context.path, mapping=mapping, first_wins=first_wins)

    if not is_file or context.kept is None or context.ordered or len(text) < _WORTH_KEEPING:
        return parsed()
    return Document.of(context.kept().of(("yaml", _yaml_program(), text, first_wins), lambda: parsed().parts()))


@cache
def _yaml_program() -> tuple[Any, ...]:
    from asyncstate.render.kept import made_by  # noqa: PLC0415 - few trees have large files of plain YAML

    return made_by(yaml, dialect, compose, scalar)


def render_jinja(
    text: str, context: RenderContext, argline: str = "", *, template_env: str = "jinja_sls_env", is_file: bool = False
) -> str:
    """Render a template. ``template_env`` names the option with Jinja's settings for this kind of template.

    ``is_file``: the text is the content of the context's file, so that its compiled form may be kept. Jinja itself is
    imported only for text that holds template syntax; other text passes through unchanged, except for the line breaks
    that Jinja would normalise. Raises RenderError with Salt's wording, the file (that of an imported template if the
    error is there) and the line.
    """
    if argline and argline != "-s":
        raise RenderError(f"Unknown renderer option: {argline}", file=context.path, line=1)
    source = read_header(text, options_of(context.opts, template_env))
    if not source.options.template_syntax_in(source.text):
        return source.text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in source.text else source.text
    from asyncstate.render.jinja import rendered  # noqa: PLC0415 - as above

    result = rendered(source, text, context, sls=template_env == "jinja_sls_env", is_file=is_file)
    return f"{result}\n" if source.text.endswith("\n") else result


def _other(stage: Stage, data: Any, context: RenderContext) -> Any:
    """Run a renderer other than Jinja and YAML, importing it first: they are rarely used."""
    if context.restraint is not None and (stage.name in _PROGRAMS or stage.name not in built_in()):
        refusal = context.restraint.refusal(stage.name, context.path)
        if refusal:
            raise RenderError(refusal, file=context.path, line=1)
    if stage.name not in BUILT_IN:
        from asyncstate import extend  # noqa: PLC0415

        if stage.name in (added := extend.renderers()):
            return extend.load(added[stage.name][1])(data, stage.argline, context, _nested(context))
        return _custom(context.renderers[stage.name], stage, data, context)
    if stage.name == "gpg":
        from asyncstate.render import gpg  # noqa: PLC0415

        return gpg.render(data, context)
    if stage.name == "py":
        from asyncstate.render import py  # noqa: PLC0415

        return py.render(_own_text(context, data), context)
    data = text_for(stage.name, data)
    if stage.name == "text":
        return data
    if stage.name == "json":
        from asyncstate.render import json  # noqa: PLC0415

        return json.render(data, context.path)
    from asyncstate.render import toml  # noqa: PLC0415

    return toml.render(data, context.path)


def text_for(renderer: str, data: Any) -> str:
    """Return data that is text. Raises RenderError for any other."""
    if not isinstance(data, str):
        kind = type(data).__name__
        raise RenderError(f'the renderer "{renderer}" needs text, but the one before it returned a {kind}')
    return data


def _nested(context: RenderContext) -> Callable[[str, str, dict[str, Any]], Any]:
    """Return a function that renders text through a pipe of its own, with more variables."""

    def run(pipe: str, text: str, variables: dict[str, Any]) -> Any:
        inner = context.replaced(extra={**context.extra, **variables}, kept=None)
        return _run(parse_pipe(pipe, inner), text, inner, template_env="jinja_sls_env").data

    return run


def _own_text(context: RenderContext, data: Any) -> str:
    """Return the text that ``py`` runs: as in Salt the text of the file, not the result of earlier stages."""
    if context.file is None:
        return str(data)
    return decode(context.fileclient.read(context.file.path), context.file.path)


def _custom(renderer: Callable[..., Any], stage: Stage, data: Any, context: RenderContext) -> Any:
    """Call a third-party renderer as Salt does: text as an open file, and the same keyword arguments."""
    kwargs: dict[str, Any] = {
        "renderers": context.renderers,
        "tmplpath": context.path,
        "rendered_sls": context.rendered_sls,
    }
    if context.extra:
        kwargs["context"] = dict(context.extra)
    if stage.argline:
        kwargs["argline"] = stage.argline
    try:
        result = renderer(io.StringIO(data) if isinstance(data, str) else data, context.saltenv, context.sls, **kwargs)
        return result.read() if hasattr(result, "read") else result
    except (RenderError, RunCancelled, MemoryError):
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise RenderError(f'the renderer "{stage.name}" failed: {what}', file=context.path, line=1) from error


def _at_source(error: RenderError, source: SourceLines | None, context: RenderContext) -> RenderError:
    """Return the error with its file, and with its line in the source instead of the rendered text."""
    if not error.file:
        error.file = context.path
    if source is None or not error.line or error.file != context.path:
        return error
    line = source.line(error.line)
    return RenderError(error.message, file=error.file, line=line, excerpt=error.excerpt, hint=error.hint)
