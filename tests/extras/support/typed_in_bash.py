"""A real bash in which a line is typed and TAB is pressed."""

from __future__ import annotations

import os
import pty
import re
import sys

import pytest

from asyncstate.cli import main

SLS = """\
include:
  - .conf
my id here:
  test.nop
/etc/motd:
  test.nop
"""

RC = b"PS1='$ '; set -u; bind 'set enable-bracketed-paste off'\n"
"""Of a user whose shell refuses variables that are not set."""


@pytest.fixture
def programs():
    """The programs whose completion bash has; those other than asyncstate are in the folder ``bin``."""
    return ["asyncstate"]


@pytest.fixture
def bash(tmp_path, capfdbinary, programs):
    """Type lines into an interactive bash, each followed by TAB; return the words that each has become."""
    for path, text in {"web/init.sls": SLS, "web/conf.sls": "conf-id: {test.nop: []}\n", "db.sls": "other:\n"}.items():
        (tmp_path / "salt" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "salt" / path).write_text(text)
    (tmp_path / "salt" / "web" / "files").mkdir()
    (tmp_path / "bin").mkdir(exist_ok=True)
    capfdbinary.readouterr()
    for name in programs:
        assert main(["completion", "bash", name]) == 0
    (tmp_path / "rc").write_bytes(capfdbinary.readouterr().out + RC)
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
        assert b"unbound variable" not in text
        return [re.findall("<([^<>]*)>", found)[1:] for found in re.findall(r"((?:<[^<>\r\n]*>)+)end", text.decode())]

    return type_lines
