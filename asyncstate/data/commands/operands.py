"""Effects of one program's operands and options: by the table of programs, or by the form of the words."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from asyncstate.data.commands import paths
from asyncstate.data.commands.arguments import has_flag, is_remote, paired, sorted_words
from asyncstate.data.commands.found import Touching, shown
from asyncstate.data.commands.programs import LOGIN, NETWORK
from asyncstate.data.commands.syntax import ANY_MARK, OPEN, TILDE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from asyncstate.data.commands.found import Found
    from asyncstate.data.commands.paths import Folders
    from asyncstate.data.commands.programs import Program

_URL = re.compile(r"(?!file:)[A-Za-z][\w+.-]*://")
_INNER_PATH = re.compile(r"(?:^-\w|[=:,@]|^(?=[^:,=]*[:,=]))((?:file://)?/[^:,=]*)")
_PROGRAM_FOLDERS = ("/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin")
_FOLDERS = frozenset(
    "/ . .. /etc /opt /root /srv /tmp /usr /usr/bin /usr/lib /usr/local /usr/local/bin /usr/local/lib /usr/local/sbin "
    "/usr/local/src /usr/sbin /usr/share /usr/src /var /var/lib /var/log /var/tmp /var/www /home /bin /sbin /lib /run "
    "/mnt /dev/shm".split()
)
"""Folders that always exist: a copy to one of them is a file in it."""

_FROM_FILE = re.compile(r"(?:^|=)[@<]([^;]+)")
_LINKS_STAY = frozenset("aRrdPl")
_LINKS_STAY_LONG = frozenset({"--archive", "--recursive", "--no-dereference", "--links"})
_MODES = frozenset({"mode", "user", "group"})
_OF_ENVIRONMENTS = frozenset({"pip", "gem", "npm", "cpan"})


_OTHER_NAMES = {
    "mariadb": ("mysql",),
    "mysqld": ("mysql",),
    "named": ("bind",),
    "httpd": ("apache2",),
    "kubectl": ("kube",),
    "helm": ("kube",),
    "mvn": ("m2", "maven"),
}
"""Names of settings that do not follow from the name of the program."""
_PLAIN_NAME = re.compile(r"[A-Za-z][\w+-]+\Z")


@cache
def settings_of(program: str, *, daemon: bool) -> tuple[str, ...]:
    """Return the paths of settings that follow from the name of a program or a daemon."""
    name = program.removesuffix(".service").partition("@")[0]
    names = [name, *_OTHER_NAMES.get(name, ())]
    if daemon:
        names += [name.removesuffix("-server"), name.removesuffix("d"), re.split(r"[\d.]", name)[0]]
    found = []
    for each in filter(_PLAIN_NAME.match, dict.fromkeys(names)):
        found += [f"path:/etc/{each}/**", f"path:/etc/{each}.conf"]
        if daemon:
            found += [f"path:/etc/{each}.d/**", f"path:/etc/default/{each}", f"path:/etc/sysconfig/{each}"]
        else:
            found += [f"path:~/.{each}/**", f"path:~/.{each}rc", f"path:~/.config/{each}/**"]
    return tuple(found)


class Operands(Touching):
    """One command in its context: its folders and its environment."""

    folders: Folders

    def __init__(self, found: Found, folders: Folders, environment: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(found, folders)
        self.environment: dict[str, tuple[str, ...]] = dict(environment)
        self._own_mode = False

    def apply(self, program: Program, called: str, words: list[str]) -> None:
        """Note the effects of a known program."""
        found = self.found
        folders = self.folders
        before = len(found.writes)
        self._fixed(program, called)
        operands, values, flags = sorted_words(program, words)
        made = "made" in program.marks or "--create-dirs" in flags
        self._own_mode = any(kind in _MODES for kind, _ in values)
        for kind, value in values:
            if kind == "d":
                if made:
                    self.make(value)
                else:
                    self.read_folder(value)
                self.folders = self.folders.changed(value, perhaps=False)
        named = self._operands(program, operands, values, made=made)
        if "link" in program.marks:
            self._links(operands, values, words)
        elif "moved" in program.marks and (program.operands[:1] == ("w*",) or _keeps_links(words)):
            self._taken_along(operands, values)
        for kind, value in values:
            if kind not in {"d", "D", "f", "i", "mode"}:
                self.by_kind(kind, value, made=made)
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

    def unknown(self, argv: list[str]) -> None:
        """Note everything that looks like a path, and its folder, as written."""
        self.found.all_known = False
        named = self.by_looks(argv[1:])
        for name, values in self.environment.items():
            if not name.endswith("PATH"):
                named = self.by_looks(list(values)) or named
        if self.folders.paths not in {(self.folders.login,), ("/",)}:
            self.write_below(".")
        if not named:
            self.found.bare[shown(argv[0])] = None

    def by_looks(self, words: list[str]) -> bool:
        """Note words that look like paths as written; return whether a word is certainly a path."""
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

    def installed(self, word: str) -> None:
        """Note the possible files of a program found by name."""
        if "/" not in word:
            for folder in _PROGRAM_FOLDERS:
                self.found.reads[f"path:{folder}/{word}"] = None

    def settings(self, program: str) -> None:
        """Note the resources that follow from a program's name: its settings, and its alternatives."""
        if _PLAIN_NAME.match(program):
            self.found.reads[f"alternatives:{program}"] = None
            for name in settings_of(program, daemon=False):
                self.found.reads[self._of_user(name)] = None

    def logs_in(self) -> None:
        """Note the files that a login shell of the user reads."""
        for name in LOGIN:
            self.found.reads[self._of_user(name)] = None

    def _companions(self, program: Program, operands: list[str], values: list[tuple[str, str]]) -> None:
        """Note the files written beside a file: its backup, or the compressed file in its place."""
        suffixes = [*program.suffixes, *(value for kind, value in values if kind == "i")]
        if suffixes:
            text_first = program.operands[:1] == ("x",) and not any(kind in {"p", "P"} for kind, _ in values)
            written = [*operands[text_first:], *(value for kind, value in values if kind == "w")]
            for suffix, word in product(suffixes, written):
                self.write(f"{word}{suffix}")
                if word.endswith(suffix):
                    self.write(word[: -len(suffix)])

    def _fixed(self, program: Program, called: str) -> None:
        """Note the unconditional effects of a program. In a virtual environment, it changes that environment."""
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
        """Note the operands, each by its kind; return whether one of unknown kind is certainly a path."""
        kinds = list(program.operands)
        if kinds and any(kind in {"p", "P"} for kind, _ in values):
            del kinds[0]
        if not kinds and "open" in program.marks:
            return self.by_looks(operands)
        if kinds[-1:] == ["t"]:
            self._copy(program, operands, values, made=made)
            return False
        named = False
        for kind, word in paired(kinds, operands):
            if kind == "g":
                named = self.by_looks([word]) or named
            else:
                self.by_kind(kind, word, made=made)
        return named

    def _copy(self, program: Program, operands: list[str], values: list[tuple[str, str]], *, made: bool) -> None:
        """Note a copy: the target is a file, or a folder in which each source keeps its name."""
        sources, target, into = _sources_and_target(operands, values)
        for source in sources:
            if not is_remote(source):
                self.by_kind(program.operands[0][0], source)
        if is_remote(target):
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

    def _links(self, operands: list[str], values: list[tuple[str, str]], words: list[str]) -> None:
        """Note the created links with their texts: the target itself, or links in it."""
        as_is = has_flag("s", "--symbolic", words) and not has_flag("r", "--relative", words)
        for source, place in _places(*_sources_and_target(operands, values)):
            said = [source]
            if not as_is or source.startswith(TILDE):
                said = [path for path, tree in paths.resolve(source, self.folders) if not tree]
            for each in said:
                self.link(place, each)

    def _taken_along(self, operands: list[str], values: list[tuple[str, str]]) -> None:
        """Note the copies and moves that keep links."""
        for source, place in _places(*_sources_and_target(operands, values)):
            old, new = ([path for path, _ in paths.resolve(word, self.folders)] for word in (source, place))
            self.found.copies.update(((path, each), None) for path, each in product(new, old))

    def _fetched(self, operands: list[str], *, chosen: bool) -> None:
        """Note the files downloaded from URLs; ``chosen``: the server chooses the names."""
        for url in operands:
            name = url.partition("#")[0].rpartition("/")[2]
            if "://" not in url or not name or chosen or ANY_MARK.search(name):
                self.write_below(".")
            else:
                self.write(name)
                self.write(name.partition("?")[0])

    def by_kind(self, kind: str, word: str, *, made: bool = False) -> None:
        """Note a word by its kind, as the table of programs says it."""
        if kind in {"r", "P"}:
            if not _URL.match(word):
                self.read(word)
        elif kind == "w":
            self.write(word)
            if made:
                self.make(_above(word))
        elif kind == "m":
            if self._own_mode:  # applies to the last folder only
                self.write(word)
            self.make(_above(word) if self._own_mode else word)
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
        elif kind == "daemon!":
            self.resource("service!", word)
            self.found.writes[f"processes#{word.removesuffix('.service')}"] = None
            for name in settings_of(word, daemon=True):
                self.found.reads[name] = None
        elif kind == "container!":
            self.resource("docker:container!", word)
            self.found.open(f"what the container {shown(word)} reads is not known")
        elif kind == "prefix":
            self.write_below(_above(word))
        elif kind == "account!":
            self.resource("user!", word)
            if not ANY_MARK.search(word):
                self.found.writes[f"path:~{word}"] = None
        elif kind not in {"x", "p", "f", "c"}:
            self.resource(kind, word)


def _sources_and_target(operands: list[str], values: list[tuple[str, str]]) -> tuple[list[str], str, bool]:
    """Return sources and target of a copy, and whether the target is a folder in which sources keep their names."""
    folders = [value for kind, value in values if kind == "D"][:1]
    *sources, target = [*operands, *folders] if folders or len(operands) > 1 else [*operands, "."]
    return sources, target, bool(folders) or target.endswith("/") or len(sources) > 1 or target in _FOLDERS


def _places(sources: list[str], target: str, into: bool) -> Iterator[tuple[str, str]]:
    """Yield each source with a known name, and its new path."""
    for source in sources:
        name = source.rstrip("/").rpartition("/")[2]
        if name and not ANY_MARK.search(source.removeprefix(TILDE)):
            yield source, f"{target.rstrip('/')}/{name}" if into else target


def _above(word: str) -> str:
    """Return the folder of a path."""
    return word.rstrip("/").rpartition("/")[0] or ("/" if word.startswith("/") else ".")


def _keeps_links(words: list[str]) -> bool:
    return any(
        not _LINKS_STAY.isdisjoint(word[1:]) if word[1:2] != "-" else word in _LINKS_STAY_LONG
        for word in words
        if word[:1] == "-"
    )
