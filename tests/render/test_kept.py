"""What renderers made, kept by content: it is found again, and is never more than what a new rendering would make."""

import fcntl
import gc
import hashlib
import itertools
import json
import marshal
import os
import random
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from asyncstate import Settings, StateRuntime, render
from asyncstate._code_pack import write_pack
from asyncstate.data.yaml import Document, parse_document
from asyncstate.errors import CompileError
from asyncstate.redact import Secrets
from asyncstate.render import jinja_environment, kept
from asyncstate.render.jinja_environment import TemplateEnvironment
from asyncstate.render.jinja_options import Options
from asyncstate.render.kept import Kept, made_by

KEY = hashlib.sha256(marshal.dumps(("key",), 2)).digest()


@pytest.fixture
def folder(tmp_path):
    own = tmp_path / "cache"
    own.mkdir(mode=0o700)
    return own


@contextmanager
def process(folder: Path, redacted: Callable[[str], str] = str) -> Iterator[Kept]:
    """Yield the results of a process, which are saved at its end."""
    results = Kept(str(folder))
    try:
        yield results
        results.save(redacted)
    finally:
        results.close()


def result(folder: Path, key: tuple[object, ...], value: object) -> object:
    """Return what a process gets for a key, if it would make this value."""
    with process(folder) as results:
        return results.of(key, lambda: value)


@pytest.mark.parametrize("value", ["text", None, {"a": [1, 2.5, True, b"x", (None,)]}, compile("1 + 1", "x", "eval")])
def test_a_later_process_gets_the_same_result(folder, value):
    assert result(folder, ("key", 1), value) == value
    assert result(folder, ("key", 1), "other") == value
    assert result(folder, ("key", 2), "other") == "other"
    assert os.stat(folder / "compiled").st_mode & 0o777 == 0o600


def test_a_result_is_made_once_in_a_process(folder):
    with process(folder) as results:
        assert [results.of(("key",), [1].copy) for _ in range(2)] == [[1], [1]]
        assert results.is_changed
    again = Kept(str(folder))
    assert again.of(("key",), list) == [1]
    assert not again.is_changed
    again.close()


def test_what_cannot_be_written_is_made_each_time(folder):
    assert result(folder, ("key",), {1, Path("x")}) == {1, Path("x")}
    assert result(folder, ("key",), "other") == "other"
    assert result(folder, ("key", Markup("x")), "first") == "first"
    assert result(folder, ("key", Markup("x")), "other") == "other"


def test_nothing_is_kept_by_a_program_in_an_archive(folder):
    module = types.ModuleType("packed")
    module.__file__ = "/archive.pyz/packed.py"
    assert [result(folder, (made_by(module), "key"), number) for number in (1, 2)] == [1, 2]
    assert [result(folder, (made_by(kept), "key"), number) for number in (1, 2)] == [1, 1]


def test_a_result_that_is_too_large_does_not_take_the_room_of_others(folder, monkeypatch):
    monkeypatch.setattr(kept, "_LARGEST_NEW", 1000)
    with process(folder) as results:
        results.of(("large",), lambda: "x" * 5000)
        results.of(("small",), lambda: "x")
    assert (folder / "compiled").stat().st_size < 1000
    assert result(folder, ("small",), "y") == "x"


def test_a_missing_folder_is_made_for_this_user_alone(folder):
    assert result(folder / "new", ("key",), "first") == "first"
    assert result(folder / "new", ("key",), "other") == "first"
    assert os.stat(folder / "new").st_mode & 0o777 == 0o700


