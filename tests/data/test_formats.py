"""Text of formats: what cannot be read is a ValueError, however deep or large it is."""

import pytest

from asyncstate.data import formats

BOMB = "a: &a [x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]\n"
    for below, name in zip("abcdefghij", "bcdefghijk", strict=True)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "repeated too often"),
        ("[" * 500, "nested deeper"),
        ("a: &a [*a]", "contains itself|undefined alias"),
        ("9" * 5000, "digits"),
    ],
    ids=["bomb", "deep", "circle", "number"],
)
def test_yaml_beyond_a_limit_cannot_be_read(text, words):
    with pytest.raises(ValueError, match=words):
        formats.yaml_data(text)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"a":' * 200_000, "{", "9" * 5000], ids=["lists", "objects", "torn", "number"]
)
def test_json_beyond_a_limit_cannot_be_read(text):
    with pytest.raises(ValueError, match=r"\w"):
        formats.json_data(text)


def test_standard_yaml_has_dates():
    assert formats.yaml_data("a: 2026-01-02\nb: [1, x]")["a"].year == 2026
