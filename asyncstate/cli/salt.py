"""Salt's command-line syntax: ``state.apply``, ``test=True``, values in YAML."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import click

from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from click.shell_completion import CompletionItem

_KEYWORD = lazy_pattern(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})

COMMANDS = {
    "state.apply": "apply",
    "state.highstate": "apply",
    "state.sls": "apply",
    "state.top": "apply --top",
    "state.sls_id": "apply SLS --id",
    "state.template": "apply --file",
    "state.test": "plan",
    "state.single": "single",
    "state.show_lowstate": "show lowstate",
    "state.show_low_sls": "show lowstate",
    "state.show_highstate": "show highstate",
    "state.show_sls": "show sls",
    "state.show_top": "show top",
    "state.show_states": "show lowstate",
    "state.graph": "show graph",
    "state.graph_highstate": "show graph",
    "sys.doc": "doc",
    "sys.state_doc": "doc",
    "sys.argspec": "doc",
}
"""Salt's function -> the command that replaces it."""

OPTIONS = {
    "--local": "There is no master: every run is local.",
    "--masterless": "There is no master: every run is local.",
    "--config-dir": "Use --config, with the folder or a file.",
    "--file-roots": "Use --file-root, once for each folder.",
    "--pillar-roots": "Use --pillar-root, once for each folder.",
    "--module-dirs": "Use the setting module_dirs, or _modules and _states in the tree.",
    "--states-dir": "Use the setting states_dirs, or _states in the tree.",
    "--retcode-passthrough": "The exit code always says whether a state failed.",
    "--output": "Use --out.",
    "--out-file": "Use the shell: > FILE.",
    "--output-file": "Use the shell: > FILE.",
    "--out-indent": "JSON is indented; use jq for another format.",
    "--no-color": "Use --color never, or NO_COLOR.",
    "--no-colour": "Use --color never, or NO_COLOR.",
    "--force-color": "Use --color always.",
    "--force-colour": "Use --color always.",
    "--refresh-grains-cache": "Grains are never cached.",
    "--skip-grains": "Grains are gathered only when they are needed.",
    "--hard-crash": "Use --debug.",
    "--id": "Use the setting id.",
    "--priority": "Use nice(1).",
}
"""Option of salt-call that does not exist here -> its replacement."""


def keyword(word: str) -> tuple[str, str] | None:
    """Split ``name=value``; None for anything else."""
    match = _KEYWORD.fullmatch(word)
    return (match[1], match[2]) if match else None


def truth(name: str, text: str) -> bool:
    """Read a YAML boolean. Raises UsageError, which names the keyword."""
    word = text.strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise click.UsageError(f"{name}={text}: expected True or False")


def fold_keywords(words: Iterable[str], options: dict[str, Any], accepted: Sequence[str]) -> list[str]:
    """Move ``test=True``, ``pillar={…}``, ``saltenv=x`` … from ``words`` into ``options``; return the rest.

    Only the names in ``accepted`` are moved. ``sync_mods`` has no effect, because modules of the tree need no sync.
    Raises UsageError for an invalid value.
    """
    rest = []
    for word in words:
        pair = keyword(word)
        if pair is None or pair[0] not in accepted:
            rest.append(word)
            continue
        name, text = pair
        if name in {"test", "mock"}:
            options[name] = truth(name, text)
        elif name == "queue":
            options["wait"] = _queue(text)
        elif name == "pillar":
            options[name] = MappingType().convert(text, None, None)
        elif name == "exclude":
            options[name] = (*options.get(name, ()), *_exclusions(text))
        else:
            options[name] = text
    return rest


def _queue(text: str) -> float:
    """Return the lock timeout in seconds. Salt's queue waits without limit; a number only limits its length."""
    waits = int(text) > 0 if text.isdecimal() else truth("queue", text)
    return math.inf if waits else 0.0


