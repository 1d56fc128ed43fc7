"""Reads APT's package sources: one-line ``*.list`` files and deb822 ``*.sources`` files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE = re.compile(r"^(#\s*)?(deb(?:-src)?)\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*(.*)$")
_NO = frozenset({"no", "false", "without", "off", "disable"})


def entries(root: str = "/etc/apt") -> Iterator[dict[str, Any]]:
    """Yield one dict for each combination of type, URI and suite, sources that are switched off too.

    Keys: file, line, type, types, uri, uris, dist, suites, comps, architectures, signedby, disabled, enabled.
    """
    base = Path(root)
    files = [base / "sources.list", *sorted((base / "sources.list.d").glob("*"))]
    for file in files:
        if file.is_file() and file.suffix in (".list", ".sources"):
            text = file.read_text(encoding="utf-8", errors="replace")
            yield from (_deb822 if file.suffix == ".sources" else _one_line)(str(file), text)


def _one_line(file: str, text: str) -> Iterator[dict[str, Any]]:
    for raw in text.splitlines():
        line = raw.strip()
        if found := _LINE.match(line):
            off, kind, options, uri, suite, rest = found.groups()
            chosen = dict(option.partition("=")[::2] for option in (options or "").split())
            yield _entry(
                file,
                line,
                ([kind], [uri], [suite]),
                rest.partition("#")[0].split(),
                architectures=chosen.get("arch", "").split(",") if chosen.get("arch") else [],
                signedby=chosen.get("signed-by", ""),
                disabled=bool(off),
            )


def _deb822(file: str, text: str) -> Iterator[dict[str, Any]]:
    for stanza in re.split(r"\n\s*\n", text):
        fields = _fields(stanza)
        kinds, uris, suites = (fields.get(name, "").split() for name in ("types", "uris", "suites"))
        comps, architectures = (fields.get(name, "").split() for name in ("components", "architectures"))
        signedby = fields.get("signed-by", "")
        options = [*([f"arch={','.join(architectures)}"] if architectures else [])]
        options += [f"signed-by={signedby}"] if signedby else []
        disabled = fields.get("enabled", "yes").lower() in _NO
        for uri in uris:
            for suite in suites:
                for kind in kinds:
                    words = [kind, *([f"[{' '.join(options)}]"] if options else []), uri, suite, *comps]
                    entry = _entry(
                        file,
                        f"{'# ' if disabled else ''}{' '.join(words)}",
                        (kinds, uris, suites),
                        comps,
                        architectures=architectures,
                        signedby=signedby,
                        disabled=disabled,
                    )
                    yield {**entry, "type": kind, "uri": uri, "dist": suite}


def _fields(stanza: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1].isspace() and name:
            fields[name] += f" {line.strip()}"
        elif ":" in line:
            key, _, value = line.partition(":")
            name = key.strip().lower()
            fields[name] = value.strip()
    return fields


def _entry(
    file: str, line: str, names: tuple[list[str], list[str], list[str]], comps: list[str], **rest: Any
) -> dict[str, Any]:
    kinds, uris, suites = names
    return {
        "file": file,
        "comps": comps,
        "dist": suites[0],
        "suites": suites,
        "type": kinds[0],
        "types": kinds,
        "uri": uris[0],
        "uris": uris,
        "line": line,
        "enabled": not rest["disabled"],
        **rest,
    }
