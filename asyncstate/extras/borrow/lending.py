"""What the engine asks for: the workers of a plugin host, where there may be a Salt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.extras.borrow.finding import may_have_salt

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.extras.borrow.workers import SaltWorkers


def lender(
    setting: str,
    options: Callable[[], dict[str, Any]],
    folders: Callable[[], dict[str, list[str]]],
    *,
    trust: bool,
) -> SaltWorkers | None:
    """Return workers, as `SaltWorkers` describes them; None if there is certainly no Salt. No process is started."""
    if not may_have_salt(setting):
        return None
    from asyncstate.extras.borrow.workers import SaltWorkers

    return SaltWorkers(setting, options, folders, trust=trust)
