"""The functions of ``salt-call``'s ``state`` module that run nothing: ``show_…``, ``…_exists`` and the graphs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from asyncstate.errors import CompileError, PillarError
from asyncstate.extras.dropin.answer import FAILED, Answer, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.runtime import StateRuntime


SHOWING = (
    "show_highstate show_lowstate show_low_sls show_sls show_states show_state_usage show_top "
    "sls_exists id_exists graph graph_highstate"
).split()
"""The names of the functions."""


def words(value: Any) -> list[Any]:
    """Return the elements of a list, or of comma-separated text."""
    if isinstance(value, (list, tuple)):
        return list(value)
    return [part.strip() for part in str(value).split(",")]


def names(value: Any) -> list[str]:
    """Return the names of SLS files, in a list or text."""
    return [str(name) for name in words(value)]


def pillar_failed(error: PillarError) -> Refused:
    """Return the refusal of a function that needs the whole pillar."""
    return Refused("Pillar failed to render", *(str(issue) for issue in error.issues))


class Showing:
    """The functions of one call. ``adapted`` gives the settings that keywords ask for."""

    def __init__(self, console: Console, settings: Settings, adapted: Callable[[dict[str, Any]], Settings]) -> None:
        self._console = console
        self._settings = settings
        self._adapted = adapted
        self.functions: dict[str, Callable[..., Answer]] = {name: getattr(self, name) for name in SHOWING}

    def show_highstate(self, queue: Any = None, **kwargs: Any) -> Answer:  # noqa: ARG002 - Salt's parameter
        """Return the high data of the highstate."""
        return self._of(kwargs, lambda runtime: self._high(runtime, None, kwargs))

    def show_sls(self, mods: Any, test: Any = None, queue: Any = None, **kwargs: Any) -> Answer:  # noqa: ARG002
        """Return the high data of SLS files."""
        return self._of(kwargs | {"test": test}, lambda runtime: self._high(runtime, names(mods), kwargs))

    def show_lowstate(self, queue: Any = None, **kwargs: Any) -> Answer:  # noqa: ARG002
        """Return the low chunks of the highstate, in the order of a serial run."""
        return self._of(kwargs, lambda runtime: self._low(runtime, None, kwargs))

    def show_low_sls(self, mods: Any, test: Any = None, queue: Any = None, **kwargs: Any) -> Answer:  # noqa: ARG002
        """Return the low chunks of SLS files, in the order of a serial run."""
        return self._of(kwargs | {"test": test}, lambda runtime: self._low(runtime, names(mods), kwargs))

    def show_states(self, queue: Any = None, **kwargs: Any) -> Answer:  # noqa: ARG002
        """Return the names of the SLS files of the highstate."""

        def used(runtime: StateRuntime) -> list[str]:
            return list(dict.fromkeys(low["__sls__"] for low in self._low(runtime, None, kwargs)))

        return self._of(kwargs, used)

    def show_top(self, queue: Any = None, **kwargs: Any) -> Answer:  # noqa: ARG002
        """Return what top.sls assigns to this machine, by environment."""
        return self._of(kwargs, lambda runtime: runtime.top_sync())

    def show_state_usage(self, queue: Any = None, **kwargs: Any) -> Answer:  # noqa: ARG002
        """Return which SLS files the top file uses, and which not, by environment."""

        def usage(runtime: StateRuntime) -> dict[str, Any]:
            top, files = runtime.top_sync(), runtime.file_client
            return {env: _usage(files.list_states(env), top.get(env, [])) for env in files.envs()}

        return self._of(kwargs, usage)

    def sls_exists(self, mods: Any, test: Any = None, queue: Any = None, **kwargs: Any) -> Answer:
        """Return whether SLS files exist and compile."""
        answer = self.show_sls(mods, test, queue, **kwargs)
        return Answer(value=isinstance(answer.value, dict), retcode=answer.retcode)

    def id_exists(self, ids: Any, mods: Any, test: Any = None, queue: Any = None, **kwargs: Any) -> Answer:
        """Return whether SLS files have all of these IDs."""
        answer = self.show_low_sls(mods, test, queue, **kwargs)
        known = {low.get("__id__") for low in answer.value if isinstance(low, dict)}
        return Answer(value=known.issuperset(words(ids)), retcode=answer.retcode)

    def graph(self, mods: Any, test: Any = None, queue: Any = None, **kwargs: Any) -> Answer:  # noqa: ARG002
        """Return the graph of SLS files, for Graphviz."""
        return self._of(kwargs | {"test": test}, lambda runtime: self._dot(runtime, names(mods), kwargs))

    def graph_highstate(self, queue: Any = None, **kwargs: Any) -> Answer:  # noqa: ARG002
        """Return the graph of the highstate, for Graphviz."""
        return self._of(kwargs, lambda runtime: self._dot(runtime, None, kwargs))

    def _of(self, kwargs: dict[str, Any], look: Callable[[StateRuntime], Any]) -> Answer:
        """Return the result of ``look``, or the errors of the tree. Raises Refused if the pillar does not render."""
        try:
            with self._runtime(kwargs) as runtime:
                return Answer(value=self._console.hide(look(runtime)))
        except PillarError as error:
            raise pillar_failed(error) from error
        except CompileError as error:
            return Answer(value=self._console.hide([issue.message for issue in error.issues]), retcode=FAILED)

    @contextmanager
    def _runtime(self, kwargs: dict[str, Any]) -> Iterator[StateRuntime]:
        from asyncstate.runtime import StateRuntime

        with StateRuntime(self._adapted(kwargs), secrets=self._console.secrets).open_sync() as runtime:
            yield runtime

    def _high(self, runtime: StateRuntime, sls: list[str] | None, kwargs: dict[str, Any]) -> Any:
        from asyncstate.redact.no_log import hush_high

        return hush_high(runtime.planner.high(sls, saltenv=kwargs.get("saltenv")).data)

    def _low(self, runtime: StateRuntime, sls: list[str] | None, kwargs: dict[str, Any]) -> Any:
        return runtime.shown(runtime.compile_sync(sls, saltenv=kwargs.get("saltenv"))).lowstate()

    def _dot(self, runtime: StateRuntime, sls: list[str] | None, kwargs: dict[str, Any]) -> str:
        from asyncstate import extend

        plan = runtime.shown(runtime.compile_sync(sls, saltenv=kwargs.get("saltenv")))
        return str(extend.provided("pictures", "state.graph").dot(plan))


def _usage(states: list[str], used: list[str]) -> dict[str, Any]:
    taken = [name for name in states if name in used]
    left = [name for name in states if name not in used]
    return {
        "used": taken,
        "unused": left,
        "count_all": len(states),
        "count_used": len(taken),
        "count_unused": len(left),
    }