def test_an_error_is_not_kept(folder):
    results = Kept(str(folder))
    with pytest.raises(ZeroDivisionError):
        results.of(("key",), lambda: 1 // 0)
    assert results.of(("key",), lambda: 1) == 1


UNTRUSTED = {
    "others write there": "chmod 777 .",
    "others read it": "chmod 644 compiled",
    "a link": "mv compiled elsewhere; ln -s elsewhere compiled",
    "a pipe": "rm compiled; mkfifo compiled",
    "a folder": "rm compiled; mkdir compiled",
}


@pytest.mark.parametrize("what", UNTRUSTED)
def test_what_others_may_have_written_is_not_believed(folder, what):
    result(folder, ("key",), "theirs")
    subprocess.run(UNTRUSTED[what].replace(" .", f" {folder}"), shell=True, cwd=folder, check=True)
    assert result(folder, ("key",), "ours") == "ours"
    if what == "others write there":
        folder.chmod(0o700)
        assert result(folder, ("key",), "ours") == "theirs"  # nothing was written there


IN_THE_WAY = {
    "another user's": "touch compiled.new; chmod 600 compiled.new; chown 1:1 compiled.new",
    "others may write": "touch compiled.new; chmod 622 compiled.new",
    "a hard link": "ln other compiled.new",
    "a pipe": "mkfifo compiled.new",
    "a link": "ln -s other compiled.new",
}


@pytest.mark.parametrize("made", IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_what_lies_where_the_new_file_is_written_is_not_written_to(folder, made):
    new, other = folder / "compiled.new", folder / "other"
    other.write_text("precious")
    subprocess.run(made, shell=True, cwd=folder, check=True)
    open_before = os.listdir("/proc/self/fd")
    assert result(folder, ("key",), "ours") == "ours"
    assert other.read_text() == "precious"
    assert not (folder / "compiled").exists()
    assert os.listdir("/proc/self/fd") == open_before
    new.unlink(missing_ok=True)
    assert result(folder, ("key",), "ours") == result(folder, ("key",), "other") == "ours"


def test_a_file_that_another_process_put_in_place_is_not_written_to(folder, monkeypatch):
    path, lock = str(folder / "compiled"), fcntl.flock

    def locked_later(file, operation):
        monkeypatch.undo()
        write_pack(path, 0o600, lambda: [b"the first"])  # between the opening and the locking by the second
        (folder / "compiled.new").write_text("half of the thi")
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", locked_later)
    with pytest.raises(BlockingIOError):
        write_pack(path, 0o600, lambda: [b"the second"])
    assert Path(path).read_text() == "the first"
    assert (folder / "compiled.new").read_text() == "half of the thi"


def test_a_full_disk_gets_its_room_back(folder):
    def pieces() -> Iterator[bytes]:
        yield b"x" * 100_000
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_pack(str(folder / "compiled"), 0o600, pieces)
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("index", "part"),
    [
        *(((1, {KEY: place}), b"") for place in [(), 5, ("a", None, b"", 0), (0, -5, b"", 0), (-900, 5, b"", 0)]),
        *(((1, {KEY: place}), b"") for place in [(0, 1 << 70, b"", 0), (1 << 70, 1, b"", 0), (1 << 40, 5, b"", 0)]),
        *((index, b"") for index in [None, (1,), (1, [KEY]), (1, None), ("a", {}), (None, {})]),
        *(((1, {KEY: None}), marshal.dumps(part)) for part in [7, [], {}, None]),
        ((1, {KEY: None}), b""),
    ],
)
def test_a_file_of_another_layout_changes_no_result(folder, index, part):
    if index and isinstance(index[-1], dict) and index[-1].get(KEY, 0) is None:
        index[-1][KEY] = (0, len(part), hashlib.sha256(part).digest(), 0)
    packed = marshal.dumps(index)
    file = folder / "compiled"
    file.write_bytes(hashlib.sha256(packed).digest() + len(packed).to_bytes(8, "little") + packed + part)
    file.chmod(0o600)
    assert [result(folder, key, "made") for key in (("key",), ("new",), ("key",))] == ["made"] * 3


def test_threads_may_ask_while_the_results_are_saved(folder, monkeypatch):
    results, errors, done = Kept(str(folder)), list[BaseException](), threading.Event()

    def ask(first: int) -> None:
        numbers = itertools.count(first)
        try:
            while not done.is_set():
                number = next(numbers)
                assert results.of(("key", number % 5000), lambda number=number: number % 5000) == number % 5000
        except BaseException as error:  # noqa: BLE001 - looked at below
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(first,)) for first in (0, 2500)]
    switched = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for _ in range(20):
            results.save(str)
        results.close()
    finally:
        sys.setswitchinterval(switched)
        done.set()
        for thread in threads:
            thread.join()
    assert errors == []


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_file_changes_no_result(folder, seed):
    values = {("key", number): "x" * number + str(number) for number in range(40)}
    for key, value in values.items():
        result(folder, key, value)
    chance = random.Random(seed)
    file = folder / "compiled"
    data = bytearray(file.read_bytes())
    if seed % 3 == 0:
        del data[chance.randrange(len(data)) :]
    else:
        for _ in range(seed):
            data[chance.randrange(len(data))] = chance.randrange(256)
    file.write_bytes(data)
    assert {key: result(folder, key, value) for key, value in values.items()} == values
    assert {key: result(folder, key, "unknown") for key in values} == values


