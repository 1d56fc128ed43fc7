"""The settings of a command, and the part of the tree that it selects: what its words and options say.

Settings come from configuration files, the project and the environment; options override them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from asyncstate.cli.salt import fold_keywords, sls_names
from asyncstate.errors import CompileError
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan

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


def settings_from(console: Console, options: dict[str, Any]) -> Settings:
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

    def given(self) -> dict[str, Any]:
        """Return the arguments that are not empty."""
        return {name: given for name, given in self._asdict().items() if given}


def select(console: Console, words: tuple[str, ...], options: dict[str, Any]) -> tuple[Settings, Selection]:
    """Read SLS names, Salt's keywords (``test=True``) between them, and the options of the command line.

    Raises UsageError and ConfigError.
    """
    names = sls_names(fold_keywords(words, options, _KEYWORDS))
    from asyncstate.compile.high.declarations import exclusion

    exclude = tuple(exclusion(name) for name in options.get("exclude") or ())
    settings = settings_from(console, options)
    return settings, Selection(names or None, options.get("saltenv"), exclude, tuple(options.get("ids") or ()))


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
    from asyncstate.analyse.explain import chunks_called
    from asyncstate.compile.findings import mistakes

    found = chunks_called(plan, wanted)
    if found:
        return found
    why_none = mistakes(plan.warnings) if not plan.chunks else []
    if why_none:
        raise CompileError(why_none)
    names = dict.fromkeys(name for chunk in plan.chunks for name in (chunk.id, str(chunk.name)))
    near = nearest(wanted, names)
    hint = f" Did you mean {near!r}?" if near else ""
    raise click.UsageError(f"no state has the ID or name {wanted!r}.{hint}")
