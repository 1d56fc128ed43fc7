"""Texts that file states write, as far as the tree determines them; and whether one text satisfies two states.

A state is content with a text that it leaves as it is. Two states undo each other's work if no text contents both: then
no order of the two helps.
"""

from __future__ import annotations

import base64
import re
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from msgspec import structs

from asyncstate.data import edits, serializers
from asyncstate.data.key_values import KeyValues
from asyncstate.errors import AsyncStateError
from asyncstate.extras.contradictions.claims import OF_ENTRIES
from asyncstate.extras.contradictions.lines_of_entries import OnlyARunKnows, edit_of, sample_of, strings
from asyncstate.model.requisite import REQUISITE_KEYWORDS
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from asyncstate.model.chunk import LowChunk

    Edit = Callable[[str], str]

_CONTENT = ("contents", "source", "contents_pillar", "contents_grains", "dataset", "dataset_pillar")
COPIES = {"copy": "source", "hardlink": "target"}
"""Functions that take a file of this machine, and the argument that names it."""
_UNLIKE = REQUISITE_KEYWORDS | {"user", "group", "mode", "makedirs", "dir_mode", "backup", "show_changes", "attrs"}
"""Arguments that say nothing about the content of a file."""
_MAKE_ANOTHER_TEXT = frozenset(
    """template encoding contents_pillar contents_grains allow_empty create ignore_whitespace ignore_ordering
    ignore_comment_characters""".split()
)
"""Arguments with which ``file.managed`` does not write its contents, or its source, as they are, or not always."""
_PATTERNS = {
    "replace": ("pattern",),
    "line": ("match", "before", "after"),
    "comment": ("regex",),
    "uncomment": ("regex",),
    "blockreplace": ("insert_before_match", "insert_after_match"),
}
"""Arguments that are regular expressions."""
_ENCODED = frozenset(f"{kind}_managed" for kind in ("private_key", "certificate", "csr", "crl", "pem"))
"""Functions of ``x509``: they leave a file alone that holds what they would make."""
_OPTIONS = frozenset({"options_present", "options_absent", "sections_present"})
_LOOKED_FOR = _ENCODED | {"replace", "line", *_OPTIONS, *(each.partition(".")[2] for each in OF_ENTRIES)}
"""Edits that may change what another state writes, where only a run knows that."""
_BEGINNING = "-----BEGIN "
_LARGEST = 1 << 12
"""The longest text in which a pattern of the tree is searched for: that may take long."""
_REPEATED_GROUP = re.compile(r"\)[*+?{]")
_FAILURES = (AsyncStateError, re.error, ValueError, TypeError, LookupError, AttributeError, RecursionError)
_ROUNDS = 3
_FEW = 8
"""The number of writers of one file up to which all pairs are compared; above, only those that do not settle."""
_OTHER_LINE = "\N{SECTION SIGN}\n"
"""A line that hardly any state is about."""


class Writer(Value):
    """A state that writes the text of a file in each run: ``whole``, or a part of what is there.

    ``edit`` returns what it makes of a text, and raises one of _FAILURES where the state fails; None: only a run knows.
    ``sample`` is a text in which it has something to do.
    """

    chunk: LowChunk
    whole: bool
    edit: Edit | None
    sample: str = ""


