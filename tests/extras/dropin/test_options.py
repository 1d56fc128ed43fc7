"""Salt's options: shortened, between the arguments, refused with a message."""

from __future__ import annotations

import pytest

from asyncstate.extras.dropin.options import OPTIONS, USAGE_ERROR, WrongUsage, parse


@pytest.mark.parametrize(
    "words",
    [
        ["--local", "--retcode-passthrough", "state.apply", "web"],
        ["--local", "state.apply", "--retcode-passthrough", "web"],
        ["state.apply", "web", "--retcode", "--loc"],
    ],
)
def test_options_stand_anywhere_and_may_be_shortened(words):
    request = parse(words)
    assert (request.function, request.arguments) == ("state.apply", ["web"])
    assert request.local
    assert request.retcode_passthrough


def test_a_value_follows_a_space_or_an_equals_sign():
    assert parse(["-c", "/a", "f.x"]).config_dir == parse(["--config-dir=/a", "f.x"]).config_dir == "/a"
    assert parse(["--out", "json", "f.x"]).out == parse(["--output=json", "f.x"]).out == "json"
    assert parse(["--out-indent=-1", "f.x"]).out_indent == -1


def test_words_after_two_dashes_are_arguments():
    assert parse(["f.x", "--", "--out", "-5"]).arguments == ["--out", "-5"]


def test_folders_may_be_given_again_and_modules_with_commas():
    request = parse(["--file-root=/a", "--file-root", "/b", "-m", "/c,/d", "-m", "/e", "f.x"])
    assert request.file_roots == ["/a", "/b"]
    assert request.module_dirs == ["/c", "/d", "/e"]
    assert parse(["f.x"]).module_dirs == []


@pytest.mark.parametrize(("text", "truth"), [("True", True), ("false", False), ("False", False)])
def test_state_verbose_is_a_truth_value(text, truth):
    assert parse([f"--state-verbose={text}", "f.x"]).state_verbose is truth


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Requires function"),
        (["--nothing", "f.x"], "no such option: --nothing"),
        (["--out", "f.x", "--config-dir"], "--config-dir option requires 1 argument"),
        (["-l", "loud", "f.x"], "invalid choice: 'loud'"),
        (["--out-indent=wide", "f.x"], "invalid integer value: 'wide'"),
        (["-g", "f.x"], "does not accept any arguments"),
        (["-d", "f.x", "f.y"], "documentation for one method"),
        (["--return", "mysql", "f.x"], "no master"),
        (["--proxyid=switch", "f.x"], "this machine only"),
        (["-r", "f.x"], "this machine only"),
        (["--priv=nobody-of-this-name", "f.x"], "sudo -u nobody-of-this-name"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(words, said):
    with pytest.raises(WrongUsage, match=said) as refused:
        parse(words)
    assert refused.value.exit_code == USAGE_ERROR
    assert refused.value.lines[0] == "Usage: salt-call [options] <function> [arguments]"


def test_the_second_word_of_the_version_is_a_version():
    assert parse(["--version"]).text.split()[1].replace(".", "").isdecimal()
    assert "Salt:" in parse(["--versions-report"]).text


def test_no_option_is_declared_twice():
    names = [name for group in OPTIONS.values() for each, _ in group for name in each.split()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["state.app"], ["state.apply"]),
        (["state.show_t"], ["state.show_top"]),
        (["test.pin"], ["test.ping"]),
        (["--retc"], ["--retcode-passthrough"]),
        (["--local", "--out-f"], ["--out-file", "--out-file-append"]),
    ],
)
def test_a_shell_completes_options_and_functions(root, words, offered):
    from click.shell_completion import ShellComplete

    from asyncstate.cli.root import root as program

    complete = ShellComplete(program, {}, "asyncstate", "_ASYNCSTATE_COMPLETE")
    items = complete.get_completions(["salt-call", *words[:-1]], words[-1])
    assert [item.value for item in items] == offered


def test_the_configuration_that_the_environment_names_counts(root, salt_call, monkeypatch):
    monkeypatch.setenv("ASYNCSTATE_CONFIG", f"{root}/etc/minion:{root}/other.yaml")
    (root / "other.yaml").write_text("custom_option: of the other file\n")
    assert "of the other file" in salt_call("config.get", "custom_option", config=False).out
    assert "from the minion file" in salt_call("config.get", "custom_option").out
