"""doc on a small tree."""

from __future__ import annotations

import json

import pytest

TREE = {
    "_modules/probe.py": (
        '"""A module of the tree."""\n\n\ndef echo(value, *, upper=False):\n    """Return ``value``.\n\n    With '
        '``upper``, in capitals.\n    """\n    return {"value": value.upper() if upper else value}\n\n\n'
        'def broken():\n    """Divide by zero."""\n    return 1 / 0\n'
    ),
    "_modules/refused.py": "def __virtual__():\n    return False, 'needs a moon phase'\n\n\ndef x():\n    pass\n",
}


@pytest.fixture
def run(tmp_path, run_here):
    """Run a command on the tree, in this process."""
    root = tmp_path / "tree"
    for name, text in TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return lambda *words: run_here(*words, "--file-root", root)


def answer(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_doc_of_a_function(run):
    done = run("doc", "probe.echo")
    assert done.stdout.splitlines()[1:] == [
        "  probe.echo(value, *, upper=False)",
        "",
        "    Return ``value``.",
        "",
        "    With ``upper``, in capitals.",
        "",
        "  Example",
        "    asyncstate call probe.echo VALUE",
        "",
        "  Platforms: all",
        "",
    ]
    entry = answer(run("doc", "probe.echo", "--out", "json"))["modules"]["probe.echo"]
    assert entry["signature"] == "(value, *, upper=False)"


def test_doc_of_a_module_and_of_all(run):
    lines = run("doc", "probe").stdout.splitlines()
    assert lines[1:3] == ["  probe.broken  Divide by zero.", "  probe.echo    Return ``value``."]
    text = run("doc").stdout
    assert "States\n" in text
    assert "Execution modules\n" in text
    assert "probe" in text


def test_doc_of_nothing_suggests(run):
    done = run("doc", "prob.echo")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no module, function or topic 'prob.echo'. Did you mean probe.echo?" in done.stderr


def test_doc_why(run):
    text = run("doc", "--why", "refused").stdout
    assert "refused.py" in text
    assert "needs a moon phase" in text
