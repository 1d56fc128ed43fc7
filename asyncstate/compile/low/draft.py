"""A draft: a low chunk while the graph is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.model.chunk import place_text, state_tag

if TYPE_CHECKING:
    from asyncstate.model.chunk import Lines

UNSET: Any = object()
"""The state has no ``order``, which differs from an ``order`` of null."""


class Draft:
    """A chunk while the graph is built: like LowChunk, but its place in the serial order is not known yet.

    ``order`` is the value in high data, ``fraction`` what the position within ``names`` adds to it, ``automatic``
    whether the compiler gave the number, not the SLS.
    """

    __slots__ = (
        "args",
        "automatic",
        "env",
        "file",
        "fraction",
        "fun",
        "id",
        "included_from",
        "lines",
        "name",
        "order",
        "sls",
        "state",
    )

    def __init__(
        self,
        state: str,
        fun: str,
        id_: str,
        name: Any,
        *,
        sls: str,
        env: str,
        args: dict[str, Any],
        order: Any,
        included_from: tuple[str, ...],
    ) -> None:
        self.state: str = state
        self.fun: str = fun
        self.id: str = id_
        self.name: Any = name
        self.sls: str = sls
        self.env: str = env
        self.args: dict[str, Any] = args
        self.order: Any = order
        self.included_from: tuple[str, ...] = included_from
        self.fraction: float = 0.0
        self.automatic: bool = True
        self.file: str = ""
        self.lines: Lines | None = None

    @property
    def tag(self) -> str:
        """The state tag."""
        return state_tag(self.state, self.id, self.name, self.fun)

    @property
    def line(self) -> int:
        """The line of the declaration, before rendering."""
        return self.line_of()

    def line_of(self, argument: str | None = None) -> int:
        """Return the line of an argument, or that of the declaration."""
        return self.lines.of(self.id, self.state, argument) if self.lines is not None else 0

    @property
    def place(self) -> str:
        """``sls:id (file:line)``, for messages."""
        return place_text(self.sls, self.id, self.file, self.line)

    def low(self) -> dict[str, Any]:
        """Return low data for code that only reads it: a new dict, whose values are shared."""
        return {
            **self.args,
            "state": self.state,
            "fun": self.fun,
            "name": self.name,
            "__id__": self.id,
            "__sls__": self.sls,
            "__env__": self.env,
        }