def test_what_is_not_used_goes(folder, monkeypatch):
    monkeypatch.setattr(kept, "_AGE", 3)
    result(folder, ("often",), 1)
    result(folder, ("once",), 1)
    for number in range(3):
        with process(folder) as results:
            results.of(("often",), lambda: 0)
            results.of(("new", number), lambda: 1)
    assert result(folder, ("often",), 2) == 1
    assert result(folder, ("once",), 2) == 2


def test_the_file_has_a_size_that_it_does_not_exceed(folder, monkeypatch):
    monkeypatch.setattr(kept, "_LARGEST", 10_000)
    for number in range(30):
        result(folder, ("key", number), "x" * 1000)
    assert (folder / "compiled").stat().st_size < 12_000
    assert [result(folder, ("key", number), "new") for number in (29, 28)] == ["x" * 1000] * 2
    assert result(folder, ("key", 0), "new") == "new"
    result(folder, ("large",), "x" * 20_000)
    assert (folder / "compiled").stat().st_size < 12_000


def test_two_processes_may_write_at_once(folder):
    with process(folder) as last, process(folder) as first:
        last.of(("key", 1), lambda: 1)
        first.of(("key", 0), lambda: 0)
    assert result(folder, ("key", 1), "new") == 1


def test_a_read_only_folder_is_no_error(folder, monkeypatch):
    def refuse(*_args):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(kept, "write_pack", refuse)
    assert result(folder, ("key",), 1) == 1


YAML = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats(allow_nan=False) | st.text("ab:\n é", max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc.", min_size=1, max_size=3), inner, max_size=3)
    ),
)


@given(st.dictionaries(st.text("abc.", min_size=1, max_size=3), YAML, max_size=5))
def test_a_document_is_the_same_from_its_parts(data):
    document = parse_document(json.dumps(data, indent=1, ensure_ascii=False))
    again = Document.of(marshal.loads(marshal.dumps(document.parts())))
    assert (again.data, again.repeated) == (document.data, document.repeated)
    for key, value in document.data.items():
        assert again.lines.find(key) == document.lines.find(key) > 0
        for name in value if isinstance(value, dict) else ():
            assert again.lines.find(key, name) == document.lines.find(key, name) > 0


def test_an_alias_is_the_same_object_as_its_anchor():
    document = parse_document("a: &one [1]\nb: *one\n")
    again = Document.of(marshal.loads(marshal.dumps(document.parts())))
    assert again.data["a"] is again.data["b"]


