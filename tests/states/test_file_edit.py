import errno
import os
import stat
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


EDITS = {
    "append": (
        "file.append",
        "one\n",
        {"text": ["one", "two"]},
        "one\ntwo\n",
        "--- \n\n+++ \n\n@@ -1 +1,2 @@\n\n one\n+two",
        "Appended 1 lines",
        "File {} is set to be updated",
        "File {} is in correct state",
    ),
    "append to a file without a last newline": (
        "file.append",
        "one",
        {"text": "two\nthree"},
        "one\ntwo\nthree\n",
        "--- \n\n+++ \n\n@@ -1 +1,3 @@\n\n one\n+two\n+three",
        "Appended 2 lines",
        "File {} is set to be updated",
        "File {} is in correct state",
    ),
    "prepend": (
        "file.prepend",
        "two\n",
        {"text": ["one", "two"]},
        "one\ntwo\n",
        "--- \n+++ \n@@ -1 +1,2 @@\n+one\n two\n",
        "Prepended 1 lines",
        "File {} is set to be updated",
        "File {} is in correct state",
    ),
    "prepend a header": (
        "file.prepend",
        "body\nhead\n",
        {"text": "head", "header": True},
        "head\nbody\nhead\n",
        "--- \n+++ \n@@ -1,2 +1,3 @@\n+head\n body\n head\n",
        "Prepended 1 lines",
        "File {} is set to be updated",
        "File {} is in correct state",
    ),
    "replace": (
        "file.replace",
        "a=1\nb=2\n",
        {"pattern": "^b=.*", "repl": "b=3", "backup": False},
        "a=1\nb=3\n",
        "--- \n+++ \n@@ -1,2 +1,2 @@\n a=1\n-b=2\n+b=3\n",
        "Changes were made",
        "Changes would have been made",
        "No changes needed to be made",
    ),
    "replace with append_if_not_found": (
        "file.replace",
        "a=1",
        {"pattern": "^b=.*", "repl": "b=3", "append_if_not_found": True, "backup": False},
        "a=1\nb=3\n",
        "--- \n+++ \n@@ -1 +1,2 @@\n-a=1+a=1\n+b=3\n",
        "Changes were made",
        "Changes would have been made",
        "No changes needed to be made",
    ),
    "replace with prepend_if_not_found": (
        "file.replace",
        "a=1\n",
        {
            "pattern": "^b=",
            "repl": "x",
            "prepend_if_not_found": True,
            "not_found_content": "c=1",
            "backup": False,
        },
        "c=1\na=1\n",
        "--- \n+++ \n@@ -1 +1,2 @@\n+c=1\n a=1\n",
        "Changes were made",
        "Changes would have been made",
        "No changes needed to be made",
    ),
    "line insert": (
        "file.line",
        "  aaa\nbbb\n",
        {"content": "new", "mode": "insert", "after": "aaa"},
        "  aaa\n  new\nbbb\n",
        "--- \n+++ \n@@ -1,2 +1,3 @@\n   aaa\n+  new\n bbb\n",
        "Changes were made",
        "Changes would be made",
        None,
    ),
    "line ensure": (
        "file.line",
        "aaa\nbbb\n",
        {"content": "new", "mode": "ensure", "before": "bbb"},
        "aaa\nnew\nbbb\n",
        "--- \n+++ \n@@ -1,2 +1,3 @@\n aaa\n+new\n bbb\n",
        "Changes were made",
        "Changes would be made",
        "No changes needed to be made",
    ),
    "line delete": (
        "file.line",
        "aaa\nbbb\n",
        {"match": "bbb", "mode": "delete"},
        "aaa\n",
        "--- \n+++ \n@@ -1,2 +1 @@\n aaa\n-bbb\n",
        "Changes were made",
        "Changes would be made",
        "No changes needed to be made",
    ),
    "line replace": (
        "file.line",
        "aaa\nbbb\n",
        {"match": "bbb", "content": "ccc", "mode": "replace"},
        "aaa\nccc\n",
        "--- \n+++ \n@@ -1,2 +1,2 @@\n aaa\n-bbb\n+ccc\n",
        "Changes were made",
        "Changes would be made",
        "No changes needed to be made",
    ),
    "comment": (
        "file.comment",
        "on\noff\n",
        {"regex": "^on", "backup": False},
        "#on\noff\n",
        "--- \n+++ \n@@ -1,2 +1,2 @@\n-on\n+#on\n off\n",
        "Commented lines successfully",
        "File {} is set to be updated",
        "Pattern already commented",
    ),
    "uncomment": (
        "file.uncomment",
        "# on\n#off\n",
        {"regex": "^on", "backup": False},
        " on\n#off\n",
        "--- \n+++ \n@@ -1,2 +1,2 @@\n-# on\n+ on\n #off\n",
        "Uncommented lines successfully",
        "File {} is set to be updated",
        "Pattern already uncommented",
    ),
    "blockreplace": (
        "file.blockreplace",
        "x\n# S\nold\n# E\n",
        {"marker_start": "# S", "marker_end": "# E", "content": "new", "backup": False},
        "x\n# S\nnew\n# E\n",
        "--- \n+++ \n@@ -1,4 +1,4 @@\n x\n # S\n-old\n+new\n # E\n",
        "Changes were made",
        "Changes would be made",
        "No changes needed to be made",
    ),
    "blockreplace appends a block": (
        "file.blockreplace",
        "x",
        {
            "marker_start": "# S",
            "marker_end": "# E",
            "content": "new\n",
            "append_if_not_found": True,
            "backup": False,
        },
        "x\n# S\nnew\n# E\n",
        "--- \n+++ \n@@ -1 +1,4 @@\n-x+x\n+# S\n+new\n+# E\n",
        "Changes were made",
        "Changes would be made",
        "No changes needed to be made",
    ),
    "keyvalue": (
        "file.keyvalue",
        "a = 1\n#b = 2\n",
        {
            "key_values": {"a": "5", "b": "6", "c": "7"},
            "separator": " = ",
            "uncomment": "#",
            "append_if_not_found": True,
        },
        "a = 5\nb = 6\nc = 7\n",
        "- a = 1\n+ a = 5\n- #b = 2\n+ b = 6\n- <EOF>\n+ c = 7\n+ <EOF>\n",
        "Changed 3, deleted 0 lines",
        None,
        "",
    ),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_edits(plugins, path, edit):
    state, before, arguments, after, diff, done, foretold, right = edit
    path.write_text(before)
    path.chmod(0o640)
    dry, real, again = plugins.three_runs(state, name=str(path), **arguments)
    assert (real["result"], real["changes"], real["comment"]) == (True, {"diff": diff}, done)
    assert path.read_text() == after if right is not None else True
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert dry["result"] is None
    assert dry["changes"] == ({str(path): "updated"} if "comment" in state else {"diff": diff})
    if foretold is not None:
        assert dry["comment"] == foretold.format(path)
    if right is not None:
        assert (again["result"], again["changes"], again["comment"]) == (True, {}, right.format(path))


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


@pytest.mark.parametrize("test", [True, False])
@pytest.mark.parametrize("text", ["(", "\\1", ["fine", "a**"]])
def test_no_file_is_made_for_an_invalid_pattern(plugins, path, text, test):
    plugins.opts["foresight"] = True
    row = plugins.state("file.append", name=str(path), text=text, ignore_whitespace=False, test=test)
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"].startswith("Invalid regular expression ")
    assert not path.exists()


def test_a_key_behind_a_separator_in_a_comment_is_not_set(plugins, path):
    path.write_bytes(b"# old\x0cA=9\nA=1\n")
    row = plugins.state("file.keyvalue", name=str(path), key="A", value="2")
    assert (row["result"], path.read_bytes()) == (True, b"# old\x0cA=9\nA=2\n")


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


@pytest.mark.parametrize(
    ("state", "arguments", "comment"),
    [
        ("append", {"text": "x"}, "{}: file not found"),
        ("prepend", {"text": "x"}, "{}: file not found"),
        ("replace", {"pattern": "a", "repl": "b"}, "{}: file not found"),
        ("line", {"content": "x", "mode": "insert", "location": "end"}, "{}: file not found"),
        ("comment", {"regex": "x"}, "{}: file not found"),
        ("uncomment", {"regex": "x"}, "{}: file not found"),
        ("blockreplace", {"content": "x"}, "{}: file not found"),
        ("keyvalue", {"key": "a", "value": "b"}, "unable to open {}"),
    ],
)
def test_a_missing_file(plugins, tmp_path, state, arguments, comment):
    path = tmp_path / "no" / "f"
    row = plugins.state(f"file.{state}", **{"name": str(path), **arguments})
    assert (row["result"], row["changes"], row["comment"]) == (False, {}, comment.format(path))


@pytest.mark.parametrize(
    ("state", "arguments", "comment"),
    [
        ("replace", {"pattern": "(", "repl": ""}, "Invalid regular expression '(': "),
        ("replace", {"pattern": "a", "repl": r"\9"}, r"Invalid replacement '\\9': "),
        ("replace", {"pattern": "a", "repl": "", "flags": ["BOGUS"]}, "Invalid re flag given: BOGUS"),
        (
            "replace",
            {"pattern": "a", "repl": "", "append_if_not_found": True, "prepend_if_not_found": True},
            "Only one of append and prepend_if_not_found is permitted",
        ),
        ("line", {"content": "x"}, "Mode was not defined. How to process the file?"),
        ("line", {"content": "x", "mode": "bogus"}, 'Unknown mode: "bogus"'),
        ("line", {"mode": "insert"}, "Content can only be empty if mode is ['delete']"),
        (
            "line",
            {"content": "x", "mode": "insert"},
            'On insert either "location" or "before/after" conditions are required.',
        ),
        (
            "line",
            {"content": "x", "mode": "insert", "after": "aaa"},
            'Found more than expected occurrences in "after" expression',
        ),
        ("line", {"content": "x", "mode": "ensure", "after": "zzz"}, "Wrong conditions? Unable to ensure line"),
        ("comment", {"regex": "^zzz$"}, "zzz: Pattern not found"),
        ("uncomment", {"regex": "^zzz"}, "^zzz: Pattern not found"),
        (
            "blockreplace",
            {"content": "x"},
            "Encountered error managing block: Cannot edit marked block. Markers were not found in file.. See the log",
        ),
        (
            "blockreplace",
            {"marker_start": "aaa", "marker_end": "zzz"},
            "Encountered error managing block: Unterminated marked block. End of file reached before marker_end..",
        ),
        ("keyvalue", {"key_values": {}}, "file.keyvalue key and value not supplied and key_values is empty"),
        ("keyvalue", {"key_values": ["a"]}, "file.keyvalue key and value not supplied and key_values is not a dict"),
        ("append", {"source": "a", "sources": ["b"]}, "source and sources are mutually exclusive"),
        ("append", {}, "No text found to append. Nothing appended"),
        ("append", {"name": "rel"}, "Specified file rel is not an absolute path"),
        ("append", {"source": "salt://nope"}, "Failed to load template file salt://nope"),
    ],
)
def test_bad_arguments_change_nothing(plugins, path, state, arguments, comment):
    path.write_text("aaa\nbbb\naaa\n")
    row = plugins.state(f"file.{state}", **{"name": str(path), **arguments})
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"].startswith(comment)
    assert path.read_text() == "aaa\nbbb\naaa\n"


@pytest.mark.parametrize("state", ["append", "prepend", "blockreplace"])
@pytest.mark.parametrize("argument", [{"source": "salt://nope"}, {"sources": ["salt://nope"]}])
def test_the_row_of_a_source_that_is_not_there_is_named_after_it(plugins, path, state, argument):
    path.write_text("#-- start managed zone --\n#-- end managed zone --\n")
    assert plugins.state(f"file.{state}", name=str(path), **argument) == {
        "name": "salt://nope",
        "changes": {},
        "result": False,
        "comment": "Failed to load template file salt://nope",
        "data": [],
    }


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


def test_a_backup_is_kept_beside_the_file(plugins, path):
    path.write_text("a\n")
    plugins.state("file.replace", name=str(path), pattern="a", repl="b", backup=".orig")
    assert path.with_name("f.orig").read_text() == "a\n"


@pytest.mark.parametrize("state", ["replace", "comment", "blockreplace"])
@pytest.mark.parametrize("test", [True, False])
def test_a_backup_that_cannot_be_is_an_error_before_the_edit(plugins, path, state, test):
    plugins.opts["foresight"] = True
    path.write_text("on\n#-- start managed zone --\n#-- end managed zone --\n")
    arguments = {
        "replace": {"pattern": "on", "repl": "x"},
        "comment": {"regex": "on"},
        "blockreplace": {"content": "x"},
    }
    row = plugins.state(f"file.{state}", test=test, name=str(path), backup="a/b", **arguments[state])
    assert (row["result"], path.read_text()[:3]) == (False, "on\n")


def test_an_edit_through_a_link_keeps_the_link(plugins, path, tmp_path):
    path.write_text("a\n")
    link = tmp_path / "link"
    link.symlink_to("f")
    plugins.state("file.replace", name=str(link), pattern="a", repl="b")
    assert (path.read_text(), os.readlink(link), os.readlink(tmp_path / "link.bak")) == ("b\n", "f", "f.bak")
    assert (tmp_path / "link.bak").read_text() == "a\n"


def test_append_makes_the_file(plugins, path, tmp_path):
    dry, real, _ = plugins.three_runs("file.append", name=str(path), text="x")
    assert (dry["result"], dry["changes"]) == (None, {"new": str(path)})
    assert (real["changes"], path.read_text()) == ({"diff": "--- \n\n+++ \n\n@@ -0,0 +1 @@\n\n+x"}, "x\n")
    deep = tmp_path / "a" / "b"
    assert plugins.state("file.append", name=str(deep), text="x", makedirs=True)["result"] is True


def test_append_renders_sources(plugins, path):
    plugins.salt_file("one", "{{ x }}\n")
    plugins.salt_file("two", "{{ 1 + 1 }}\n")
    path.touch()
    row = plugins.state("file.append", name=str(path), sources=["salt://one", "salt://two"], context={"x": "X"})
    assert (row["comment"], path.read_text()) == ("Appended 2 lines", "X\n2\n")
    row = plugins.state("file.append", name=str(path), source="salt://one")
    assert row["comment"].startswith("Failed to load template file salt://one: Jinja variable")


def test_append_finds_text_whatever_white_space_it_has(plugins, path):
    path.write_text('  if [ -z  "$x" ]; then\n')
    row = plugins.state("file.append", name=str(path), text='if [ -z "$x" ]; then')
    assert row["changes"] == {}
    row = plugins.state("file.append", name=str(path), text="it's")
    assert row["comment"] == "Appended 1 lines"
    row = plugins.state("file.append", name=str(path), text="i.*s$", ignore_whitespace=False)
    assert row["changes"] == {}


def test_append_refuses_a_binary_file(plugins, path):
    path.write_bytes(b"\0\1\2")
    row = plugins.state("file.append", name=str(path), text="x")
    assert (row["result"], path.read_bytes()) == (False, b"\0\1\2")


def test_replace_of_a_missing_file_may_be_ignored(plugins, path):
    row = plugins.state("file.replace", name=str(path), pattern="a", repl="b", ignore_if_missing=True)
    assert (row["result"], row["comment"]) == (True, "No changes needed to be made")


def test_comment_of_a_missing_pattern_may_be_ignored(plugins, path):
    path.write_text("a\n")
    row = plugins.state("file.comment", name=str(path), regex="zzz", ignore_missing=True)
    assert (row["result"], row["comment"]) == (True, "Pattern not found and ignore_missing set to True")


def test_line_may_create_the_file(plugins, path):
    row = plugins.state(
        "file.line", name=str(path), content="x", mode="insert", location="end", create=True, file_mode="0600"
    )
    assert (row["result"], path.read_text().strip()) == (True, "x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_keyvalue_counts_removes_and_ignores_case(plugins, path):
    path.write_text("A=1\nA=2\nother=3")
    row = plugins.state("file.keyvalue", name=str(path), key="a", value=9, key_ignore_case=True)
    assert row["changes"]["diff"] == "- A=1\n+ A=9 (from int type)\n- A=2\n"
    assert path.read_text() == "A=9\nother=3"
    row = plugins.state("file.keyvalue", name=str(path), key="a", value="x", append_if_not_found=True)
    assert path.read_text() == "A=9\nother=3\na=x\n"
    row = plugins.state("file.keyvalue", name=str(path), key_values={"n": "1", "m": "2"}, prepend_if_not_found=True)
    assert path.read_text() == "m=2\nn=1\nA=9\nother=3\na=x\n"
    row = plugins.state("file.keyvalue", name=str(path), key_values={"a": "x"}, prune=True)
    assert (row["comment"], path.read_text()) == ("Changed 0, deleted 4 lines", "a=x\n")


def test_keyvalue_of_a_missing_file(plugins, path):
    row = plugins.state("file.keyvalue", name=str(path), key="a", value="b", ignore_if_missing=True)
    assert (row["result"], path.exists()) == (True, False)
    row = plugins.state("file.keyvalue", name=str(path), key="a", value="b", create_if_missing=True)
    assert (row["result"], path.read_text()) == (True, "a=b\n")


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
    ("old", "chunk", "there"),
    [
        ("  one \t two\n", "one two", True),
        ("one\ntwo", "one two", True),
        ("one\n\n\ntwo", "one\ntwo", True),
        ("zone two", "one two", False),
        ("one two three", "one two", False),
        ("onetwo", "one two", True),
    ],
)
def test_white_space_between_words_counts_for_nothing(plugins, tmp_path, old, chunk, there):
    path = tmp_path / "f"
    path.write_text(old)
    assert bool(plugins.state("file.append", name=str(path), text=chunk)["changes"]) is not there


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


@pytest.mark.parametrize("there", [None, "a\n"])
def test_what_is_no_text_is_not_appended(plugins, path, there):
    plugins.opts["foresight"] = True
    if there:
        path.write_text(there)
    for row in plugins.three_runs("file.append", name=str(path), text=["b", "\0\1\2"]):
        assert (row["result"], row["changes"]) == (False, {})
    assert path.exists() == bool(there)


WITH_BACKUP = {
    "replace": {"pattern": "old", "repl": "new", "backup": ".bak"},
    "comment": {"regex": "^old", "backup": ".bak"},
    "blockreplace": {"marker_start": "#a", "marker_end": "#b", "append_if_not_found": True, "backup": ".bak"},
    "line": {"content": "new", "match": "old", "mode": "replace", "backup": True},
}


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
