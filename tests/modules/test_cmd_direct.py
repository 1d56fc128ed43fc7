"""Lines that bash would only hand on give the same without it, in every environment."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from asyncstate.modules.cmd import _direct, _invocation
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plugin_harness import PluginHarness
from tables import beside

BASH = shutil.which("bash") or ""
pytestmark = pytest.mark.skipif(not BASH, reason="there is no bash on this machine")

SHOWS = """#!/usr/bin/awk -f
BEGIN {
    for (name in ENVIRON) print name "=" ENVIRON[name]
    for (place = 1; place < ARGC; place++) print "<" ARGV[place] ">"
    exit 3
}
"""
"""A program that is no shell, because a shell gives variables values of its own."""
PROGRAMS = ["shows", "killed", "no-shebang", "bad-shebang", "not-executable", "a-folder", "gone"]


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bin")
    texts = {
        "shows": SHOWS,
        "killed": "#!/bin/sh\nkill -9 $$",
        "no-shebang": "echo without",
        "bad-shebang": "#!/gone/sh\n",
        "not-executable": SHOWS,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o644 if name == "not-executable" else 0o755)
    (folder / "a-folder").mkdir()
    (folder / "folders" / "shows").mkdir(parents=True)
    (folder / "other").mkdir()
    (folder / "other" / "shows").write_text(SHOWS.replace("BEGIN {", 'BEGIN { print "another"'))
    (folder / "other" / "shows").chmod(0o755)
    (folder / "link").symlink_to("/tmp")
    return folder


@pytest.fixture(scope="module")
def variables_of_bash():
    """Return the variables that bash knows or makes when it starts."""
    lists = "compgen -v; HISTSIZE=1; shopt -s extdebug; compgen -A variable; compgen -e"
    names = subprocess.run([BASH, "-c", lists], capture_output=True, text=True, check=True).stdout.split()
    more = (
        "BASH_ENV ENV POSIXLY_CORRECT GLOBIGNORE EXECIGNORE FIGNORE TIMEFORMAT TMOUT FUNCNEST CHILD_MAX HISTFILE LINES "
        "COLUMNS PS0 PS1 PS2 PS3 MAIL CDPATH IGNOREEOF OLDPWD"
    )
    return sorted({*names, *more.split()} - {"PATH"})


def assert_no_difference(plugins, monkeypatch, line, env, cwd):
    """See that a line gives the same with and without the shortcut; return whether it was taken."""
    taken = []

    def noted(*arguments):
        taken.append(_direct.direct(*arguments))
        return taken[-1]

    results = []
    for way in (noted, lambda *_: None):
        monkeypatch.setattr(_invocation, "direct", way)
        found = plugins.call(
            "cmd.run_all", line, python_shell=True, shell=BASH, env=env, clean_env=True, cwd=cwd, ignore_retcode=True
        )
        del found["pid"]
        found["stdout"] = sorted(found["stdout"].splitlines())
        results.append(found)
        if taken == [None]:
            return False  # the other way is the same one
    assert results[0] == results[1], (line, env, cwd)
    return True


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "cmd")
    return harness


WORDS = st.sampled_from("a -x --long=1 a=b x:y 50% @v 1,2 + / .. ./a é * ~ $A 'q' #c a;b >/dev/null".split())
STARTS = st.sampled_from([*PROGRAMS, *"env true false echo printf pwd test time if A=1 %1 [ . :".split()])
VALUES = st.sampled_from(
    ["", "1", "3", "998", "999", "01", "-1", "x", "/tmp", "/gone", "a b", "() { echo; }", "C", "xx_YY.UTF-8"]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_it_gives_what_the_shell_gives(plugins, monkeypatch, bin_folder, variables_of_bash, data):
    names = st.sampled_from(
        [*variables_of_bash, "A", "A-B", "1A", "BASH_FUNC_shows%%", "BASH_FUNC_env%%", "SHLVL", "PWD", "_"]
    )
    env = data.draw(st.dictionaries(names, VALUES, max_size=3))
    path = data.draw(st.sampled_from(["{}:/usr/bin:/bin", "/gone:{}:/bin", "{}::/bin", "relative:{}:/usr/bin"]))
    env["PATH"] = path.format(bin_folder)
    cwd = data.draw(st.sampled_from(["/", str(bin_folder), str(bin_folder / "link")]))
    if data.draw(st.booleans()):
        env["PWD"] = data.draw(st.sampled_from([cwd, "/gone", str(bin_folder / "link"), f"{cwd}/."]))
    first = data.draw(STARTS | st.sampled_from(PROGRAMS).map(lambda name: f"{bin_folder}/{name}"))
    line = " ".join([first, *data.draw(st.lists(WORDS, max_size=3))])
    line = data.draw(st.sampled_from(["{}", " {}", "{}\n", "{}\t"])).format(line)
    assert_no_difference(plugins, monkeypatch, line, env, cwd)


def test_no_variable_that_bash_knows_makes_a_difference(plugins, monkeypatch, bin_folder, variables_of_bash):
    some_taken = False
    for name in variables_of_bash:
        for value in ("", "1", "/gone"):
            env = {"PATH": f"{bin_folder}:/usr/bin:/bin", name: value}
            taken = assert_no_difference(plugins, monkeypatch, "shows a", env, "/")
            some_taken = some_taken or taken
    assert some_taken


@pytest.mark.parametrize(
    "line", ["env", "true", "false", "shows a --b=c 50% x:y", " shows\n", "{}/shows 1,2", "killed"]
)
def test_an_ordinary_line_needs_no_shell(plugins, monkeypatch, bin_folder, line):
    env = {"PATH": f"{bin_folder}:/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "SHLVL": "2", "OLDPWD": "/gone"}
    assert assert_no_difference(plugins, monkeypatch, line.format(bin_folder), env, "/")


@pytest.mark.parametrize(("env", "cwd"), beside(__file__))
def test_what_decides_in_the_shell_decides_without_it(plugins, monkeypatch, bin_folder, env, cwd):
    env = {"PATH": "{0}:/usr/bin:/bin", **env}
    env = {name: value.format(bin_folder) for name, value in env.items()}
    assert_no_difference(plugins, monkeypatch, "shows a", env, cwd.format(bin_folder))


@pytest.mark.parametrize("name", [*PROGRAMS, "true", "false"])
def test_no_other_program_of_the_path_runs_in_place_of_the_first(plugins, monkeypatch, bin_folder, tmp_path, name):
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    for other in ("true", "false"):
        (tmp_path / "first" / other).write_text(SHOWS)
        (tmp_path / "first" / other).chmod(0o755)
    (tmp_path / "second" / name).write_text(SHOWS.replace("BEGIN {", 'BEGIN { print "the second"'))
    (tmp_path / "second" / name).chmod(0o755)
    path = f"{tmp_path}/first:{bin_folder}:{tmp_path}/second:/usr/bin:/bin"
    assert_no_difference(plugins, monkeypatch, name, {"PATH": path}, "/")


def test_a_program_that_is_being_written_has_an_exit_status(plugins, monkeypatch, tmp_path):
    program = tmp_path / "busy"
    shutil.copy("/bin/true", program)
    with program.open("ab"):
        assert_no_difference(plugins, monkeypatch, "busy", {"PATH": f"{tmp_path}:/usr/bin"}, "/")


def test_the_settings_that_bash_reads_in_a_session_of_ssh_count(plugins, monkeypatch, bin_folder, tmp_path):
    (tmp_path / ".bashrc").write_text("export OF_BASHRC=1")
    env = {"PATH": f"{bin_folder}:/usr/bin:/bin", "HOME": str(tmp_path)}
    for name in ("SSH_CLIENT", "SSH2_CLIENT"):
        for level in ({}, {"SHLVL": "1"}, {"SHLVL": "2"}):
            assert_no_difference(plugins, monkeypatch, "shows", {**env, name: "1 2 3", **level}, "/")


def test_every_keyword_and_builtin_of_bash_is_left_to_it():
    listed = subprocess.run([BASH, "-c", "compgen -b; compgen -k"], capture_output=True, text=True, check=True)
    names = listed.stdout.split()
    assert len(names) > 50
    env = {"PATH": "/usr/bin:/bin"}
    assert [name for name in names if _direct.direct(f"{name} a", BASH, "/", env)] == []


def test_another_shell_reads_every_line(tmp_path):
    for name, target in {"bash": "/bin/sh", "sh": BASH, "rbash": BASH, "zsh": BASH}.items():
        (tmp_path / name).symlink_to(target)
    env = {"PATH": "/usr/bin:/bin"}
    assert _direct.direct("env", BASH, "/", env)
    shells = [str(tmp_path / name) for name in ("sh", "rbash", "zsh")]
    shells += [str(tmp_path / "bash")] if os.path.realpath("/bin/sh") != os.path.realpath(BASH) else []
    assert [shell for shell in shells if _direct.direct("env", shell, "/", env)] == []


def test_a_program_of_an_account_is_found_by_its_shell(plugins, monkeypatch):
    seen = []
    monkeypatch.setattr(_invocation, "direct", lambda *arguments: seen.append(arguments))
    plugins.call("cmd.run", "true", python_shell=True, shell=BASH)
    assert len(seen) == 1
    if os.geteuid() == 0:
        plugins.call("cmd.run", "true", python_shell=True, shell=BASH, runas="root")
    plugins.call("cmd.run", "true", python_shell=False)
    plugins.call("cmd.run", ["true"], python_shell=True, shell=BASH)
    assert len(seen) == 1
