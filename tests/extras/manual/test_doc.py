"""``asyncstate doc``: what trees can use, and why something cannot be used here."""

import json
import os

import pytest

from asyncstate.cli import main


@pytest.fixture
def doc(tmp_path, monkeypatch, capsys):
    """Run doc on a tree; return exit code, standard output and error."""
    monkeypatch.setenv("ASYNCSTATE_CACHEDIR", str(tmp_path / "cache"))
    (tmp_path / "salt/_modules").mkdir(parents=True)

    def run(*words):
        code = main(["doc", *words, "--file-root", str(tmp_path / "salt")])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_what_only_the_engine_calls_is_not_listed(doc):
    code, out, _ = doc("file")
    assert code == 0
    assert "file.managed" in out
    assert "mod_footprint" not in out


def test_why_a_module_cannot_be_used_is_said_where_it_is_asked_for(doc, tmp_path):
    (tmp_path / "salt/_modules/moon.py").write_text(
        "def __virtual__():\n    return False, 'needs a clear night'\n\ndef rise():\n    return True\n"
    )
    for name in ("moon", "moon.rise"):
        code, out, err = doc(name)
        assert (code, out) == (1, "")
        assert f"{name} is not available here: needs a clear night" in err


def test_a_misspelt_function_of_a_module_that_loads_gets_the_nearest_name(doc):
    assert "Did you mean file.managed?" in doc("file.manged")[2]


def test_modules_whose_library_is_missing_are_listed_with_its_name(run_cli, tmp_path):
    lacking = {"docker": {"docker", "docker_container", "docker_image", "docker_network"}, "cryptography": {"x509"}}
    before = tmp_path / "without"
    for library in lacking:
        (before / library).mkdir(parents=True)
        (before / library / "__init__.py").write_text(f"raise ModuleNotFoundError('gone', name={library!r})\n")
    (before / "sitecustomize.py").write_text(
        "import importlib.util as util\nfound = util.find_spec\n"
        f"util.find_spec = lambda name, *more: None if name in {[*lacking]} else found(name, *more)\n"
    )
    run_cli.environ["PYTHONPATH"] = str(before)
    (tmp_path / "salt").mkdir()
    out = run_cli("doc", "--file-root", tmp_path / "salt").stdout
    told = {
        wanted: {line.split()[0] for line in out.splitlines() if line.endswith(f"  pip install '{wanted}'")}
        for wanted in ("docker>=7.1", "cryptography>=43")
    }
    assert [*told.values()] == [*lacking.values()]
    assert "States whose library is not installed" in out
    missing = run_cli("doc", "x509", "--file-root", tmp_path / "salt")
    assert missing.returncode == 1
    assert "pip install 'cryptography>=43'" in missing.stderr


def test_a_bundled_state_has_every_argument_described(doc):
    out = doc("file.managed", "--kind", "states")[1]
    assert "    name: str, default the ID\n        the absolute path\n" in out
    answer = json.loads(doc("file.mknod", "--kind", "states", "--out", "json")[1])
    arguments = {each["name"]: each for each in answer["states"]["file.mknod"]["arguments"]}
    assert arguments["major"]["meaning"] == "the major number of the device"
    assert arguments["ntype"]["default"] is None


def test_the_arguments_of_a_state_of_the_tree_get_no_meaning_of_others(doc, tmp_path):
    (tmp_path / "salt/_states").mkdir()
    (tmp_path / "salt/_states/file.py").write_text("def managed(name, mode=None):\n    return {}\n")
    assert "Arguments" not in doc("file.managed", "--kind", "states")[1]


def test_words_of_the_language_are_taught(doc):
    for word in ("require", "require_in", "watch", "onlyif", "order"):
        code, out, err = doc(word)
        assert (code, err) == (0, "")
        assert "\n    " in out
    assert "requisites  require  watch" in doc()[1]
    assert '"language"' in doc("retry", "--out", "json")[1]
    assert "Did you mean onlyif?" in doc("onlif")[2]


def test_a_word_that_is_a_module_too_has_both(doc):
    code, out, _ = doc("pillar")
    assert code == 0
    assert out.startswith("pillar: your own data")
    assert "  pillar.get " in out
    assert not doc("pillar", "--kind", "modules")[1].startswith("pillar: ")
    assert "order is a word of the language: asyncstate doc order" in doc("order", "--kind", "modules")[2]


def test_where_no_extra_is_missing_none_is_named(doc):
    assert "extra" not in doc()[1]


def test_pillar_of_the_command_line_is_merged_over_that_of_the_configuration(run_here, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("pillar: {app: {port: 80, host: a}, other: 1}\n")
    os.chmod(config, 0o600)
    words = ("pillar.items", "--config", config, "--pillar-root", tmp_path, "--pillar", "{app: {port: 8080}}")
    done = run_here("call", *words, "--out", "yaml")
    assert done.stdout == "app:\n  port: 8080\n  host: a\nother: 1\n", done.stderr
