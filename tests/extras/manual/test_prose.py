"""Documentation is filled to the width of a terminal, and what is laid out by hand stays as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.manual.function import call_lines
from asyncstate.extras.manual.prose import filled

PAGE = """\
One sentence that is longer than
a narrow terminal has columns.

- an item that is as long as that, and more
require    after the other state, and only if it succeeded

    conf:
      file.managed: [{name: /a/very/long/path/of/a/file}]
"""


def test_sentences_items_and_rows_are_broken_and_examples_are_not():
    assert list(filled(PAGE, 30)) == [
        "One sentence that is longer",
        "than a narrow terminal has",
        "columns.",
        "",
        "- an item that is as long as",
        "  that, and more",
        "require    after the other",
        "           state, and only if",
        "           it succeeded",
        "",
        "    conf:",
        "      file.managed: [{name: /a/very/long/path/of/a/file}]",
    ]
    assert list(filled(PAGE, 100)) == PAGE.splitlines()


@given(text=st.text("ab \n-", max_size=200), width=st.integers(1, 60))
def test_no_word_is_lost_or_broken(text, width):
    assert " ".join(filled(text, width)).split() == text.split()


def test_a_call_is_broken_between_its_arguments():
    lines = call_lines("file.symlink", "(name: str, user: str | int | None = None, mode: Any = None)", 40)
    assert lines == [
        "file.symlink(name: str,",
        "             user: str | int | None = None,",
        "             mode: Any = None)",
    ]


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_no_sentence_of_a_page_is_wider_than_the_terminal(columns, tmp_path, monkeypatch, capsys):
    from asyncstate.cli import main

    monkeypatch.setenv("ASYNCSTATE_CACHEDIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", str(columns))
    for name in ("pkg.installed", "requisites", "file", "retry"):
        assert main(["doc", name, "--file-root", str(tmp_path)]) == 0
        lines = capsys.readouterr().out.splitlines()
        prose = [line for line in lines if not line.startswith("          ") and "(/" not in line and "- " not in line]
        assert max(map(len, prose)) <= min(columns, 100)
