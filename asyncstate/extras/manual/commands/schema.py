"""``asyncstate schema``: JSON Schemas, for editors and for programs that read the output of asyncstate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from asyncstate.cli.framework import new_command, option

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@new_command(
    "schema",
    examples=(
        ("asyncstate schema config > config.schema.json", "For an editor: it completes and checks options."),
        ("asyncstate schema events", "What a line of `apply --out jsonl` may be."),
    ),
)
@click.argument("name", metavar="config|plan|events|report", type=click.Choice(["config", "plan", "events", "report"]))
@option("--strict", is_flag=True, help="For config: reject options that the schema does not list.")
def command(console: Console, /, name: str, strict: bool) -> None:
    """Print the JSON Schema of configuration, plans, events or reports.

    config is what --config reads, plan what --plan-out writes, events a line of --out jsonl, report what --out json
    writes. They are of the dialect 2020-12, and made from the types of this version of asyncstate.
    """
    from asyncstate.extras.manual.schemas import schema

    if strict and name != "config":
        raise click.UsageError("--strict is for config: programs may have to read what later versions add")
    console.write(json.dumps(schema(name, strict=strict), indent=2, ensure_ascii=False) + "\n")
