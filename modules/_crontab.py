"""The text of a crontab; Salt manages the part below its marker."""

from __future__ import annotations

from typing import Any

MARKER = "# Lines below here are managed by Salt, do not edit"
IDENTIFIER = "SALT_CRON_IDENTIFIER"
FIELDS = ("minute", "hour", "daymonth", "month", "dayweek")

EMPTY = '""'
"""The text of an empty value of a variable."""
_DISABLED = "#DISABLED#"


def parse(text: str) -> dict[str, list[Any]]:
    """Split a crontab into ``pre``, ``crons``, ``special`` and ``env``. Other lines below the marker are dropped."""
    tab: dict[str, list[Any]] = {"pre": [], "crons": [], "special": [], "env": []}
    # Only "\n" ends a line for crond: other line separators may be part of a command or a comment.
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
    if MARKER not in lines:
        return {**tab, "pre": lines}
    start = lines.index(MARKER)
    tab["pre"] = lines[:start]
    about: dict[str, Any] = {"identifier": None, "comment": None}
    for line in lines[start + 1 :]:
        if line == MARKER:
            continue
        commented = line.startswith(_DISABLED)
        entry = line.removeprefix(_DISABLED)
        if entry.startswith("@"):
            spec, *command = entry.split()
            if command:
                job = {"spec": spec, "cmd": " ".join(command), "commented": commented}
                tab["special"].append({**job, **about})
                about = {"identifier": None, "comment": None}
        elif entry.startswith("#"):
            _note(about, entry)
        elif _is_assignment(entry):
            name, _, value = entry.partition("=")
            tab["env"].append({"name": name, "value": value})
        elif entry.count(" ") >= len(FIELDS):
            *times, command_line = entry.split(" ", len(FIELDS))
            job = {**dict(zip(FIELDS, times, strict=True)), "cmd": command_line, "commented": commented}
            tab["crons"].append({**job, **about})
            about = {"identifier": None, "comment": None}
    return tab


def text_of(tab: dict[str, list[Any]]) -> str:
    """Return the text of the crontab ``tab``: the inverse of `parse`."""
    lines = [*tab["pre"], MARKER]
    lines += [f"{each['name']}={each['value'] or EMPTY}" for each in tab["env"]]
    for job in tab["crons"]:
        lines += [*_comment_lines(job), f"{_mark(job)}{' '.join(job[field] for field in FIELDS)} {job['cmd']}"]
    for job in tab["special"]:
        lines += [*_comment_lines(job), f"{_mark(job)}{job['spec']} {job['cmd']}"]
    return "".join(f"{line}\n" for line in lines)


def matches(job: dict[str, Any], cmd: str, identifier: str | None) -> bool:
    """Return whether a job is the given one: by its identifier, or by its command if it has none."""
    if job["identifier"]:
        return bool(job["identifier"] == identifier)
    return bool(job["cmd"] == cmd)


def key_of(job: dict[str, Any]) -> tuple[str, str]:
    """Return the key of a job: its identifier, or its command if it has none."""
    if job["identifier"]:
        return "identifier", job["identifier"]
    return "cmd", " ".join(job["cmd"].split())


def needs_change(old: Any, new: Any) -> bool:
    """Return whether ``old`` does not satisfy ``new``.

    Anything satisfies None, any fixed time satisfies ``random``, and a time between the two satisfies ``a:b``.
    """
    if old == new or new is None:
        return False
    if isinstance(new, str) and new.count(":") == 1 and str(old).isdigit():
        first, _, last = new.partition(":")
        if first.isdigit() and last.isdigit():
            return not min(int(first), int(last)) <= int(old) <= max(int(first), int(last))
    return bool(new != "random" or old == "*")


def _note(about: dict[str, Any], line: str) -> None:
    comment = line.lstrip("# ")
    if IDENTIFIER in comment:
        comment, _, identifier = comment.partition(IDENTIFIER)
        comment = comment.rstrip()
        if len(identifier) > 1:
            about["identifier"] = identifier[1:]
    about["comment"] = comment if about["comment"] is None else f"{about['comment']}\n{comment}"


def _is_assignment(line: str) -> bool:
    name, equals, _ = line.partition("=")
    return bool(name and equals) and " " not in name


def _comment_lines(job: dict[str, Any]) -> list[str]:
    if job["comment"] is None and job["identifier"] is None:
        return []
    comment = "#"
    if job["comment"]:
        comment += " " + "\n# ".join(str(job["comment"]).rstrip().replace("\0", "").splitlines())
    if job["identifier"]:
        comment += f" {IDENTIFIER}:{job['identifier']}"
    return [comment]


def _mark(job: dict[str, Any]) -> str:
    return _DISABLED if job["commented"] is True else ""
