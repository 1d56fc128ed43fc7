"""The words and options of a command line: its settings, the part of the tree that it selects, Salt's syntax.

Settings come from configuration files, the project and the environment; options override them. Salt's syntax are names
such as ``state.apply``, keywords such as ``test=True``, and values in YAML.
"""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from asyncstate.errors import CompileError
from asyncstate.nearest import nearest
from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from click.shell_completion import CompletionItem

    from asyncstate.cli.logs import LogOptions
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan


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


_OVERRIDES = {
    "pillar": "pillar",
    "grains": "grains_override",
    "saltenv": "saltenv",
    "pillarenv": "pillarenv",
    "top": "state_top",
    "implicit_order": "implicit_order",
    "test": "test",
    "failhard": "failhard",
    "prefetch": "prefetch",
    "journal": "journal",
    "traces": "traces",
    "concurrency": "concurrency",
    "timeout": "timeout",
    "grace": "grace_seconds",
    "trust_writable": "trust_writable",
    "state_output": "state_output",
    "state_verbose": "state_verbose",
}
"""Option of the command line -> field of Settings."""

COLLECTORS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""The variables that name the collector of traces, the first that is set."""

_KEYWORDS = (
    "test",
    "pillar",
    "saltenv",
    "pillarenv",
    "exclude",
    "mock",
    "queue",
    "sync_mods",
    "localconfig",
)


def settings_from(console: LogOptions, options: dict[str, Any]) -> Settings:
    """Return the settings of a command and apply their log levels.

    With ``--config``, neither the default files nor the project of the working directory count. Raises ConfigError.
    """
    from asyncstate.cli.logs import start_logging
    from asyncstate.config import default_files, find_project, load_settings

    overrides = {field: options[name] for name, field in _OVERRIDES.items() if options.get(name) is not None}
    for name in ("file_root", "pillar_root"):
        if options.get(name):
            overrides[f"{name}s"] = _by_environment(options[name])
    named = options.get("config")
    files = [*(named or default_files())]
    if options.get("localconfig"):
        files.append(options["localconfig"])
    if options.get("for_machine") is not None:
        if "grains_override" in overrides:
            raise click.UsageError("--for-machine has all grains that count: leave out --grains")
        overrides |= {"grains_override": options["for_machine"], "grains_alone": True}
    pillar = overrides.pop("pillar", None)
    settings = load_settings(files, overrides, project=None if named else find_project())
    if pillar is not None:
        settings.pillar = settings.pillar_with(pillar)
    if not console.log_level or settings.log_granular_levels:
        start_logging(console, settings.log_level, settings.log_granular_levels)
    return settings


def _by_environment(roots: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    by_environment: dict[str, list[str]] = {}
    for saltenv, path in roots:
        by_environment.setdefault(saltenv, []).append(path)
    return by_environment


def is_traced(settings: Settings) -> bool:
    """Whether runs are traced: the settings decide, or else the environment."""
    return settings.traced == "on" or (settings.traced == "auto" and _is_tracing_asked_for())


def _is_tracing_asked_for() -> bool:
    """Whether the environment requests traces, by the specification of OpenTelemetry."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "").strip()
    return exporter != "none" and bool(exporter or any(os.environ.get(name) for name in COLLECTORS))


class Selection(NamedTuple):
    """The arguments of `StateRuntime.compile`. ``sls`` is None for the highstate."""

    sls: list[str] | None
    saltenv: str | None
    exclude: tuple[Any, ...]
    ids: tuple[str, ...]

    @classmethod
    def of(cls, sls: list[str] | None, options: Mapping[str, Any]) -> Selection:
        """Return the part of these SLS that the options ``saltenv``, ``exclude`` and ``ids`` select."""
        from asyncstate.compile.high.declarations import exclusion

        exclude = tuple(exclusion(name) for name in options.get("exclude") or ())
        return cls(sls, options.get("saltenv"), exclude, tuple(options.get("ids") or ()))

    def given(self) -> dict[str, Any]:
        """Return the arguments that are not empty."""
        return {name: given for name, given in self._asdict().items() if given}


def select(console: LogOptions, words: tuple[str, ...], options: dict[str, Any]) -> tuple[Settings, Selection]:
    """Read SLS names, Salt's keywords (``test=True``) between them, and the options of the command line.

    Raises UsageError and ConfigError.
    """
    names = sls_names(fold_keywords(words, options, _KEYWORDS))
    settings = settings_from(console, options)
    return settings, Selection.of(names or None, options)


def require_file_again(recorded: str, given: str | None, made: str) -> None:
    """Raise UsageError unless the command line names the recorded file, or neither names one.

    A template is code, and a record may come from anywhere: only the operator may name a file outside of the roots.
    ``made`` begins the message: "the plan was made".
    """
    from asyncstate.report.terminal import clean

    was = f"the file {clean(recorded)}" if recorded else "SLS files"
    if recorded and not given:
        raise click.UsageError(f"{made} of {was}, and only the command line names a file to compile: give --file again")
    if given and os.path.realpath(given) != os.path.realpath(recorded or os.devnull):
        raise click.UsageError(f"{made} of {was}, not of {given}")


def states_called(plan: Plan, wanted: str) -> list[int]:
    """Return the numbers of the states with this ID or name. Raises UsageError, which names the nearest one.

    Raises CompileError for a plan without states that has the reason.
    """
    from asyncstate.compile.findings import mistakes

    found = [chunk.index for chunk in plan.chunks if wanted in {chunk.id, chunk.name}]
    if found:
        return found
    why_none = mistakes(plan.warnings) if not plan.chunks else []
    if why_none:
        raise CompileError(why_none)
    names = dict.fromkeys(name for chunk in plan.chunks for name in (chunk.id, str(chunk.name)))
    near = nearest(wanted, names)
    hint = f" Did you mean {near!r}?" if near else ""
    raise click.UsageError(f"no state has the ID or name {wanted!r}.{hint}")
