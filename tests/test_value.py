"""The base of values: what it promises beside what msgspec does."""

import pytest

from asyncstate.value import Value


class Point(Value):
    x: int
    y: int = 0


def test_a_value_is_its_fields():
    assert Point(1) == Point(1, 0) != Point(1, 2)
    assert {Point(1): "a"}[Point(1, 0)] == "a"
    assert Point(1).replaced(y=3) == Point(1, 3)
    with pytest.raises(AttributeError):
        Point(1).x = 2
