"""The options of fleets in a configuration file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from asyncstate.extras.fleet.policy import OPTION, Policy, policy_of

if TYPE_CHECKING:
    from collections.abc import Mapping


class FleetSettings(msgspec.Struct, kw_only=True):
    """Options of roll-outs, and what a host lets operators do."""

    fleet_batch: str | int = ""
    fleet_max_failures: str | int = ""
    fleet_lanes: dict[str, Annotated[int, msgspec.Meta(ge=1)]] = {}
    fleet_policy: dict[str, Any] = {}

    def validate(self, origins: Mapping[str, str]) -> None:
        """Raise ConfigError, which names where the option was set, for a policy that has no meaning."""
        policy_of(self.fleet_policy, origins.get(OPTION, ""))

    @staticmethod
    def schemas() -> dict[str, type[msgspec.Struct]]:
        """Return the types that the values of options have, where these are read later."""
        return {OPTION: Policy}
