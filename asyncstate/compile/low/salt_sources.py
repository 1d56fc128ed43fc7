"""``salt://`` sources of states: find those that are missing, and read the templates and scripts among them."""

from __future__ import annotations

import os
import stat
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from asyncstate.data.urls import SALT_SCHEME, parse_salt_url
from asyncstate.errors import AsyncStateError
from asyncstate.model.chunk import SCRIPTS
from asyncstate.nearest import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.low.lowstate import Draft
    from asyncstate.model.chunk import LowChunk
    from asyncstate.sources.fileclient import FileClient

_NAMES_A_FILE = frozenset({"cmd.script", "cmd.wait_script", "file.cached"})
"""Functions that fetch the file that their ``name`` says, unless they have a ``source``."""

_FETCHED_BESIDE = ("requirements", "source_hash", "source_hash_sig", "signature", "key_url", "identity", "load")
"""Arguments beside ``source`` with a file that a run fetches, or a list of them, if they are URLs of the tree."""

_HINT_LIMIT = 10
"""The number of errors that get the nearest name: comparing with every file of a large tree is slow."""

_LARGEST_TEMPLATE = 1 << 20

_FOLDERS = frozenset({"file.recurse"})


_TEXTS_ELSEWHERE = frozenset({"content", "contents_grains", "contents_pillar", "sources", "text"})
"""Arguments with text that a state renders, and that is not in its ``contents`` nor in a file of the tree."""


