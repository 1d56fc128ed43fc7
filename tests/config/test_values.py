"""Wrong values of settings are refused wherever they stand, with what was expected; documented ones are accepted."""

from typing import Literal, get_args, get_origin

import msgspec
import pytest
import yaml
from tables import beside

from asyncstate.cli import main
from asyncstate.config import Settings, load_settings
from asyncstate.config.settings import FIELDS
from asyncstate.errors import ConfigError

TABLES = beside(__file__)

LEVEL_NAMES = "expected all, garbage, trace, debug, profile, info, warning, error, critical or quiet"
TEXT, LIST, MAPPING = "expected text, got a list", "expected a list, got a mapping", "expected a mapping, got text"
BOOL = "expected true or false, got text"
WRONG = TABLES["wrong"]
"""A wrong value by setting, and what is said; for the others, a value of the wrong type is all that can be wrong."""
FLAGS = {
    "file_roots": "--file-root",
    "pillar_roots": "--pillar-root",
    "grains_override": "--grains",
    "grace_seconds": "--grace",
    "state_top": "--top",
}
"""Flags with other names than their settings."""
OF_TYPE = {
    str: ([], TEXT),
    str | None: ([], "expected text or nothing, got a list"),
    bool: ("yess", BOOL),
    list[str]: ({}, LIST),
    list: ("x", "expected a list, got text"),
    dict: ("x", MAPPING),
}


def wrong(option):
    if option in WRONG:
        return WRONG[option]
    wanted = FIELDS[option].type
    return OF_TYPE.get(wanted) or OF_TYPE[get_origin(wanted)]


def choices(wanted):
    """Yield the words that a type allows, at any depth."""
    if get_origin(wanted) is Literal:
        yield from get_args(wanted)
    for each in get_args(wanted):
        yield from choices(each)


@pytest.mark.parametrize("option", FIELDS)
def test_a_wrong_value_is_refused_wherever_it_stands(option, tmp_path):
    value, message = wrong(option)
    file = tmp_path / "minion.yaml"
    file.write_text(yaml.safe_dump({option: value}))
    variable = f"ASYNCSTATE_{option.upper()}"
    sources = {
        str(file): ([file], {}, {}),
        variable: ([], {}, {variable: yaml.safe_dump(value)}),
        FLAGS.get(option) or f"--{option.replace('_', '-')}": ([], {option: value}, {}),
    }
    if FIELDS[option].type in {str, str | None}:
        del sources[variable]  # whatever a variable says is text
    for place, (files, overrides, environ) in sources.items():
        with pytest.raises(ConfigError) as caught:
            load_settings(files, overrides, environ).validate()
        said = str(caught.value)
        assert said.startswith(f"{place}: {option}: ")
        assert message in said
    for other in (value or 5j, 5j):  # what is empty stands for the default
        with pytest.raises(ConfigError, match=f"^{option}: "):
            Settings(**{option: other}).validate()


@pytest.mark.parametrize("option", FIELDS)
def test_each_word_that_a_setting_knows_is_accepted_in_any_case(option, tmp_path):
    wanted = FIELDS[option].type
    words = [word for word in choices(wanted) if word]
    file = tmp_path / "minion.yaml"
    for word in words:
        for text in (word, word.capitalize()):
            value = {"a": text} if get_origin(wanted) is dict else text
            file.write_text(json_text({option: value}))
            read = getattr(load_settings([file], environ={}), option)
            assert read == ({"a": word} if isinstance(read, dict) else [word] if isinstance(read, list) else word)


def json_text(data):
    return msgspec.json.encode(data).decode()


def test_a_wrong_value_ends_a_command_before_anything_is_done(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.sls").write_text(f"made: {{file.touch: [{{name: {tmp_path}/made}}]}}\n")
    config = tmp_path / "c.yaml"
    config.write_text(f"file_roots: {{base: {tmp_path}}}\nstate_output: breif\n")
    assert main(["apply", "a", "--config", str(config)]) == 1
    assert f"{config}: state_output: expected full, " in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_wrong_values_are_ignored_where_the_program_stands_for_another(tmp_path, caplog):
    file = tmp_path / "minion"
    file.write_text(
        "state_output: breif\nlog_level: loud\nbackup_mode: none\ntop_file_merging_strategy: strange\n"
        "disabled_requisites: [require, wacht]\nlog_granular_levels: {a: debug, b: loud}\n"
    )
    settings = load_settings([file], environ={}, as_salt=True)
    settings.validate()
    assert (settings.state_output, settings.log_level, settings.backup_mode) == ("full", "warning", "")
    assert settings.top_file_merging_strategy == "merge"
    assert settings.disabled_requisites == ["require"]
    assert settings.log_granular_levels == {"a": "debug"}
    assert f"{file}: state_output: expected full, " in caplog.text
    file.write_text("concurrency: none\n")
    with pytest.raises(ConfigError):
        load_settings([file], environ={}, as_salt=True)
