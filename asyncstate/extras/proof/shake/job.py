"""The input and the output of a run in a room, as JSON."""

from __future__ import annotations

from typing import Any

import msgspec


class Job(msgspec.Struct):
    """One run in a room. ``settings`` belong to the tree; a ``priority`` of None means serial order."""

    settings: dict[str, Any]
    sls: list[str] | None = None
    saltenv: str | None = None
    exclude: list[Any] = []
    ids: list[str] = []
    priority: list[int] | None = None
    wants_plan: bool = False


class Answer(msgspec.Struct):
    """The output of a room: the rows, or the mistakes in the tree.

    ``plan`` is the record of the plan, if it was wanted, ``unknown`` the states of unknown effects with the reasons.
    """

    rows: dict[str, dict[str, Any]] = {}
    ended: str = ""
    digest: str = ""
    plan: str = ""
    unknown: dict[int, str] = {}
    issues: list[tuple[str, str, int]] = []
    """Message, file and line of each mistake, if the tree does not compile."""
