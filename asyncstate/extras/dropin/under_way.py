"""Functions of ``state`` about runs under way and events: the holder of the lock, and refusals of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.extras.dropin.answer import Answer, Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings

UNDER_WAY = ("running", "get_pauses", "pause", "resume", "soft_kill", "event")
"""The names of the functions."""


class UnderWay:
    """The functions of one call."""

    def __init__(self, console: Console, settings: Settings) -> None:
        self._console = console
        self._settings = settings
        self.functions: dict[str, Callable[..., Answer]] = {name: getattr(self, name) for name in UNDER_WAY}

    def running(self, concurrent: bool = False) -> Answer:
        """Return the run that holds the lock."""
        from asyncstate.guard.lock import RunLock

        holder = None if concurrent else RunLock(self._settings.cachedir).holder()
        if holder is None:
            return Answer(value=[])
        said = f'The function "state.apply" is running as PID {holder.pid} and was started at {holder.since}'
        return Answer(value=[said])  # Salt's sentence

    def get_pauses(self, jid: Any = None) -> Answer:  # noqa: ARG002 - Salt's parameter
        """Return {}: no run is ever paused."""
        return Answer(value={})

    def resume(self, jid: Any, state_id: Any = None) -> Answer:  # noqa: ARG002
        """Do nothing, and say so: no run is ever paused."""
        self._console.say("No run is paused. asyncstate apply --resume continues a stopped run.")
        return Answer(value=None)

    def pause(self, jid: Any, state_id: Any = None, duration: Any = None) -> Answer:  # noqa: ARG002
        """Refuse: a run cannot be paused."""
        raise Refused("A run cannot be paused. Ctrl-C stops it, and asyncstate apply --resume continues it.")

    def soft_kill(self, jid: Any, state_id: Any = None) -> Answer:  # noqa: ARG002
        """Refuse: a run is ended with a signal."""
        raise Refused("A run is no job. A signal stops it: kill -INT its process, which state.running names.")

    def event(  # noqa: PLR0917 - Salt's parameters
        self,
        tagmatch: Any = "*",  # noqa: ARG002
        count: int = -1,  # noqa: ARG002
        quiet: bool = False,  # noqa: ARG002
        sock_dir: Any = None,  # noqa: ARG002
        pretty: bool = False,  # noqa: ARG002
        node: str = "minion",  # noqa: ARG002
    ) -> Answer:
        """Refuse: there is no event bus."""
        raise Refused("There is no event bus to listen to. asyncstate apply --out jsonl writes the events of a run.")
