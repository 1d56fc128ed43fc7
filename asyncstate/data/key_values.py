"""Edits of ``key = value`` lines."""

from __future__ import annotations

from typing import Any

from asyncstate.data import edits


class KeyValues:
    """Reads a file's lines once and collects the new content and Salt's form of diff."""

    key_ignore_case = False
    value_ignore_case = False
    prune = False

    def __init__(self, wanted: dict[str, Any], separator: str, count: int, uncomment: str | None) -> None:
        self.wanted = wanted
        self.separator = separator
        self.uncomment = uncomment
        self.end: str = "\n"
        self.left: dict[str, int] = dict.fromkeys(wanted, count)
        self.content: list[str] = []
        self.diff: list[str] = []
        self.pruned: list[str] = []
        self.changed: int = 0

    def read(self, text: str) -> None:
        """Add all lines of a text."""
        self.end = edits.line_end(text)
        for line in edits.lines_of(text):
            self.take(line)

    def take(self, line: str) -> None:
        """Add one line to the new content, with the wanted value if it has one of the keys."""
        stripped = line.lstrip(self.uncomment)
        commented = len(stripped) < len(line)
        folded = stripped.lower() if self.key_ignore_case else stripped
        if self.prune and not folded.startswith(tuple(map(self._fold, self.wanted))):
            self.pruned.append(line)
            return
        found, separator, value = stripped.partition(self.separator)
        for key, wanted in self.wanted.items():
            if separator and self._fold(found) == self._fold(key):
                line = self._with_value(key, wanted, line, found, value, commented=commented)
        self.content.append(line)

    def _fold(self, key: str) -> str:
        return key.lower() if self.key_ignore_case else key

    def _with_value(self, key: str, wanted: Any, line: str, found: str, value: str, *, commented: bool) -> str:
        left = self.left[key]
        present, asked = value.strip(), str(wanted).strip()
        if self.value_ignore_case:
            present, asked = present.lower(), asked.lower()
        differs = present != asked
        if left > 0 if commented else differs or left == 0:
            self.diff.append(f"- {line}")
            line = ""
            if left:
                line = f"{found}{self.separator}{wanted}{self.end}"
                kind = "" if isinstance(wanted, str) else f" (from {type(wanted).__name__} type)"
                self.diff.append(f"+ {line.rstrip()}{kind}{self.end}" if kind else f"+ {line}")
            self.changed += 1
        if left > 0:
            self.left[key] = left - 1
        return line

    def _missing(self) -> list[str]:
        return [f"{key}{self.separator}{wanted}{self.end}" for key, wanted in self.wanted.items() if self.left[key] > 0]

    def append(self) -> None:
        """Add the keys that were not found at the end."""
        lines = self._missing()
        if not lines:
            return
        if self.content and not self.content[-1].endswith("\n"):
            self.content[-1] += self.end
        self.content += lines
        self.diff += [f"- <EOF>{self.end}", *(f"+ {line}" for line in lines), f"+ <EOF>{self.end}"]
        self.changed += len(lines)

    def prepend(self) -> None:
        """Add the keys that were not found at the beginning, in reverse order, as in Salt."""
        lines = self._missing()
        if not lines:
            return
        self.content[:0] = reversed(lines)
        self.diff[:0] = [f"  <SOF>{self.end}", *(f"+ {line}" for line in reversed(lines))]
        self.changed += len(lines)
