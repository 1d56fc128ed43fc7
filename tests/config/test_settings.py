import json
import os
from pathlib import Path

import pytest
import yaml
from messages import said
from odd_values import in_itself
from record_answers import read, recorded
from tables import beside

from asyncstate.config import Settings, default_files, load_settings
from asyncstate.config.files import default_candidates
from asyncstate.config.settings import FIELDS, FIXED_OPTIONS, _user_directory
from asyncstate.config.without_effect import FOLDERS, INSTEAD, folders_without_effect, without_effect
from asyncstate.errors import ConfigError
from asyncstate.load.folders import FOLDER_OPTIONS, folder_in_tree

TABLES = beside(__file__)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


OWN_DEFAULTS = {"file_roots": {"base": ["/srv/salt"]}, "pillar_roots": {"base": ["/srv/pillar"]}}
"""Salt looks also where its package manager puts formulas, which has no counterpart here."""


def test_defaults_are_salts_but_for_the_folders_of_its_package_manager():
    opts, salt = Settings(id="m").opts(), {key: read(value) for key, value in recorded("default").items()}
    assert {key: opts[key] for key in salt} == salt | OWN_DEFAULTS
    assert all(salt[key] != value for key, value in OWN_DEFAULTS.items())
    expected = {"file_client": "local", "__cli": "salt-call", "id": "m", "local": True}
    assert {key: opts[key] for key in expected} == expected


@pytest.mark.parametrize("option", INSTEAD)
def test_a_setting_of_salt_without_effect_says_what_to_do_instead(tmp_path, option):
    file = write(tmp_path / "minion", f"{option}: {'git' if option == 'user' else '[git]'}\n")
    [issue] = without_effect(load_settings([file], environ={}))
    assert (issue.message, issue.file) == (f"the option {option} has no effect", str(file))
    assert issue.hint == INSTEAD[option]
    assert list(without_effect(load_settings([file], {"ignore_rules": ["no-effect"]}, {}))) == []


OPTIONS = json.loads((Path(__file__).parents[1] / "recorded" / "minion_options.json").read_text())
"""The keys of ``DEFAULT_MINION_OPTS`` of Salt 3008.3."""
OBEYED_BY_PLUGINS = "extension_modules gpg_decrypt_must_succeed proxy_host proxy_password proxy_port proxy_username"
OBEYED = {*FIELDS, *OBEYED_BY_PLUGINS.split()}
OBEYED |= {"default_include", "lock_saltenv", "file_buffer_size", "state_output_profile"}
OF_NO_CONCERN = TABLES["of no concern"]
"""Beginnings of the names of options that do not change what ``salt-call --local state.apply`` does."""


def test_each_option_of_salt_is_obeyed_or_named_or_of_no_concern():
    words = [word for part in OF_NO_CONCERN.values() for word in part.split()]
    unlisted = [each for each in OPTIONS if each not in OBEYED and each not in INSTEAD]
    left = {each: [word for word in words if f"{each}$".startswith(word)] for each in unlisted}
    assert [each for each, found in left.items() if not found] == []
    assert {word for found in left.values() for word in found} == set(words)


def test_old_options_of_salt_are_obeyed(tmp_path):
    file = write(tmp_path / "minion", "id: vm\nappend_domain: foo.org\nenvironment: dev\n")
    opts = load_settings([file], environ={}).opts()
    assert (opts["id"], opts["saltenv"]) == ("vm.foo.org", "dev")
    assert load_settings([file], {"id": "vm.foo.org", "saltenv": "base"}, {}).opts()["saltenv"] == "base"
    assert [load_settings([file], {"id": name}, {}).id for name in ("a.foo.org", "a.")] == ["a.foo.org", "a."]


SYNCED = json.loads((Path(__file__).parents[1] / "recorded" / "synced_plugins.json").read_text())
"""The kinds of plugins that the ``saltutil`` modules of Salt 3008.3, for minions and for masters, take from a file root."""


