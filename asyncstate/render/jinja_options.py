"""Options of the Jinja environment: from the configuration and from a template's ``#jinja2:`` header."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from asyncstate.logs import get_logger
from asyncstate.pattern import lazy_pattern
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

logger: Final = get_logger(__name__)

KNOWN_OPTIONS: Final = frozenset(
    {
        "block_start_string",
        "block_end_string",
        "variable_start_string",
        "variable_end_string",
        "comment_start_string",
        "comment_end_string",
        "line_statement_prefix",
        "line_comment_prefix",
        "trim_blocks",
        "lstrip_blocks",
        "newline_sequence",
        "keep_trailing_newline",
    }
)
_HEADER: Final = "#jinja2:"
_FIRST_LINES: Final = lazy_pattern(
    r"(?P<shebang>#!(?!/)[^\r\n]*(?:\r\n|\r|\n))?(?P<header>#jinja2:[^\r\n]*(?:\r\n|\r|\n|$))"
)


class Options(Value):
    """The options for compiling a template: hashable, so that they can be part of a cache's key."""

    syntax: tuple[tuple[str, Any], ...] = ()
    allow_undefined: bool = False

    def template_syntax_in(self, text: str) -> bool:
        """Return whether the text has anything that Jinja would change."""
        if not self.syntax:
            return "{{" in text or "{%" in text or "{#" in text
        options = dict(self.syntax)
        if any(options.get(name) for name in ("line_statement_prefix", "line_comment_prefix", "keep_trailing_newline")):
            return True
        if options.get("newline_sequence", "\n") != "\n":
            return True
        return any(
            options.get(f"{name}_start_string", default) in text
            for name, default in (("variable", "{{"), ("block", "{%"), ("comment", "{#"))
        )


class Source(Value):
    """A template without its header: ``shift`` lines were removed before line ``shift_from`` of the rest."""

    text: str
    options: Options
    shift: int = 0
    shift_from: int = 1

    def line(self, line: int) -> int:
        """Return the line in the original text for a line of ``text``."""
        return line + self.shift if line >= self.shift_from else line


def options_of(opts: Mapping[str, Any], name: str) -> Options:
    """Return the options from the configuration: ``jinja_env`` or ``jinja_sls_env``, and their two old names."""
    configured = opts.get(name)
    syntax = dict(configured) if isinstance(configured, dict) else {}
    for option in ("trim_blocks", "lstrip_blocks"):
        if opts.get(f"jinja_{option}"):
            syntax[option] = True
    return Options(_known(syntax, name), bool(opts.get("allow_undefined")))


def read_header(text: str, options: Options) -> Source:
    """Remove a ``#jinja2: {…}`` header from the first line, or from the second after a shebang.

    Its JSON object overrides the options. A header that is not a JSON object stays in the text, with a warning.
    """
    if _HEADER not in text[:4096]:
        return Source(text, options)
    found = _FIRST_LINES.match(text)
    if found is None:
        return Source(text, options)
    header = found["header"]
    payload = header[len(_HEADER) :]
    if not payload.strip():
        return Source(text, options)
    import json  # noqa: PLC0415 - few templates have such a header

    try:
        overrides = json.loads(payload)
    except ValueError:
        logger.warning("Ignoring malformed '#jinja2:' header in template: %s", header.rstrip())
        return Source(text, options)
    if not isinstance(overrides, dict):
        logger.warning("Ignoring '#jinja2:' header that is not a JSON object: %s", header.rstrip())
        return Source(text, options)
    shebang = found["shebang"] or ""
    syntax = dict(options.syntax) | dict(_known(overrides, "jinja_fileopts"))
    rest = shebang + text[found.end() :]
    return Source(rest, options.replaced(syntax=tuple(sorted(syntax.items()))), 1, 2 if shebang else 1)


def _known(configured: Mapping[str, Any], where: str) -> tuple[tuple[str, Any], ...]:
    known = {}
    for key, value in configured.items():
        name = str(key).lower()
        if name in KNOWN_OPTIONS:
            known[name] = value
        else:
            logger.warning("Jinja2 environment %s is not recognized (in %s)", name, where)
    return tuple(sorted(known.items()))
