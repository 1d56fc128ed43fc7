"""NATS's keys as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.fleet import nkeys

SECRETS = st.binary(min_size=32, max_size=32)
ROLES = st.sampled_from([nkeys.USER, nkeys.OPERATOR])


@given(ROLES, SECRETS, st.binary(), st.binary())
def test_a_seed_gives_the_key_again_and_its_signature_is_of_one_message(role, secret, data, other):
    key = nkeys.KeyPair(role, secret)
    again = nkeys.KeyPair.from_seed(key.seed)
    assert (again.role, again.public, key.public[0], key.seed[:2]) == (role, key.public, role, "S" + role)
    signature = again.sign(data)
    assert nkeys.verified(key.public, signature, data)
    assert nkeys.verified(key.public, signature, other) == (other == data)


def test_the_text_is_that_of_nats_own_tools():
    """From the documentation of NATS: https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth"""
    key = nkeys.KeyPair.from_seed("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY")
    assert key.public == "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"


@given(ROLES, SECRETS, st.integers(0, 200), st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567 a="))
def test_a_slip_in_a_key_is_found(role, secret, place, sign):
    key = nkeys.KeyPair(role, secret)
    for text, taken in ((key.seed, nkeys.KeyPair.from_seed), (key.public, nkeys.role_of)):
        wrong = text[: place % len(text)] + sign + text[place % len(text) + 1 :]
        if wrong != text:
            with pytest.raises(ValueError, match="key") as caught:
                taken(wrong)
            assert key.seed not in str(caught.value)


@given(st.text())
def test_other_text_is_no_key(text):
    with pytest.raises(ValueError, match="key"):
        nkeys.KeyPair.from_seed(text)
    with pytest.raises(ValueError, match="key"):
        nkeys.role_of(text)


def test_a_seed_is_no_public_key_and_a_public_key_no_seed():
    key = nkeys.KeyPair.new(nkeys.USER)
    with pytest.raises(ValueError, match="seed"):
        nkeys.KeyPair.from_seed(key.public)
    with pytest.raises(ValueError, match="public"):
        nkeys.role_of(key.seed)
