"""The database of rpm, read by running rpm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.sources.packages.installed import MAKE_ACCOUNTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SECONDS = 20
_ALL = "P%{NAME}\n[D%{REQUIRENAME}\n][R%{RECOMMENDNAME}\n][V%{PROVIDENAME}\n]"
_ONE = "[F%{FILENAMES}\n]S%{PREIN}\nS%{POSTIN}\n"


class Rpm:
    """The packages installed by rpm. Raises OSError if the program is missing or fails."""

    def __init__(self, program: Sequence[str] = ("/usr/bin/rpm",)) -> None:
        self._program = program
        self._needed: dict[str, list[str]] = {}
        self._recommended: dict[str, list[str]] = {}
        self._provided: dict[str, list[str]] = {}
        self._details: dict[str, list[str]] = {}
        name = ""
        for line in self._ask("-qa", "--qf", _ALL):
            kind, text = line[:1], line[1:]
            if kind == "P":
                name = text
                self._needed.setdefault(name, [])
            elif kind == "D":
                self._needed[name].append(text)
            elif kind == "R":
                self._recommended.setdefault(name, []).append(text)
            elif kind == "V":
                self._provided.setdefault(text, []).append(name)

    def needs(self, name: str, *, recommended: bool = True) -> list[str] | None:
        """Return the installed packages that one requires or recommends; None if it is not installed.

        A file that it requires has no provider here: it is mostly a program of the base system.
        """
        needed = self._needed.get(name)
        if needed is None:
            return None
        needed = needed + self._recommended.get(name, []) if recommended else needed
        return list(dict.fromkeys(each for virtual in needed for each in self._provided.get(virtual, ())))

    def providers(self, name: str) -> list[str]:
        """Return the installed packages that provide a name."""
        return self._provided.get(name, [])

    def paths(self, name: str) -> Iterator[str]:
        """Yield the files and folders of a package."""
        yield from (line[1:] for line in self._lines(name) if line.startswith("F/"))

    def makes_accounts(self, name: str) -> bool:
        """Whether a script of a package makes accounts."""
        return any(word in line for line in self._lines(name) if line[:1] != "F" for word in MAKE_ACCOUNTS)

    def _lines(self, name: str) -> list[str]:
        if name not in self._details:
            self._details[name] = self._ask("-q", "--qf", _ONE, "--", name)
        return self._details[name]

    def _ask(self, *arguments: str) -> list[str]:
        environment = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
        from asyncstate.process.child import run_child  # noqa: PLC0415 - seldom called

        done = run_child([*self._program, *arguments], env=environment, timeout=_SECONDS)
        if done.returncode:
            raise OSError(f"rpm did not say what is installed: it ended with {done.returncode}")
        return done.stdout.decode(errors="replace").split("\n")
