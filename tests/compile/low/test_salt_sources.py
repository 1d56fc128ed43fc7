"""Sources that are in no file root."""

import os

import pytest
from memory_files import MemoryFileClient
from trees import compiler

from asyncstate.compile.low.lowstate import Draft
from asyncstate.compile.low.salt_sources import SaltSources
from asyncstate.dunders.context import CallContext
from asyncstate.load.loader import LazyLoader
from asyncstate.model.chunk import LowChunk
from asyncstate.sources.fileclient import LocalFileClient


def anything(name, **kwargs):
    """Take whatever there is."""


@pytest.fixture
def told():
    loader = LazyLoader("states", [], CallContext, installed=False)
    for name in ("file.managed", "file.recurse", "file.absent", "cmd.script", "file.append", "git.latest", "own.go"):
        loader.register(name, anything)

    def look(function, *arguments, more=""):
        lines = ["a:", f"  {function}:", *(f"    - {argument}" for argument in arguments)]
        tree = {"s": "\n".join(lines) + "\n" + more, "web.files.site": "x: 1\n"}
        plan = compiler(tree, functions=loader, envs={"dev": {"only": ""}}).plan(["s"])
        return [(issue.line, issue.hint) for issue in plan.warnings if issue.rule == "missing-source" and issue.mistake]

    return look


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("file.managed", ["source: salt://web/files/site.sls"]),
        ("file.managed", ["source: [salt://no, salt://web/files/site.sls]"]),
        ("file.managed", ["source: [salt://no, /local]"]),
        ("file.managed", ["source: [{salt://web/files/site.sls: md5=1}]"]),
        ("file.managed", ["source: salt://only.sls?saltenv=dev"]),
        ("file.managed", ["source: salt://only.sls", "saltenv: dev"]),
        ("file.managed", ["source: salt://x?saltenv=elsewhere"]),
        ("file.managed", ["source: https://x"]),
        ("file.managed", ["source: null"]),
        ("file.managed", ["source: 5"]),
        ("file.absent", ["source: salt://no"]),
        ("file.recurse", ["source: salt://web/files/"]),
        ("cmd.script", ["name: salt://web/files/site.sls one two"]),
        ("cmd.script", ["name: words", "source: salt://web/files/site.sls"]),
        ("own.go", ["name: salt://no"]),
    ],
)
def test_what_is_there_or_need_not_be(told, function, arguments):
    assert told(function, *arguments) == []


@pytest.mark.parametrize(
    ("function", "arguments", "line", "hint"),
    [
        (
            "file.managed",
            ["mode: 1", "source: salt://web/files/stie.sls"],
            4,
            "did you mean 'salt://web/files/site.sls'?",
        ),
        ("file.managed", ["source: [salt://no, salt://neither]"], 3, "looked for in /memory/base"),
        ("file.managed", ["source: salt://web/files"], 3, "it is a folder"),
        ("file.managed", ["source: salt://../s.sls"], 3, "did you mean 'salt://s.sls'?"),
        ("file.managed", ["source: salt://only.sls"], 3, "saltenv 'dev' has it: salt://only.sls?saltenv=dev"),
        ("file.recurse", ["source: salt://web/flies"], 3, "did you mean 'salt://web/files'?"),
        ("file.recurse", ["source: salt://web/files/site.sls"], 3, "it is a file"),
        ("file.append", ["sources: [salt://s.sls, salt://no]"], 3, "looked for in /memory/base"),
        ("cmd.script", ["name: salt://web/files/stie.sls one"], 3, "did you mean 'salt://web/files/site.sls'?"),
    ],
)
def test_what_is_not_there(told, function, arguments, line, hint):
    [(found, said)] = told(function, *arguments)
    assert (found, said[: len(hint)]) == (line, hint)


def test_what_the_tree_puts_there_itself(told):
    made = "b:\n  git.latest:\n    - name: /memory/base/app\n"
    assert told("file.managed", "source: salt://app/conf", more=made) == []
    assert len(told("file.managed", "source: salt://application/conf", more=made)) == 1


def test_only_a_plain_local_file_is_read_as_a_template(tmp_path):
    (tmp_path / "plain").write_text("{{ moed }}")
    (tmp_path / "large").write_bytes(b" " * (1 << 21))
    os.mkfifo(tmp_path / "pipe")
    sources = SaltSources(LocalFileClient({"base": [str(tmp_path)]}))

    def text(source):
        draft = Draft(
            "file", "managed", "a", "a", sls="s", env="base", args={"source": source}, order=1, included_from=()
        )
        return sources.template_of(draft)[0].strip()

    assert text(str(tmp_path / "plain")) == text("salt://plain") == "{{ moed }}"
    assert text([str(tmp_path / name) for name in ("large", "pipe", "gone", "\0")]) == text("https://x") == ""


def test_whether_the_text_of_a_template_is_whole(tmp_path):
    (tmp_path / "plain").write_text("{{ x }}")
    sources = SaltSources(LocalFileClient({"base": [str(tmp_path)]}))

    def is_whole(**args):
        draft = Draft("file", "managed", "a", "a", sls="s", env="base", args=args, order=1, included_from=())
        return sources.template_of(draft)[1]

    assert is_whole(source="salt://plain")
    assert is_whole(source=["salt://first/plain", "salt://plain"])
    assert is_whole(contents="{{ x }}")
    for lacking in (
        {},
        {"source": "salt://gone"},
        {"source": str(tmp_path / "plain")},
        {"source": ["salt://plain", "https://x/y"]},
        {"source": "salt://plain?saltenv=gone"},
        {"contents": "x", "contents_pillar": "a"},
        {"text": "x"},
    ):
        assert not is_whole(**lacking), lacking


def chunk_with(function, name="/n", **args):
    state, _, fun = function.partition(".")
    return LowChunk(0, state, fun, "i", name, "s", "base", 0, args)


def test_what_the_tree_has_for_a_source():
    files = {"d/a.txt": "{{ a }}", "d/e/b.txt": "b", "run.sh": "touch /x\n", "odd": "\N{REPLACEMENT CHARACTER}"}
    sources = SaltSources(MemoryFileClient({"base": files}))
    folder = chunk_with("file.recurse", source="salt://d", template="jinja")
    assert sorted(text for _, text in sources.templates_of(folder)) == ["b", "{{ a }}"]
    assert sources.keywords_text(folder)[1] is True
    assert sorted(sources.files_of(folder)) == ["a.txt", "e/b.txt"]
    assert [sources.kind_of(chunk_with("file.managed", source=f"salt://{path}")) for path in ("d/a.txt", "d", "x")] == [
        "file",
        "folder",
        "",
    ]
    read = {
        path: sources.source_of(chunk_with("file.managed", source=f"salt://{path}")) for path in ("run.sh", "x", "odd")
    }
    assert read == {"run.sh": "touch /x\n", "x": None, "odd": None}
    assert sources.source_of(chunk_with("file.managed", source="/etc/x")) is None
    assert sources.script_of(chunk_with("cmd.script", source="salt://run.sh"))[1] == "touch /x\n"
    assert sources.script_of(chunk_with("cmd.script", source="salt://run.sh", template="jinja")) == ("", "")
    assert sources.script_of(chunk_with("cmd.script", name="ls -l")) == ("", "")
    assert sources.script_of(chunk_with("cmd.script", source="salt://gone")) == ("", "")
