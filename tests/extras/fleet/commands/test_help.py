"""Help of the fleet's commands, which needs no fleet."""

from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest
from imported import HEAVY, imported

from asyncstate.cli.root import root


def test_the_help_of_the_fleet_names_every_command_in_a_section_and_imports_none():
    code = (
        "import sys\nfrom asyncstate.cli import main\nmain(['fleet', '--help'])\n"
        "sys.stderr.write('\\n'.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    family = root.get_command(click.Context(root), "fleet")
    for name in family.list_commands(click.Context(family)):
        assert re.search(rf"^  {name}  +\S", done.stdout, re.MULTILINE), name
        assert f"asyncstate.extras.fleet.commands.{name}" not in done.stderr.split()
        assert family.get_command(click.Context(family), name).examples, name


@pytest.mark.parametrize("name", ["apply", "show", "logs", "demo", "agent"])
def test_help_of_a_command_of_the_fleet_imports_click_only(name):
    assert not imported("fleet", name, "--help") & HEAVY


def test_a_plan_of_a_fleet_is_found(run_cli):
    done = run_cli("fleet", "plan")
    assert "no such command: fleet plan. There is: asyncstate fleet apply --test" in done.stderr
