"""What one command touches: its operands and options by the table of programs, or by their looks."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING

from asyncstate.data.commands import paths
from asyncstate.data.commands.irregular import IRREGULAR
from asyncstate.data.commands.programs import NETWORK, Program, prefixes, use_of
from asyncstate.data.commands.syntax import ANY_MARK, END, OPEN, TILDE, WILD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from asyncstate.data.commands.paths import Folders

    Inside = Callable[[str, Folders, Mapping[str, tuple[str, ...]]], None]

SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "csh", "tcsh", "fish", "rbash"})
_PROGRAM_FOLDERS = ("/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin")
_SYSTEM_FOLDER = re.compile(r"/(?:usr/(?:local/)?)?s?bin/[^/]+$")
_ANYWHERE = re.compile(r"(?:python|pip|node|npm|ruby|gem|perl|php)[\d.]*$")
_VERSION = re.compile(r"^(python|pip|php|ruby|perl|gcc|g\+\+|clang|node|pip)-?\d[\d.]*$")
_EVEN_PATH = re.compile(r"(?!/dev/|/proc)(?:/(?!\.\.?(?:/|\Z))[^/#\ufdd0-\ufdef]+)+\Z")
"""Paths that name themselves: absolute, without patterns, variables, entries, ``.``, ``..`` and doubled slashes."""

_URL = re.compile(r"(?!file:)[A-Za-z][\w+.-]*://")
_INNER_PATH = re.compile(r"(?:^-\w|[=:,@]|^(?=[^:,=]*[:,=]))((?:file://)?/[^:,=]*)")
_FOLDERS = frozenset(
    "/ . .. /etc /opt /root /srv /tmp /usr /usr/bin /usr/lib /usr/local /usr/local/bin /usr/local/lib /usr/local/sbin "
    "/usr/local/src /usr/sbin /usr/share /usr/src /var /var/lib /var/log /var/tmp /var/www /home /bin /sbin /lib /run "
    "/mnt /dev/shm".split()
)
"""Folders that are there: a copy to one of them is a file in it."""

_FROM_FILE = re.compile(r"(?:^|=)[@<]([^;]+)")
_OF_THE_BASE = frozenset({"here", "link", "lists", "made"})
_OF_ENVIRONMENTS = frozenset({"pip", "gem", "npm", "cpan"})
_INTERPRETED = "it runs {}, and what that does is not known"


class Found:
    """What has been found so far. ``reasons``: why there may be more."""

    def __init__(self) -> None:
        self.reads: dict[str, None] = {}
        self.writes: dict[str, None] = {}
        self.makes: dict[str, None] = {}
        self.links: dict[tuple[str, str], None] = {}
        self.reasons: dict[str, None] = {}
        self.bare: dict[str, None] = {}
        self.forgotten: set[str] = set()
        self.reads_script: bool = False
        self.all_known: bool = True

    def open(self, reason: str) -> None:
        """Note a reason why more may be touched."""
        self.reasons[reason] = None
        self.all_known = False


class Caller:
    """One command in its place: the folder and the environment it runs with.

    ``inside(script, folders, environment)`` follows a script that it hands to a shell.
    """

    def __init__(
        self,
        found: Found,
        folders: Folders,
        environment: Mapping[str, tuple[str, ...]],
        inside: Inside,
        functions: set[str],
    ) -> None:
        self.found: Found = found
        self.folders: Folders = folders
        self.environment: dict[str, tuple[str, ...]] = dict(environment)
        self.inside = inside
        self._functions = functions

    def call(self, argv: list[str]) -> None:
        """Note what a command with these words touches."""
        for name, values in self.environment.items():
            self._environment(name, values)
        from_input = False
        while argv:
            name = self._program_name(argv[0])
            if name == "":
                return
            if name in self._functions:
                return
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
            argv = self._after_prefix(name, program, argv[1:])
        if argv:
            if from_input:
                argv = [*argv, f"{OPEN}names from its input{END}"]
            self._program(self._name(argv[0]), argv)

    def read(self, word: str) -> None:
        """Note that what a word names is read, with all that is below it."""
        self._touch(word, self.found.reads, below=True)

    def read_folder(self, word: str) -> None:
        """Note that a folder must be there."""
        if word not in {"", "-"}:
            self._touch(word, self.found.reads, below=False)

    def write(self, word: str) -> None:
        """Note that what a word names is written."""
        self._touch(word, self.found.writes, below=False)

    def write_below(self, word: str) -> None:
        """Note that anything at and below what a word names may be written."""
        self._touch(word, self.found.writes, below=True)

    def make(self, word: str) -> None:
        """Note that a folder is made, with those above it, where it is missing."""
        self._touch(word, self.found.makes, below=False)

    def _touch(self, word: str, names: dict[str, None], *, below: bool) -> None:
        if _EVEN_PATH.match(word):
            names[f"path:{word}/**" if below else f"path:{word}"] = None
            return
        if word in {"", "-"}:
            return
        reason = paths.uncertainty(word, self.folders)
        if reason:
            self.found.open(reason)
        for path, tree in paths.resolve(word, self.folders):
            name = paths.named(path, tree=tree or below)
            if name:
                names[name] = None

    def _name(self, word: str) -> str:
        folder, _, name = word.rpartition("/")
        if folder and not (_SYSTEM_FOLDER.match(word) or _ANYWHERE.match(name)):
            return word
        version = _VERSION.match(name)
        return version.group(1) if version is not None else name

    def _program_name(self, word: str) -> str:
        """Return the name of the program that a word starts, and note its file; "" if only a run knows."""
        if OPEN in word or word.startswith(WILD):
            self.found.open(paths.opened(word) if OPEN in word else "a pattern chooses the program that it runs")
            return ""
        if "/" in word or word.startswith(TILDE):
            self._touch(word, self.found.reads, below=False)
        return self._name(word)

    def _installed(self, word: str) -> None:
        """Note the files that a program found by its name may be."""
        if "/" not in word:
            for folder in _PROGRAM_FOLDERS:
                self.found.reads[f"path:{folder}/{word}"] = None

    def _environment(self, name: str, values: tuple[str, ...]) -> None:
        for value in values:
            for piece in value.split(":"):
                if piece.startswith(("/", TILDE)) and not (name == "PATH" and _SYSTEM_FOLDER.match(f"{piece}/x")):
                    self.read(piece)

    def _after_prefix(self, name: str, program: Program, words: list[str]) -> list[str]:
        """Return the command that a program such as ``sudo`` starts."""
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
                self._by_kind(skipped.pop(0), word)
                place += 1
            else:
                break
        return words[place:]

    def _prefix_option(self, name: str, program: Program, words: list[str], place: int) -> int:
        """Take an option of a prefix; return how many words it has."""
        option, equals, value = words[place].partition("=")
        kind = program.options.get(option)
        count = 1
        if kind is None and option[:2] != "--" and option[:2] in program.options:
            kind, value, equals = program.options[option[:2]], words[place][2:], "="
        if kind is not None and kind != "f" and not equals:
            value = words[place + 1] if place + 1 < len(words) else ""
            count = 2
        if kind == "d":
            self.read_folder(value)
            self.folders = self.folders.changed(value, perhaps=False)
        elif kind is not None:
            self._by_kind(kind, value)
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
        if script is None:
            self.found.reads_script = True
        else:
            self.inside(script, self.folders.inside(), self.environment)

    def _shell(self, words: list[str]) -> None:
        """Follow what a shell gets to run: the text after ``-c``, a file, or its input."""
        place = 0
        wants_text = False
        while place < len(words) and words[place][:1] in {"-", "+"} and len(words[place]) > 1:
            word = words[place]
            if word == "--":
                place += 1
                break
            if word[:2] != "--":
                wants_text = wants_text or "c" in word
                place += word[-1] in "oO"
            elif word in {"--rcfile", "--init-file"}:
                place += 1
            place += 1
        rest = words[place:]
        if wants_text and rest:
            self.inside(rest[0], self.folders.inside(), self.environment)
        elif rest and not any(word.startswith("-s") for word in words[:place]):
            self.script(rest[0])
            self._by_looks(rest[1:])
        else:
            self.found.reads_script = True

    def script(self, word: str) -> None:
        """Note a file with commands, whose content is not known."""
        self.read(word)
        if OPEN not in word:
            self.found.open(_INTERPRETED.format(f"the script {shown(word)}"))

    def _program(self, name: str, argv: list[str]) -> None:
        if name.startswith("/etc/init.d/"):
            self.resource("service!", name.rpartition("/")[2])
            return
        irregular = IRREGULAR.get(name)
        if irregular is not None:
            irregular(self, argv[1:])
            return
        if name in {"python", "python2", "python3"} and argv[1:2] == ["-m"] and len(argv) > 2:
            module = "virtualenv" if argv[2] == "venv" else argv[2]
            self._program(module, argv[2:])
            return
        program, words = use_of(name, argv[1:])
        if program is None:
            self._installed(argv[0])
            self._unknown(argv)
        else:
            if program.reads or program.writes or program.marks - _OF_THE_BASE:
                self._installed(argv[0])
            self._apply(program, argv[0], words)

    def _unknown(self, argv: list[str]) -> None:
        """Take everything that looks like a path as written, and its folder too."""
        self.found.all_known = False
        named = self._by_looks(argv[1:])
        for name, values in self.environment.items():
            if not name.endswith("PATH"):
                named = self._by_looks(list(values)) or named
        if self.folders.paths not in {(self.folders.login,), ("/",)}:
            self.write_below(".")
        if not named:
            self.found.bare[shown(argv[0])] = None

    def _by_looks(self, words: list[str]) -> bool:
        """Note what looks like a path as written; return whether a word certainly is one."""
        named = False
        for word in words:
            if _URL.match(word):
                self.found.reads.update(dict.fromkeys(NETWORK))
                continue
            if word.startswith(("/", "./", "../", "file://", TILDE)):
                self.write(word)
                named = True
            elif word.startswith(OPEN) or (word[:1] == "-" and f"={OPEN}" in word):
                self.found.open(paths.opened(word))
            elif "/" in word and word[:1] != "-":
                self.write(word)
            for inner in _INNER_PATH.findall(word) if "/" in word else ():
                self.write(inner)
                named = True
        return named

    def _apply(self, program: Program, called: str, words: list[str]) -> None:
        """Note what a known program touches."""
        found = self.found
        folders = self.folders
        before = len(found.writes)
        self._fixed(program, called)
        operands, values, flags = _sorted_words(program, words)
        made = "made" in program.marks or "--create-dirs" in flags
        for kind, value in values:
            if kind == "d":
                if made:
                    self.make(value)
                else:
                    self.read_folder(value)
                self.folders = self.folders.changed(value, perhaps=False)
        named = self._operands(program, operands, values, made=made)
        if "link" in program.marks:
            self._links(operands, [value for kind, value in values if kind == "D"], words)
        for kind, value in values:
            if kind not in {"d", "D", "f", "i"}:
                self._by_kind(kind, value, made=made)
        self._companions(program, operands, values)
        for word in operands:
            if "://" in word and word.startswith("file:"):
                self.read(word)
            elif "://" in word and _URL.match(word):
                found.reads.update(dict.fromkeys(NETWORK))
        if "fetch" in program.marks:
            self._fetched(operands, chosen=any("J" in flag for flag in flags if flag[:2] != "--"))
        if "clones" in program.marks and len(operands) < len(program.operands):
            self.write_below(".")
        if "here" in program.marks or ("lists" in program.marks and not operands):
            self.read(".")
        if "open" in program.marks:
            found.all_known = False
            if not named and len(found.writes) == before:
                found.bare[shown(called)] = None
            if self.folders.paths not in {(self.folders.login,), ("/",)}:
                self.write_below(".")
        elif "cwd" in program.marks:
            self.write_below(".")
        self.folders = folders

    def _companions(self, program: Program, operands: list[str], values: list[tuple[str, str]]) -> None:
        """Note what is written beside a file: its backup, or the file that takes its place."""
        suffixes = [*program.suffixes, *(value for kind, value in values if kind == "i")]
        if suffixes:
            text_first = program.operands[:1] == ("x",) and not any(kind in {"p", "P"} for kind, _ in values)
            written = [*operands[text_first:], *(value for kind, value in values if kind == "w")]
            for suffix, word in product(suffixes, written):
                self.write(f"{word}{suffix}")
                if word.endswith(suffix):
                    self.write(word[: -len(suffix)])

    def _fixed(self, program: Program, called: str) -> None:
        """Note what a program touches in any case. One of an environment of its own changes that environment."""
        for name in program.reads:
            self.found.reads[self._of_user(name)] = None
        environment, separator, _ = called.rpartition("/bin/")
        own = bool(separator) and environment not in {"", "/usr", "/usr/local"}
        for name in program.writes:
            if own and name in _OF_ENVIRONMENTS:
                self.write_below(environment)
            else:
                self.found.writes[self._of_user(name)] = None

    def _of_user(self, name: str) -> str:
        user = self.folders.login[1:]
        if name.startswith("path:~/"):
            return f"path:{self.folders.login}{name[6:]}"
        if name in {"cron:", "git-config:"}:
            return f"{name}{user or ('root' if name == 'cron:' else '')}"
        return name

    def _operands(self, program: Program, operands: list[str], values: list[tuple[str, str]], *, made: bool) -> bool:
        """Note what the operands name, each by its kind; return whether one that is open to looks is a path."""
        kinds = list(program.operands)
        if kinds and any(kind in {"p", "P"} for kind, _ in values):
            del kinds[0]
        if not kinds and "open" in program.marks:
            return self._by_looks(operands)
        if kinds[-1:] == ["t"]:
            self._copy(program, operands, values, made=made)
            return False
        named = False
        for kind, word in _paired(kinds, operands):
            if kind == "g":
                named = self._by_looks([word]) or named
            else:
                self._by_kind(kind, word, made=made)
        return named

    def _copy(self, program: Program, operands: list[str], values: list[tuple[str, str]], *, made: bool) -> None:
        """Note a copy: the target is a file, or a folder in which each source keeps its name."""
        targets = [value for kind, value in values if kind == "D"]
        *sources, target = [*operands, *targets[:1]] if targets or len(operands) > 1 else [*operands, "."]
        into = bool(targets) or target.endswith("/") or len(sources) > 1 or target in _FOLDERS
        for source in sources:
            if not _is_remote(source):
                self._by_kind(program.operands[0][0], source)
        if _is_remote(target):
            return
        if made:
            self.make(target if into else f"{target.rpartition('/')[0] or '.'}")
        if not into:
            self.write(target)
            return
        for source in sources:
            name = source.rpartition("/")[2]
            if name in {"", ".", ".."} or ANY_MARK.search(name):
                self.write_below(target)
            else:
                self.write(f"{target}/{name}")

    def _links(self, operands: list[str], targets: list[str], words: list[str]) -> None:
        """Note the links that are made, with what each says: one called like the target, or those in it."""
        as_is = _has_flag("s", "--symbolic", words) and not _has_flag("r", "--relative", words)
        *sources, target = [*operands, *targets[:1]] if targets or len(operands) > 1 else [*operands, "."]
        into = bool(targets) or target.endswith("/") or len(sources) > 1 or target in _FOLDERS
        for source in sources:
            name = source.rstrip("/").rpartition("/")[2]
            said = [source]
            if not as_is or source.startswith(TILDE):
                said = [path for path, tree in paths.resolve(source, self.folders) if not tree]
            if ANY_MARK.search(source.removeprefix(TILDE)) or not name:
                continue
            place = f"{target.rstrip('/')}/{name}" if into else target
            for path, tree in paths.resolve(place, self.folders):
                if not tree:
                    self.found.links.update(((path, each), None) for each in said)

    def _fetched(self, operands: list[str], *, chosen: bool) -> None:
        """Note the files that URLs become; ``chosen``: their server chooses the names."""
        for url in operands:
            name = url.partition("#")[0].rpartition("/")[2]
            if "://" not in url or not name or chosen or ANY_MARK.search(name):
                self.write_below(".")
            else:
                self.write(name)
                self.write(name.partition("?")[0])

    def _by_kind(self, kind: str, word: str, *, made: bool = False) -> None:
        if kind in {"r", "P"}:
            if not _URL.match(word):
                self.read(word)
        elif kind == "w":
            self.write(word)
            if made:
                self.make(word.rstrip("/").rpartition("/")[0] or ("/" if word.startswith("/") else "."))
        elif kind == "m":
            self.make(word)
        elif kind == "@":
            for path in _FROM_FILE.findall(word):
                self.read(path)
        elif kind == "script":
            self.script(word)
        elif kind == "owner":
            user, _, group = word.replace(".", ":").partition(":")
            self.resource("user", user)
            self.resource("group", group)
        elif kind == "groups":
            for group in word.split(","):
                self.resource("group", group)
        elif kind == "account!":
            self.resource("user!", word)
            if not ANY_MARK.search(word):
                self.found.writes[f"path:~{word}"] = None
        elif kind not in {"x", "p", "f", "c"}:
            self.resource(kind, word)

    def resource(self, kind: str, word: str) -> None:
        """Note another resource; ``kind!`` for one that is written."""
        word = word.removesuffix(".service") if kind.startswith("service") else word
        mark = ANY_MARK.search(word)
        if mark is not None:
            self.found.open(paths.opened(word) if OPEN in word else f"a pattern chooses what it changes ({kind})")
        elif word:
            names = self.found.writes if kind.endswith("!") else self.found.reads
            names[f"{kind.removesuffix('!')}:{word}"] = None


def _sorted_words(program: Program, words: list[str]) -> tuple[list[str], list[tuple[str, str]], set[str]]:
    """Return the operands, the options that have a value, as kind and value, and the long flags."""
    operands: list[str] = []
    values: list[tuple[str, str]] = []
    flags: set[str] = set()
    options = program.options
    place, end = 0, len(words)
    while place < end:
        word = words[place]
        place += 1
        if word == "--":
            operands += words[place:]
            break
        if word[:1] != "-" or len(word) == 1:
            operands.append(word)
            continue
        option, equals, value = word.partition("=")
        kind = options.get(option)
        if kind is None and word[1] != "-":
            kind, value, equals = _in_cluster(word, options)
        if kind is None:
            flags.add(option)
            if equals and "/" in value:
                values.append(("w", value))
        elif kind in {"f", "i"}:
            if kind == "i" and value:
                values.append((kind, value))
        elif equals:
            values.append((kind, value))
        elif place < end:
            values.append((kind, words[place]))
            place += 1
    return operands, values, flags


def _in_cluster(word: str, options: Mapping[str, str]) -> tuple[str | None, str, str]:
    for place in range(1, len(word)):
        kind = options.get(f"-{word[place]}")
        if kind is not None:
            value = word[place + 1 :]
            return kind, value, "=" if value else ""
    return None, "", ""


def _paired(kinds: list[str], operands: list[str]) -> list[tuple[str, str]]:
    """Return each operand with its kind."""
    star = next((place for place, kind in enumerate(kinds) if kind.endswith("*")), -1)
    if star < 0:
        return list(zip(kinds, operands, strict=False))
    after = len(kinds) - star - 1
    middle = max(len(operands) - after, star)
    return [
        *zip(kinds[:star], operands, strict=False),
        *((kinds[star][:-1], word) for word in operands[star:middle]),
        *zip(kinds[star + 1 :], operands[middle:], strict=False),
    ]


def _has_flag(letter: str, long: str, words: list[str]) -> bool:
    return long in words or any(letter in word for word in words if word[:1] == "-" != word[1:2])


def _is_remote(word: str) -> bool:
    head, colon, _ = word.partition(":")
    return bool(colon) and "/" not in head


def shown(word: str) -> str:
    """Return a word as a person would write it."""
    word = re.sub(f"{OPEN}([^{END}]*){END}", r"\1", word)
    return ANY_MARK.sub("", word.replace(WILD, "*").replace(TILDE, "~"))
