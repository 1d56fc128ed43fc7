"""``state.disable`` and ``state.enable``: SLS files, or the highstate, that ``state.apply`` refuses to apply.

A static grain has their names, so Salt's own ``salt-call`` on this machine refuses them, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.extras.dropin.answer import FAILED, Answer
from asyncstate.extras.dropin.showing import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.runtime import StateRuntime

HIGHSTATE = "highstate"
"""The name under which the highstate is disabled."""
DISABLING = ("disable", "enable", "list_disabled")
"""The names of the functions."""
_GRAIN = "state_runs_disabled"


class Disabled(Exception):
    """A disabled SLS or highstate was to run. ``answer`` is Salt's, ``told`` are lines for standard error."""

    def __init__(self, answer: Answer, *told: str) -> None:
        super().__init__(*told)
        self.answer = answer
        self.told = told


class Disabling:
    """The functions of one call."""

    def __init__(self, console: Console, settings: Settings) -> None:
        self._console = console
        self._settings = settings
        self.functions: dict[str, Callable[..., Answer]] = {name: getattr(self, name) for name in DISABLING}

    def disable(self, states: Any) -> Answer:
        """Keep SLS files (``web``, ``web.*``) or the highstate from being applied until they are enabled."""
        return self._change(states, "disabled", wanted=True)

    def enable(self, states: Any) -> Answer:
        """Let SLS files or the highstate be applied again."""
        return self._change(states, "enabled", wanted=False)

    def list_disabled(self) -> Answer:
        """Return what is disabled."""
        with self._runtime() as runtime:
            return Answer(value=self._console.hide(runtime.call_sync("grains.get", _GRAIN)))

    def _change(self, states: Any, done: str, *, wanted: bool) -> Answer:
        with self._runtime() as runtime:
            before = _disabled(runtime.host.grains)
            now, said = list(before), []
            for name in names(states):
                already = " already" if (name in now) is wanted else ""
                said.append(f"Info: {name} state{already} {done}.")
                if not already:
                    now = [*now, name] if wanted else [each for each in now if each != name]
            if now != before:
                runtime.call_sync("grains.setval", _GRAIN, now)
        return Answer(value={"res": True, "msg": "\n".join(said)})

    def _runtime(self) -> AbstractContextManager[StateRuntime]:
        from asyncstate.runtime import StateRuntime

        return StateRuntime(self._settings, secrets=self._console.secrets).open_sync()


def check_enabled(grains: Mapping[str, Any], sls: Iterable[str] | None) -> None:
    """Raise Disabled if one of these SLS files, or without any the highstate, is disabled."""
    disabled = _disabled(grains)
    if sls is None:
        if HIGHSTATE in disabled:
            told = f"Salt highstate run is disabled. To re-enable, run state.enable {HIGHSTATE}"
            value = {"name": told, "result": "False", "comment": "Disabled"}
            raise Disabled(Answer(value=value, outputter="highstate"), told)
        return
    messages = [_message(name, by) for name in sls for by in disabled if _means(by, name)]
    if messages:
        raise Disabled(Answer(value=messages, retcode=FAILED, outputter="highstate"))


def _message(name: str, by: str) -> str:
    through = "" if by == name else f' by "{by}"'
    return f'The state file "{name}" is currently disabled{through}, to re-enable, run state.enable {by}.'


def _means(disabled: str, name: str) -> bool:
    if ".*" in disabled:
        return name.startswith(f"{disabled.partition('.')[0]}.")
    return disabled == name


def _disabled(grains: Mapping[str, Any]) -> list[str]:
    found = grains.get(_GRAIN)
    return [str(name) for name in found] if isinstance(found, list) else []
