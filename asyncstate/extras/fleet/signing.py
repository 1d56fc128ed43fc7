"""The signature of an operator on messages that hosts obey: offers, goes, stops, notices of loss.

The server alone cannot start a run: an attacker who takes it over, or copies its disk, has no operator's key. The
operator signs with a separate key, never with the one that connects, as that one signs any nonce of a server. Signed
messages begin with a text of their own, which no other signed data have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from asyncstate.extras.fleet import nkeys
from asyncstate.extras.fleet.errors import MessageRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

_ABOUT: Final = b"asyncstate fleet message, version 1\n"
_FORMAT: Final = b"\x01"
_SIZE: Final = 64


class OperatorSigner:
    """An operator's key: a `protocol.Signer`. Raises MessageRefused for a seed that is none."""

    def __init__(self, seed: str) -> None:
        try:
            self._key = nkeys.KeyPair.from_seed(seed)
        except ValueError as error:
            raise MessageRefused(f"the operator's key cannot be used: {error}") from None
        if self._key.role != nkeys.OPERATOR:
            raise MessageRefused("this is not an operator's key, but one that only connects")

    def seal(self, payload: bytes, key: str = "") -> bytes:
        """Return the payload with a signature, valid only for its place ``key`` on the board."""
        return _FORMAT + self._key.sign(_signed(key, payload)) + payload

    def open(self, sealed: bytes, key: str = "") -> bytes:
        """Return the payload that this operator sealed for this place on the board. Raises MessageRefused."""
        return OperatorVerifier([self._key.public]).open(sealed, key)


class OperatorVerifier:
    """The operators whom a host obeys, by their public keys: the `asyncstate.extras.fleet.protocol.Verifier`.

    Raises MessageRefused for a key that is no operator's.
    """

    def __init__(self, operators: Iterable[str]) -> None:
        self._operators = tuple(operators)
        for public in self._operators:
            try:
                role = nkeys.role_of(public)
            except ValueError as error:
                raise MessageRefused(f"the operator's public key cannot be used: {error}") from None
            if role != nkeys.OPERATOR:
                raise MessageRefused(f"{public} is not the public key of an operator")

    def open(self, sealed: bytes, key: str = "") -> bytes:
        """Return the payload that an operator sealed for this place on the board. Raises MessageRefused."""
        if len(sealed) < 1 + _SIZE or sealed[:1] != _FORMAT:
            raise MessageRefused("a message that should be signed by an operator is not signed")
        signature, payload = sealed[1 : 1 + _SIZE], sealed[1 + _SIZE :]
        signed = _signed(key, payload)
        if not any(nkeys.verified(public, signature, signed) for public in self._operators):
            raise MessageRefused(
                "a message is signed with a key that this host does not trust. If the fleet has a new operator's key, "
                "enrol the host again."
            )
        return payload


def _signed(key: str, payload: bytes) -> bytes:
    """Return the signed bytes. The length of the key stands first: no other pair gives the same bytes."""
    place = key.encode()
    return b"%s%d:%s%s" % (_ABOUT, len(place), place, payload)
