"""The command ``salt-call``, which leaves its command line to the parser of Salt's options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.extras.dropin.options import OPTIONS, WrongUsage, help_text, parse

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from asyncstate.cli.console import Console
    from asyncstate.extras.dropin.options import Request


class _SaltCall(click.Command):
    """A command that leaves its words to Salt's own parser of options. Its click options serve shell completion."""

    examples: tuple[tuple[str, str], ...] = (
        ("asyncstate salt-call --local state.apply", "The highstate."),
        ("asyncstate salt-call --local state.apply web test=True --state-output=changes", "A dry run of one SLS file."),
        ("asyncstate salt-call --local --out=json pillar.get site:name", "A value, for a program."),
        ("asyncstate salt-call --install ~/bin", "A program named salt-call, for scripts that call it."),
    )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words as they are."""
        ctx.params = {"words": tuple(args)}
        return []

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, with standard output kept for the answer."""
        with ctx.obj.kept_apart():
            return super().invoke(ctx)


def _completed() -> list[click.Parameter]:
    """Return click's parameters for shell completion: Salt's options, and a function with arguments."""
    options: list[click.Parameter] = [
        click.Option(
            [name for name in names.split() if "_" not in name],
            is_flag=attributes.get("action") == "store_true",
            help=attributes["help"],
        )
        for group in OPTIONS.values()
        for names, attributes in group
    ]
    return [*options, click.Argument(["words"], nargs=-1, shell_complete=_complete)]


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from asyncstate.extras.dropin.completing import complete_salt_call

    return complete_salt_call(ctx, param, incomplete)


@click.command("salt-call", cls=_SaltCall, add_help_option=False, params=_completed())
@click.pass_obj
def command(console: Console, /, words: tuple[str, ...]) -> int:
    """Do what Salt's salt-call does: the same options, functions, outputs and exit codes."""
    console.answers_with_data = True
    try:
        request = parse(words)
    except WrongUsage as error:
        console.say(*error.lines)
        return error.exit_code
    return _answer(console, request)


def _answer(console: Console, request: Request) -> int:
    if request.help:
        examples = "".join(f"\n  {text}\n    {line}\n" for line, text in _SaltCall.examples)
        console.write(f"{help_text(command.help or '')}\nExamples:{examples}", redacted=True)
        return 0
    if request.text:
        console.write(request.text, redacted=True)
        return 0
    if request.install:
        from asyncstate.extras.dropin.install import install

        return install(console, request.install, force=request.force)
    console.colour = request.colour
    console.log_level, console.log_file = request.log_level, request.log_file
    console.log_file_level = request.log_file_level
    from asyncstate.extras.dropin.answer import Refused
    from asyncstate.extras.dropin.printing import print_answer
    from asyncstate.extras.dropin.settings import settings_of

    settings = settings_of(console, request)
    try:
        from asyncstate.extras.dropin.functions import answer_of

        answer = answer_of(console, settings, request)
    except Refused as error:
        if error.usage:
            console.write(error.usage, redacted=True)
        console.say(*error.lines)
        return error.exit_code
    return print_answer(console, settings, request, answer)
