"""The requisites that lint reports as missing, as a unified diff of the SLS files.

A requisite is written only where an author would write it: under a state in plain block style outside all loops, macros
and conditions, in its existing list of requisites, with an ID that the SLS or one it includes declares in the same
plain way. The result is compiled before it is shown. For all other findings, the reason and the manual change are
reported.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from asyncstate.extras.analyse.jinja_blocks import lines_in_blocks
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from asyncstate.extras.analyse.lint import Finding
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan

_HEADER = re.compile(r"^(?P<indent> *)(?P<name>[\w.]+)(?P<rest>: *\[\] *|:|) *(?P<comment>#.*)?$")
_ITEM = re.compile(r"^(?P<indent> *)- ")
_ONE_LINE = re.compile(r"^(?P<head> *- require: *\[)(?P<items>.*?) *\](?P<tail> *(?:#.*)?)$")
_PLAIN_ID = re.compile(r"^[A-Za-z_/][\w./-]*$")
_NO_WORD = frozenset({"null", "true", "false", "yes", "no", "on", "off"})
_ATTEMPTS = 100


class ByHand(Value):
    """A finding without a diff: the change to make by hand, and the reason."""

    finding: Finding
    what: str


class _Unplain(Exception):
    """A place in a file that is not plain text; the message is the reason for the user."""


def requisite_patch(
    plan: Plan,
    findings: Iterable[Finding],
    read: Callable[[str], str],
    objection: Callable[[Mapping[str, str]], str],
) -> tuple[str, list[ByHand]]:
    """Return a diff that adds the missing requisites, and the findings left for a change by hand.

    ``read(path)`` returns the text of an SLS file with unchanged line ends. ``objection(texts)`` returns why the tree
    does not compile to the same states when these texts replace some files, "" if it does.
    """
    wanted = [finding for finding in findings if finding.missing >= 0]
    writer = _Writer(plan, read)
    left: list[ByHand] = []
    good: list[Finding] = []
    for finding in wanted:
        reason = writer.reason_against(finding)
        if reason:
            left.append(ByHand(finding, _advice(plan, finding, reason)))
        else:
            good.append(finding)
    texts = writer.written(good)
    if good and objection(texts):
        good, refused = _one_by_one(writer, good, objection)
        left += [ByHand(finding, _advice(plan, finding, reason)) for finding, reason in refused]
        texts = writer.written(good)
    diffs = (_diff(path, read(path), text) for path, text in sorted(texts.items()))
    return "".join(diffs), left


def with_requisite(plan: Plan, finding: Finding, read: Callable[[str], str]) -> str:
    """Return the text of a file with the missing requisite of a finding; "" if it cannot be written plainly."""
    if finding.missing < 0:
        return ""
    writer = _Writer(plan, read)
    if writer.reason_against(finding):
        return ""
    return writer.written([finding])[plan.chunks[finding.chunk].file]


def _one_by_one(
    writer: _Writer, findings: list[Finding], objection: Callable[[Mapping[str, str]], str]
) -> tuple[list[Finding], list[tuple[Finding, str]]]:
    """Return the findings that can be added one by one so that the tree compiles, and the others with the reason."""
    good: list[Finding] = []
    refused: list[tuple[Finding, str]] = []
    for number, finding in enumerate(findings):
        against = objection(writer.written([*good, finding])) if number < _ATTEMPTS else "it was not tried"
        if against:
            refused.append((finding, f"with it the tree would not compile as it does: {against}"))
        else:
            good.append(finding)
    return good, refused


def _advice(plan: Plan, finding: Finding, reason: str) -> str:
    chunk, missing = plan.chunks[finding.chunk], plan.chunks[finding.missing]
    return f"if '{chunk.id}' needs it, write - require: [{{{missing.state}: {missing.id}}}] by hand; {reason}"


class _Writer:
    """Adds requisites to the texts of SLS files."""

    def __init__(self, plan: Plan, read: Callable[[str], str]) -> None:
        self._plan = plan
        self._read = read
        self._texts: dict[str, str] = {}
        self._blocks: dict[str, frozenset[int]] = {}

    def reason_against(self, finding: Finding) -> str:
        """Return the reason why a requisite cannot be written, "" if it can."""
        chunk, missing = self._plan.chunks[finding.chunk], self._plan.chunks[finding.missing]
        if chunk.sls != missing.sls and chunk.sls not in missing.included_from:
            return f"'{chunk.sls}' does not include '{missing.sls}', which declares '{missing.id}': include it first"
        try:
            self._declaration(chunk, "it")
            self._declaration(missing, f"'{missing.id}'")
            _add(self._lines(chunk.file), chunk, missing)
        except _Unplain as reason:
            return str(reason)
        return ""

    def written(self, findings: list[Finding]) -> dict[str, str]:
        """Return the texts of all files that change."""
        lines: dict[str, list[str]] = {}
        # From the end of a file to its beginning: an added line then moves no line that is needed later.
        for finding in sorted(findings, key=lambda finding: -self._plan.chunks[finding.chunk].line):
            chunk, missing = self._plan.chunks[finding.chunk], self._plan.chunks[finding.missing]
            text = lines.get(chunk.file)
            lines[chunk.file] = _add(self._lines(chunk.file) if text is None else text, chunk, missing)
        return {path: "".join(text) for path, text in lines.items()}

    def _lines(self, path: str) -> list[str]:
        return self._text(path).splitlines(keepends=True)

    def _text(self, path: str) -> str:
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _declaration(self, chunk: LowChunk, called: str) -> None:
        """Raise _Unplain unless an ID is literally in its file, outside all blocks."""
        if not chunk.file or not chunk.line:
            raise _Unplain(f"it is not known where {called} is declared")
        text = self._text(chunk.file)
        if "\r" in text:
            raise _Unplain("the lines of the file end with carriage returns")
        if chunk.file not in self._blocks:
            self._blocks[chunk.file] = lines_in_blocks(text)
        lines = text.splitlines()
        at = next((number for number in range(chunk.line, 0, -1) if _declares(lines[number - 1], chunk.id)), 0)
        between = lines[at : chunk.line - 1]
        if not at or any(line[:1] not in {" ", "#", ""} for line in between):
            raise _Unplain(f"{called} is written by a template, or not in block style")
        if not self._blocks[chunk.file].isdisjoint(range(at, chunk.line + 1)):
            raise _Unplain(f"{called} is in a loop, a macro or a condition of the template")


def _declares(line: str, id_: str) -> bool:
    written = {id_, f'"{id_}"', "'" + id_.replace("'", "''") + "'"}
    return re.sub(r"\s*:\s*(#.*)?$", "", line) in written and line.rstrip() not in written


def _add(lines: list[str], chunk: LowChunk, missing: LowChunk) -> list[str]:
    """Return the lines of a file with ``require`` of one state under another. Raises _Unplain."""
    at = _header(lines, chunk)
    header = _HEADER.match(lines[at].rstrip("\n"))
    assert header is not None  # noqa: S101 - it has just been found
    end = _end(lines, at, len(header["indent"]))
    body = lines[at + 1 : end]
    if any("{%" in line or "{#" in line for line in body):
        raise _Unplain("a template statement is among its arguments")
    if any(re.match(r" *(- )?<<", line) or re.search(r"[:-] [&*]\w", line) for line in body):
        raise _Unplain("it shares arguments by a YAML anchor")
    new = [line if line.endswith("\n") else f"{line}\n" for line in lines]
    items = [number for number in range(at + 1, end) if _is_item(lines, number, at)]
    if not items and any(line.strip() and not line.lstrip().startswith("#") for line in body):
        raise _Unplain("its arguments are not in block style")
    indent = str(_ITEM.match(lines[items[0]])["indent"]) if items else f"{header['indent']}  "  # type: ignore[index]
    reference = f"{missing.state}: {_written_id(missing.id)}"
    for position, item in enumerate(items):
        if re.match(r" *- require:", lines[item]):
            stop = items[position + 1] if position + 1 < len(items) else end
            return _merge(new, item, stop, indent, reference)
    if not header["rest"].startswith(":") or "[" in header["rest"]:
        comment = f"  {header['comment']}" if header["comment"] else ""
        new[at] = f"{header['indent']}{header['name']}:{comment}\n"
    new[end:end] = [f"{indent}- require:\n", f"{indent}  - {reference}\n"]
    return new


def _merge(new: list[str], item: int, stop: int, indent: str, reference: str) -> list[str]:
    """Add a reference to the requisite list that begins in line ``item``."""
    in_one_line = _ONE_LINE.match(new[item].rstrip("\n"))
    if in_one_line is not None:
        items = f"{in_one_line['items']}, " if in_one_line["items"].strip() else ""
        new[item] = f"{in_one_line['head']}{items}{{{reference}}}]{in_one_line['tail']}\n"
        return new
    if not re.fullmatch(r" *- require: *(#.*)?\n", new[item]):
        raise _Unplain("its list of requisites is not in block style")
    members = [number for number in range(item + 1, stop) if _ITEM.match(new[number])]
    deeper = str(_ITEM.match(new[members[0]])["indent"]) if members else f"{indent}  "  # type: ignore[index]
    after = members[-1] if members else item
    new.insert(after + 1, f"{deeper}- {reference}\n")
    return new


def _header(lines: list[str], chunk: LowChunk) -> int:
    """Return the line of the function of a state: its own line, or one below its ID. Raises _Unplain."""
    for at in range(chunk.line - 1, len(lines)):
        text = lines[at].rstrip("\n")
        header = _HEADER.match(text)
        if header is not None and header["name"] in {chunk.function, chunk.state} and header["indent"]:
            return at
        if at >= chunk.line and text.strip() and not text.startswith((" ", "#")):
            break
    raise _Unplain("its function is not on a line of its own")


def _end(lines: list[str], at: int, indent: int) -> int:
    """Return the line after the last argument of the state at ``at``, before any blank lines and comments."""
    end = at + 1
    for number in range(at + 1, len(lines)):
        text = lines[number]
        if not text.strip():
            continue
        own = len(text) - len(text.lstrip(" "))
        if own < indent or (own == indent and not _ITEM.match(text)):
            break
        if not text.lstrip().startswith("#"):
            end = number + 1
    return end


def _is_item(lines: list[str], number: int, at: int) -> bool:
    """Return whether line ``number`` begins an argument of the state at ``at``."""
    first = next((match for line in lines[at + 1 :] if (match := _ITEM.match(line))), None)
    item = _ITEM.match(lines[number])
    return item is not None and first is not None and item["indent"] == first["indent"]


def _diff(path: str, old: str, new: str) -> str:
    name = path.lstrip("/")
    lines = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _written_id(id_: str) -> str:
    """Return an ID as YAML text that is read back as the same ID."""
    if _PLAIN_ID.match(id_) and id_.lower() not in _NO_WORD and not id_.endswith("."):
        return id_
    return "'" + id_.replace("'", "''") + "'"
