"""Extras are documented: commands, options and settings, for fleets and proofs on the page made of the commands."""

from __future__ import annotations

import re

import click
import msgspec

from asyncstate import extend
from asyncstate.cli.framework import general_options
from asyncstate.cli.root import root
from asyncstate.data.formats import yaml_data


def commands(group, path):
    yield path, group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            yield from commands(group.get_command(context, name), f"{path} {name}")


def of_extras():
    context = click.Context(root)
    for name in extend.commands():
        yield from commands(root.get_command(context, name), f"asyncstate {name}")


def pages(checkout):
    docs = checkout / "docs"
    return "\n".join(path.read_text() for path in [docs / "commands.md", *sorted((docs / "extras").glob("*.md"))])


def test_every_command_is_documented(checkout):
    text = pages(checkout)
    names = {path.removeprefix("asyncstate ") for path, each in of_extras() if not isinstance(each, click.Group)}
    assert {
        name for name in names if not re.search(rf"^(?:- `|## `asyncstate ){name}[` ]", text, re.MULTILINE)
    } == set()


def test_every_flag_is_documented(checkout):
    text = pages(checkout)
    context = click.Context(root)
    every = [
        each for name in root.list_commands(context) for _, each in commands(root.get_command(context, name), name)
    ]
    existing = {
        flag
        for command in every
        for parameter in (*command.get_params(click.Context(command)), *general_options())
        if isinstance(parameter, click.Option)
        for flag in (*parameter.opts, *parameter.secondary_opts)
    }
    documented = {
        flag for code in re.findall(r"`([^`\n]+)`", text) for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", code)
    }
    assert existing - documented - {"-V"} == set()


def test_every_setting_is_documented(checkout):
    documented = set(re.findall(r"^- `([a-z_]+)`[:( ]", pages(checkout), re.MULTILINE))
    meant = {name for extra in extend.extras() if extra.options for name in yaml_data(extend.text_of(extra.options))}
    declared = {field.name for kind in extend.settings() for field in msgspec.structs.fields(kind)}
    assert declared == meant
    assert declared <= documented