def writer(chunk: LowChunk, text_of_source: Callable[[LowChunk], str | None], *, accumulated: bool) -> Writer | None:
    """Return what a chunk does with the text of its file, None if it does not write it each time.

    ``text_of_source`` returns the text of the file that a state names. ``accumulated``: other states add to its text.
    """
    args, fun = chunk.args, chunk.fun
    if chunk.state == "x509":
        made = fun in _ENCODED and args.get("create", True) is True
        is_text = args.get("encoding", "pem") in {"pem", "pkcs7_pem"}
        return Writer(chunk, whole=False, edit=_encoded if is_text else None) if made else None
    if chunk.function == "cron.file":
        named = structs.replace(chunk, args={**args, "source": chunk.name})
        text = None if args.get("template") else text_of_source(named)
        return Writer(chunk, whole=True, edit=_always(text)) if args.get("replace", True) is True else None
    if chunk.function in OF_ENTRIES or fun in _OPTIONS:
        edit = None if args.get("source") else edit_of(chunk)
        return Writer(chunk, whole=False, edit=edit, sample=sample_of(chunk))
    if chunk.state != "file":
        return None
    if fun in {"managed", "serialize"} and not args.get("merge_if_exists"):
        if args.get("replace", True) is not True or all(args.get(each) is None for each in _CONTENT):
            return None
        text = _managed(args, chunk, text_of_source) if fun == "managed" else _dataset(args)
        return Writer(chunk, whole=True, edit=_always(text))
    if fun == "decode":
        return Writer(chunk, whole=True, edit=_always(_decoded(args.get("encoded_data"))))
    if fun == "hardlink" or (fun == "copy" and args.get("force") is True and not args.get("subdir")):
        return Writer(chunk, whole=True, edit=_always(text_of_source(chunk)))
    make = _EDITS.get(fun)
    if make is None:
        return None
    patterns = [str(args[each]) for each in _PATTERNS.get(fun, ()) if args.get(each) is not None]
    if (fun == "append" and args.get("ignore_whitespace", True) is not True) or "encoding" in args:
        return Writer(chunk, whole=False, edit=None)
    collects = accumulated and fun != "blockreplace"
    if any(map(_REPEATED_GROUP.search, patterns)) or not args.keys().isdisjoint({"source", "sources"}) or collects:
        return Writer(chunk, whole=False, edit=None)
    try:
        edit, sample = make(args)
    except _FAILURES:
        return None  # it fails in each run, too
    edit = _collected(edit, sample) if accumulated else edit
    return Writer(chunk, whole=False, edit=_bounded(edit) if patterns else edit, sample=sample)


def contradict(first: Writer, second: Writer) -> bool | None:
    """Whether no text contents both; None: only a run can tell."""
    if first.edit is None or second.edit is None:
        if not (first.whole or second.whole) or _alike(first.chunk, second.chunk):
            return False
        return None if all(each.whole or each.chunk.fun in _LOOKED_FOR for each in (first, second)) else False
    if first.whole or second.whole:
        whole, other = (first.edit, second.edit) if first.whole else (second.edit, first.edit)
        try:
            text = whole("")
            return other(text) != text
        except OnlyARunKnows:
            return None
        except _FAILURES:
            return False
    if first.chunk.state == second.chunk.state != "file":
        return False  # what these want of one entry is compared with its values
    settled = {_settle(first.edit, second.edit, text) for text in _texts(first, second)}
    if False in settled:
        return None if True in settled else True
    return None if _changes_entry(first, second) or _changes_entry(second, first) else False


def _changes_entry(keeper: Writer, other: Writer) -> bool:
    """Whether a state of a file takes away, or changes, the line of an entry as it is usually written."""
    if keeper.chunk.state == "file" or other.edit is None:
        return False
    before, after = (
        {"".join(line.split()) for line in text.splitlines()}
        for text in (keeper.sample, _tried(other.edit, keeper.sample))
    )
    return not before <= after


def suspects(writers: Sequence[Writer]) -> list[tuple[Writer, Writer]]:
    """Return the pairs of writers of one file that may contradict each other, in the order of the writers.

    Where one writes the whole file, all others are compared with that.
    """
    pairs = list(combinations(range(len(writers)), 2)) if len(writers) <= _FEW else _unsettled(writers)
    known = any(each.whole and each.edit is not None for each in writers)
    found = ((writers[first], writers[second]) for first, second in pairs)
    return [pair for pair in found if not known or pair[0].whole or pair[1].whole]


def _unsettled(writers: Sequence[Writer]) -> list[tuple[int, int]]:
    """Return the pairs in which one undoes what the other does when all run twice, and those that only a run knows."""
    found: set[tuple[int, int]] = set()
    edits_of = {number: each.edit for number, each in enumerate(writers) if each.edit is not None}
    for number in range(len(writers)):
        if number not in edits_of:
            found |= {(min(number, other), max(number, other)) for other in range(len(writers)) if other != number}
    numbers = list(edits_of)
    for seed in ("", "".join(each.sample for each in writers)):
        trace = [seed]
        for number in [*numbers, *numbers]:
            trace.append(_tried(edits_of[number], trace[-1]))
        for place, number in enumerate(numbers):
            content, discontent = place + 1, len(numbers) + place
            if trace[discontent] == trace[discontent + 1]:
                continue
            while discontent - content > 1:
                between = (content + discontent) // 2
                if _tried(edits_of[number], trace[between]) == trace[between]:
                    content = between
                else:
                    discontent = between
            other = numbers[(discontent - 1) % len(numbers)]
            found.add((min(number, other), max(number, other)))
    return sorted(found)


