"""Completion in a real bash: a line is typed, and TAB is pressed."""

from __future__ import annotations

import shutil

import pytest
from typed_in_bash import bash, programs

__all__ = ["bash", "programs"]

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def test_tab_completes_names_arguments_and_files(bash, tmp_path):
    lines = {
        "asyncstate chec": ["check"],
        "asyncstate apply we": ["apply", "web"],
        "asyncstate apply web --id my": ["apply", "web", "--id", "my id here"],
        'asyncstate apply web --id "my': ["apply", "web", "--id", "my id here"],
        "asyncstate apply --id=oth": ["apply", "--id=other"],
        "asyncstate apply db,web.c": ["apply", "db,web.conf"],
        "asyncstate apply --exclude id:/et": ["apply", "--exclude", "id:/etc/motd"],
        "asyncstate apply web --out js": ["apply", "web", "--out", "json"],
        "asyncstate single file.managed name=x mo": ["single", "file.managed", "name=x", "mode="],
        "asyncstate single file.managed source=salt://web/f": ["single", "file.managed", "source=salt://web/files/"],
        "asyncstate single file.managed name=./sa": ["single", "file.managed", "name=./salt/"],
        f"asyncstate apply --file-root {tmp_path}/sal": ["apply", "--file-root", f"{tmp_path}/salt/"],
    }
    assert dict(zip(lines, bash(*lines), strict=True)) == lines


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_no_name_ends_the_quotation_it_stands_in(bash, tmp_path, quote):
    """A name in a tree is typed as that name, and nothing of it is run on Enter."""
    name = f"b';touch {'x'};'\"$(touch y)`touch z`"
    (tmp_path / "salt" / f"{name}.sls").write_text("a: {test.nop: []}\n")
    (typed,) = bash(f"asyncstate apply --saltenv base {quote}b")
    assert name in typed
    assert not [each for each in ("x", "y", "z") if (tmp_path / each).exists()]


def test_no_name_is_replaced_by_an_old_line(bash, tmp_path):
    """Inside "" bash expands ``!``, which no escape hinders: such a name is not offered there."""
    (tmp_path / "salt" / "c!ech.sls").write_text("a: {test.nop: []}\n")
    assert bash("asyncstate apply c", "asyncstate apply 'c") == [["apply", "c!ech"]] * 2
    (tmp_path / "salt" / "cron.sls").write_text("a: {test.nop: []}\n")
    assert bash('asyncstate apply "c') == [["apply", "cron"]]


def test_where_nothing_can_be_completed_the_line_stays(bash):
    assert bash("asyncstate nosuch ", "asyncstate apply --nosuch=x") == [["nosuch"], ["apply", "--nosuch=x"]]