def sls_names(words: Iterable[str]) -> list[str]:
    """Split ``web,db`` as Salt does. Raises UsageError for an unknown keyword and for an empty name."""
    names = []
    for word in words:
        pair = keyword(word)
        if pair is not None:
            raise click.UsageError(f"{word}: no such keyword. An SLS name has no '='; see --help for the options.")
        names += [name.strip() for name in word.split(",")]
    if not all(names):
        raise click.UsageError("an SLS name is empty; leave it out to apply the highstate of top.sls")
    return names


def _exclusions(text: str) -> list[Any]:
    value = parse_value(text)
    return value if isinstance(value, list) else [name.strip() for name in str(value).split(",")]


def parse_value(text: str) -> Any:
    """Read a command-line value as Salt does: as YAML, but as text where YAML would lose something.

    Only ``{…}`` is a dict and only ``[…]`` a list. A value with ``#``, a time, digits with ``_``, and invalid YAML
    stay text.
    """
    if text == "None":
        return None
    if text.strip() in {"", "---", "...", "|", "!"} or any(character in text for character in "\t\r\n"):
        return text
    if re.fullmatch(r"\s*[0-9_]*_[0-9_]*\s*", text):
        return text
    value = _yaml(text)
    if isinstance(value, dict):
        return value if text.startswith("{") else text
    if isinstance(value, list):
        return value if text.startswith("[") else text
    if "#" in text and (value is None or isinstance(value, str)):
        return text
    return value if value is None or isinstance(value, (bool, int, float, str)) else text


def _yaml(text: str) -> Any:
    from asyncstate.data.yaml import load_yaml
    from asyncstate.errors import RenderError

    try:
        return load_yaml(text, "<argument>")
    except RenderError:
        return text


def split_arguments(words: Iterable[str]) -> tuple[list[Any], dict[str, Any]]:
    """Sort ``a b k=v`` into positional and keyword values, each read by `parse_value`."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for word in words:
        pair = None if "\n" in word.partition("=")[0] else keyword(word)
        if pair is None:
            positional.append(parse_value(word))
        else:
            keywords[pair[0]] = parse_value(pair[1])
    return positional, keywords


class MappingType(click.ParamType[dict[str, Any]]):
    """A mapping written as JSON or YAML on the command line, or in a file if ``from_file``."""

    name = "mapping"

    def __init__(self, *, from_file: bool = False) -> None:
        self._from_file = from_file

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        """Return the mapping. Raises BadParameter, which says what is wrong with the text."""
        if isinstance(value, dict):
            return value
        if ctx is not None and ctx.resilient_parsing:  # only completing a later word: the mapping is not needed
            return {}
        text = self._read(value, param, ctx) if self._from_file else value
        file = value if self._from_file else ""
        data = self._load(text, file, param, ctx)
        if not isinstance(data, dict):
            kind = "nothing" if data is None else type(data).__name__
            said = f'expected a mapping such as \'{{"key": "value"}}\', got {kind}'
            self.fail(f"{file}: {said}" if file else said, param, ctx)
        return data

    def _read(self, path: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from asyncstate.errors import PathRefused
        from asyncstate.filesystem import read_input

        try:
            return read_input(path).decode("utf-8")
        except (OSError, UnicodeDecodeError, PathRefused) as error:
            self.fail(f"cannot read {path}: {getattr(error, 'strerror', None) or error}", param, ctx)

    def _load(self, text: str, file: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        import msgspec

        from asyncstate.data.limits import Meter, TooMuch
        from asyncstate.data.yaml import load_yaml
        from asyncstate.errors import RenderError

        try:
            data = msgspec.json.decode(text)
            Meter().check(data)
            return data
        except TooMuch as error:
            self.fail(f"{file}: {error}" if file else str(error), param, ctx)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            pass
        try:
            return load_yaml(text, file)
        except RenderError as error:
            place = f"{file}:{error.line}: " if file else ""
            hint = f"\n{error.hint}" if error.hint else ""
            self.fail(f"{place}neither JSON nor YAML: {error}{hint}", param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's interface
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Offer file names if the value is a file."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")] if self._from_file else []
