"""The debconf states on the real execution module, with small programs of our own in place of debconf's."""

from __future__ import annotations

import re

import pytest
from asyncstate.modules import debconf as module
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

KNOWN = "# mail name\npostfix\tpostfix/mailname\tstring\told\npostfix\tpostfix/protocols\tselect\t\ndash\tdash/sh\tboolean\tfalse\n"


class FakeDebconf:
    """Answers as debconf-get-selections shows them; everything about ``broken`` is refused."""

    def __init__(self):
        self.text = KNOWN

    def run_all(self, command, stdin="", stdin_raw_newlines=False, **_):
        assert (command, stdin_raw_newlines) == (["debconf-set-selections"], True)
        text = stdin
        if "broken" in text:
            return {"retcode": 1, "stdout": "", "stderr": "error: Cannot find a question for broken"}
        for line in text.splitlines():
            package, question, kind, value = (*line.split(" ", 3), "")[:4]
            self.text = re.sub(rf"^{package}\t{question}\t.*\n", "", self.text, flags=re.MULTILINE)
            self.text += f"{package}\t{question}\t{kind}\t{value}\n"
        return {"retcode": 0, "stdout": "", "stderr": ""}


@pytest.fixture
def debconf():
    return FakeDebconf()


@pytest.fixture
def plugins(tmp_path, debconf):
    harness = PluginHarness(tmp_path)
    harness.salt["cmd.run_all"] = debconf.run_all
    harness.salt["cmd.run_stdout"] = lambda command, **_: debconf.text
    harness.load("modules", "debconf")
    harness.load("states", "debconfmod")
    return harness


def answer(kind, value):
    return {"type": kind, "value": value}


@pytest.mark.parametrize(
    ("data", "changes", "comment"),
    [
        ({"postfix/mailname": answer("string", "a b")}, {"postfix/mailname": "a b"}, ""),
        ({"postfix/new": answer("boolean", True), "postfix/mailname": answer("string", "old")}, {"postfix/new": "true"},
         "Unchanged answers: postfix/mailname "),
        ({"postfix/number": answer("string", 5)}, {"postfix/number": "5"}, ""),
    ],
)  # fmt: skip
def test_questions_are_answered(plugins, debconf, data, changes, comment):
    dry, real, again = plugins.three_runs("debconf.set", name="postfix", data=data)
    assert (dry["result"], dry["comment"]) == (None, comment)
    assert dry["changes"] == {key: f"New value: {value}" for key, value in changes.items()}
    assert (real["result"], real["changes"], real["comment"]) == (True, changes, comment)
    assert (again["changes"], again["comment"]) == ({}, "All specified answers are already set")


@pytest.mark.feature("F195")
def test_passwords_are_not_shown(plugins, debconf):
    data = {"postfix/secret": answer("password", "hunter2")}
    dry, real, _ = plugins.three_runs("debconf.set", name="postfix", data=data)
    assert dry["changes"] == {"postfix/secret": "New value: (password hidden)"}
    assert real["changes"] == {"postfix/secret": "(password hidden)"}
    assert "hunter2" in debconf.text


def test_a_failure_half_way(plugins):
    data = {"postfix/a": answer("string", "x"), "broken": answer("string", "y"), "postfix/b": answer("string", "z\nw")}
    row = plugins.state("debconf.set", name="postfix", data=data)
    assert row["result"] is False
    assert row["changes"] == {"postfix/a": "x", "broken": "Failed to set!", "postfix/b": "Failed to set!"}
    assert row["comment"] == (
        "Some settings failed to be applied.\n"
        "debconf-set-selections failed: error: Cannot find a question for broken\npostfix/b: an answer is one line"
    )


@pytest.mark.parametrize("bad", ["x", {"type": "string"}, {"value": 1}])
def test_bad_answers(plugins, bad):
    row = plugins.state("debconf.set", name="postfix", data={"q": bad})
    assert (row["result"], row["comment"]) == (False, "The answer to q needs a type and a value")


def test_a_file_of_answers(plugins, debconf):
    plugins.salt_file("answers", "new new/q string yes\n")
    dry, real, _ = plugins.three_runs("debconf.set_file", settles=False, name="x", source="salt://answers")
    assert (dry["result"], dry["comment"]) == (None, "Debconf selections would have been set.")
    assert (real["result"], real["comment"], real["changes"]) == (True, "Debconf selections were set.", {})
    assert "new\tnew/q\tstring\tyes\n" in debconf.text
    row = plugins.state("debconf.set_file", name="x", source="salt://none")
    assert (row["result"], row["comment"]) == (False, "Unable to set debconf selections from file.")


def test_a_template_of_answers(plugins, tmp_path):
    rendered = tmp_path / "rendered"
    rendered.write_text("t t/q string 5\n")
    asked = []
    plugins.salt["cp.get_template"] = lambda **options: asked.append(options) or str(rendered)
    row = plugins.state("debconf.set_file", name="x", source="salt://t", template="jinja", context={"a": 1})
    assert row["result"] is True
    assert (asked[0]["template"], asked[0]["context"], asked[0]["defaults"]) == ("jinja", {"a": 1}, {})
    plugins.salt["cp.get_template"] = lambda **_: False
    assert plugins.state("debconf.set_file", name="x", source="salt://t", template="jinja")["result"] is False
    for key in ("context", "defaults"):
        row = plugins.state("debconf.set_file", name="x", source="salt://t", **{key: "no"})
        assert (row["result"], row["comment"]) == (False, f"{key.capitalize()} must be formed as a dict")


def test_execution_functions(plugins):
    assert plugins.call("debconf.show", "dash") == [["dash/sh", "boolean", "false"]]
    assert plugins.call("debconf.show", "nothing") is None
    assert plugins.call("debconf.get_selections", fetchempty=False)["postfix"] == [
        ["postfix/mailname", "string", "old"]
    ]
    assert plugins.call("debconf.set", "dash", "dash/x", "string", "a", "b") is True
    assert ["dash/x", "string", "a b"] in plugins.call("debconf.show", "dash")
    with pytest.raises(CommandExecutionError, match="failed"):
        plugins.call("debconf.set", "x", "broken", "string", "a")


def test_where_it_loads(plugins, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with plugins.calling():
        assert "debconf-utils" in module.__virtual__()[1]
        (tmp_path / "debconf-get-selections").write_text("")
        (tmp_path / "debconf-get-selections").chmod(0o755)
        assert module.__virtual__() is True
        plugins.grains["os_family"] = "RedHat"
        assert module.__virtual__()[0] is False
