"""The observer of a call: notified of the paths it touches and the programs it starts. Most calls have none.

Bundled code that opens paths by descriptors, or starts programs, notifies it; other accesses of plugins are seen by
other means, or not at all.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Deed = Literal["created", "changed", "removed", "removed in part"]
"""A change of a path."""
Look = Literal["looked", "absent", "listed", "ensured"]
"""Other ways to touch a path: it was read or queried and exists, or does not; the names in it were read; it is a
folder that would have been made if it had been missing."""


class Followed(Protocol):
    """A program that is about to be started, and is followed."""

    @property
    def argv(self) -> Sequence[str]:
        """The command to start in place of the program: it runs the program as the same process."""

    def ended(self) -> None:
        """Record the effects of the program. Called once, whether it ended or could not be started."""


class Observer(Protocol):
    """Receives the deeds of a call; its methods may be called from several threads at once, and never raise."""

    def saw(self, path: str, how: Deed | Look) -> None:
        """Record that an absolute path was touched."""

    def follow(
        self,
        argv: Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        account: Mapping[str, Any] | None,
    ) -> Followed | None:
        """Return how to start a program so that it is followed, or None to start it as it is."""

    def missed(self, program: str) -> None:
        """Record that a program works for the call but cannot be followed, as it runs already."""


observer: ContextVar[Observer | None] = ContextVar("asyncstate_observer", default=None)
"""The observer of the call under way."""
