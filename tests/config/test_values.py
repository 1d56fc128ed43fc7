"""Wrong values of settings are refused wherever they stand, with what was expected; documented ones are accepted."""

from typing import Literal, get_args, get_origin

import msgspec
import pytest
import yaml

from asyncstate.cli import main
from asyncstate.config import Settings, load_settings
from asyncstate.config.settings import FIELDS
from asyncstate.errors import ConfigError

LEVEL_NAMES = "expected all, garbage, trace, debug, profile, info, warning, error, critical or quiet"
TEXT, LIST, MAPPING = "expected text, got a list", "expected a list, got a mapping", "expected a mapping, got text"
BOOL = "expected true or false, got text"
WRONG = {
    "file_ignore_regex": (["("], "'(' is not a regular expression: missing )"),
    "log_level": ("wurning", f"{LEVEL_NAMES}, got 'wurning'. Did you mean 'warning'?"),
    "log_granular_levels": ({"states.file": "dbug"}, f"states.file: {LEVEL_NAMES}, got 'dbug'. Did you mean 'debug'?"),
    "file_roots": ("srv", MAPPING),
    "pillar_roots": ({"base": [3]}, "base: expected text, got a whole number"),
    "top_file_merging_strategy": ("mrge", "expected merge, merge_all or same, got 'mrge'. Did you mean 'merge'?"),
    "nodegroups": ({"web": 3}, "web: expected text or a list, got a whole number"),
    "pillar_source_merging_strategy": ("smrt", "expected smart, recurse, list, aggregate, overwrite or none, got 'smrt'. Did you mean 'smart'?"),
    "render_timeout": (-1, "expected a number >= 0.0, got -1"),
    "salt_python": (["python3"], "expected true or false or text, got a list"),
    "providers": ({"service": 3}, "service: expected text, got a whole number"),
    "smi_validate": ("wran", "expected true, false, off, warn or raise, got 'wran'. Did you mean 'warn'?"),
    "state_aggregate": ([3], "expected text, got a whole number"),
    "disabled_requisites": (["require", "wacht"], "or use, got 'wacht'. Did you mean 'watch'?"),
    "global_state_conditions": ({"*": 3}, "*: expected text or a list, got a whole number"),
    "concurrency": (0, "expected a whole number >= 1, got 0"),
    "implicit_order": ("footprnt", "expected none, footprint, learned, strict or file, got 'footprnt'. Did you mean 'footprint'?"),
    "ignore_rules": ("undoen", "or no-effect, got 'undoen'. Did you mean 'undone'?"),
    "duplicate_ids": ("frist", "expected error or first, got 'frist'. Did you mean 'first'?"),
    "lanes": ({"db": 0}, "db: expected a whole number >= 1, got 0"),
    "prefetch": (-1, "expected a whole number >= 0, got -1"),
    "timeout": (0, "expected a number > 0.0, got 0"),
    "grace_seconds": (float("nan"), "expected a number >= 0.0, got nan"),
    "event_loop": ("uvlop", "expected auto, asyncio or uvloop, got 'uvlop'. Did you mean 'uvloop'?"),
    "journal": ("requird", "expected true, false, on, off or required, got 'requird'. Did you mean 'required'?"),
    "traces": ("atuo", "expected true, false, auto, on or off, got 'atuo'. Did you mean 'auto'?"),
    "journal_sync": ("ful", "expected normal or full, got 'ful'. Did you mean 'full'?"),
    "output_memory": (0, "expected a whole number >= 1, got 0"),
    "journal_keep_runs": ("all", "expected a whole number, got text"),
    "journal_keep_days": (-0.5, "expected a number >= 0.0, got -0.5"),
    "state_output": ("breif", "brief or brief_id, got 'breif'. Did you mean 'brief'?"),
    "http_connect_timeout": (0, "expected a number > 0.0, got 0"),
    "http_request_timeout": (-1, "expected a number >= 0.0, got -1"),
    "http_max_body": ("1 GB", "expected a whole number, got text"),
    "backup_mode": ("minoin", "expected minion, master or both, got 'minoin'. Did you mean 'minion'?"),
    "hash_type": ("sha265", "expected md5, sha1, sha224, sha256, sha384 or sha512, got 'sha265'. Did you mean 'sha256'?"),
}  # fmt: skip
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
