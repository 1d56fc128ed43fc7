import errno
import os
from codecs import BOM_UTF8
from contextlib import suppress

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import PathRefused


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "file")
    harness.load("states", "file")
    return harness


@pytest.fixture
def path(tmp_path):
    return tmp_path / "f"


ODD_LINES = {
    "Latin-1": b"# caf\xe9 \xff\n",
    "half of UTF-8": b"# \xe2\x82\n",
    "UTF-8 beside Latin-1": "# é\n".encode() + b"# \xe9\n",
    "other line ends": "# x\x85y\u2028z\x0bw\x1cv\r\n# u\r".encode(),
    "controls": b"# \x1b[0m\x0c \n",
    "a mark": b"\xef\xbb\xbf# x\n",
}
ODD_EDITS = {
    "keyvalue": {"key": "a", "value": "2"},
    "replace": {"pattern": "^a=1$", "repl": "a=2", "backup": False},
    "line": {"content": "a=2", "match": "a=1", "mode": "replace"},
    "comment": {"regex": "^a=1", "backup": False},
    "uncomment": {"regex": "b=1", "backup": False},
    "blockreplace": {"content": "new\x85line", "append_newline": True, "backup": False},
    "append": {"text": "appended"},
    "prepend": {"text": "prepended"},
}


@pytest.mark.parametrize("state", ODD_EDITS)
@pytest.mark.parametrize("odd", ODD_LINES.values(), ids=ODD_LINES)
@pytest.mark.parametrize("end", [b"", "é".encode(), b"\xe9"])
def test_an_edit_leaves_all_other_bytes_alone(plugins, path, state, odd, end):
    last = b"# last " + end
    path.write_bytes(odd + b"\na=1\n#b=1\n#-- start managed zone --\nold\n#-- end managed zone --\n" + last)
    plugins.opts["foresight"] = True
    dry, real, again = plugins.three_runs(f"file.{state}", name=str(path), **ODD_EDITS[state])
    assert (dry["result"], real["result"], bool(real["changes"])) == (None, True, True), real["comment"]
    assert (again["result"], again["changes"]) == (True, {})
    left = path.read_bytes()
    assert odd.removeprefix(BOM_UTF8) in left
    if end != b"\xe9":  # a mark that UTF-8 follows
        assert left.startswith(BOM_UTF8) == odd.startswith(BOM_UTF8)
    assert last in left


WRITTEN = {
    "a mark": lambda text: BOM_UTF8 + text.encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "a mark and CRLF": lambda text: BOM_UTF8 + text.replace("\n", "\r\n").encode(),
}
COMMUTING = {
    **ODD_EDITS,
    "replace": {"pattern": "^a=1", "repl": "a=2", "backup": False},
    "keyvalue at the end": {"key_values": {"a": 2, "n": 3}, "append_if_not_found": True},
    "keyvalue at the beginning": {"key_values": {"a": 2, "n": 3}, "prepend_if_not_found": True},
    "keyvalue pruned": {"key": "a", "value": 2, "prune": True},
    "keyvalue uncommented": {"key": "b", "value": 2, "uncomment": "#"},
    "append what is there": {"text": ["a=1", "#b=1"]},
    "prepend what is there": {"text": "a=1"},
    "prepend a header": {"text": "a=1\n#b=1", "header": True},
    "prepend another header": {"text": "#b=1", "header": True},
    "replace the beginning": {"pattern": "\\Aa", "repl": "c", "backup": False},
    "replace and append": {"pattern": "gone", "repl": "x", "append_if_not_found": True, "backup": False},
    "replace and prepend": {"pattern": "gone", "repl": "x", "prepend_if_not_found": True, "backup": False},
    "replace by flags": {
        "pattern": "gone", "repl": "x", "append_if_not_found": True, "flags": ["IGNORECASE"], "backup": False,
    },
    "line at the beginning": {"content": "a=1", "mode": "ensure", "before": "#b"},
    "line at the start": {"content": "x", "mode": "insert", "location": "start"},
    "line at the end": {"content": "x", "mode": "insert", "location": "end"},
    "blockreplace at the beginning": {
        "content": "x", "marker_start": "# <", "marker_end": "# >", "prepend_if_not_found": True, "backup": False,
    },
    "blockreplace at the end": {
        "content": "x\ny", "marker_start": "# <", "marker_end": "# >", "append_if_not_found": True, "backup": False,
    },
}  # fmt: skip


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("way", WRITTEN)
@pytest.mark.parametrize("case", COMMUTING)
def test_an_edit_is_the_same_whatever_the_file_is_written_in(plugins, tmp_path, case, way, end):
    text = f"a=1\n#b=1\n#-- start managed zone --\nold\n#-- end managed zone --\nlast{end}"
    plain, written = tmp_path / "plain", tmp_path / "written"
    plain.write_bytes(text.encode())
    written.write_bytes(WRITTEN[way](text))
    state = f"file.{case.partition(' ')[0]}"
    plugins.opts["foresight"] = True
    plugins.state(state, name=str(plain), **COMMUTING[case])
    once = plain.read_text()
    settles = not plugins.state(state, name=str(plain), **COMMUTING[case])["changes"]
    dry, real, again = plugins.three_runs(state, name=str(written), **COMMUTING[case])
    assert dry["result"] is (None if real["changes"] else True), real["comment"]
    assert (again["result"], bool(again["changes"])) == (True, not settles)
    assert written.read_bytes() == WRITTEN[way](once if settles else plain.read_text())


