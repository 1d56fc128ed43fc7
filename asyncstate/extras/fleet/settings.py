"""The fleet options of a configuration file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from asyncstate.config.values import convert
from asyncstate.errors import AsyncStateError, FleetError
from asyncstate.extras.fleet.policy import OPTION, Policy, policy_of

if TYPE_CHECKING:
    from asyncstate.config import Settings


_COUNT: Final = r"\s*([0-9]{1,9}|(100(\.0+)?|[0-9]{1,2}(\.[0-9]+)?)%)\s*$"
_WORDS: Final = "or a percentage of hosts, 2 or 10%"

Hosts = (
    Annotated[str, msgspec.Meta(pattern=f"^{_COUNT}", description=f"a number from 0 on {_WORDS}")]
    | Annotated[int, msgspec.Meta(ge=0)]
)
"""A number of hosts, or a percentage of all."""
SomeHosts = (
    Annotated[str, msgspec.Meta(pattern=f"^(?=.*[1-9]){_COUNT}", description=f"a number from 1 on {_WORDS}")]
    | Annotated[int, msgspec.Meta(ge=1)]
)
"""A number of hosts, or a percentage of all, that is not 0."""


def require_number(option: str, text: str, kind: Any) -> None:
    """Raise FleetError, which names the option, if a text is none of a kind: `Hosts` or `SomeHosts`."""
    try:
        convert(option, text, kind, "")
    except AsyncStateError as error:
        raise FleetError(str(error)) from None


class FleetSettings(msgspec.Struct, kw_only=True):
    """Options of roll-outs, and what a host lets operators do."""

    fleet_batch: SomeHosts = ""
    fleet_max_failures: Hosts = ""
    fleet_lanes: dict[str, Annotated[int, msgspec.Meta(ge=1)]] = {}
    fleet_policy: dict[str, Any] = {}

    def validate(self, settings: Settings) -> None:
        """Raise ConfigError, which names the origin of the option, for a policy without a meaning."""
        policy_of(self.fleet_policy, settings)

    @staticmethod
    def schemas() -> dict[str, type[msgspec.Struct]]:
        """Return the types of options whose values are read later."""
        return {OPTION: Policy}
