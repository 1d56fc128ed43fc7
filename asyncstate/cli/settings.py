"""The settings of a command: configuration files, the project, the environment, overridden by its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings

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
        from asyncstate.sources.pillar_merge import merge

        strategy, lists = settings.pillar_source_merging_strategy, settings.pillar_merge_lists
        settings.pillar = merge(settings.pillar, pillar, strategy, settings.renderer, lists)
    if not console.log_level or settings.log_granular_levels:
        start_logging(console, settings.log_level, settings.log_granular_levels)
    return settings


def _by_environment(roots: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    by_environment: dict[str, list[str]] = {}
    for saltenv, path in roots:
        by_environment.setdefault(saltenv, []).append(path)
    return by_environment