def test_each_folder_of_plugins_is_loaded_or_said_to_have_no_effect():
    assert {f"_{kind}" for kind in SYNCED} == {*FOLDERS, *map(folder_in_tree, FOLDER_OPTIONS)}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_without_effect_is_named_once_with_what_to_do_instead(tmp_path, name):
    for root in ("one", "two"):
        write(tmp_path / root / name / "mine.py", "")
        write(tmp_path / root / "_states" / "mine.py", "")
    roots = {"base": [str(tmp_path / "none"), str(tmp_path / "one")], "dev": [str(tmp_path / "two")]}
    [issue] = folders_without_effect(load_settings([], {"file_roots": roots}, {}))
    assert (issue.message, issue.file) == (f"the folder {name} has no effect", str(tmp_path / "one" / name))
    assert issue.hint == FOLDERS[name]
    silenced = {"file_roots": roots, "ignore_rules": ["no-effect"]}
    assert list(folders_without_effect(load_settings([], silenced, {}))) == []


def test_settings_that_ask_for_nothing_are_not_told():
    given = {"fileserver_backend": ["roots"], "ext_pillar": [], "schedule": {}, "beacons": None, "master": "salt"}
    assert list(without_effect(load_settings([], given, {}))) == []


def test_library_use_resolves_relative_roots(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = Settings(file_roots={"base": ["srv/salt"], "dev": "other"})
    assert settings.file_roots == {"base": [f"{tmp_path}/srv/salt"], "dev": [f"{tmp_path}/other"]}
    assert settings.concurrency >= 4


ODD = {
    "None": None,
    "number": 0,
    "empty text": "",
    "half of a character": "\ud800",
    "empty list": [],
    "path": Path("x"),
}
ODD |= {
    "list in itself": in_itself(list),
    "mapping in itself": in_itself(dict),
    "deep": json.loads("[" * 200 + "]" * 200),
}


@pytest.mark.parametrize("option", FIELDS)
@pytest.mark.parametrize("kind", ODD)
def test_a_value_of_any_kind_is_taken_or_refused_by_name(option, kind):
    told = f"{option}: "
    try:
        Settings(**{option: ODD[kind]}).opts()
    except ConfigError as error:
        told = str(error)
    assert told.startswith(f"{option}: ")


def test_missing_root_is_named_with_a_hint(tmp_path):
    settings = Settings(file_roots={"base": [str(tmp_path / "gone")]})
    with pytest.raises(ConfigError, match=r"file_roots: environment 'base': .*gone: no such directory. Create it"):
        settings.validate()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="file: is not a directory"):
        Settings(pillar_roots={"base": [str(tmp_path / "file")]}).validate()


def test_one_missing_root_among_others_is_a_warning(tmp_path, caplog):
    Settings(file_roots={"base": [str(tmp_path), "/no/such/root"]}).validate()
    assert "/no/such/root" in caplog.text


def test_roots_that_nobody_configured_may_be_missing(tmp_path):
    Settings().validate()
    config = write(tmp_path / "minion", "pillar_roots: {base: [/no/such/pillar]}\n")
    load_settings([config], environ={}).validate()


def test_validate_checks_types_of_a_directly_made_object():
    settings = Settings()
    settings.test = "maybe"
    with pytest.raises(ConfigError, match="test: expected true or false, got text"):
        settings.validate()


def test_unknown_options_are_kept_and_visible(tmp_path):
    config = write(tmp_path / "config.yaml", "id: confminion\nbundle_log: /tmp/log\ncustom_option: {deep: 7}\n")
    settings = load_settings([config], environ={})
    assert settings.extra == {"bundle_log": "/tmp/log", "custom_option": {"deep": 7}}
    opts = settings.opts()
    assert opts["bundle_log"] == "/tmp/log"
    assert opts["custom_option"] == {"deep": 7}
    assert opts["conf_file"] == str(config)
    assert settings.origins["id"] == f"file {config}"


def test_opts_is_a_fresh_copy():
    settings = Settings(extra={"mine": {"a": [1]}}, nodegroups={"g": ["a"]})
    opts = settings.opts()
    opts["mine"]["a"].append(2)
    opts["nodegroups"]["g"].append("b")
    assert settings.opts()["mine"] == {"a": [1]}
    assert settings.nodegroups == {"g": ["a"]}


@pytest.mark.parametrize("value", ["true", "false", "[pkg, bundle]", "bundle"])
def test_state_aggregate_has_three_forms(tmp_path, value):
    config = write(tmp_path / "config.yaml", f"state_aggregate: {value}\n")
    aggregate = load_settings([config], environ={}).state_aggregate
    assert aggregate == {"true": True, "false": False, "bundle": "bundle"}.get(value, ["pkg", "bundle"])


