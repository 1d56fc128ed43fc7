"""Compared outcomes: repeatable rows, and paths with kind, content, mode and owner."""

import os

import pytest

from asyncstate.extras.proof.shake.outcome import IGNORED, Difference, Entry, Outcome, Tolerance, differences, entries

ROW = {"result": True, "changes": {"retcode": 0}, "comment": "done"}


def parts(left, right, **options):
    return [(each.what, each.name, each.part) for each in differences(left, right, **options)]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (ROW, []),
        ({**ROW, "result": False, "comment": "no"}, ["result", "comment"]),
        ({**ROW, "changes": {"retcode": 1}}, ["changes"]),
        ({**ROW, "more": 1}, ["more"]),
        (None, ["missing"]),
    ],
)
def test_rows(row, expected):
    there = {} if row is None else {"t": row}
    assert parts(Outcome({"t": ROW}, {}), Outcome(there, {})) == [("row", "t", part) for part in expected]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda root: (root / "f").write_text("other"), ("/f", "content")),
        (lambda root: (root / "f").chmod(0o600), ("/f", "mode")),
        (lambda root: (root / "f").unlink(), ("/f", "missing")),
        (lambda root: ((root / "f").unlink(), (root / "f").mkdir()), ("/f", "kind")),
        (lambda root: ((root / "l").unlink(), (root / "l").symlink_to("d")), ("/l", "content")),
        (lambda root: (root / "d" / "new").touch(), ("/d/new", "missing")),
        (lambda root: os.mkfifo(root / "pipe"), ("/pipe", "missing")),
        (lambda root: os.utime(root / "f", (1, 1)), None),
    ],
)
def test_paths(tmp_path, change, expected):
    (tmp_path / "f").write_text("text")
    (tmp_path / "d").mkdir()
    (tmp_path / "l").symlink_to("f")
    before = Outcome({}, dict(entries(str(tmp_path))))
    change(tmp_path)
    found = parts(before, Outcome({}, dict(entries(str(tmp_path)))))
    assert found == ([] if expected is None else [("path", *expected)])


def test_what_is_not_listed_is_as_it_was_before():
    base = {"/f": Entry("file", 0o644, 0, 0, "x")}
    deleted, touched, changed = (
        Outcome({}, {"/f": entry}) for entry in (None, base["/f"], Entry("file", 0o644, 0, 1, "x"))
    )
    assert parts(Outcome({}, {}), touched, base=base.get) == []
    assert parts(Outcome({}, {}), deleted, base=base.get) == [("path", "/f", "missing")]
    assert parts(changed, Outcome({}, {}), base=base.get) == [("path", "/f", "owner")]


def test_a_run_that_broke_off_is_a_difference():
    assert parts(Outcome({}, {}), Outcome({}, {}, "out of time")) == [("run", "", "end")]


def test_what_may_differ():
    log = Difference("path", "/var/log/dpkg.log", "content", "a", "b")
    row = Difference("row", "t", "comment", "a", "b")
    tolerance = Tolerance((*IGNORED, "/srv/*.tmp"))
    assert tolerance.beyond([log, row, Difference("path", "/srv/a/b.tmp", "missing", "", "")]) == [row]
    assert tolerance.learn([log, row]) == [row]
    other = Difference("row", "t", "result", "True", "False")
    assert tolerance.beyond([Difference("row", "t", "comment", "c", "d"), other]) == [other]
