"""Nothing a tree names becomes a line or an option of its own."""

from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError, InvocationError

ENDS = ["\n", "\r", "\v", "\x85", "\u2028", "\0"]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    ("module", "function", "arguments"),
    [
        ("aliases", "set_target", ("ada", "bob{}eve: |/bin/evil")),
        ("hosts", "set_host", ("10.0.0.1", "a{}10.0.0.2 bank")),
    ],
)
def test_a_value_is_one_line(tmp_path, module, function, arguments, end):
    harness = PluginHarness(tmp_path)
    path = tmp_path / "file"
    path.write_text("")
    harness.salt["config.option"] = lambda _: str(path)
    harness.load("modules", module)
    with pytest.raises((CommandExecutionError, InvocationError), match="is one line"):
        harness.call(f"{module}.{function}", *(each.format(end) for each in arguments))
    assert path.read_text() == ""


@pytest.mark.parametrize(
    ("module", "function", "arguments"),
    [
        ("git", "fetch", ("/", "--upload-pack=/bin/evil")),
        ("git", "checkout", ("/", "--orphan=evil")),
        ("mount", "swapon", ("-a",)),
        ("mount", "mount", ("/mnt", "-T/tmp/fstab")),
    ],
)
def test_a_name_is_no_option(tmp_path, module, function, arguments):
    harness = PluginHarness(tmp_path)
    ran = []
    harness.salt["cmd.run_all"] = lambda *words, **_: ran.append(words)
    harness.load("modules", module)
    try:
        told = harness.call(f"{module}.{function}", *arguments)
    except (CommandExecutionError, InvocationError) as error:
        told = str(error)
    assert "for an option" in told
    assert ran == []