class Tree:
    """A tree with a template, a large file of plain YAML and a pillar, and the runtimes of several processes."""

    def __init__(self, base: Path) -> None:
        self.root, self.pillar, self.cache = base / "root", base / "pillar", base / "cache"
        for each in (self.root, self.pillar, self.cache):
            each.mkdir(mode=0o700)
        self.write("plain.sls", "".join(f"state {number}:\n  test.nop\n" for number in range(1000)))
        self.write("names.jinja", "{% set name = 'mac' ~ 'ro' %}")
        self.write(
            "web.sls",
            "{% from 'names.jinja' import name %}\n{{ name }}:\n  test.show_notification:\n    - text: {{ pillar['word'] }}\n",
        )
        (self.pillar / "top.sls").write_text("base: {'*': [words]}")
        (self.pillar / "words.sls").write_text(
            "{% set rest = 'llar-text' %}\nword: from-pi{{ rest }}\n" + "# much\n" * 3000
        )

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def settings(self, **options: object) -> Settings:
        roots = {"file_roots": {"base": [str(self.root)]}, "pillar_roots": {"base": [str(self.pillar)]}}
        return Settings(**roots, cachedir=str(self.cache), state_dir=str(self.cache), **options)

    def chunks(self, *sls: str, secrets: Iterable[str] = (), **options: object) -> list[tuple[object, ...]]:
        with StateRuntime(self.settings(**options), secrets=Secrets(secrets)).open_sync() as runtime:
            return [(chunk.id, chunk.args, chunk.line) for chunk in runtime.compile_sync(sls).chunks]

    def kept(self) -> bytes:
        file = self.cache / "compiled"
        return file.read_bytes() if file.exists() else b""


def test_a_tree_compiles_to_the_same_from_kept_results(tmp_path, monkeypatch):
    tree = Tree(tmp_path)
    first = tree.chunks("plain", "web")
    before = tree.kept()
    assert b"names.jinja" in before
    assert b"state 999" in before
    monkeypatch.setattr(render, "_WORTH_KEEPING", 10**9)
    assert tree.chunks("plain", "web") == first
    monkeypatch.undo()
    assert tree.chunks("plain", "web") == first
    assert tree.kept() == before


def test_a_kept_text_is_neither_parsed_nor_compiled(tmp_path, monkeypatch):
    tree = Tree(tmp_path)
    tree.chunks("plain", "web")
    parsed, texts = render.parse_document, list[str]()
    monkeypatch.setattr(
        render, "parse_document", lambda text, *args, **kw: texts.append(text) or parsed(text, *args, **kw)
    )
    compiled, names = TemplateEnvironment.compile, list[str]()
    monkeypatch.setattr(
        TemplateEnvironment,
        "compile",
        lambda self, text, name, path: names.append(name) or compiled(self, text, name, path),
    )
    jinja_environment.code_place.cache_clear()
    tree.chunks("plain", "web")
    assert not any("state 999" in text for text in texts)
    assert names == ["words.sls"]  # of the pillar


def test_a_process_keeps_no_more_than_a_limit(folder, monkeypatch):
    monkeypatch.setattr(kept, "_LARGEST_NEW", 1000)
    with process(folder) as results:
        for number in range(100):
            assert results.of(("key", number), lambda: "x" * 100) == "x" * 100
    assert 1000 < (folder / "compiled").stat().st_size < 3000


def test_every_option_of_a_template_is_in_its_key():
    class Keys:
        def __init__(self) -> None:
            self.found: list[tuple[object, ...]] = []

        def of(self, key, make):
            self.found.append(key)
            return make()

    keys, plain = Keys(), Options()
    others = {"syntax": (("trim_blocks", True),), "allow_undefined": True}
    assert others.keys() == set(Options.__struct_fields__)
    for options in (plain, *(plain.replaced(**{name: value}) for name, value in others.items())):
        for text, name, path in [("x", "n", "p"), ("y", "n", "p"), ("x", "m", "p"), ("x", "n", "q"), ("x", None, "p")]:
            jinja_environment.compiled(options, text, name, path, keys)
    assert len(set(keys.found)) == 15


def test_an_option_that_decides_what_is_folded_counts_at_once(tmp_path):
    tree = Tree(tmp_path)
    tree.write("web.sls", "a:\n  test.nop:\n    - text: 'x{{ {}.missing }}'\n")
    assert tree.chunks("web", allow_undefined=True)[0][1] == {"text": "x"}
    jinja_environment.code_place.cache_clear()
    with pytest.raises(CompileError, match="missing"):
        tree.chunks("web")


