from __future__ import annotations

import json

import pytest
from fake_salt import FakeSalt

from asyncstate.cli import main

ROW = 'return {"name": name, "result": True, "changes": {}, "comment": ""}\n'


@pytest.fixture(autouse=True)
def no_worker_is_left():
    """Leave the workers of a command, which end with the program."""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command on a tree with states of the tree and of Salt; return its code and what it wrote."""
    monkeypatch.setenv("ASYNCSTATE_CACHEDIR", str(tmp_path / "cache"))
    salt = FakeSalt(tmp_path / "environment")
    monkeypatch.setenv("ASYNCSTATE_SALT_PYTHON", str(salt.python))
    salt.state("theirs", f'def present(name):\n    """Be there.\n\n    More."""\n    {ROW}')
    salt.state("refused", "def __virtual__(): return False, 'no library'\n")
    tree = tmp_path / "salt"
    (tree / "_states").mkdir(parents=True)
    (tree / "_states/own.py").write_text(f"def done(name): {ROW}")
    (tree / "good.sls").write_text("a: test.nop\nb: theirs.present\nc: own.done\nd: theirs.present\n")
    (tree / "bad.sls").write_text("a: nobodys.present\nb: test.nop\n")

    def main_with(*words):
        code = main([*words, "--file-root", str(tree)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return main_with


def test_check_says_whose_the_states_are(run):
    code, out, _ = run("check", "good")
    assert code == 0
    assert "States: 1 bundled, 2 borrowed from Salt (theirs), 1 custom (own)." in out
    _, out, _ = run("check", "good", "--out", "json")
    assert json.loads(out)["origins"] == {
        "bundled": {"test": 1},
        "borrowed": {"theirs": 2},
        "custom": {"own": 1},
        "missing": {},
    }
    code, _, err = run("check", "bad")
    assert code == 1
    assert "States: 1 bundled, 1 missing (nobodys)." in err


def test_doc_lists_borrowed_modules_as_such(run):
    code, out, _ = run("doc")
    assert code == 0
    assert "States borrowed from Salt, where they load\n  refused  theirs" in out
    _, out, _ = run("doc", "theirs")
    assert "State theirs  (borrowed from Salt: " in out
    assert "theirs.present  Be there." in out
    _, out, _ = run("doc", "theirs.present", "--out", "json")
    assert json.loads(out)["states"]["theirs.present"]["origin"] == "borrowed"
    code, _, err = run("doc", "refused")
    assert code == 1
    assert "refused is not available here: 'refused' __virtual__ returned False: no library" in err
    _, out, _ = run("doc", "--why", "refused")
    assert "no library" in out