class SaltSources:
    """Looks up what states fetch from the file roots, each file once."""

    def __init__(self, file_client: FileClient) -> None:
        self._file_client = file_client
        self._compared = 0
        self._found: dict[tuple[str, str, bool], bool] = {}
        self._folders: dict[str, frozenset[str]] = {}
        self._envs = frozenset(file_client.envs())

    def check(self, drafts: Sequence[Draft], findings: Findings) -> None:
        """Record every source that no file root has, unless the ``name`` of a state says that it may write it there."""
        said: set[tuple[str, int, str]] = set()
        for draft in drafts:
            for argument, urls in _wanted(draft):
                if any(not self._lacks(url, draft) for url in urls):
                    continue
                line = draft.line_of(argument)
                if (draft.file, line, urls[0]) in said or self._is_made(urls, draft, drafts):
                    continue
                said.add((draft.file, line, urls[0]))
                findings.noted(
                    "E407", self._message(urls, draft), draft.file, line, self._hint(urls, draft), mistake=True
                )

    def template_of(self, draft: Draft | LowChunk) -> tuple[str, bool]:
        """Return the text of the templates that a state renders, and whether it is all.

        It is not where a local file, a host or other data has more. Of several sources, the tree may lack some.
        """
        texts = [str(draft.args.get("contents", ""))]
        whole = _TEXTS_ELSEWHERE.isdisjoint(draft.args)
        for url in _texts(draft.args.get("source")):
            whole = whole and url.startswith(SALT_SCHEME)
            try:
                texts.append(self._read(url, draft)[1])
            except (AsyncStateError, OSError):
                whole = False  # its state will say so
        text = "\n".join(texts)
        return text, whole and bool(text.strip())

    def keywords_text(self, draft: Draft) -> tuple[str, bool]:
        """Return the texts whose templates may use the keywords of a state as variables, and whether they are all."""
        if f"{draft.state}.{draft.fun}" in _FOLDERS:
            return "\n".join(text for _, text in self.templates_of(draft)), True
        return self.template_of(draft)

    def templates_of(self, draft: Draft) -> Iterator[tuple[str, str]]:
        """Yield path and text of each text file of the tree that a state with a ``template`` renders."""
        folder = f"{draft.state}.{draft.fun}" in _FOLDERS
        for _, urls in _wanted(draft):
            url = next((url for url in urls if not self._lacks(url, draft)), "")
            if url.startswith(SALT_SCHEME):
                path, given = parse_salt_url(url)
                env = given or _environment(draft)
                for file in self._below(path, env) if folder else [path]:
                    found = self._file_client.find(file, env)
                    text = _text(self._file_client.read(found)) if found else ""
                    if found and text:
                        yield found, text

    def source_of(self, chunk: LowChunk) -> str | None:
        """Return the text of the file of the tree that a state names as its ``source``; None if it cannot be read."""
        url = str(chunk.args.get("source"))
        try:
            found, text = self._read(url, chunk) if url.startswith(SALT_SCHEME) else ("", "")
        except (AsyncStateError, OSError):
            return None
        return text if found and "\N{REPLACEMENT CHARACTER}" not in text else None

    def kind_of(self, chunk: LowChunk) -> str:
        """Return what the ``source`` of a state is: a "file", a "folder" with files of its own, or "" for neither."""
        path, given = parse_salt_url(str(chunk.args.get("source")))
        env = given or _environment(chunk)
        if self._file_client.find(path, env) is not None:
            return "file"
        folder = os.path.normpath(path)
        return "folder" if any((os.path.dirname(file) or ".") == folder for file in self._below(path, env)) else ""

    def files_of(self, chunk: LowChunk) -> Iterator[str]:
        """Yield the files of the folder of the tree that a state names as its ``source``, relative to it."""
        urls = _texts(chunk.args.get("source"))
        if len(urls) == 1 and urls[0].startswith(SALT_SCHEME):
            path, given = parse_salt_url(urls[0])
            for file in self._below(path, given or _environment(chunk)):
                yield os.path.relpath(file, path)

    def script_of(self, chunk: LowChunk) -> tuple[str, str]:
        """Return path and text of the script that a state runs; "" where only the run knows them."""
        url = chunk.args.get("source") or (str(chunk.name).split(maxsplit=1) or [""])[0]
        if chunk.function not in SCRIPTS or chunk.args.get("template") or not isinstance(url, str):
            return "", ""
        url = url.removeprefix("file://")
        if not url.startswith(("/", SALT_SCHEME)):
            return "", ""
        try:
            return self._read(url, chunk)
        except (AsyncStateError, OSError):
            return "", ""  # its state will say so

    def _read(self, url: str, draft: Draft | LowChunk) -> tuple[str, str]:
        """Return path and text of a file of the tree or of this machine; "" if there is none that can be read."""
        path, env = parse_salt_url(url)
        in_tree = url.startswith(SALT_SCHEME)
        found = self._file_client.find(path, env or _environment(draft)) if in_tree else _local(path)
        return (found, self._file_client.read(found).decode(errors="replace")) if found else ("", "")

    def _lacks(self, url: str, draft: Draft) -> bool:
        if not url.startswith(SALT_SCHEME):
            return False
        path, given = parse_salt_url(url)
        env = given or _environment(draft)
        if env not in self._envs:
            return False
        folder = f"{draft.state}.{draft.fun}" in _FOLDERS
        key = (path, env, folder)
        if key not in self._found:
            self._found[key] = self._has_folder(path, env) if folder else self._file_client.find(path, env) is not None
        return not self._found[key]

    def _is_folder(self, path: str, env: str) -> bool:
        if env not in self._folders:
            self._folders[env] = frozenset(self._file_client.list_dirs(env))
        path = os.path.normpath(path)
        return path == "." or path in self._folders[env]

    def _has_folder(self, path: str, env: str) -> bool:
        """Whether there is a folder; its files are looked up, so that they count as found."""
        if not self._is_folder(path, env):
            return False
        for file in self._below(path, env):
            self._file_client.find(file, env)
        return True

    def _below(self, path: str, env: str) -> Iterator[str]:
        """Yield the files below a folder of the tree."""
        files = self._file_client.list_files(env)
        below = "" if os.path.normpath(path) == "." else f"{os.path.normpath(path)}/"
        for place in range(bisect_left(files, below), len(files)):
            if not files[place].startswith(below):
                break
            yield files[place]

    def _is_made(self, urls: list[str], draft: Draft, drafts: Sequence[Draft]) -> bool:
        places = [os.path.join(root, path) for path, root in self._places(urls, draft)]
        return any(
            isinstance(maker.name, str)
            and maker.name.startswith("/")
            and any(f"{place}/".startswith(f"{maker.name.rstrip('/')}/") for place in places)
            for maker in drafts
        )

    def _places(self, urls: list[str], draft: Draft) -> Iterator[tuple[str, str]]:
        for url in urls:
            path, given = parse_salt_url(url)
            for root in self._file_client.roots(given or _environment(draft)):
                yield path, root

    def _message(self, urls: list[str], draft: Draft) -> str:
        what = f"Source file {urls[0]}" if len(urls) == 1 else f"None of the sources {', '.join(urls)}"
        verb = "not found" if len(urls) == 1 else "found"
        given = parse_salt_url(urls[0])[1]
        return (
            f"{what} {verb} in saltenv '{given or _environment(draft)}' (ID '{draft.id}' in SLS '{draft.sls}', "
            f"{draft.state}.{draft.fun})"
        )

    def _hint(self, urls: list[str], draft: Draft) -> str:
        path, given = parse_salt_url(urls[0])
        env = given or _environment(draft)
        if f"{draft.state}.{draft.fun}" in _FOLDERS:
            if self._file_client.find(path, env) is not None:
                return "it is a file; file.managed takes one"
            known: Iterable[str] = self._file_client.list_dirs(env)
        else:
            if self._is_folder(path, env):
                return "it is a folder; file.recurse takes one"
            known = self._file_client.list_files(env)
            elsewhere = next((other for other in sorted(self._envs) if self._file_client.find(path, other)), "")
            if elsewhere:
                return f"saltenv '{elsewhere}' has it: {SALT_SCHEME}{path}?saltenv={elsewhere}"
        self._compared += 1
        near = nearest(path, known) if self._compared <= _HINT_LIMIT else ""
        return did_you_mean(near and SALT_SCHEME + near) or f"looked for in {', '.join(self._file_client.roots(env))}"


