"""The effects of one call on other states, kept so that a resumed run can go on after that call."""

from __future__ import annotations

from typing import Any

import msgspec


class SharedWork(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="shared"):
    """The effects of a common call on other states, kept before the row of the state ``tag`` that made the call.

    ``rows`` are the rows of states that need no call of their own; ``changes`` are to be added to the rows of states
    that run on their own, each with a text for the comment. ``kept`` is the data that members of a transaction share
    after this one. States are named by their tags.
    """

    tag: str
    rows: dict[str, dict[str, Any]] = {}
    changes: dict[str, tuple[dict[str, Any], str]] = {}
    kept: dict[str, Any] = {}