def _tried(edit: Edit, text: str) -> str:
    """Return what a state makes of a text, the text itself if it fails or only a run knows."""
    try:
        return edit(text)
    except (OnlyARunKnows, *_FAILURES):
        return text


def _texts(first: Writer, second: Writer) -> Iterator[str]:
    """Yield texts that the file of two edits may have."""
    yield ""
    yield _OTHER_LINE
    for sample in dict.fromkeys((first.sample, second.sample)):
        yield sample
        yield f"{_OTHER_LINE}{sample}{_OTHER_LINE}"


def _settle(one: Edit, other: Edit, text: str) -> bool | None:
    """Whether runs of two states come to an end with a text; None if one fails, or finds no end alone."""
    try:
        for _ in range(_ROUNDS):
            text = other(one(text))
        changing = [edit for edit, before in ((one, text), (other, one(text))) if edit(before) != before]
        if not changing:
            return True
        return False if any(edit(edit(text)) == edit(text) for edit in changing) else None
    except (OnlyARunKnows, *_FAILURES):
        return None


def _alike(first: LowChunk, second: LowChunk) -> bool:
    return first.fun == second.fun and _content_arguments(first) == _content_arguments(second)


def _content_arguments(chunk: LowChunk) -> dict[str, Any]:
    return {key: value for key, value in chunk.args.items() if key not in _UNLIKE}


def _always(text: str | None) -> Edit | None:
    return None if text is None else lambda _: text


def _encoded(text: str) -> str:
    if _BEGINNING in text:
        raise OnlyARunKnows
    return _BEGINNING


def _managed(args: dict[str, Any], chunk: LowChunk, text_of_source: Callable[[LowChunk], str | None]) -> str | None:
    contents, source = args.get("contents"), args.get("source")
    if not args.keys().isdisjoint(_MAKE_ANOTHER_TEXT) or (contents is None) is (source is None):
        return None
    if contents is None:
        return text_of_source(chunk) if isinstance(source, str) else None
    parts = strings(contents)
    return edits.contents_text(parts, newline=bool(args.get("contents_newline", True))) if parts else None


def _dataset(args: dict[str, Any]) -> str | None:
    try:
        return _serialized(args, args["dataset"]) if "encoding" not in args else None
    except _FAILURES:
        return None


def _serialized(args: dict[str, Any], data: Any) -> str:
    options = args.get("serializer_opts") or {}
    if isinstance(options, list):
        options = {key: value for item in options for key, value in item.items()}
    return serializers.serialize(_serializer(args), data, options, encoding=None) + "\n"


def _serializer(args: dict[str, Any]) -> str:
    return str(args.get("serializer") or args.get("formatter") or "yaml").lower()


def _decoded(data: Any) -> str | None:
    try:
        return base64.b64decode(data).decode()
    except _FAILURES:
        return None


def _bounded(edit: Edit) -> Edit:
    def bounded(text: str) -> str:
        if len(text) > _LARGEST:
            raise OnlyARunKnows
        return edit(text)

    return bounded


def _collected(edit: Edit, markers: str) -> Edit:
    """Return an edit whose block other states fill."""

    def collected(text: str) -> str:
        if all(marker in text for marker in markers.splitlines()):
            raise OnlyARunKnows
        return edit(text)

    return collected


def _append(args: dict[str, Any]) -> tuple[Edit, str]:
    chunks = strings(args["text"])
    return lambda text: _added(text, edits.missing_lines(text, chunks), edits.appended), ""


def _prepend(args: dict[str, Any]) -> tuple[Edit, str]:
    chunks = strings(args["text"])
    missing = edits.missing_header if args.get("header") else edits.missing_lines
    return lambda text: _added(text, missing(text, chunks), edits.prepended), ""