@pytest.mark.parametrize(("text", "message"), TABLES["wrong types name file and option"])
def test_wrong_types_name_file_and_option(tmp_path, text, message):
    config = write(tmp_path / "config.yaml", text)
    with pytest.raises(ConfigError) as caught:
        load_settings([config], environ={})
    assert str(caught.value).startswith(f"{config}: {message.format(file=config)}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: " + "[" * 100_000, f":1: not valid YAML: {said('too-deep')}"),
        ("a:\n  " + "- " * 5000, f":2: not valid YAML: {said('too-deep')}"),
        ("id: a\nfile_roots: {base\n", ":3: not valid YAML: "),
        ("a: 2024-13-45", ": not valid YAML: month must be in 1..12"),
        ("a: " + "9" * 5000, ": not valid YAML: "),
        ("a: 0x" + "f" * 5000, f": not valid YAML: {said('long-number')}"),
        ("a: &a [*a]", f": not valid YAML: {said('in-itself')}"),
        ("a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 20)),
         f":7: not valid YAML: {said('repeated')}"),
        ("a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 20)),
         f":7: not valid YAML: {said('repeated')}"),
    ],
    ids=["flow", "dashes", "open", "date", "digits", "hexadecimal", "cycle", "aliases", "merges"],
)  # fmt: skip
def test_too_much_for_a_configuration(tmp_path, text, message):
    config = write(tmp_path / "config.yaml", text)
    with pytest.raises(ConfigError) as caught:
        load_settings([config], environ={})
    assert str(caught.value).startswith(f"{config}{message}")


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(ConfigError, match="cannot read the configuration: No such file"):
        load_settings([tmp_path / "gone.yaml"], environ={})
    with pytest.raises(ConfigError, match=r"neither config.yaml nor minion"):
        load_settings([tmp_path], environ={})
    with pytest.raises(ConfigError, match=said("options")):
        load_settings([write(tmp_path / "list.yaml", "[1]")], environ={})
    (tmp_path / "latin.yaml").write_bytes(b"id: \xe9")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        load_settings([tmp_path / "latin.yaml"], environ={})


def test_a_salt_configuration_directory(tmp_path):
    write(tmp_path / "minion", "id: a\nfile_roots: {base: salt}\ngrains: {role: web, deep: {x: 1}}\nfailhard:\n")
    write(tmp_path / "minion.d/10.conf", "id: b\ngrains: {deep: {y: 2}}\n")
    write(tmp_path / "minion.d/20.conf", "include: more/*.conf\n")
    write(tmp_path / "minion.d/more/x.conf", "test: true\ninclude: ../20.conf\n")
    for given in (tmp_path, tmp_path / "minion"):
        settings = load_settings([given], environ={})
        assert (settings.id, settings.test, settings.failhard) == ("b", True, False)
        assert settings.grains == {"role": "web", "deep": {"x": 1, "y": 2}}
        assert settings.file_roots == {"base": [str(tmp_path / "salt")]}
        assert settings.conf_file == str(tmp_path / "minion")


def test_precedence_file_environment_flag(tmp_path):
    config = write(tmp_path / "config.yaml", "id: file\nsaltenv: file\nrenderer: yaml\n")
    environ = {"ASYNCSTATE_SALTENV": "env", "ASYNCSTATE_RENDERER": "env", "HOME": "/", "ASYNCSTATE_CONFIG": "/x"}
    settings = load_settings([config], {"renderer": "json", "id": None}, environ)
    assert (settings.id, settings.saltenv, settings.renderer) == ("file", "env", "json")
    assert settings.origins["saltenv"] == "environment ASYNCSTATE_SALTENV"
    assert settings.origins["renderer"] == "flag --renderer"


def test_environment_values_are_yaml():
    texts = {"FILE_ROOTS": "{base: [/tmp]}", "TEST": "true", "ID": "0123", "MY_OPTION": "[1, 2]"}
    settings = load_settings(environ={f"ASYNCSTATE_{name}": text for name, text in texts.items()})
    assert (settings.file_roots, settings.test, settings.id) == ({"base": ["/tmp"]}, True, "0123")
    assert settings.extra == {"my_option": [1, 2]}


@pytest.mark.parametrize(("overrides", "environ", "message"), TABLES["misspellings are refused with the nearest name"])
def test_misspellings_are_refused_with_the_nearest_name(overrides, environ, message):
    with pytest.raises(ConfigError) as caught:
        load_settings((), overrides, environ)
    assert str(caught.value) == message


