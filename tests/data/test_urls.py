"""Passwords in URLs of foreign text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.data.urls import without_credentials

TEXT = st.lists(st.sampled_from(["http", "https", "HTTP", "://", "@", "a", " ", "\n", ":", "/", "ssh"])).map("".join)


@given(TEXT)
def test_it_hides_what_stands_before_the_last_at_of_a_word(text):
    assert without_credentials(text) == re.sub(r"(\w)://\S*@", r"\1://<redacted>@", text)
    assert without_credentials(text, http_only=True) == re.sub(
        r"(https?)://\S*@", r"\1://<redacted>@", text, flags=re.IGNORECASE
    )


@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", ["http://", "a", "a://", "@"])
def test_a_long_line_takes_no_hours(part):
    assert without_credentials(part * 300_000).endswith(part)
    assert without_credentials(part * 300_000, http_only=True).endswith(part)
