"""The ``event`` states. Events go to the log of the run, as there is no Salt master to receive them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, is_dry_run, make_row, unchanged, would_change

if TYPE_CHECKING:
    from collections.abc import Mapping


def send(name: str, data: Any = None, show_changed: bool = True, **kwargs: Any) -> Row:
    """Fire an event with the tag ``name``; the changes list it, unless ``show_changed`` is False."""
    changes = {"tag": name, "data": data} if show_changed else {}
    if is_dry_run():
        return would_change(name, "Event would have been fired", changes)
    return make_row(name, "Event fired", changes, result=__salt__["event.send"](name, data=data, **kwargs))


def fire_master(name: str, **kwargs: Any) -> Row:
    """Do the same as `send`."""
    return send(name, **kwargs)


async def wait(name: str, sfun: str | None = None, data: Any = None) -> Row:
    """Do nothing: only a watched state that changed fires the event."""
    return unchanged(name)


def mod_watch(name: str, **kwargs: Any) -> Row:
    """Fire the event after a change of a watched state."""
    return send(name, **kwargs)


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return an empty footprint: an event reads and writes nothing."""
    return {"reads": [], "writes": []}