def test_a_near_miss_in_a_file_is_kept_with_a_warning(tmp_path, caplog):
    config = write(tmp_path / "config.yaml", "pillar_root: {base: [/x]}\n")
    assert load_settings([config], environ={}).extra == {"pillar_root": {"base": ["/x"]}}
    assert "Did you mean 'pillar_roots'?" in caplog.text


def test_the_right_name_of_an_option_is_compared_with_no_other(tmp_path, caplog, monkeypatch):
    right = dict.fromkeys((*FIELDS, *FIXED_OPTIONS, *INSTEAD))
    config = write(tmp_path / "config.yaml", yaml.safe_dump(right))
    for looked_up in ("asyncstate.extend.settings", "asyncstate.config.near_miss"):
        monkeypatch.setattr(looked_up, None)
    load_settings([config], environ={})
    assert "Did you mean" not in caplog.text


def test_root_dir_goes_before_state_and_cache_directories(tmp_path):
    settings = Settings(root_dir=str(tmp_path), cachedir="/var/cache/x", state_dir=f"{tmp_path}/already")
    assert settings.cachedir == f"{tmp_path}/var/cache/x"
    assert settings.state_dir == f"{tmp_path}/already"


def test_roots_with_globs(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name / "salt").mkdir(parents=True)
    settings = Settings(file_roots={"base": [f"{tmp_path}/*/salt", f"{tmp_path}/no*"]})
    assert settings.file_roots["base"] == [f"{tmp_path}/a/salt", f"{tmp_path}/b/salt", f"{tmp_path}/no*"]


def test_minion_id_file_beside_the_configuration(tmp_path):
    config = write(tmp_path / "minion", "")
    assert load_settings([config], environ={}).id == os.uname().nodename
    write(tmp_path / "minion_id", "stored.example\n")
    assert load_settings([config], environ={}).id == "stored.example"


def test_pillarenv_from_saltenv():
    assert Settings(saltenv="dev", pillarenv_from_saltenv=True).pillarenv == "dev"
    assert Settings(saltenv="dev").pillarenv is None


def test_default_files_are_those_that_exist(tmp_path):
    assert default_files({"XDG_CONFIG_HOME": str(tmp_path)}) == default_files({"HOME": "/nowhere"})
    mine = write(tmp_path / "asyncstate/config.yaml", "")
    assert default_files({"XDG_CONFIG_HOME": str(tmp_path)})[-1] == str(mine)


@pytest.fixture
def nobody(monkeypatch):
    """A user without an account: what the environment names is all there is."""
    monkeypatch.setattr("asyncstate.config.settings._user_directory", _user_directory)
    for name in ("geteuid", "getuid"):
        monkeypatch.setattr(f"os.{name}", lambda: 54321)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch.setenv


@pytest.mark.parametrize("home", ["home", "~", "./home", None])
@pytest.mark.parametrize("xdg", ["", "cache", None])
def test_a_user_without_a_home_has_no_files_in_the_working_directory(home, xdg, nobody, tmp_path):
    for name, value in {"HOME": home, "XDG_CACHE_HOME": xdg, "XDG_STATE_HOME": xdg, "XDG_CONFIG_HOME": xdg}.items():
        if value is not None:
            nobody(name, value)
    assert all(map(os.path.isabs, default_candidates()))
    with pytest.raises(ConfigError, match=r"54321 has no home: .* Set HOME, or "):
        Settings()
    assert Settings(cachedir=str(tmp_path / "cache")).state_dir == str(tmp_path / "cache/state")


def test_a_relative_folder_of_the_environment_is_ignored(nobody):
    nobody("HOME", "/home/x")
    nobody("XDG_CACHE_HOME", "cache")
    nobody("XDG_CONFIG_HOME", "config")
    assert Settings().cachedir == "/home/x/.cache/asyncstate"
    assert default_candidates()[-1] == "/home/x/.config/asyncstate/config.yaml"


def test_a_program_has_a_journal_of_its_own(tmp_path, monkeypatch):
    monkeypatch.delenv("ASYNCSTATE_STATE_DIR", raising=False)
    machine = load_settings(environ={}).state_dir
    assert load_settings(overrides={"cachedir": str(tmp_path)}, environ={}).state_dir == machine
    assert Settings(cachedir=str(tmp_path)).state_dir == str(tmp_path / "state")
    assert Settings().state_dir == os.path.join(machine, "programs")
    assert Settings(cachedir=str(tmp_path), state_dir=machine).state_dir == machine
