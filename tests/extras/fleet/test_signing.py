"""Messages that hosts obey have an operator's signature, for one place on the board."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.fleet import nkeys
from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.signing import OperatorSigner, OperatorVerifier

KEY = nkeys.KeyPair(nkeys.OPERATOR, bytes(range(32)))
OTHER = nkeys.KeyPair(nkeys.OPERATOR, bytes(32))
SIGNER, VERIFIER = OperatorSigner(KEY.seed), OperatorVerifier([KEY.public])


@given(st.binary(), st.text())
def test_a_host_opens_what_its_operator_sealed(payload, place):
    assert VERIFIER.open(SIGNER.seal(payload, place), place) == payload


@given(st.binary(), st.data())
def test_no_byte_can_be_changed_added_or_left_out(payload, data):
    sealed = SIGNER.seal(payload, "offer.a.1")
    place = data.draw(st.integers(0, len(sealed) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda each: each != sealed[place]))
    for forged in (
        sealed[:place] + bytes([byte]) + sealed[place + 1 :],
        sealed[:place] + sealed[place + 1 :],
        sealed + bytes([byte]),
        sealed[:place],
        payload,
    ):
        with pytest.raises(MessageRefused, match="sign"):
            VERIFIER.open(forged, "offer.a.1")


@given(st.binary(max_size=8), st.text(max_size=4), st.binary(max_size=8), st.text(max_size=4))
def test_a_signature_is_good_for_one_payload_at_one_place(payload, place, other_payload, other_place):
    sealed = SIGNER.seal(payload, place)
    moved = sealed[: len(sealed) - len(payload)] + other_payload
    if (payload, place) == (other_payload, other_place):
        assert VERIFIER.open(moved, other_place) == payload
    else:
        with pytest.raises(MessageRefused):
            VERIFIER.open(moved, other_place)


def test_another_operator_is_not_obeyed_until_it_is_known():
    sealed = OperatorSigner(OTHER.seed).seal(b"x", "stop.a.1")
    with pytest.raises(MessageRefused, match="enrol the host again"):
        VERIFIER.open(sealed, "stop.a.1")
    assert OperatorVerifier([KEY.public, OTHER.public]).open(sealed, "stop.a.1") == b"x"


def test_nobody_is_obeyed_without_operators():
    with pytest.raises(MessageRefused):
        OperatorVerifier([]).open(SIGNER.seal(b"x"))


def test_the_number_a_server_shows_to_the_connecting_key_is_no_message():
    """A key that connects signs whatever it is shown; so it is another key."""
    user = nkeys.KeyPair.new(nkeys.USER)
    with pytest.raises(MessageRefused, match="only connects"):
        OperatorSigner(user.seed)
    with pytest.raises(MessageRefused, match="not the public key of an operator"):
        OperatorVerifier([user.public])


@pytest.mark.parametrize("text", ["", "nonsense", KEY.public])
def test_what_is_no_key_is_refused_without_showing_it(text):
    with pytest.raises(MessageRefused, match="cannot be used"):
        OperatorSigner(text)
    with pytest.raises(MessageRefused, match="cannot be used"):
        OperatorVerifier([KEY.seed])
