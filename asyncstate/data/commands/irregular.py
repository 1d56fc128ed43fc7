"""Effects of programs whose operands follow no common rule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from asyncstate.data.commands import paths
from asyncstate.data.commands.syntax import ANY_MARK

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.data.commands.operands import Operands

_SUDOERS = "/etc/sudoers"
_FILE_TESTS = frozenset("-e -f -d -r -w -x -s -L -h -O -G -S -p -b -c -k -u -g -N".split())
_FILE_COMPARISONS = frozenset({"-nt", "-ot", "-ef"})


def _test(command: Operands, words: list[str]) -> None:
    for place, word in enumerate(words):
        if word in _FILE_TESTS and place + 1 < len(words) and words[place + 1] not in {"]", "]]", "="}:
            command.read(words[place + 1])
        elif word in _FILE_COMPARISONS and 0 < place < len(words) - 1:
            command.read(words[place - 1])
            command.read(words[place + 1])


def _dd(command: Operands, words: list[str]) -> None:
    for word in words:
        key, _, value = word.partition("=")
        if key == "if":
            command.read(value)
        elif key == "of":
            command.write(value)


_WITH_VALUE = "fCXTbgNKLVHF"


def _tar(command: Operands, words: list[str]) -> None:
    letters, values, operands = _tar_words(words)
    folder = values.get("C", "")
    around = command.folders
    archive = values.get("f", "-")
    extracts = bool(letters & {"x"})
    (command.write if letters & set("cru") else command.read)(archive)
    for listing in (values.get("X", ""), values.get("T", "")):
        command.read(listing)
    if folder:
        command.read_folder(folder)
        command.folders = around.changed(folder, perhaps=False)
    if extracts and "O" not in letters:
        command.write_below(".")
    elif letters & set("cru"):
        for operand in operands or ["."]:
            command.read(operand)
    command.folders = around


def _tar_words(words: list[str]) -> tuple[set[str], dict[str, str], list[str]]:
    """Return tar's letters, the values of letters that have one, and the operands."""
    long = {"--file": "f", "--directory": "C", "--exclude-from": "X", "--files-from": "T"}
    flags = {"--extract": "x", "--get": "x", "--create": "c", "--list": "t", "--append": "r", "--update": "u"}
    letters: set[str] = set()
    values: dict[str, str] = {}
    operands: list[str] = []
    place = 0
    old_style = bool(words) and words[0][:1] != "-"
    while place < len(words):
        word = words[place]
        place += 1
        if word.startswith("--"):
            option, equals, value = word.partition("=")
            letters.add(flags.get(option, ""))
            if option in long:
                if not equals and place < len(words):
                    value = words[place]
                    place += 1
                values[long[option]] = value
        elif word.startswith("-") and len(word) > 1:
            for at, letter in enumerate(word[1:], 2):
                letters.add(letter)
                if letter in _WITH_VALUE:
                    value = word[at:]
                    if not value and place < len(words):
                        value = words[place]
                        place += 1
                    values[letter] = value
                    break
        elif place == 1 and old_style:
            letters.update(word)
            for letter in word:
                if letter in _WITH_VALUE and place < len(words):
                    values[letter] = words[place]
                    place += 1
        else:
            operands.append(word)
    return letters, values, operands


_BINDS = frozenset("--bind --rbind --move -B -R -M".split())
_BINDING_OPTION = re.compile(r"(?:^|[,=o])r?bind(?:,|$)")


def _mount(command: Operands, words: list[str]) -> None:
    operands = []
    binds = False
    for place, word in enumerate(words):
        if word[:1] == "-":
            binds = binds or word in _BINDS or (word[:2] in {"-o", "--"} and bool(_BINDING_OPTION.search(word)))
        elif words[place - 1 : place] in (["-o"], ["--options"]):
            binds = binds or bool(_BINDING_OPTION.search(word))
        elif words[place - 1 : place] not in (["-t"], ["--types"]):
            operands.append(word)
    if binds and len(operands) == 2 and not ANY_MARK.search(operands[0]):
        command.link(operands[1], operands[0])
    command.read("/etc/fstab")
    if any(word == "--all" or (word[:1] == "-" and word[:2] != "--" and "a" in word) for word in words):
        command.found.open("it mounts what /etc/fstab says")
    for word in operands[:-1]:
        command.read(word)
    for word in operands[-1:]:
        command.write_below(word)
        command.resource("mount!", word)


_PIDFILE = re.compile(r"/run/(?:[^/\s]+/)*([\w@+.-]+)\.pid\b")
_RELOADS = re.compile(r"-?(?:SIG)?(?:HUP|USR[12]|1|10|12)")
_TAKES_VALUE = frozenset("-s --signal -n -u -U -g -G -P -t -F -o --user".split())


def _kill(command: Operands, words: list[str]) -> None:
    """A signal to processes by number: to a daemon if the number was read from its pid file before."""
    daemons = _PIDFILE.findall(" ".join(command.found.reads))
    for name in daemons:
        command.by_kind("daemon!", name)
    if not daemons and any(_RELOADS.fullmatch(word) for word in words[:2]):
        command.found.open("it signals a process, and what that reads then is not known")


