import pytest

from asyncstate.data.commands.environment import pairs_of


@pytest.mark.parametrize(
    ("given", "pairs"),
    [
        (None, ()),
        ({"A": 1, "B": None}, (("A", "1"), ("B", ""))),
        ([{"A": "b"}, "C=d=e", "F"], (("A", "b"), ("C", "d=e"), ("F", ""))),
        ("A=b", (("A", "b"),)),
        ([5, None], ()),
    ],
)
def test_pairs(given, pairs):
    assert pairs_of(given) == pairs
