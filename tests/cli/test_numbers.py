"""Options that take a number take no other word for one."""

from __future__ import annotations

import click
import pytest

from asyncstate.cli.root import root


def commands(command, path=()):
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))


NUMBERS = [
    (option.opts[-1], path, option)
    for path, command in commands(root)
    for option in command.params
    if isinstance(option.type, (click.types.FloatParamType, click.types.IntParamType))
]


@pytest.mark.parametrize("word", ["nan", "NaN", "-nan", "+nan", "x", ""])
@pytest.mark.parametrize("case", NUMBERS, ids=lambda case: f"{' '.join(case[1])} {case[0]}")
def test_what_is_no_number_is_refused(case, word):
    _, path, option = case
    context = click.Context(root, info_name=" ".join(path))
    with pytest.raises(click.BadParameter):
        option.type_cast_value(context, (word,) if option.multiple else word)


def test_every_kind_of_number_is_tried():
    assert {name for name, *_ in NUMBERS} >= {"--wait", "--timeout", "--keep-days", "--number"}