def _added(text: str, lines: list[str], put: Callable[[str, Iterable[str]], str]) -> str:
    return put(text, lines) if lines else text


def _replace(args: dict[str, Any]) -> tuple[Edit, str]:
    known = "count flags append_if_not_found prepend_if_not_found not_found_content backslash_literal".split()
    given = {each: args[each] for each in known if each in args}
    repl = str(args["repl"])
    if args.get("encoding") is None:
        given["flags"] = edits.byte_flags(args.get("flags", 8))
    return lambda text: "".join(edits.replaced(text, args["pattern"], repl, **given)), f"{repl}\n"


def _line(args: dict[str, Any]) -> tuple[Edit, str]:
    content, mode = args.get("content"), args["mode"].lower()
    if mode not in edits.LINE_MODES or (content is None and mode != "delete"):
        raise ValueError
    text_of_line = None if content is None else str(content)
    given = {each: args[each] for each in ("match", "location", "before", "after", "indent") if each in args}
    sample = "".join(f"{args[each]}\n" for each in ("after", "content", "before") if args.get(each))
    return lambda text: "".join(edits.with_line(edits.lines_of(text), text_of_line, mode, **given)), sample


def _toggle(args: dict[str, Any], *, comment: bool) -> tuple[Edit, str]:
    regex, char = args["regex"], args.get("char", "#")
    to_do, done, core = edits.toggle_patterns(regex, char, comment=comment)

    def toggled(text: str) -> str:
        if not re.search(to_do, text, re.MULTILINE):
            if not args.get("ignore_missing") and not re.search(done, text, re.MULTILINE):
                raise LookupError
            return text
        lines = edits.toggled(edits.lines_of(text), regex, char, comment=comment)
        new = "".join(edited for _, edited in lines)
        if not re.search(done, new, re.MULTILINE):
            raise LookupError
        return new

    return toggled, f"{'' if comment else char}{core.rstrip('$')}\n"


def _blockreplace(args: dict[str, Any]) -> tuple[Edit, str]:
    start = args.get("marker_start", "#-- start managed zone --")
    end = args.get("marker_end", "#-- end managed zone --")
    known = "append_if_not_found prepend_if_not_found insert_before_match insert_after_match".split()
    given = {each: args[each] for each in known if each in args}
    content, newline = str(args.get("content", "")), args.get("append_newline")

    def with_block(text: str) -> str:
        lines = text.splitlines(keepends=True)
        return "".join(edits.with_block(lines, start, end, content, append_newline=newline, **given))

    return with_block, f"{start}\n{end}\n"


def _keyvalue(args: dict[str, Any]) -> tuple[Edit, str]:
    wanted = args.get("key_values") or {args["key"]: args["value"]}
    values = {str(key): value for key, value in wanted.items()}
    separator = args.get("separator", "=")

    def with_values(text: str) -> str:
        edit = KeyValues(values, separator, args.get("count", 1), args.get("uncomment"))
        for each in ("key_ignore_case", "value_ignore_case", "prune"):
            setattr(edit, each, args.get(each))
        edit.read(text)
        if args.get("append_if_not_found"):
            edit.append()
        elif args.get("prepend_if_not_found"):
            edit.prepend()
        return "".join(edit.content)

    return with_values, "".join(f"{key}{separator}{value}\n" for key, value in values.items())


def _merge(args: dict[str, Any]) -> tuple[Edit, str]:
    dataset, options = args["dataset"], args.get("deserializer_opts") or {}
    sample = _serialized(args, dataset)

    def merged(text: str) -> str:
        old = serializers.deserialize(_serializer(args), text, options)
        new = serializers.merged(old, dataset)
        return text if new == old else _serialized(args, new)

    return merged, sample


_EDITS: dict[str, Callable[[dict[str, Any]], tuple[Edit, str]]] = {
    "append": _append,
    "prepend": _prepend,
    "replace": _replace,
    "line": _line,
    "comment": partial(_toggle, comment=True),
    "uncomment": partial(_toggle, comment=False),
    "blockreplace": _blockreplace,
    "keyvalue": _keyvalue,
    "serialize": _merge,
}