@pytest.mark.parametrize("state", ["comment", "uncomment"])
@pytest.mark.parametrize("regex", ["(?s)a.*", "a$", "^", "$", "(", "a=1", "", "x*", "[ab]=1$", "gone"])
@pytest.mark.parametrize("text", ["a=1\n", "a=1\r\n", "#a=1\r#b=1\r", "  a=1", "", "#a=1\n;a=1\n// a=1\n"])
def test_a_dry_run_of_a_comment_foretells_the_result(plugins, path, state, regex, text):
    plugins.opts["foresight"] = True
    for char in ("#", ";", "", "//"):
        path.write_bytes(text.encode())
        arguments = {"name": str(path), "regex": regex, "char": char, "backup": False}
        dry, real = (plugins.state(f"file.{state}", **arguments, test=test) for test in (True, False))
        assert dry["result"] is (None if real["changes"] else real["result"])
        if real["result"] is False:
            assert (dry["comment"], path.read_bytes()) == (real["comment"], text.encode())


@pytest.mark.parametrize("state", ["append", "replace", "comment", "keyvalue", "blockreplace", "line"])
def test_a_failed_write_keeps_the_file(plugins, path, state, monkeypatch):
    path.write_text("on\n#-- start managed zone --\n#-- end managed zone --\n")
    before = path.read_text()
    arguments = {
        "append": {"text": "x"},
        "replace": {"pattern": "on", "repl": "off", "backup": False},
        "comment": {"regex": "on", "backup": False},
        "keyvalue": {"key": "a", "value": "b", "append_if_not_found": True},
        "blockreplace": {"content": "x", "backup": False},
        "line": {"content": "x", "mode": "insert", "location": "end"},
    }

    def no_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    try:
        row = plugins.state(f"file.{state}", name=str(path), **arguments[state])
    except OSError:
        row = {"result": False}
    assert row["result"] is False
    assert path.read_text() == before
    assert os.listdir(path.parent) == [path.name] or sorted(os.listdir(path.parent)) == ["f", "file_roots"]


def accumulate(plugins, path, name, text, for_id="block"):
    low = {
        "state": "file",
        "fun": "accumulated",
        "name": name,
        "__id__": name,
        "__sls__": "s",
        "require_in": [{"file": for_id}],
    }
    return plugins.state("file.accumulated", low=low, name=name, filename=str(path), text=text)


def test_accumulated_text_reaches_blocks_and_templates(plugins, path, tmp_path):
    path.write_text("x\n")
    row = accumulate(plugins, path, "acc", ["one", "two"])
    assert (row["changes"], row["comment"]) == ({}, f"Accumulator acc for file {path} was charged by text")
    accumulate(plugins, path, "acc", "two")
    accumulate(plugins, path, "elsewhere", "not mine", for_id="another")
    plugins.state(
        "file.blockreplace",
        low={"__id__": "block", "state": "file", "fun": "blockreplace", "name": str(path)},
        name=str(path),
        content="first",
        append_if_not_found=True,
        backup=False,
    )
    assert "first\none\ntwo\n#--" in path.read_text()
    assert "not mine" not in path.read_text()
    plugins.salt_file("t", "{% for line in accumulator['acc'] %}{{ line }};{% endfor %}")
    plugins.state("file.managed", name=str(path), source="salt://t", template="jinja")
    assert path.read_text() == "one;two;"


def test_an_accumulator_without_a_file_is_an_error(plugins, path):
    low = {"__id__": "acc", "__sls__": "s", "require_in": [{"cmd": "x"}]}
    row = plugins.state("file.accumulated", low=low, name="acc", filename=str(path), text="x")
    assert (row["result"], row["comment"]) == (False, "Orphaned accumulator acc in s:acc")
    row = accumulate(plugins, path, "acc", None)
    assert (row["result"], row["comment"]) == (False, "No text supplied for accumulator")