def _local(path: str) -> str:
    """Return the path if the file can be a template (a regular file, not too large), else ""."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    return path if stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST_TEMPLATE else ""


def _text(data: bytes) -> str:
    """Return a file's text; "" for a large one, and for what is no text."""
    try:
        return data.decode() if len(data) <= _LARGEST_TEMPLATE and b"\0" not in data else ""
    except UnicodeDecodeError:
        return ""


def _environment(draft: Draft | LowChunk) -> str:
    given = draft.args.get("saltenv")
    return given if isinstance(given, str) and given else draft.env


def _wanted(draft: Draft) -> Iterator[tuple[str, list[str]]]:
    """Yield each argument with its URLs, one of which must exist."""
    args = draft.args
    if draft.fun == "absent":
        return  # a file to be removed need not exist
    if "source" in args:
        urls = _texts(args["source"])
        if urls:
            yield "source", urls
    elif f"{draft.state}.{draft.fun}" in _NAMES_A_FILE and isinstance(draft.name, str):
        yield "name", [draft.name.split(" ", 1)[0]]
    for source in _texts(args.get("sources")):
        yield "sources", [source]
    for argument in () if args.keys().isdisjoint(_FETCHED_BESIDE) else _FETCHED_BESIDE:
        for url in _texts(args.get(argument)):
            if url.startswith(SALT_SCHEME):
                yield argument, [url]


def _texts(value: Any) -> list[str]:
    """Return the URLs of a source: text, a list, or a list of mappings as ``file.managed``, ``pkg.installed`` take."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        return []
    urls: list[str] = []
    for item in value:
        if isinstance(item, str):
            urls.append(item)
        elif isinstance(item, dict) and len(item) == 1:
            [(key, other)] = item.items()
            urls.append(key if str(key).startswith(SALT_SCHEME) else str(other))
    return urls
