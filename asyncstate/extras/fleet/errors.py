"""The errors of a fleet. All are a `FleetError`."""

from __future__ import annotations

from asyncstate.errors import FleetError


class BoardError(FleetError):
    """The server between the hosts of a fleet cannot be reached, or refuses a request of this party."""


class BoardRefused(BoardError):
    """The server of a fleet refuses a key or a value. It may take others: the connection stands."""


class ValueTooLarge(BoardRefused):
    """A value has more bytes than the server of a fleet takes at once."""


class MessageRefused(FleetError):
    """A message between the parties of a fleet is invalid.

    It is malformed, its signature is missing or wrong, or it is of another version of the protocol.
    """
