"""apt's source lists: one-line entries (sources.list(5)) and deb822 stanzas, read and written back."""

from __future__ import annotations

import glob
import os
import re
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.errors import InvocationError

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES_LIST = "/etc/apt/sources.list"
SOURCES_PARTS = "/etc/apt/sources.list.d"

_TYPES_OF_APT = {"deb", "deb-src"}
_TYPES = {*_TYPES_OF_APT, "rpm", "rpm-src"}
_OPTIONS = re.compile(r"(\S+)\s+\[([^\]]*)\]")
"""The type of a source, and the options right behind it."""
_WORD = re.compile(r"(?:\[[^\]]*\]|\S)+")
"""A word of a source: in brackets, it may have blanks (``cdrom:[Debian 12]/``)."""


def is_true(value: Any) -> bool:
    """Return the boolean that a yes or no of apt or YAML means."""
    if isinstance(value, str):
        return value.strip().lower() in {"yes", "true", "with", "on", "enable", "1"}
    return bool(value)


class LineSource:
    """One line of a ``.list`` file. A line that is no source (such as a comment) is ``invalid`` and kept as it is."""

    def __init__(self, line: str, file: str = "") -> None:
        self.file = file or SOURCES_LIST
        if self.file.endswith(".sources"):
            raise InvocationError(f"A one-line source cannot be written to {self.file}")
        self.line = line.strip()
        self.disabled = self.line.startswith("#")
        text, _, self.comment = self.line.lstrip("#").strip().partition("#")
        options = _OPTIONS.match(text)
        words: list[str] = _WORD.findall(text, options.end() if options else 0)
        words = [options[1], *words] if options else words
        self.invalid = not words or words[0] not in _TYPES or any(word.startswith("[") for word in words[1:2])
        if not self.invalid and len(words) < 3:
            if not self.disabled:
                raise InvocationError(f"Invalid repository definition: {text.strip()}")
            self.invalid = True
        self.type, self.uri, self.dist = words[:3] if not self.invalid else ("", "", "")
        self.comps = words[3:]
        given = options[2].split() if options else []
        self.is_readable = self.type in _TYPES_OF_APT and all("=" in word for word in given)
        """Whether apt reads the line: one such line that it does not read keeps it from any work."""
        self._options = dict(map(_option, given))
        self._read = self.canonical()

    @property
    def types(self) -> list[str]:
        """The types, for a line always one."""
        return [self.type]

    @property
    def uris(self) -> list[str]:
        """The addresses, for a line always one."""
        return [self.uri]

    @property
    def suites(self) -> list[str]:
        """The suites, for a line always one."""
        return [self.dist] if self.dist else []

    @property
    def architectures(self) -> list[str]:
        """The architectures the source is limited to."""
        return [each for each in self._options.get("arch", "").split(",") if each]

    @architectures.setter
    def architectures(self, value: list[str]) -> None:
        self._set("arch", ",".join(value))

    @property
    def signedby(self) -> str:
        """The keyring the source must be signed by, "" for any trusted one."""
        return self._options.get("signed-by", "")

    @signedby.setter
    def signedby(self, value: str) -> None:
        self._set("signed-by", value)

    @property
    def trusted(self) -> bool | None:
        """Whether the source is trusted without a signature."""
        return is_true(self._options["trusted"]) if "trusted" in self._options else None

    @trusted.setter
    def trusted(self, value: Any) -> None:
        self._set("trusted", "yes" if is_true(value) else "")

    def drop_suite(self, suite: str) -> None:
        """Leave ``suite`` out; a source without any is nothing."""
        self.dist = "" if suite == self.dist else self.dist

    def text(self) -> str:
        """Return the line for the file: as it was read unless it was changed."""
        canonical = self.canonical()
        return canonical if canonical != self._read else self.line

    def canonical(self) -> str:
        """Return the canonical form of the line, the same for all lines of the same meaning."""
        if self.invalid:
            return self.line
        options = " ".join(f"{name}={value}" for name, value in self._options.items())
        words = [self.type, f"[{options}]" if options else "", self.uri, self.dist, " ".join(self.comps)]
        line = " ".join(word for word in words if word)
        line = f"# {line}" if self.disabled else line
        return f"{line} #{self.comment}" if self.comment else line

    def _set(self, name: str, value: str) -> None:
        if value:
            self._options[name] = value
        else:
            self._options.pop(name, None)


