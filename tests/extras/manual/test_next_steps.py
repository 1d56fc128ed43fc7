"""Messages about wrong values say what was expected and the next step."""

from __future__ import annotations

import pytest

CASES = {
    "a name that a template leaves empty": (
        {"salt/s.sls": "web:\n  file.absent:\n    - name: {{ salt['pillar.get']('a:b') }}\n"},
        "s.sls:2 [E411]",
        "the template gave nothing for 'name'; give the value a default",
    ),
    "a link to nothing": (
        {"salt/s.sls": "/x:\n  file.symlink:\n    - target: ''\n"},
        "s.sls:3 [E419]",
        "write the value",
    ),
    "no text to add": ({"salt/s.sls": "/x:\n  file.append: []\n"}, "[E403]", "needs 'text' or 'source' or 'sources'"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_message_says_what_was_expected_and_the_next_step(tmp_path, run_here, name):
    files, *expected = CASES[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    done = run_here("check", "s", "--file-root", tmp_path / "salt")
    assert done.returncode == 1
    for text in expected:
        assert text in done.stdout + done.stderr