def test_a_template_may_be_named_by_a_text_of_another_type(tmp_path):
    tree = Tree(tmp_path)
    tree.write("web.sls", "{% set file = 'names.jinja' | e %}{% from file import name %}{{ name }}:\n  test.nop: []\n")
    assert tree.chunks("web")[0][0] == "macro"


def test_runtimes_of_a_process_share_what_they_compiled(tmp_path, monkeypatch):
    tree = Tree(tmp_path)
    tree.cache.chmod(0o777)  # nothing is kept there
    first = tree.chunks("web")
    monkeypatch.setattr(TemplateEnvironment, "compile", lambda *_args: pytest.fail("compiled twice"))
    assert tree.chunks("web") == first


def test_a_runtime_that_is_not_entered_leaves_no_file_open(tmp_path):
    tree = Tree(tmp_path)
    tree.chunks("web")
    jinja_environment.code_place.cache_clear()
    before = len(os.listdir("/proc/self/fd"))
    tree.write("own.sls", "{% from 'names.jinja' import name %}{{ name }}:\n  test.nop: []\n")
    StateRuntime(tree.settings()).compile_sync(["own"])
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_changed_text_counts_at_once(tmp_path):
    tree = Tree(tmp_path)
    tree.chunks("web")
    tree.write("names.jinja", "{% set name = 'other' %}")
    assert [each[0] for each in tree.chunks("web")] == ["other"]


def test_a_text_with_a_known_secret_is_not_kept(tmp_path):
    tree = Tree(tmp_path)
    tree.write("plain.sls", "a:\n  test.nop:\n    - text: open-word\n" + "# much\n" * 100)
    tree.write("web.sls", "b:\n  test.nop:\n    - text: {{ 'open-' }}geheim-wort\n")
    tree.chunks("plain", "web", secrets=["geheim-wort"])
    assert b"open-word" in tree.kept()
    assert b"geheim" not in tree.kept()


SECRETS = ("87654321", "8.7654321", "geheim-wort")
FORMS = ("87654321", "8.7654321", "'geheim-wort'", '"gehe\\u0069m-wort"')


@pytest.mark.parametrize("written", [*FORMS, "geheim-wort", "!!binary Z2VoZWltLXdvcnQ="])
@pytest.mark.parametrize("known", [True, False])
def test_a_document_with_a_form_of_a_known_secret_is_not_kept(folder, written, known):
    text = f"- text: {written}"
    with process(folder, Secrets(SECRETS if known else ()).redactor.text) as results:
        results.of(("yaml", text), lambda: parse_document(text).parts())
    assert (folder / "compiled").exists() != known


@pytest.mark.parametrize("written", FORMS)
@pytest.mark.parametrize("around", ["{{ %s }}", "{%% if x == %s %%}y{%% endif %%}", "{{ [%s] | join }}"])
@pytest.mark.parametrize("known", [True, False])
def test_a_template_with_a_form_of_a_known_secret_is_not_kept(folder, written, around, known):
    jinja_environment.code_place.cache_clear()
    with process(folder, Secrets(SECRETS if known else ()).redactor.text) as results:
        jinja_environment.compiled(Options(), around % written, "x", "x", results)
    assert (folder / "compiled").exists() != known


def test_neither_the_pillar_nor_what_a_template_printed_is_kept(tmp_path):
    tree = Tree(tmp_path)
    tree.write(
        "web.sls", "x:\n  test.nop:\n    - text: {{ pillar['word'] }}\n" + "# much {{ pillar['word'] }}\n" * 1000
    )
    assert tree.chunks("web")[0][1] == {"text": "from-pillar-text"}
    assert b"much" in tree.kept()
    for hidden in (b"from-pi", b"llar-text"):
        assert hidden not in tree.kept()