def test_two_runs_do_not_share_accumulators(plugins, path):
    from asyncstate.states.file import accumulators

    low = {"__id__": "a", "__sls__": "s", "require_in": [{"file": "f"}]}
    with plugins.calling(low=low, instance_id="run-1"):
        plugins.states["file.accumulated"](name="a", filename=str(path), text="x")
        assert accumulators.accumulated_for(str(path)) == {"a": ["x"]}
    with plugins.calling(low=low, instance_id="run-2"):
        assert accumulators.accumulated_for(str(path)) == {}


def test_a_line_is_added_to_a_file_that_is_not_utf8(plugins, tmp_path):
    path = tmp_path / "latin"
    path.write_bytes(b"caf\xe9\nend\n")
    row = plugins.state("file.line", name=str(path), mode="ensure", content="th\u00e9", after="caf")
    assert row["result"] is True
    assert path.read_bytes() == b"caf\xe9\nth\xe9\nend\n"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["one two", "one\n\n\ntwo", "\n\n\n"])
def test_a_file_of_empty_lines_takes_no_hours(plugins, tmp_path, text):
    path = tmp_path / "f"
    path.write_text("one" + "\n" * 300_000 + "three\n" + " \n" * 100_000)
    assert plugins.state("file.append", name=str(path), text=text)["result"] is True


@pytest.mark.parametrize(
    ("function", "arguments", "keeps"),
    [
        ("append", {"text": "c=3"}, True),
        ("prepend", {"text": "c=3"}, True),
        ("replace", {"pattern": "a=1", "repl": "a=2", "backup": ".old"}, True),
        ("comment", {"regex": "^a", "backup": False}, False),
        ("uncomment", {"regex": "b", "backup": ".old"}, False),
        ("keyvalue", {"key": "a", "value": "2"}, True),
        ("line", {"content": "a=2", "match": "a=1", "mode": "replace"}, False),
        ("blockreplace", {"content": "x", "append_if_not_found": True}, False),
    ],
)
def test_edits_in_place_keep_hard_links(plugins, tmp_path, function, arguments, keeps):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("a=1\n#b=2\n")
    os.link(one, other)
    row = plugins.state(f"file.{function}", name=str(one), **arguments)
    assert (row["result"], bool(row["changes"])) == (True, True)
    assert one.samefile(other) is keeps
    assert (other.read_text() != "a=1\n#b=2\n") is keeps
    assert not (tmp_path / "one.old").exists() or (tmp_path / "one.old").read_text() == "a=1\n#b=2\n"


WITH_BACKUP = {
    "replace": {"pattern": "old", "repl": "new", "backup": ".bak"},
    "comment": {"regex": "^old", "backup": ".bak"},
    "blockreplace": {"marker_start": "#a", "marker_end": "#b", "append_if_not_found": True, "backup": ".bak"},
    "line": {"content": "new", "match": "old", "mode": "replace", "backup": True},
}


@pytest.mark.parametrize("function", WITH_BACKUP)
def test_a_backup_keeps_the_times_of_the_file(plugins, tmp_path, function):
    path = tmp_path / "f"
    path.write_text("old\n")
    os.utime(path, (5, 7))
    assert plugins.state(f"file.{function}", name=str(path), **WITH_BACKUP[function])["result"] is True
    (backup,) = (name for name in os.listdir(tmp_path) if name.startswith("f."))
    assert (tmp_path / backup).stat().st_mtime == 7
    assert path.stat().st_mtime > 7


@pytest.mark.parametrize("function", WITH_BACKUP)
@pytest.mark.parametrize(
    "case",
    [
        (False, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))),
        (True, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))),
        (False, PathRefused("exchanged")),
    ],
)
def test_an_edit_that_fails_leaves_no_new_backup(plugins, tmp_path, monkeypatch, function, case):
    there, error = case
    path, real = tmp_path / "f", os.rename
    path.write_text("old\n")
    if there:
        (tmp_path / "f.bak").write_text("older\n")

    def rename(source, target, **folders):
        if target == "f":
            raise error
        real(source, target, **folders)

    monkeypatch.setattr(os, "rename", rename)
    with suppress(OSError, PathRefused):
        row = plugins.state(f"file.{function}", name=str(path), **WITH_BACKUP[function])
        assert row["result"] is False
    assert path.read_text() == "old\n"
    left = {name for name in os.listdir(tmp_path) if name.startswith(("f.", ".f."))}
    assert left == ({"f.bak"} if there else set())


@pytest.mark.parametrize("function", ["append", "prepend"])
def test_a_file_that_cannot_be_filled_is_not_made(plugins, tmp_path, monkeypatch, function):
    real = os.write

    def write(descriptor, data):
        if bytes(data).startswith(b"text"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    with suppress(OSError):
        row = plugins.state(f"file.{function}", name=str(tmp_path / "new"), text="text")
        assert (row["result"], row["changes"]) == (False, {})
    assert not (tmp_path / "new").exists()