def _pkill(command: Operands, words: list[str]) -> None:
    """A signal to processes by name, or by the beginning of the command line."""
    for word, before in zip(words, ["", *words], strict=False):
        name = word.partition(" ")[0].strip("^$").rpartition("/")[2]
        if name and word[:1] != "-" and before not in _TAKES_VALUE:
            command.by_kind("daemon!", name)


def _sysctl(command: Operands, words: list[str]) -> None:
    loads = False
    for word in words:
        if word in {"-p", "--system", "--load"} or word.startswith(("-p", "--load=")):
            loads = True
        elif word[:1] == "-":
            continue
        elif loads:
            command.read(word)
        else:
            name, equals, _ = word.partition("=")
            command.resource("sysctl!" if equals else "sysctl", name.strip().replace("/", "."))
    if loads:
        for path in ("/etc/sysctl.conf", "/etc/sysctl.d"):
            command.read(path)
        command.resource("sysctl!", "all")


def _crontab(command: Operands, words: list[str]) -> None:
    user = command.folders.login[1:] or "root"
    if "-u" in words[:-1]:
        place = words.index("-u")
        user = words[place + 1]
        words = [*words[:place], *words[place + 2 :]]
    command.resource("user", user)
    command.resource("cron" if "-l" in words else "cron!", user)
    for word in words:
        if word[:1] != "-":
            command.read(word)


def _hostname(command: Operands, words: list[str]) -> None:
    sets = [word for word in words if word[:1] != "-"]
    command.resource("hostname!" if sets else "hostname", "name")
    command.read("/etc/hosts")
    if "-F" in words:
        command.read(words[-1])


def _source(command: Operands, words: list[str]) -> None:
    """A file that a shell sources: a script, unless its name is one of settings."""
    for word in words[:1]:
        command.read(word)
        if not _SETTINGS.search(word):
            command.script(word)


_SETTINGS = re.compile(r"(?:^|/)(?:os-release|lsb-release|activate|environment|profile)$|^/etc/(?:default|sysconfig)/")


_CHOSEN = "/etc/alternatives"
_LOOKS_AT_ALTERNATIVES = frozenset({"--display", "--query", "--list", "--get-selections", "--help", "--version"})


def _alternatives(command: Operands, words: list[str]) -> None:
    """Links to one of several programs. The words of ``--install`` name them; other uses change existing links."""
    command.found.reads["pkgdb"] = None
    for place, word in enumerate(words):
        if word not in {"--install", "--slave", "--follower", "--initscript", "--family"} and word[:2] == "--":
            changes = word not in _LOOKS_AT_ALTERNATIVES
            if changes:
                command.write_below(_CHOSEN)
            else:
                command.read(_CHOSEN)
            for name in words[place + 1 : place + 2]:
                if name[:1] != "-":
                    command.resource("alternatives!" if changes else "alternatives", name)
            for name, path in [words[place + 1 : place + 3]] if word == "--set" and len(words) > place + 2 else ():
                _choose(command, name, path)
        elif word in {"--install", "--slave", "--follower"}:
            _alternative(command, words[place + 1 : place + 4])


def _alternative(command: Operands, words: list[str]) -> None:
    """Note the links of three words, link, name and path: from the link to the name, from the name to the path."""
    link, name, path = [*words, "", "", ""][:3]
    chosen = f"{_CHOSEN}/{name}"
    command.resource("alternatives!", name)
    command.write(link)
    command.read(path)
    if not name or ANY_MARK.search(name):
        command.write_below(_CHOSEN)
        return
    command.write(chosen)
    for place, _ in paths.resolve(link, command.folders) if link else ():
        command.found.links[place, chosen] = None
    _choose(command, name, path)


def _choose(command: Operands, name: str, path: str) -> None:
    """Note the link from a name to a path."""
    for target, tree in paths.resolve(path, command.folders) if path and not ANY_MARK.search(name) else ():
        if not tree:
            command.found.links[f"{_CHOSEN}/{name}", target] = None


def _visudo(command: Operands, words: list[str]) -> None:
    """Note the files that are checked: the named one, or sudoers, with everything it may include.

    Files are included from the folder of sudoers.
    """
    checked = ""
    for word, next_word in zip(words, [*words[1:], ""], strict=True):
        long, _, value = word.partition("=")
        if long == "--file":
            checked = value or next_word
        elif word[:1] == "-" and word[:2] != "--" and "f" in word:
            checked = word.partition("f")[2] or next_word
    if checked:
        command.read(checked)
    if not checked.startswith(f"{_SUDOERS}.d/"):
        command.read(_SUDOERS)
        command.found.reads[f"path:{_SUDOERS}.d/**"] = None


IRREGULAR: dict[str, Callable[[Operands, list[str]], None]] = {
    "test": _test,
    "[": _test,
    "[[": _test,
    "dd": _dd,
    "tar": _tar,
    "bsdtar": _tar,
    "gtar": _tar,
    "sysctl": _sysctl,
    "crontab": _crontab,
    "hostname": _hostname,
    "kill": _kill,
    "killall": _pkill,
    "pkill": _pkill,
    "visudo": _visudo,
    "mount": _mount,
    "umount": _mount,
    "alternatives": _alternatives,
    "update-alternatives": _alternatives,
    ".": _source,
    "source": _source,
}
