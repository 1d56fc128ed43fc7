"""Files of ``[section]`` and ``key=value`` lines, changed line by line so that comments stay."""

from __future__ import annotations

import re

from asyncstate import filesystem
from asyncstate.data.values import is_one_line
from asyncstate.errors import CommandExecutionError

_SECTION = re.compile(r"^\[(.+)\]\s*$")


class IniFile:
    """One file: lines before the first section, then each section's lines. Comments stay where they are."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.header: list[str] = []
        self.sections: dict[str, list[str]] = {}
        lines: list[str] = self.header
        for line in _lines(path):
            match = _SECTION.match(line)
            if match:
                lines = self.sections.setdefault(match[1], [])
            else:
                lines.append(line)

    def settings(self, section: str) -> dict[str, str]:
        """Return the settings of a section; continuation lines are joined by line breaks."""
        found: dict[str, str] = {}
        key = ""
        for line in self.sections[section]:
            if line[:1] in {"#", ";"} or not line.strip():
                continue
            if line[:1].isspace():
                if key:
                    found[key] += f"\n{line.strip()}"
            else:
                name, _, value = line.partition("=")
                key = name.strip().lower()
                found[key] = value.strip()
        return found

    def set(self, section: str, key: str, value: str) -> None:
        """Set one key in a section, at its current line or at the end.

        CommandExecutionError if the line could be read as another section or setting.
        """
        if not all(map(is_one_line, (section, key, *value.split("\n")))) or {*key} & {*"=[]#;"} or "]" in section:
            raise CommandExecutionError(f"{key!r} of {section!r}: {value!r} cannot be written as one setting")
        lines = self.sections[section]
        place = self._take(section, key)
        if place is None:
            place = len(lines)
            while place and not lines[place - 1].strip():
                place -= 1
        lines[place:place] = [f"{key}={value}".replace("\n", "\n ")]

    def unset(self, section: str, key: str) -> None:
        """Remove one setting of a section."""
        self._take(section, key)

    def save(self) -> None:
        """Write the file; without any section it is removed."""
        if not self.sections:
            filesystem.remove(self.path)
            return
        parts = ["\n".join(self.header)] if self.header else []
        parts += ["\n".join([f"[{name}]", *lines]) for name, lines in self.sections.items()]
        filesystem.replace_text(self.path, "\n".join(part.rstrip("\n") + "\n" for part in parts))

    def _take(self, section: str, key: str) -> int | None:
        """Remove the lines of a setting; return their index."""
        lines = self.sections[section]
        for place, line in enumerate(lines):
            if line.partition("=")[0].strip().lower() == key and "=" in line and not line[:1].isspace():
                end = place + 1
                while end < len(lines) and lines[end][:1].isspace() and lines[end].strip():
                    end += 1
                del lines[place:end]
                return place
        return None


def _lines(path: str) -> list[str]:
    try:
        return filesystem.read_lines(path)
    except FileNotFoundError:
        return []
