"""Validation of the places of states in an order across hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.model.requisite import FLEET_LANE, FLEET_ORDER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.low.draft import Draft


def check_fleet_order(drafts: Iterable[Draft], findings: Findings) -> None:
    """Find each ``fleet_order`` that is no whole number, and each ``fleet_lane`` that is no name or list of names."""
    for draft in drafts:
        order, lane = draft.args.get(FLEET_ORDER, 0), draft.args.get(FLEET_LANE, "-")
        if type(order) is not int:
            _refuse(draft, findings, f"{FLEET_ORDER}: {order!r} is no whole number", "such as fleet_order: 10")
        if not all(type(name) is str and name for name in (lane if type(lane) is list and lane else [lane])):
            _refuse(draft, findings, f"{FLEET_LANE}: {lane!r} is no name", "such as fleet_lane: migrations")


def _refuse(draft: Draft, findings: Findings, message: str, hint: str) -> None:
    where = f"in state '{draft.id}' in SLS '{draft.sls}'"
    findings.error(
        "E310", f"{message} {where}", env=draft.env, sls=draft.sls, id_=draft.id, state=draft.state, hint=hint
    )
