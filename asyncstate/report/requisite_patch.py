"""The requisites that lint misses, as a unified diff of the SLS files."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.report.lint import Finding

_HEADER = re.compile(r"^(?P<indent> *)(?P<name>[\w.]+)(?P<rest>: *| *: *\[\] *|)$")
_ITEM = re.compile(r"^(?P<indent> *)- ")
_PLAIN_ID = re.compile(r"^[\w./-]+$")


def requisite_patch(plan: Plan, findings: Iterable[Finding], read: Callable[[str], str]) -> tuple[str, list[Finding]]:
    """Return a diff that adds the missing requisites, and the findings it could not be written for.

    ``read(path)`` returns the text of an SLS file. Only states in block style whose function stands on a line of its
    own are changed; what a template writes is left alone.
    """
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.missing >= 0:
            by_file.setdefault(finding.file, []).append(finding)
    diffs: list[str] = []
    left: list[Finding] = []
    for path, wanted in sorted(by_file.items()):
        old = read(path).splitlines(keepends=True) if path else []
        new = list(old)
        # From the end of the file to its beginning: what is added moves no line that is still to be found.
        wanted.sort(key=lambda finding: finding.line, reverse=True)
        left += [
            finding
            for finding in wanted
            if not _add(new, plan.chunks[finding.chunk], plan.chunks[finding.missing], finding.line)
        ]
        diffs.extend(difflib.unified_diff(old, new, f"a/{path.lstrip('/')}", f"b/{path.lstrip('/')}"))
    return "".join(diffs), left


def _add(lines: list[str], chunk: LowChunk, missing: LowChunk, line: int) -> bool:
    """Put ``require`` of one state into the text of another; False where that is not plain."""
    at = _header(lines, chunk, line)
    if at is None:
        return False
    header = _HEADER.match(lines[at].rstrip("\n"))
    if header is None:
        return False
    target = missing.id if _PLAIN_ID.match(missing.id) else "'" + missing.id.replace("'", "''") + "'"
    reference = f"- {missing.state}: {target}\n"
    items = list(_items(lines, at, len(header["indent"])))
    indent = _ITEM.match(lines[items[0]])["indent"] if items else f"{header['indent']}  "  # type: ignore[index]
    for item in items:
        if re.fullmatch(r" *- require: *\n?", lines[item]):
            lines.insert(item + 1, f"{indent}  {reference}")
            return True
        if lines[item].lstrip().startswith("- require:"):
            return False
    lines[at] = f"{header['indent']}{header['name']}:\n"
    lines[at + 1 : at + 1] = [f"{indent}- require:\n", f"{indent}  {reference}"]
    return True


def _header(lines: list[str], chunk: LowChunk, line: int) -> int | None:
    """Return where the function of a state stands: on its line, or below the ID there."""
    names = {chunk.function, chunk.state}
    above = next((text for text in reversed(lines[:line]) if text[:1] not in {" ", "#", "\n"}), "")
    if "{{" in above:
        return None
    for at in range(line - 1, len(lines)):
        text = lines[at]
        if "{{" in text or "{%" in text:
            return None
        header = _HEADER.match(text.rstrip("\n"))
        if header is not None and header["name"] in names:
            return at if header["indent"] else None
        if at > line - 1 and text.strip() and not text.startswith((" ", "#")):
            return None
    return None


def _items(lines: list[str], at: int, indent: int) -> Iterator[int]:
    """Yield where the arguments of the state at ``at`` begin."""
    depth: int | None = None
    for number in range(at + 1, len(lines)):
        text = lines[number]
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        item = _ITEM.match(text)
        own = len(text) - len(text.lstrip(" "))
        if own < indent or (own == indent and item is None):
            return
        if item is not None:
            depth = own if depth is None else depth
            if own == depth:
                yield number
