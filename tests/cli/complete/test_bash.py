"""A real bash, in which somebody types a line and presses TAB."""

from __future__ import annotations

import os
import pty
import re
import shutil
import sys

import pytest

from asyncstate.cli import main

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

SLS = """\
include:
  - .conf
my id here:
  test.nop
/etc/motd:
  test.nop
"""


@pytest.fixture
def bash(tmp_path, capfdbinary):
    """Type lines into an interactive bash, each followed by TAB; return the words that each has become."""
    for path, text in {"web/init.sls": SLS, "web/conf.sls": "conf-id: {test.nop: []}\n", "db.sls": "other:\n"}.items():
        (tmp_path / "salt" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "salt" / path).write_text(text)
    (tmp_path / "salt" / "web" / "files").mkdir()
    (tmp_path / "bin").mkdir()
    assert main(["salt-call", "--install", str(tmp_path / "bin"), "--force"]) == 0
    capfdbinary.readouterr()
    assert main(["completion", "bash"]) == main(["completion", "bash", "salt-call"]) == 0
    (tmp_path / "rc").write_bytes(capfdbinary.readouterr().out + b"PS1='$ '; bind 'set enable-bracketed-paste off'\n")
    program = tmp_path / "bin" / "asyncstate"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m asyncstate "$@"\n')
    program.chmod(0o755)
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("ASYNCSTATE_", "COV"))},
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TERM": "dumb",
        "ASYNCSTATE_CACHEDIR": str(tmp_path / "cache"),
        "ASYNCSTATE_FILE_ROOTS": f"{{base: [{tmp_path / 'salt'}]}}",
    }

    def type_lines(*lines):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(tmp_path)
            os.execvpe("bash", ["bash", "--rcfile", str(tmp_path / "rc"), "-i"], environ)
        for line in lines:  # Ctrl-A: what was typed becomes the arguments of printf
            os.write(terminal, f"{line}\t\x01printf '<%s>' \x05; echo en''d\n".encode())
        os.write(terminal, b"exit\n")
        text = b""
        try:
            while chunk := os.read(terminal, 65536):
                text += chunk
        except OSError:  # bash has closed the terminal
            pass
        os.waitpid(pid, 0)
        os.close(terminal)
        return [re.findall("<([^<>]*)>", found)[1:] for found in re.findall(r"((?:<[^<>\r\n]*>)+)end", text.decode())]

    return type_lines


def test_tab_completes_names_arguments_and_files(bash, tmp_path):
    lines = {
        "asyncstate chec": ["check"],
        "asyncstate apply we": ["apply", "web"],
        "asyncstate apply web --id my": ["apply", "web", "--id", "my id here"],
        'asyncstate apply web --id "my': ["apply", "web", "--id", "my id here"],
        "asyncstate apply --id=oth": ["apply", "--id=other"],
        "asyncstate apply db,web.c": ["apply", "db,web.conf"],
        "asyncstate apply --exclude id:/et": ["apply", "--exclude", "id:/etc/motd"],
        "asyncstate apply web --out js": ["apply", "web", "--out", "json"],
        "asyncstate single file.managed name=x mo": ["single", "file.managed", "name=x", "mode="],
        "asyncstate single file.managed source=salt://web/f": ["single", "file.managed", "source=salt://web/files/"],
        "asyncstate single file.managed name=./sa": ["single", "file.managed", "name=./salt/"],
        f"asyncstate apply --file-root {tmp_path}/sal": ["apply", "--file-root", f"{tmp_path}/salt/"],
        "asyncstate salt-call state.sls_id conf-id web.c": ["salt-call", "state.sls_id", "conf-id", "web.conf"],
        "salt-call --local state.sls_id conf-id web.c": ["--local", "state.sls_id", "conf-id", "web.conf"],
        "salt-call --retc": ["--retcode-passthrough"],
    }
    assert dict(zip(lines, bash(*lines), strict=True)) == lines


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_no_name_ends_the_quotation_it_stands_in(bash, tmp_path, quote):
    """A name in a tree is typed as that name, and nothing of it is run on Enter."""
    name = f"b';touch {'x'};'\"$(touch y)`touch z`"
    (tmp_path / "salt" / f"{name}.sls").write_text("a: {test.nop: []}\n")
    (typed,) = bash(f"asyncstate apply --saltenv base {quote}b")
    assert name in typed
    assert not [each for each in ("x", "y", "z") if (tmp_path / each).exists()]
