"""Orchestra: the hosts of a fleet, as the states of an orchestration reach them.

Each step is a separate run across hosts, with its `Controller`, on one board. The engine of the program that runs the
orchestration orders the steps.
"""

from __future__ import annotations

import os
import random
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec

from asyncstate.errors import CommandExecutionError
from asyncstate.extras.fleet.controller.controller import Controller, Request
from asyncstate.extras.fleet.controller.event_stream import HostEnd, Observer
from asyncstate.extras.fleet.controller.records import host_infos, signs_of_life
from asyncstate.extras.fleet.controller.selection import PILLAR_STAYS, asks_for_pillar
from asyncstate.extras.fleet.events import events_since
from asyncstate.extras.fleet.orchestration.answers import Answers
from asyncstate.extras.fleet.orchestration.host_queue import HostQueue
from asyncstate.extras.fleet.orchestration.runners import Runners
from asyncstate.extras.fleet.protocol import Call, Options, Rollout
from asyncstate.nearest import nearest
from asyncstate.services import Embedding
from asyncstate.sources.matchers import Matcher

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence

    from asyncstate.config import Settings
    from asyncstate.extras.fleet.board import Board
    from asyncstate.extras.fleet.protocol import HostEvent, Signer
    from asyncstate.redact import Secrets

