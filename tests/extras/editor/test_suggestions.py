"""A suggested name resolves the mistake when an editor puts it in place of the wrong word."""

from __future__ import annotations

from pathlib import Path

import pytest
from code_examples import found, issues_of, parts

from asyncstate.extras.editor.actions import actions
from asyncstate.extras.editor.diagnostics import Diagnostic
from asyncstate.extras.editor.outline import Place
from asyncstate.extras.manual.codes import codes

SUGGESTED = frozenset("E102 E103 E305 E217 E401 E402 E404 E406 E407 E419 E426 E507 W403".split())
"""The codes whose examples have a mistake with a name beside it that was probably meant."""
ON_COMMAND_LINE = frozenset({"E120"})
"""The codes whose wrong word stands on a command line, in no file that an editor has."""


@pytest.mark.parametrize(
    "code", [code for code, entry in codes().items() if entry.wrong and code not in ON_COMMAND_LINE]
)
def test_a_suggested_name_ends_the_mistake(code, tmp_path):
    """As an editor applies it: the name that "did you mean" says takes the place of the wrong word."""
    entry = codes()[code]
    issues, _ = issues_of(entry, entry.wrong, tmp_path / "wrong")
    suggesting = {each.message: each for each in issues if each.code == code and "did you mean '" in each.hint}
    assert bool(suggesting) == (code in SUGGESTED)
    for number, issue in enumerate(suggesting.values()):
        files = {str(tmp_path / "wrong" / folder / path): text for folder, path, text in parts(entry.wrong)}
        place = Place(max(issue.line - 1, 0), 0, 0)
        told = [Diagnostic(place, "error", issue.rule, f"{issue.message.strip()}\n{issue.hint}", (), code)]
        file = issue.file or str(tmp_path / "wrong" / "salt" / "top.sls")
        [action] = actions(file, files[file], told, [], range(10_000))
        lines = files[file].split("\n")
        (line, start), (_, end) = action.start, action.end
        lines[line] = lines[line][:start] + action.text + lines[line][end:]
        files[file] = "\n".join(lines)
        mended = {
            str(Path(path).relative_to(tmp_path / "wrong")).removeprefix("salt/"): text for path, text in files.items()
        }
        given, _ = found(entry, mended, tmp_path / f"mended{number}")
        assert code not in given
