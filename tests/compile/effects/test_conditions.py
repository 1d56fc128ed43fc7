import pytest

from asyncstate.compile.effects.conditions import conditions_read


@pytest.mark.parametrize("args", [{}, {"name": "/x", "require": [{"file": "/y"}]}])
def test_without_a_condition_there_is_nothing_to_read(args):
    assert conditions_read(args) is None


def test_a_condition_may_name_nothing():
    assert conditions_read({"unless": "false"}) == ()


def test_what_it_names_is_read_with_everything_below():
    args = {"creates": ["/a"], "onlyif": [{"fun": "file.exists", "args": ["/b"]}]}
    assert set(conditions_read(args)) == {"path:/a/**", "path:/b/**"}
