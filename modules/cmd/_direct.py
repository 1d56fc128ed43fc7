"""Command lines that a shell would only hand on, ``systemctl daemon-reload`` but not ``cd /srv && make``.

The shell reads such a line and replaces itself by the program; its start costs as much as a short program. So the
program is started directly, as GNU make does, with the environment that bash would leave it.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

_LINE = re.compile(r"(?:/[\w./+-]+|[A-Za-z0-9_][\w.+-]*)(?:[ \t]+[\w./:@%+,=-]+)*", re.ASCII)
"""A program and its arguments without a character that has a meaning for the shell."""
_NAMES_OF_BASH = frozenset(
    """
    alias bg bind break builtin caller case cd command compgen complete compopt continue coproc declare dirs disown do
    done echo elif else enable esac eval exec exit export false fc fg fi for function getopts hash help history if in
    jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return select set shift shopt
    source suspend test then time times trap true type typeset ulimit umask unalias unset until wait while
    """.split()
)
"""Keywords and builtin commands, as far as they are words."""
_SAME = frozenset({"/bin/true", "/usr/bin/true", "/bin/false", "/usr/bin/false"})
"""Programs that do the same as the builtin command of that name, without arguments."""
_VARIABLES_OF_BASH = re.compile(
    r"BASH.*|COMP_.*|EPOCH.*|HISTCMD|IFS|LINENO|OPTERR|OPTIND|POSIXLY_CORRECT|PPID|PS[0-4]|S?RANDOM|SHELLOPTS"
)
"""Variables that bash obeys when it starts, or gives values of its own."""
_LEVEL = re.compile(r"[1-9]\d?", re.ASCII)
"""A number of shells around this one that bash leaves alone."""
_OF_SSH = frozenset({"SSH_CLIENT", "SSH2_CLIENT"})
"""Variables with which the outermost bash of some systems, such as Debian, reads ``~/.bashrc``."""
_LOCALES_WITHOUT_WARNING = {"", "C", "POSIX", "C.UTF-8"}


class Direct(NamedTuple):
    """A program in place of a shell: its path, its arguments, the first as the line names it, and its environment."""

    program: str
    argv: list[str]
    env: dict[str, str]


def direct(line: str, shell: str, cwd: str, env: dict[str, str]) -> Direct | None:
    """Return what bash would make of itself for ``line``, None if bash has more to do or is not the shell."""
    line = line.strip(" \t\n")
    if not shell.endswith("/bash") or not _LINE.fullmatch(line):
        return None
    argv = line.split()
    if argv[0] in _NAMES_OF_BASH and line not in {"true", "false"}:
        return None
    if any(map(_VARIABLES_OF_BASH.fullmatch, env)) or env.get("LC_ALL", "") not in _LOCALES_WITHOUT_WARNING:
        return None
    level = env.get("SHLVL")
    if not _OF_SSH.isdisjoint(env) if level is None else not _LEVEL.fullmatch(level):
        return None
    program = _found(argv[0], env.get("PATH", ""))
    if not program or (argv[0] in _NAMES_OF_BASH and program not in _SAME):
        return None
    if os.path.islink(shell) and os.path.basename(os.path.realpath(shell)) != "bash":
        return None
    own = {**env, "PWD": _folder(cwd, env.get("PWD", "")), "SHLVL": level or "0", "_": program}
    before = own.pop("OLDPWD", "")
    if before and os.path.isdir(os.path.join(cwd, before)):
        own["OLDPWD"] = before
    return Direct(program, argv, own)


def _found(program: str, path: str) -> str:
    """Return the path of a program, "" if there is none or bash might find another one."""
    if program[0] == "/":
        candidates = [program]
    else:
        folders = path.split(os.pathsep)
        if any(not folder.startswith("/") or folder.endswith("/") for folder in folders):
            return ""
        candidates = [f"{folder}/{program}" for folder in folders]
    return next(filter(is_program, candidates), "")


def is_program(path: str) -> bool:
    """Return whether a path is a file that may be executed."""
    return os.access(path, os.X_OK) and os.path.isfile(path)


def _folder(cwd: str, inherited: str) -> str:
    """Return a working directory by the name that the shell inherits for it, else by its own."""
    try:
        if os.path.isabs(inherited) and os.path.samefile(inherited, cwd):
            return inherited
    except OSError:
        pass
    return os.path.realpath(cwd)
