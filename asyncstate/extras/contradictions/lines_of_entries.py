"""Edits of single entries in the text of a file, by states such as `cron`, `git` or `pkgrepo`.

An entry is found by its usual spelling. If a text has only the words of an entry, the outcome is left to a run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from asyncstate.extras.contradictions.claims import ENTRIES, REMOVALS, key_in
from asyncstate.extras.contradictions.git_settings import as_git_spells
from asyncstate.extras.contradictions.package_sources import SAY_OTHERWISE, source_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from asyncstate.model.chunk import LowChunk

    Finder = Callable[[LowChunk, Sequence[str]], Sequence[int]]

CRON_MARKER = "# Lines below here are managed by Salt, do not edit"
"""The line of a crontab above which states of single jobs leave all as it is."""
_GONE = frozenset({*REMOVALS, "ini.options_absent"})
_HEADER = re.compile(r'\s*\[\s*([^]"\s]+)(?:\s+"([^"\\]*)")?\s*\]\s*')
_NO_PLAIN_VALUE = re.compile(r"[\"\\;#]")


class OnlyARunKnows(Exception):
    """The resulting text depends on the machine."""


def edit_of(chunk: LowChunk) -> Callable[[str], str]:
    """Return what a state of single entries makes of a text; that raises OnlyARunKnows for some texts."""
    gone, words = chunk.function in _GONE, _words(chunk)
    find = _FINDERS.get(chunk.function)
    elsewhere = chunk.state == "pkgrepo" and not chunk.args.get("file")

    def edited(text: str) -> str:
        lines = text.splitlines(keepends=True)
        found = find(chunk, lines) if find is not None else None
        if found:
            return "".join(line for number, line in enumerate(lines) if number not in found) if gone else text
        if (find is None or find not in _READ_ALL) and all(word in text for word in words):
            raise OnlyARunKnows
        if gone or elsewhere:
            return text
        return "\n".join((text, *([CRON_MARKER] if chunk.state == "cron" else []), *words))

    return edited


def sample_of(chunk: LowChunk) -> str:
    """Return the lines of the entries that a state puts into a file, "" if they are not known."""
    args, pairs = chunk.args, []
    if chunk.function == "host.present":
        pairs = [f"{address}\t{chunk.name}" for address in strings(args.get("ip"))]
    elif chunk.function in {"mount.mounted", "mount.fstab_present"}:
        pairs = ["\t".join(str(chunk.name if each == "name" else args.get(each)) for each in ENTRIES[chunk.function])]
    elif chunk.function == "sysctl.present":
        pairs = [f"{chunk.name} = {args.get('value')}"]
    elif chunk.function == "ini.options_present" and isinstance(args.get("sections"), dict):
        groups = [options for options in args["sections"].values() if isinstance(options, dict)]
        pairs = [f"{option} = {value}" for options in groups for option, value in options.items()]
    return "".join(f"{pair}\n" for pair in pairs)


def strings(value: Any) -> list[str]:
    """Return a text or a list of texts and numbers as texts, [] for anything else."""
    items = value if isinstance(value, list) else [value]
    return [str(item) for item in items] if all(isinstance(item, (str, int, float)) for item in items) else []


def _words(chunk: LowChunk) -> list[str]:
    """Return words that the entries of a state have."""
    if chunk.state == "ini":
        sections = chunk.args.get("sections") or {}
        groups = [sections] if chunk.fun == "sections_present" or not isinstance(sections, dict) else sections.values()
        return [str(name) for options in groups if isinstance(options, (dict, list)) for name in options]
    if chunk.state == "pkgrepo":
        source = source_line(chunk.name)
        return [source.uri] if source else [str(chunk.name)]
    if chunk.state == "kmod":
        return strings(chunk.args.get("mods") or chunk.name)
    named = ENTRIES.get(chunk.function, ("name",))
    given = [chunk.name if each == "name" else chunk.args.get(each) for each in named]
    texts = [str(each) for value in given for each in (value if isinstance(value, list) else [value])]
    if chunk.state == "cron":
        return texts[0].split()
    if chunk.state == "git":
        return re.findall(r"\w+", texts[0] if given[0] is not True else "true")
    if chunk.state == "ssh_auth":
        return [word for text in texts if (line := key_in(text)) for word in (line[3], *line[4].split())]
    return [text.replace("/", ".").rpartition(".")[2] for text in texts] if chunk.state == "sysctl" else texts


def _of_alias(chunk: LowChunk, lines: Sequence[str]) -> Sequence[int]:
    parts = [line.partition("#")[0].partition(":") for line in lines]
    found = [number for number, (name, _, _) in enumerate(parts) if name.strip() == str(chunk.name)]
    if chunk.fun == "absent":
        return found
    target = ", ".join(strings(chunk.args.get("target")))
    return [number for number in found[-1:] if parts[number][2].strip() == target]


def _of_module(chunk: LowChunk, lines: Sequence[str]) -> Sequence[int]:
    mods = {mod.split()[0] for mod in strings(chunk.args.get("mods") or chunk.name) if mod.split()}
    named = {number: line.split()[0] for number, line in enumerate(lines) if line.strip()}
    found = [number for number, name in named.items() if name in mods]
    return found if chunk.fun == "absent" or mods <= set(named.values()) else []


def _of_job(chunk: LowChunk, lines: Sequence[str]) -> Sequence[int]:
    managed = any(line.rstrip("\r\n") == CRON_MARKER for line in lines)
    if managed and any(word in line for line in lines for word in _words(chunk)):
        raise OnlyARunKnows
    return []


def _of_setting(chunk: LowChunk, lines: Sequence[str]) -> Sequence[int]:
    name, value = str(chunk.name), " ".join(str(chunk.args.get("value")).split())
    pairs = [line.partition("=") for line in lines]
    found = [number for number, (own, _, _) in enumerate(pairs) if own.strip() == name]
    return [number for number in found[-1:] if " ".join(pairs[number][2].split()) == value]


def _of_mount(chunk: LowChunk, lines: Sequence[str]) -> Sequence[int]:
    device, point = chunk.args.get("device"), str(chunk.name)
    if chunk.fun == "fstab_absent":
        device, point = point, str(chunk.args.get("fs_file"))
    fields = [line.split() for line in lines]
    return [
        number
        for number, each in enumerate(fields)
        if len(each) > 3 and each[1] == point and device in {None, each[0]} and not each[0].startswith("#")
    ]


def _of_host_key(chunk: LowChunk, lines: Sequence[str]) -> Sequence[int]:
    if any(line.startswith(("|", "@")) for line in lines):
        raise OnlyARunKnows
    return [number for number, line in enumerate(lines) if str(chunk.name) in line.partition(" ")[0].split(",")]


def _of_source(chunk: LowChunk, lines: Sequence[str]) -> Sequence[int]:
    wanted = source_line(chunk.name)
    if wanted is None or not SAY_OTHERWISE.isdisjoint(chunk.args):
        return []
    parsed = [(number, source_line(line.partition("#")[0])) for number, line in enumerate(lines)]
    found = [(number, line) for number, line in parsed if line]
    if chunk.fun == "managed":
        return [number for number, line in found if line == wanted]
    return [number for number, line in found if line.shares(wanted) and line.architectures == wanted.architectures]


def _of_git(chunk: LowChunk, lines: Sequence[str]) -> Sequence[int]:
    settings = list(_settings(lines, "="))
    if any(_NO_PLAIN_VALUE.search(value) for _, _, _, value in settings):
        raise OnlyARunKnows
    named = [(number, ".".join(filter(None, (section, part)))) for number, section, part, _ in settings]
    if chunk.fun == "config_unset":
        if chunk.args.get("value_regex") is not None:
            raise OnlyARunKnows
        return [number for number, name in named if re.fullmatch(str(chunk.name), as_git_spells(name))]
    value, name = chunk.args.get("value"), as_git_spells(str(chunk.name))
    found = [number for number, own in named if as_git_spells(own) == name]
    values = {number: text for number, _, _, text in settings}
    is_so = [values[number] for number in found] == [str(value)] and not isinstance(value, bool)
    return found if is_so else []


def _of_options(chunk: LowChunk, lines: Sequence[str]) -> Sequence[int]:
    sections = chunk.args.get("sections")
    if not isinstance(sections, dict) or chunk.args.get("strict") or any(line[:1] in {" ", "\t"} for line in lines):
        raise OnlyARunKnows
    separator = str(chunk.args.get("separator") or "=")
    settings = list(_settings(lines, separator))
    values = {(section, option): (number, value) for number, section, option, value in settings}
    wanted = [
        ((str(section), str(option)), options[option] if isinstance(options, dict) else None)
        for section, options in sections.items()
        for option in options or ()
    ]
    found = [values[key] for key, _ in wanted if key in values]
    if chunk.fun == "options_absent":
        return [number for number, _ in found]
    if [value for _, value in found] != [str(value) for _, value in wanted]:
        return []
    if any(lines[number].rstrip() != f"{option} {separator} {value}" for number, _, option, value in settings):
        raise OnlyARunKnows  # it writes all of the file anew, with blanks
    return [number for number, _ in found]


def _settings(lines: Sequence[str], separator: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield line, section, option and value of each setting of a text with sections."""
    section = ""
    for number, line in enumerate(lines):
        if found := _HEADER.fullmatch(line):
            section = found[1] if found[2] is None else f"{found[1]}.{found[2]}"
            if section.startswith("include"):
                raise OnlyARunKnows
        elif line.strip() and not line.lstrip().startswith(("#", ";")):
            option, mark, value = line.partition(separator)
            if line.rstrip().endswith("\\"):
                raise OnlyARunKnows
            if mark:
                yield number, section, option.strip(), value.strip()


_FINDERS: dict[str, Finder] = {
    "alias.absent": _of_alias,
    "alias.present": _of_alias,
    "cron.absent": _of_job,
    "cron.env_absent": _of_job,
    "cron.env_present": _of_job,
    "cron.present": _of_job,
    "git.config_set": _of_git,
    "git.config_unset": _of_git,
    "ini.options_absent": _of_options,
    "ini.options_present": _of_options,
    "kmod.absent": _of_module,
    "kmod.present": _of_module,
    "mount.fstab_absent": _of_mount,
    "mount.unmounted": _of_mount,
    "pkgrepo.absent": _of_source,
    "pkgrepo.managed": _of_source,
    "ssh_known_hosts.absent": _of_host_key,
    "sysctl.present": _of_setting,
}
_READ_ALL = frozenset({_of_alias, _of_git, _of_job, _of_module, _of_options})
"""Those that find an entry however it is written."""