_STATES: Final = frozenset({"state.apply", "state.sls", "state.highstate", "state.top"})
_KEYWORDS: Final = ("test", "pillar", "saltenv", "pillarenv", "exclude", "queue", "concurrent", "mods")
_GRACE: Final = 10.0
"""Seconds that a cancelled step may take to tell its hosts."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """``deadline`` is the default time for answers of hosts, ``patience`` goes into the offers; both in seconds."""

    deadline: float = 60.0
    patience: float = 600.0


class Orchestra:
    """The hosts on a board, for an operator; an `asyncstate.dunders.Orchestra`.

    ``settings`` belong to the operator's program, with its nodegroups and the tree of its orchestrations.
    ``observe(run, function)`` returns a further observer of a step's hosts. ``absent`` has the reasons why hosts on the
    board cannot take part: they get no offers.
    """

    def __init__(
        self,
        board: Board,
        signer: Signer,
        settings: Settings,
        secrets: Secrets,
        *,
        limits: Limits | None = None,
        observe: Callable[[str, str], Observer] = lambda _run, _function: Observer(),
        absent: Mapping[str, str] | None = None,
        draw: Callable[[], str] = lambda: os.urandom(8).hex(),
    ) -> None:
        self._absent = dict(absent or {})
        self._board = board
        self._signer = signer
        self._settings = settings
        self._limits = limits or Limits()
        self._observe = observe
        self._draw = draw
        self._turns = HostQueue()
        self._runners = Runners(self, settings, secrets)

    def embedding(self) -> Embedding:
        """Return the embedding of a runtime whose states reach these hosts."""
        return Embedding(orchestra=self)

    async def command(
        self,
        target: object,
        function: str,
        arg: Sequence[Any] = (),
        kwarg: Mapping[str, Any] | None = None,
        *,
        kind: str = "glob",
        expect_minions: bool = False,
        deadline: float | None = None,
        batch: str | None = None,
        subset: int | None = None,
        failhard: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """Call a function, or apply states, on the matching hosts; return their `Answers`, by host."""
        shown = f"{kind}: {target}" if kind not in ("glob", "compound") else str(target)
        request = _request(function, list(arg), dict(kwarg or {}))
        request = msgspec.structs.replace(
            request,
            target=shown,
            options=msgspec.structs.replace(request.options, new_file_diff=self._settings.new_file_diff),
            rollout=_rollout(batch, failhard=failhard),
            deadline=deadline or self._limits.deadline,
            patience=self._limits.patience,
        )

        unknown = set[str]()

        async def find() -> list[str]:
            known, named = await self._fitting(kind, target, subset)
            unknown.update(named)
            return sorted(known | named)

        async def do(hosts: list[str]) -> dict[str, dict[str, Any]]:
            return await self._drive(function, request, hosts, expected=hosts if expect_minions else unknown)

        if request.call is not None:
            return await do(await find())
        async with self._turns.turn(find) as hosts:
            return await do(hosts)

    async def runner(self, function: str, arg: Sequence[Any] = (), kwarg: Mapping[str, Any] | None = None) -> Any:
        """Call a runner."""
        return await self._runners.call(function, list(arg), dict(kwarg or {}))

    @asynccontextmanager
    async def events(self) -> AsyncIterator[AsyncIterator[Mapping[str, Any]]]:
        """Return the events that hosts fire from now on."""
        position = await self._board.position()
        async with aclosing(events_since(self._board, position)) as heard, aclosing(_shaped(heard)) as found:
            yield found

    async def present(self, target: object = "*", kind: str = "glob") -> tuple[list[str], list[str]]:
        """Return the matching hosts that give a sign of life, and the other matching hosts that the fleet ever had."""
        there = await signs_of_life(self._board)
        fitting, named = await self._fitting(kind, target, None)
        return sorted(fitting & there), sorted((fitting | named) - there)

    async def _fitting(self, kind: str, target: object, subset: int | None) -> tuple[set[str], set[str]]:
        """Return the matching hosts, and hosts that are named although they have never been seen."""
        nodegroups = self._settings.nodegroups or {}
        _require_no_pillar(kind, target, nodegroups)
        infos = await host_infos(self._board)
        kinds = Matcher({}, {}, {}).kinds
        if kind not in kinds:
            near = nearest(kind, sorted(kinds))
            hint = f"did you mean {near!r}?" if near else f"it is one of {', '.join(sorted(kinds))}"
            raise CommandExecutionError(f"there is no target type {kind!r}: {hint}")
        found = {
            host
            for host, info in infos.items()
            if Matcher({"id": host, "nodegroups": nodegroups}, info.grains, {}).match(kind, target)
        }
        if subset is not None:
            there = sorted(found & await signs_of_life(self._board))
            return set(random.sample(there, min(int(subset), len(there)))), set()
        listed = target.split(",") if isinstance(target, str) else map(str, _listed(target))
        return found, set(listed) - found if kind == "list" else set()

    async def _drive(
        self, function: str, request: Request, hosts: list[str], *, expected: Collection[str]
    ) -> dict[str, dict[str, Any]]:
        if not hosts:
            return {}
        run = self._draw()
        answers = Answers(run, self._observe(run, function), call=request.call is not None)
        absent = {host: HostEnd(2, self._absent[host]) for host in hosts if host in self._absent}
        there = [host for host in hosts if host not in absent]
        if not there:
            return answers.answers(absent, (), expected=expected)
        request = msgspec.structs.replace(request, hosts=tuple(there))
        controller = Controller(
            self._board, self._signer, run, request, answers, nodegroups=self._settings.nodegroups or {}
        )
        try:
            end = await controller.drive()
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(_GRACE, shield=True):
                await controller.abandon("the orchestration was cancelled")
            raise
        return answers.answers(dict(sorted({**absent, **end.hosts}.items())), end.issues, expected=expected)


def _request(function: str, arg: list[Any], kwarg: dict[str, Any]) -> Request:
    if function not in _STATES:
        return Request(target="", call=Call(function=function, arg=tuple(arg), kwarg=kwarg))
    for name in kwarg:
        if name not in _KEYWORDS:
            near = nearest(name, _KEYWORDS)
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(_KEYWORDS)}"
            raise CommandExecutionError(f"{function} takes no {name!r} in a fleet: {hint}")
    named = [*arg, *([kwarg["mods"]] if "mods" in kwarg else [])] if function != "state.highstate" else []
    names = [each for given in named for each in (given if isinstance(given, list) else str(given).split(","))]
    options = Options(
        test=bool(kwarg.get("test")),
        exclude=tuple(_excluded(kwarg.get("exclude"))),
        saltenv=kwarg.get("saltenv"),
        pillarenv=kwarg.get("pillarenv"),
        pillar=dict(kwarg.get("pillar") or {}),
        top=names[0] if function == "state.top" and names else "",
    )
    return Request(target="", sls=() if options.top else tuple(each.strip() for each in names), options=options)


def _rollout(batch: str | None, *, failhard: bool) -> Rollout:
    """Return the roll-out of a batch size. With ``failhard``, no further batch begins after a failure."""
    return Rollout(batch=batch, max_failures="0" if failhard else "") if batch is not None else Rollout()


def _excluded(given: Any) -> list[str]:
    """Return an ``exclude`` of Salt, a text with commas or a list, as `Options.exclude`."""
    if given is None:
        return []
    items = given if isinstance(given, list) else str(given).split(",")
    return [
        each
        for item in items
        for each in ([f"{kind}:{name}" for kind, name in item.items()] if isinstance(item, dict) else [str(item)])
    ]


def _require_no_pillar(kind: str, target: object, nodegroups: Mapping[str, Any]) -> None:
    """Raise CommandExecutionError for a target that asks for the pillar of hosts."""
    if asks_for_pillar(kind, target, nodegroups):
        raise CommandExecutionError(f"the target {target!r} {PILLAR_STAYS}")


def _listed(target: object) -> list[Any]:
    return list(target) if isinstance(target, (list, tuple)) else [target]


async def _shaped(events: AsyncGenerator[HostEvent, None]) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yield events in the form of Salt's master. The ``id`` is the host that fired, whatever the data say."""
    async for event in events:
        data = {"id": event.host, "tag": event.tag, "data": {**event.data, "id": event.host}, "cmd": "_minion_event"}
        yield {"tag": event.tag, "data": data}
