"""What one call has done for other states, so that a resumed run can go on where that call has ended."""

from __future__ import annotations

from typing import Any

import msgspec


class Shared(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="shared"):
    """The rest of a common call, kept before the row of the state ``tag`` that made it.

    ``rows`` are those that other states will have without a call of their own; ``changes`` are to be added to the rows
    of states that run on their own, each with ``said``. ``kept`` is what the members of a transaction know of one
    another after this one. States are named by their tags.
    """

    tag: str
    rows: dict[str, dict[str, Any]] = {}
    changes: dict[str, tuple[dict[str, Any], str]] = {}
    kept: dict[str, Any] = {}
