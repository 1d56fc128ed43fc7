"""Shell completion of state and execution module functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def complete_states(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer state functions."""
    return _complete(ctx, ("states",), incomplete)


def complete_modules(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer execution module functions."""
    return _complete(ctx, ("modules",), incomplete)


def complete_both(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer functions of either kind, and words of the language."""
    from click.shell_completion import CompletionItem

    from asyncstate.reference.language import TOPICS

    topics = [CompletionItem(topic) for topic in TOPICS if topic.startswith(incomplete)]
    return [*topics, *_complete(ctx, ("states", "modules"), incomplete)]


def _complete(ctx: click.Context, kinds: tuple[str, ...], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from asyncstate.cli.framework import console_of
    from asyncstate.cli.options import settings_from
    from asyncstate.errors import AsyncStateError
    from asyncstate.runtime import StateRuntime

    try:
        settings = settings_from(console_of(ctx), dict(ctx.params))
        with StateRuntime(settings).open_sync() as runtime:
            names = {name for kind in kinds for name in runtime.host.loaders[kind].names()}
    except (AsyncStateError, OSError):
        return []
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]
