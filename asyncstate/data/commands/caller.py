"""One command in its context, and the commands that it starts: after ``sudo``, in ``sh -c``, by ``xargs``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from asyncstate.data.commands import paths
from asyncstate.data.commands.irregular import IRREGULAR
from asyncstate.data.commands.operands import Operands
from asyncstate.data.commands.programs import prefixes, use_of
from asyncstate.data.commands.syntax import ANY_MARK, END, OPEN, TILDE, WILD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from asyncstate.data.commands.found import Found
    from asyncstate.data.commands.paths import Folders
    from asyncstate.data.commands.programs import Program

    Inside = Callable[[str, Folders, Mapping[str, tuple[str, ...]]], None]

SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "csh", "tcsh", "fish", "rbash"})
READ_SHELLS = SHELLS - {"csh", "tcsh", "fish"}
"""The shells that run POSIX shell scripts."""

_SYSTEM_FOLDER = re.compile(r"/(?:usr/(?:local/)?)?s?bin/[^/]+$")
_ANYWHERE = re.compile(r"(?:python|pip|node|npm|ruby|gem|perl|php)[\d.]*$")
_VERSION = re.compile(r"^(python|pip|php|ruby|perl|gcc|g\+\+|clang|node|pip)-?\d[\d.]*$")
_LOGS_IN = {"sudo": re.compile("-i[a-z]?|--login"), "runuser": re.compile("-l?|--login")}
"""The option that makes a program start the login shell of a user."""
_NAMED = frozenset({"named", "open"})
_OF_THE_BASE = frozenset({"here", "link", "lists", "made", "named"})


class Caller(Operands):
    """One command in its context, with the commands that it starts.

    ``inside(script, folders, environment)`` follows a script that it passes to a shell.
    """

    folders: Folders

    def __init__(
        self,
        found: Found,
        folders: Folders,
        environment: Mapping[str, tuple[str, ...]],
        inside: Inside,
        functions: set[str],
    ) -> None:
        super().__init__(found, folders, environment)
        self.inside: Inside = inside
        self._functions = functions

    def call(self, argv: list[str]) -> None:
        """Note the resources that a command with these words touches."""
        for name, values in self.environment.items():
            self._environment(name, values)
        from_input = False
        while argv:
            name = self._program_name(argv[0])
            if name == "":
                return
            if name in self._functions:
                return
            self.found.programs[name] = None
            if name in SHELLS:
                self._shell(argv[1:])
                return
            if name == "su":
                self._su(argv[1:])
                return
            program = prefixes().get(name)
            if program is None:
                break
            from_input = from_input or name == "xargs"
            self._fixed(program, name)
            argv = self._after_prefix(name, program, argv[1:])
        if argv:
            if from_input:
                argv = [*argv, f"{OPEN}names from its input{END}"]
            self._program(self._name(argv[0]), argv)

    def _program(self, name: str, argv: list[str]) -> None:
        if name.startswith("/etc/init.d/"):
            self.by_kind("daemon!", name.rpartition("/")[2])
            return
        irregular = _STARTS_OTHERS.get(name) or IRREGULAR.get(name)
        if irregular is not None:
            irregular(self, argv[1:])
            return
        if name in {"python", "python2", "python3"} and argv[1:2] == ["-m"] and len(argv) > 2:
            module = "virtualenv" if argv[2] == "venv" else argv[2]
            self._program(module, argv[2:])
            return
        program, words = use_of(name, argv[1:])
        if program is None:
            self.installed(argv[0])
            self.settings(name)
            self.unknown(argv)
        else:
            if program.reads or program.writes or program.marks - _OF_THE_BASE:
                self.installed(argv[0])
            if not program.marks.isdisjoint(_NAMED):
                self.settings(name)
            self.apply(program, argv[0], words)

    def _name(self, word: str) -> str:
        folder, _, name = word.rpartition("/")
        if folder and not (_SYSTEM_FOLDER.match(word) or _ANYWHERE.match(name)):
            return word
        version = _VERSION.match(name)
        return version.group(1) if version is not None else name

    def _program_name(self, word: str) -> str:
        """Return the name of the program that a word starts, and note its file; "" if it is known only at run time."""
        if OPEN in word or WILD in word:
            self.found.open(paths.opened(word) if OPEN in word else "a pattern chooses the program that it runs")
            return ""
        if "/" in word or word.startswith(TILDE):
            self.touch(word, self.found.reads, below=False)
        return self._name(word)

    def _environment(self, name: str, values: tuple[str, ...]) -> None:
        for value in values:
            for piece in value.split(":"):
                if piece.startswith(("/", TILDE)) and not (name == "PATH" and _SYSTEM_FOLDER.match(f"{piece}/x")):
                    self.read(piece)

    def _after_prefix(self, name: str, program: Program, words: list[str]) -> list[str]:
        """Return the command started by a program such as ``sudo``."""
        place = 0
        skipped = [operand for operand in program.operands if operand != "c"]
        while place < len(words):
            word = words[place]
            if word == "--":
                place += 1
                break
            if word[:1] == "-" and len(word) > 1:
                place += self._prefix_option(name, program, words, place)
            elif "=" in word and name in {"env", "sudo", "doas"} and word[:1] not in {"/", "."}:
                variable, _, value = word.partition("=")
                self._environment(variable, (value,))
                self.environment[variable] = (value,)
                place += 1
            elif skipped:
                self.by_kind(skipped.pop(0), word)
                place += 1
            else:
                break
        if name in _LOGS_IN and any(map(_LOGS_IN[name].fullmatch, words[:place])):
            self.logs_in()
        return words[place:]

    def _prefix_option(self, name: str, program: Program, words: list[str], place: int) -> int:
        """Interpret an option of a prefix such as ``sudo``; return the number of its words."""
        option, equals, value = words[place].partition("=")
        kind = program.options.get(option)
        count = 1
        if kind is None and option[:2] == "-i" and name == "sudo":  # ``-iu bob``
            option = f"-{option[2:] or 'i'}"
            kind = program.options.get(option)
        elif kind is None and option[:2] != "--" and option[:2] in program.options:
            kind, value, equals = program.options[option[:2]], words[place][2:], "="
        if kind is not None and kind != "f" and not equals:
            value = words[place + 1] if place + 1 < len(words) else ""
            count = 2
        if kind == "d":
            self.read_folder(value)
            self.folders = self.folders.changed(value, perhaps=False)
        elif kind is not None:
            self.by_kind(kind, value)
        if name == "sudo" and kind == "user":
            self._become(value, login=False)
        return count

    def _become(self, user: str, *, login: bool) -> None:
        if ANY_MARK.search(user):
            self.found.open("a variable or a pattern names the user who runs it")
            return
        self.found.reads[f"user:{user}"] = None
        self.folders = self.folders.of(user, login=login)

    def _su(self, words: list[str]) -> None:
        script, user, login, place = None, "", False, 0
        while place < len(words):
            word = words[place]
            if word in {"-c", "--command"}:
                script = words[place + 1] if place + 1 < len(words) else ""
                place += 1
            elif word in {"-s", "--shell", "-g", "-G"}:
                place += 1
            elif word in {"-", "-l", "--login"}:
                login = True
            elif not user and not word.startswith("-"):
                user = word
            place += 1
        self._become(user or "root", login=login)
        if login:
            self.logs_in()
        if script is None:
            self.found.reads_script = True
        else:
            self.inside(script, self.folders.inside(), self.environment)

    def _shell(self, words: list[str]) -> None:
        """Follow the script of a shell: the text after ``-c``, a file, or its input."""
        place = 0
        wants_text = logs_in = False
        while place < len(words) and words[place][:1] in {"-", "+"} and len(words[place]) > 1:
            word = words[place]
            if word == "--":
                place += 1
                break
            if word[:2] != "--":
                wants_text = wants_text or "c" in word
                logs_in = logs_in or "l" in word
                place += word[-1] in "oO"
            elif word in {"--rcfile", "--init-file"}:
                place += 1
            logs_in = logs_in or word == "--login"
            place += 1
        if logs_in:
            self.logs_in()
        rest = words[place:]
        if wants_text and rest:
            self.inside(rest[0], self.folders.inside(), self.environment)
        elif rest and not any(word.startswith("-s") for word in words[:place]):
            self.script(rest[0])
            self.by_looks(rest[1:])
        else:
            self.found.reads_script = True


def _find(command: Caller, words: list[str]) -> None:
    place = 0
    while place < len(words) and words[place] in {"-H", "-L", "-P"}:
        place += 1
    start = place
    while place < len(words) and words[place][:1] not in {"-", "(", "!"}:
        place += 1
    folders = words[start:place] or ["."]
    for folder in folders:
        command.read(folder)
    while place < len(words):
        word = words[place]
        place += 1
        if word == "-delete":
            for folder in folders:
                command.write_below(folder)
        elif word in {"-newer", "-anewer", "-cnewer", "-samefile"}:
            command.read(words[place] if place < len(words) else "")
        elif word in {"-fprint", "-fls", "-fprintf", "-fprint0"}:
            command.write(words[place] if place < len(words) else "")
        elif word in {"-exec", "-execdir", "-ok", "-okdir"}:
            end = place
            while end < len(words) and words[end] not in {";", "+"}:
                end += 1
            for folder in folders:
                found = f"{folder}/{WILD}"
                command.call([found if part == "{}" else part.replace("{}", found) for part in words[place:end]])
            place = end + 1


def _trap(command: Caller, words: list[str]) -> None:
    if words and words[0] not in {"-", ""} and OPEN not in words[0]:
        command.inside(words[0], command.folders, {})


_STARTS_OTHERS: dict[str, Callable[[Caller, list[str]], None]] = {"find": _find, "trap": _trap}
"""Programs that start commands in their words."""
