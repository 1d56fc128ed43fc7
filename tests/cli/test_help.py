"""Help, completion scripts, usage errors: everything that needs no tree."""

from __future__ import annotations

import re
from typing import Literal, get_args, get_origin

import click
import pytest
from imported import HEAVY, imported
from messages import said
from tables import beside, rows

from asyncstate import __version__
from asyncstate.cli import main
from asyncstate.cli.framework import general_options
from asyncstate.cli.logs import LEVELS
from asyncstate.cli.options import FORMS as OPTION_FORMS
from asyncstate.cli.overview import GENERAL_OPTIONS, overview
from asyncstate.cli.overview import commands as listed_commands
from asyncstate.cli.root import root
from asyncstate.cli.settings import _OVERRIDES
from asyncstate.config.settings import FIELDS
from asyncstate.report.human import FORMS

TABLES = beside(__file__)


def commands():
    """Yield (words, command) of every command and sub-command."""
    ctx = click.Context(root, info_name="asyncstate")
    for name in root.list_commands(ctx):
        command = root.get_command(ctx, name)
        if isinstance(command, click.Group):
            within = click.Context(command)
            yield from (([name, sub], command.get_command(within, sub)) for sub in command.list_commands(within))
        else:
            yield [name], command


COMMAND_LIST = list(commands())
NAMES = [" ".join(words) for words, _ in COMMAND_LIST]


@pytest.mark.parametrize(("words", "command"), COMMAND_LIST, ids=NAMES)
def test_help_explains_every_option_and_gives_examples(words, command, capsys):
    assert main([*words, "--help" if words == ["salt-call"] else "--help-all"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for param in command.params:
        if isinstance(param, click.Option) and not param.hidden:
            assert all(name in text for name in param.opts)
            assert param.help
            assert len(param.help) > 20
            assert param.help.endswith(".")
            assert " ".join(param.help.split())[:30] in text
    assert command.examples
    for example, explanation in command.examples:
        assert explanation in text
        assert " ".join(example.split()) in text


@pytest.mark.parametrize("name", sorted({words[0] for words, _ in COMMAND_LIST} - {"salt-call"}))
def test_every_command_takes_help_all(name, capsys):
    assert main([name, "--help-all"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: asyncstate {name}")


@rows(("words", "command"), COMMAND_LIST)
def test_examples_name_real_options(words, command):
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)} | {"--help"}
    for example, _ in command.examples:
        ours = re.split(r" [|>] ", example)[0]
        assert set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", ours)) <= known


def test_the_overview_names_every_command_and_general_option():
    text = overview()
    assert all(name in text and line in text for name, (_, line) in listed_commands().items())
    listed = " ".join(names for names, _ in GENERAL_OPTIONS)
    assert all(name in listed for option in general_options() for name in option.opts if name != "--colour")


@rows(("words", "command"), COMMAND_LIST)
def test_the_overview_line_is_the_first_line_of_the_help(words, command):
    if len(words) == 1:
        assert listed_commands()[words[0]][1] == command.help.partition("\n")[0]


def test_state_output_offers_every_form():
    assert OPTION_FORMS == FORMS


def words_of(option):
    """Return the words that the type of a setting allows."""
    wanted = FIELDS[option].type
    types = [wanted, *get_args(wanted)] if get_origin(wanted) is not Literal else [wanted]
    return {word for each in types if get_origin(each) is Literal for word in get_args(each)}


def test_flags_offer_the_words_of_their_settings():
    offered = [
        (_OVERRIDES[option.name], option.type.choices)
        for _, command in COMMAND_LIST
        for option in command.params
        if isinstance(option.type, click.Choice) and option.name in _OVERRIDES
    ]
    assert {option for option, _ in offered} == {"implicit_order", "journal", "traces", "state_output"}
    assert [(option, words) for option, words in offered if set(words) != words_of(option)] == []
    (level,) = (option for option in general_options() if option.name == "log_level")
    assert set(level.type.choices) == set(LEVELS) == words_of("log_level")


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_of_the_program(flag, capsys):
    assert main([flag]) == 0
    assert capsys.readouterr().out == overview() + "\n"


def test_no_command_is_an_error_with_help(capsys):
    assert main([]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == overview() + "\n"
    assert main(["-l", "debug"]) == 1
    assert "Missing command" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(flag, capsys):
    assert main([flag]) == 0
    assert capsys.readouterr().out == f"asyncstate {__version__}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    TABLES["usage errors exit 1 and say what to do"],
)
def test_usage_errors_exit_1_and_say_what_to_do(words, message, capsys):
    assert main(words) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_a_relative_folder_of_a_directory_that_is_gone(capsys, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["apply", "--file-root", "tree"]) == 1
    assert said("folder-gone", path="tree") in capsys.readouterr().err


def test_show_without_a_sub_command_gives_its_help(capsys):
    assert main(["show"]) == 1
    assert "lowstate" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--version"], ["--help"]])
def test_version_and_help_import_next_to_nothing(words):
    modules = imported(*words)
    assert not modules & (HEAVY | {"click", "collections", "functools", "json", "logging", "re", "threading", "typing"})


@pytest.mark.parametrize("words", [["apply", "--help"], ["show", "lowstate", "--help"]])
def test_help_of_a_command_imports_click_only(words):
    assert not imported(*words) & HEAVY


def test_the_usual_help_of_a_long_command_fits_a_screen(capsys):
    for name in ("apply", "plan"):
        assert main([name, "--help"]) == 0
        usual = capsys.readouterr().out
        assert len(usual.splitlines()) <= 60
        assert main([name, "--help-all"]) == 0
        everything = capsys.readouterr().out
        assert len(everything) > 2 * len(usual)
        assert "--help-all" in usual
        assert "--grace" not in usual
        assert "--grace" in everything


@rows(("words", "command"), COMMAND_LIST)
def test_the_usual_help_has_whole_sentences(words, command):
    for param in command.params:
        if isinstance(param, click.Option) and not getattr(param, "rare", False) and not param.hidden:
            sentence, dot, _ = param.help.partition(". ")
            assert (sentence + dot.strip()).endswith(".")
            assert sentence.count("(") == sentence.count(")")


@pytest.mark.parametrize(("words", "command"), COMMAND_LIST, ids=NAMES)
def test_help_of_a_command_by_the_word_help(words, command, capsys):
    for flag, own in (([], "--help"), (["--all"], "--help" if words == ["salt-call"] else "--help-all")):
        assert main(["help", *words, *flag]) == 0
        by_word = capsys.readouterr().out
        assert main([*words, own]) == 0
        assert capsys.readouterr().out == by_word


@pytest.mark.parametrize("words", [[], ["plan"], ["show", "lowstate"]])
def test_help_is_the_answer(words, run_cli):
    done = run_cli("help", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "asyncstate" in done.stdout


def test_help_of_what_is_no_command(capsys):
    assert main(["help"]) == 0
    assert capsys.readouterr().out == overview() + "\n"
    assert main(["help", "aply"]) == 1
    assert "no such command: aply. Did you mean: asyncstate apply" in capsys.readouterr().err
    assert main(["help", "show"]) == 0
    assert "lowstate" in capsys.readouterr().out


@pytest.mark.parametrize("refused", ["--resume", "--no-test", "--trace-effects", "--races", "--force"])
def test_plan_does_not_offer_what_it_refuses(refused, capsys):
    assert main(["plan", "--help-all"]) == 0
    assert f"\n  {refused}" not in capsys.readouterr().out
