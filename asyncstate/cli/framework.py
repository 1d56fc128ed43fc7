"""The click classes of all commands: options in sections, unwrapped examples, commands imported on demand."""

from __future__ import annotations

import math
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.console import Console
from asyncstate.cli.overview import OWN, commands, overview
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from click.shell_completion import CompletionItem

SECTIONS = ("Tree", "Selection", "Run", "Output", "General")
"""The sections of a command's help, in order."""
_EXAMPLES = 4
"""Number of examples that ``--help`` shows: a command lists the most common uses first."""


_EVERYTHING = "asyncstate.help.all"
"""Key in ``click.Context.meta``: whether the help was requested by ``--help-all``."""


class Option(click.Option):
    """An option in a section of the help. ``--help`` leaves out ``rare`` ones, which ``--help-all`` explains.

    ``offers`` is what a shell completes its value to: see `completes`.
    """

    def __init__(self, *args: Any, section: str, rare: bool = False, offers: str = "", **attributes: Any) -> None:
        if offers:
            attributes["shell_complete"] = completes(offers)
        super().__init__(*args, **attributes)
        self.section = section
        self.rare = rare

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Return a value in the option's type. Refuses "nan", which no range excludes and no comparison ends."""
        cast = super().type_cast_value(ctx, value)
        if isinstance(cast, float) and math.isnan(cast):
            raise click.BadParameter(f"{value!r} is not a number.", ctx=ctx, param=self)
        return cast

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names and the help; without ``--help-all``, the first sentence of the help."""
        record = super().get_help_record(ctx)
        if record is None or ctx.meta.get(_EVERYTHING):
            return record
        return record[0], _first_sentence(self.help or "")


def _first_sentence(text: str) -> str:
    sentence, dot, _ = text.partition(". ")
    return sentence + dot.rstrip()


def option(*names: str, section: str = "Output", **attributes: Any) -> Callable[[Any], Any]:
    """Declare an option in a section; otherwise as ``click.option``."""
    return click.option(*names, cls=Option, section=section, **attributes)


tree_option: Callable[..., Callable[[Any], Any]] = partial(option, section="Tree")
selection_option: Callable[..., Callable[[Any], Any]] = partial(option, section="Selection")
run_option: Callable[..., Callable[[Any], Any]] = partial(option, section="Run")


def completes(what: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return the ``shell_complete`` of an argument: what an extra offers, imported when a shell asks for it."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from asyncstate import extend

        completer = extend.offered("completer")
        return [] if completer is None else list(completer(what, ctx, param, incomplete))

    return complete


class _Explained(click.Command):
    """A command whose function gets the console, and whose help is an answer: a failed write gives its exit code."""

    def __init__(self, *, callback: Callable[..., Any] | None = None, **attributes: Any) -> None:
        super().__init__(callback=None if callback is None else click.pass_obj(callback), **attributes)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the option --help."""
        found = super().get_help_option(ctx)
        if found is not None:
            found.callback = _help
        return found