class StanzaSource:
    """One stanza of a ``.sources`` file. Fields that this class does not know, and comments, are kept."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.header = ""
        self._fields: dict[str, str] = {}
        key, comments = "", []
        for line in text.split("\n"):
            if line.startswith("#"):
                comments.append(line)
            elif line[:1].isspace() and key:
                self._fields[key] += f"\n{line}"
            elif ":" in line:
                key, _, value = line.partition(":")
                self._fields[key] = value.strip()
        self.header = "\n".join(comments)
        self.invalid = not self.types or not self.uris

    @property
    def types(self) -> list[str]:
        """``deb``, ``deb-src`` or both."""
        return self._words("Types")

    @types.setter
    def types(self, value: list[str]) -> None:
        self._set("Types", " ".join(value))

    @property
    def type(self) -> str:
        """The types as they are written."""
        return " ".join(self.types)

    @property
    def uris(self) -> list[str]:
        """The addresses."""
        return self._words("URIs")

    @uris.setter
    def uris(self, value: list[str]) -> None:
        self._set("URIs", " ".join(value))

    @property
    def uri(self) -> str:
        """The addresses as they are written."""
        return " ".join(self.uris)

    @uri.setter
    def uri(self, value: str) -> None:
        self._set("URIs", value)

    @property
    def suites(self) -> list[str]:
        """The suites."""
        return self._words("Suites")

    @suites.setter
    def suites(self, value: list[str]) -> None:
        self._set("Suites", " ".join(value))

    @property
    def dist(self) -> str:
        """The suites as they are written."""
        return " ".join(self.suites)

    @dist.setter
    def dist(self, value: str) -> None:
        self._set("Suites", value)

    @property
    def comps(self) -> list[str]:
        """The components."""
        return self._words("Components")

    @comps.setter
    def comps(self, value: list[str]) -> None:
        self._set("Components", " ".join(value))

    @property
    def architectures(self) -> list[str]:
        """The architectures the source is limited to."""
        return self._words("Architectures")

    @architectures.setter
    def architectures(self, value: list[str]) -> None:
        self._set("Architectures", " ".join(value))

    @property
    def signedby(self) -> str:
        """The keyring the source must be signed by, or the key itself; "" for any trusted one."""
        return self._get("Signed-By")

    @signedby.setter
    def signedby(self, value: str) -> None:
        self._set("Signed-By", value)

    @property
    def trusted(self) -> bool | None:
        """Whether the source is trusted without a signature."""
        return is_true(self._get("Trusted")) if self._get("Trusted") else None

    @trusted.setter
    def trusted(self, value: Any) -> None:
        self._set("Trusted", "yes" if is_true(value) else "no")

    @property
    def disabled(self) -> bool:
        """Whether apt ignores the stanza."""
        return not is_true(self._get("Enabled") or "yes")

    @disabled.setter
    def disabled(self, value: bool) -> None:
        self._set("Enabled", "no" if value else "")

    @property
    def comment(self) -> str:
        """The comment above the stanza."""
        return self.header

    @comment.setter
    def comment(self, value: str) -> None:
        self.header = "\n".join(line if line.startswith("#") else f"#{line}" for line in value.splitlines())

    def drop_suite(self, suite: str) -> None:
        """Leave ``suite`` out; a source without any is nothing."""
        self.suites = [each for each in self.suites if each != suite]

    def text(self) -> str:
        """Return the text of the stanza for the file."""
        lines = [f"{key}: {value}" if value[:1] != "\n" else f"{key}:{value}" for key, value in self._fields.items()]
        return "\n".join([*([self.header] if self.header else []), *lines])

    def _name(self, name: str) -> str:
        return next((key for key in self._fields if key.lower() == name.lower()), name)

    def _get(self, name: str) -> str:
        return self._fields.get(self._name(name), "")

    def _words(self, name: str) -> list[str]:
        return self._get(name).split()

    def _set(self, name: str, value: str) -> None:
        if value:
            self._fields[self._name(name)] = value
        else:
            self._fields.pop(self._name(name), None)


Source = LineSource | StanzaSource


class SourceLists:
    """All sources of this machine, in apt's order. ``save`` writes the files whose content changed."""

    def __init__(self) -> None:
        parts = sorted(glob.glob(os.path.join(SOURCES_PARTS, "*")))
        self._texts: dict[str, str] = {}
        self.sources: list[Source] = []
        for path in [SOURCES_LIST, *parts]:
            if path.endswith((".list", ".sources")) and os.path.isfile(path):
                with filesystem.open_text(path, errors="surrogateescape") as file:
                    self._texts[path] = file.read()
                self.sources += _parse(self._texts[path], path)
        self._before = self._rendered()

    def __iter__(self) -> Iterator[Source]:
        """Iterate over the sources, enabled or not."""
        return (source for source in self.sources if not source.invalid)

    def remove(self, source: Source) -> None:
        """Remove one source."""
        self.sources = [each for each in self.sources if each is not source]

    def save_to(self, folder: str) -> None:
        """Write all files into ``folder``, which takes the place of /etc/apt; none that apt does not read."""
        os.mkdir(os.path.join(folder, "parts"))
        for path, text in self._rendered().items():
            name = os.path.basename(path)
            if path == SOURCES_LIST or os.path.dirname(path) == SOURCES_PARTS:
                name = name if path == SOURCES_LIST else os.path.join("parts", name)
                with open(os.path.join(folder, name), "w", encoding="utf-8", errors="surrogateescape") as file:
                    file.write(text)

    def save(self) -> None:
        """Write the changed files. A file of the parts directory that is empty now is removed."""
        after = self._rendered()
        for path in sorted({*self._before, *after}):
            if after.get(path, "") == self._before.get(path, ""):
                continue
            if not after.get(path, "").strip() and os.path.dirname(path) == SOURCES_PARTS:
                filesystem.remove(path)
            else:
                filesystem.replace_text(path, after.get(path, ""))
        self._before = after

    def _rendered(self) -> dict[str, str]:
        texts: dict[str, list[str]] = {}
        for source in self.sources:
            texts.setdefault(source.file, []).append(source.text())
        return {
            path: ("\n\n" if path.endswith(".sources") else "\n").join(parts) + "\n" for path, parts in texts.items()
        }


def _parse(text: str, path: str) -> list[Source]:
    if path.endswith(".sources"):
        return [StanzaSource(part, path) for part in re.split(r"\n\s*\n", text) if part.strip()]
    return [_line(line, path) for line in text.removesuffix("\n").split("\n")] if text else []


def _line(line: str, path: str) -> LineSource:
    try:
        return LineSource(line, path)
    except InvocationError:
        kept = LineSource("", path)
        kept.line = kept._read = line  # noqa: SLF001 - apt reports an invalid line; the user must correct it
        return kept


def _option(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return {"signedby": "signed-by"}.get(name.lower(), name.lower()), value
