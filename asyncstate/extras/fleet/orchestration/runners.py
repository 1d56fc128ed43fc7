"""Runners for orchestrations: the functions of a Salt master that apply to a fleet."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
import msgspec

from asyncstate.errors import CommandExecutionError
from asyncstate.nearest import nearest
from asyncstate.runtime import StateRuntime

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from asyncstate.config import Settings
    from asyncstate.redact import Secrets
    from asyncstate.services import Embedding

_WAITS: Final = ("timeout", "gather_job_timeout", "show_ip")
"""Salt's arguments about polling hosts, ignored here: hosts give signs of life unasked."""


class Hosts(Protocol):
    """The hosts of the fleet (`asyncstate.extras.fleet.orchestration.orchestra.Orchestra`)."""

    def embedding(self) -> Embedding:
        """Return the embedding of a runtime whose states reach these hosts."""

    async def command(
        self,
        target: object,
        function: str,
        arg: Sequence[Any] = (),
        kwarg: Mapping[str, Any] | None = None,
        *,
        kind: str = "glob",
        deadline: float | None = None,
    ) -> dict[str, dict[str, Any]]:
        """Call a function on the matching hosts; return their answers, by host."""

    async def present(self, target: Any = "*", kind: str = "glob") -> tuple[list[str], list[str]]:
        """Return the matching hosts that give a sign of life, and the other matching hosts that the fleet ever had."""


class Runners:
    """The runners of one orchestration. ``settings`` have the tree of nested ones."""

    def __init__(self, orchestra: Hosts, settings: Settings, secrets: Secrets) -> None:
        self._orchestra = orchestra
        self._settings = settings
        self._secrets = secrets
        self._functions: dict[str, Callable[..., Awaitable[Any]]] = {
            "state.orchestrate": self._orchestrate,
            "state.orch": self._orchestrate,
            "state.sls": self._orchestrate,
            "manage.up": self._up,
            "manage.down": self._down,
            "manage.status": self._status,
            "salt.execute": self._execute,
            "saltutil.sync_all": _nothing_to_sync,
            "test.arg": _arg,
            "test.sleep": _sleep,
        }

    async def call(self, name: str, arg: list[Any], kwarg: dict[str, Any]) -> Any:
        """Call a runner. Raises CommandExecutionError for an unknown one, and for wrong arguments."""
        function = self._functions.get(name)
        if function is None:
            near = nearest(name, list(self._functions))
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(self._functions)}"
            raise CommandExecutionError(f"there is no runner {name!r} in a fleet: {hint}")
        try:
            inspect.signature(function).bind(*arg, **kwarg)
        except TypeError as error:
            raise CommandExecutionError(f"the runner {name} was called with wrong arguments: {error}") from None
        return await function(*arg, **kwarg)

    async def _orchestrate(
        self,
        mods: str | list[str],
        saltenv: str = "base",
        *,
        test: bool | None = None,
        exclude: Any = None,
        pillar: Mapping[str, Any] | None = None,
        pillarenv: str | None = None,
    ) -> dict[str, Any]:
        """Run another orchestration of this tree; its pillar is merged over the configuration's."""
        settings = self._settings
        changed: dict[str, Any] = {"test": settings.test if test is None else bool(test)}
        if pillar:
            changed["pillar"] = settings.pillar_with(dict(pillar))
        if pillarenv is not None:
            changed["pillarenv"] = pillarenv
        names = [each.strip() for each in (mods if isinstance(mods, list) else str(mods).split(","))]
        excluded = exclude if isinstance(exclude, list) else str(exclude).split(",") if exclude else []
        inner = msgspec.structs.replace(settings, **changed)
        async with StateRuntime(inner, secrets=self._secrets, embedding=self._orchestra.embedding()) as runtime:
            plan = await runtime.compile(names, saltenv=saltenv, exclude=excluded)
            about = {"command": "fleet orchestrate", "sls": names}
            async with runtime.run(plan, about=about, events=False, lock=False) as run:
                pass  # leaving the block waits for its end
        return {
            "data": {f"{settings.id}_master": run.report.rows},
            "outputter": "highstate",
            "retcode": int(run.report.exit_code != 0),
        }

    async def _execute(
        self,
        tgt: Any,
        fun: str,
        arg: Any = (),
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - Salt's name: the seconds that a host has to answer
        tgt_type: str = "glob",
        ret: str = "",  # noqa: ARG002 - there are no returners
        kwarg: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        answers = await self._orchestra.command(tgt, fun, list(arg), kwarg, kind=tgt_type, deadline=timeout)
        return {host: answer["ret"] for host, answer in answers.items() if "ret" in answer}

    async def _up(self, tgt: Any = "*", tgt_type: str = "glob", **waits: Any) -> list[str]:
        return (await self._present(tgt, tgt_type, waits))[0]

    async def _down(self, tgt: Any = "*", tgt_type: str = "glob", **waits: Any) -> list[str]:
        return (await self._present(tgt, tgt_type, waits))[1]

    async def _status(self, tgt: Any = "*", tgt_type: str = "glob", **waits: Any) -> dict[str, list[str]]:
        up, down = await self._present(tgt, tgt_type, waits)
        return {"up": up, "down": down}

    async def _present(self, target: Any, kind: str, waits: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Return the hosts that are there and the ones that are not; Salt's time limits are ignored."""
        for name in waits:
            if name not in _WAITS:
                near = nearest(name, ("tgt", "tgt_type", *_WAITS))
                hint = f"did you mean {near!r}?" if near else f"there are tgt, tgt_type, {', '.join(_WAITS)}"
                raise CommandExecutionError(f"the runners of manage take no {name!r}: {hint}")
        return await self._orchestra.present(target, kind)


async def _nothing_to_sync(saltenv: str = "base") -> dict[str, list[str]]:  # noqa: ARG001 - Salt's argument
    return {}


async def _arg(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return {"args": list(args), "kwargs": kwargs}


async def _sleep(s_time: float = 1) -> bool:
    await anyio.sleep(s_time)
    return True
