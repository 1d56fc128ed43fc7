"""The selection of a tree or a part of it: the arguments common to all compiling commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.cli.salt import fold_keywords, sls_names
from asyncstate.cli.settings import settings_from
from asyncstate.errors import CompileError
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan

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
    from asyncstate.compile.high.exclude import exclusion

    exclude = tuple(exclusion(name) for name in options.get("exclude") or ())
    settings = settings_from(console, options)
    return settings, Selection(names or None, options.get("saltenv"), exclude, tuple(options.get("ids") or ()))


def require_file_again(recorded: str, given: str | None, made: str) -> None:
    """Raise UsageError unless the command line names the recorded file, or neither names one.

    A template is code, and a record may come from anywhere: only the operator may name a file outside of the roots.
    ``made`` begins the message: "the plan was made".
    """
    import os

    import click

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
    import click

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