class Command(_Explained):
    """A command with the general options, help in sections, and its examples.

    One that answers with data has ``--out`` for its ``forms``, the first by default.
    """

    def __init__(
        self,
        *args: Any,
        forms: tuple[str, ...] = (),
        examples: tuple[tuple[str, str], ...] = (),
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self.examples = examples
        if forms:
            said = f"Output format: {', '.join(forms)}. Default: {forms[0]}."
            shown: dict[str, Any] = {"default": forms[0], "type": click.Choice(forms), "help": said}
            self.params.append(Option(["--out"], section="Output", callback=set_out, **shown))
        self.params.extend(general_options())

    def invoke(self, ctx: click.Context) -> Any:
        """Start the log, then run the command."""
        console = console_of(ctx)
        console.log()
        with console.kept_apart():
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by section: the usual ones, or with ``--help-all`` all of them."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if getattr(param, "rare", False) and not ctx.meta.get(_EVERYTHING):
                continue
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                sections.setdefault(getattr(param, "section", SECTIONS[-1]), []).append(record)
        for section in sorted(sections, key=SECTIONS.index):
            with formatter.section(section):
                formatter.write_dl(sections[section])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each with its description; without ``--help-all`` the first ones."""
        _write_examples(self.examples if ctx.meta.get(_EVERYTHING) else self.examples[:_EXAMPLES], formatter)


new_command: Callable[..., Callable[[Any], Command]] = partial(click.command, cls=Command)


class Root(click.Group):
    """``asyncstate``: imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's interface
        """Return the commands in the order of the overview."""
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Import the module of a command and return its ``command``."""
        if cmd_name in OWN:
            module = f"asyncstate.cli.{cmd_name.replace('-', '_')}"
        else:
            from asyncstate import extend  # where the engine has no such command

            if cmd_name not in (added := extend.commands()):
                return None
            _, _, module = added[cmd_name]
        command: click.Command = import_module(module).command
        return command

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002 - as above
        """Return the overview."""
        return overview()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raises UsageError, which names the nearest one, or the replacement of a Salt function."""
        if args and args[0] not in OWN and args[0] not in (known := commands()):
            raise click.UsageError(unknown_command(args[0], list(known)), ctx)
        return super().resolve_command(ctx, args)


class Family(_Explained, click.Group):
    """A command with sub-commands, such as ``show``.

    ``parts`` are the sub-commands with a file of their own in the package ``folder``, imported when called: section and
    line of the help by name. Extras add others, as ``show impact``.
    """

    command_class: type[click.Command] | None = Command

    def __init__(
        self,
        *args: Any,
        parts: Mapping[str, tuple[str, str]] | None = None,
        folder: str = "",
        examples: tuple[tuple[str, str], ...] = (),
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self.parts: dict[str, tuple[str, str]] = dict(parts or {})
        self._folder = folder
        self.examples = examples

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """Take ``--help-all`` as ``--help``: a family has no rare options."""
        return [*super().get_help_option_names(ctx), "--help-all"]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, sub-commands with a file of their own first."""
        return [*self.parts, *sorted([*super().list_commands(ctx), *self._added()])]

    def _added(self) -> dict[str, str]:
        """Return the modules of the sub-commands that extras add, by name."""
        from asyncstate import extend

        return {
            name.removeprefix(f"{self.name} "): module
            for name, (_, _, module) in extend.commands().items()
            if name.startswith(f"{self.name} ")
        }

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the file of a sub-command, and return its ``command``."""
        if cmd_name in self.parts:
            module = f"{self._folder}.{cmd_name}"
        elif (own := super().get_command(ctx, cmd_name)) is not None or cmd_name not in (added := self._added()):
            return own
        else:
            module = added[cmd_name]
        command: click.Command = import_module(module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sub-commands by section, without importing them; then the others."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, (section, text) in self.parts.items():
            sections.setdefault(section, []).append((name, text))
        for section, lines in sections.items():
            with formatter.section(section):
                formatter.write_dl(lines)
        if self.commands:
            super().format_commands(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's interface
        """Write the examples, each with its description."""
        _write_examples(self.examples, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the sub-command. Raises UsageError, which names the nearest one."""
        if args and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(unknown_command(args[0], self.list_commands(ctx), ctx.info_name or ""), ctx)
        return super().resolve_command(ctx, args)


def _write_examples(examples: Iterable[tuple[str, str]], formatter: click.HelpFormatter) -> None:
    if examples:
        with formatter.section("Examples"):
            for command, text in examples:
                formatter.write(f"  {text}\n    {command}\n")


_TRIED = {
    "highstate": "apply",
    "dry-run": "plan",
    "preview": "plan",
}
"""Words that people try -> the command that does it."""


def unknown_command(name: str, known: list[str], family: str = "") -> str:
    """Return the message that there is no such command, with a suggestion."""
    from asyncstate import extend

    lacking = "" if any(extend.extras()) else ". More commands come with extras, and none is installed"
    return f"{_unknown(name, known, family)}{lacking}"


def _unknown(name: str, known: list[str], family: str) -> str:
    from asyncstate import extend
    from asyncstate.cli.settings import COMMANDS as SALT_COMMANDS

    message = f"no such command: {family} {name}".replace(":  ", ": ")
    if not family and name in SALT_COMMANDS:
        return f"{message}. Salt's {name} is called: asyncstate {SALT_COMMANDS[name]}"
    if below := [each for each in extend.commands() if each.endswith(f" {name}")]:
        return f"{message}. There is: asyncstate {', asyncstate '.join(sorted(below))}"
    if name in (elsewhere := {**_TRIED, **({each: each for each in commands()} if family else {})}):
        there = elsewhere[name]
        own = f"{family} apply --test" if family and there == "plan" and "apply" in known else there
        return f"{message}. There is: asyncstate {own}"
    near = nearest(name, known)
    if near:
        return f"{message}. Did you mean: asyncstate {family} {near}".replace("  ", " ")
    if not family and "." in name:
        return f"{message}. To call an execution module function: asyncstate call {name}"
    return f"{message}. There are: {', '.join(known)}"


def console_of(ctx: click.Context) -> Console:
    """Return the console of this call."""
    return ctx.ensure_object(Console)


def set_out(ctx: click.Context, _param: click.Parameter, value: str) -> str:
    """Note the format of the answer: the callback of ``--out``."""
    console_of(ctx).out = value
    if value == "github":
        from asyncstate.cli.console import keep_github_from_obeying

        keep_github_from_obeying()
    return value


def _set_on_console(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    if value is not None and value is not False and param.name:
        setattr(console_of(ctx), param.name, value)
    return value


def _help(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        console_of(ctx).write(f"{ctx.get_help()}\n")
        ctx.exit()


def _help_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[_EVERYTHING] = value
    _help(ctx, param, value)


def general_options() -> list[click.Parameter]:
    """Return new instances of the options that every command, and the program itself, has."""
    shared: dict[str, Any] = {"expose_value": False, "callback": _set_on_console, "section": "General", "rare": True}
    levels = ["all", "garbage", "trace", "debug", "profile", "info", "warning", "error", "critical", "quiet"]
    return [
        Option(
            ["-l", "--log-level"],
            type=click.Choice(levels, case_sensitive=False),
            metavar="LEVEL",
            help="Log messages of at least this level: debug, info, warning (default), error, critical, quiet.",
            **shared,
        ),
        Option(
            ["--log-file"],
            type=click.Path(dir_okay=False),
            help="Append the log to FILE, at the level of --log-level; standard error then gets warnings only.",
            **shared,
        ),
        Option(
            ["--log-format"],
            type=click.Choice(["text", "json"]),
            help="Format of the log: lines for people (text, default) or one JSON object per line.",
            **shared,
        ),
        Option(
            ["--color", "--colour", "colour"],
            type=click.Choice(["auto", "always", "never"]),
            help="Use colours: on a terminal (auto, default), always or never. NO_COLOR, FORCE_COLOR set the default.",
            **shared,
        ),
        Option(
            ["--debug"],
            is_flag=True,
            help="Show the Python traceback of an internal error, for a bug report.",
            **shared,
        ),
        Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_help_all,
            section="General",
            help="Explain every option, also the rare ones, and show all examples.",
        ),
    ]
