from __future__ import annotations

import os
import sys

import pytest

from asyncstate.extras.borrow import finding
from asyncstate.extras.borrow.finding import SaltMissing, find_salt, interpreter_of, may_have_salt


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def on_path(tmp_path, monkeypatch):
    """Put a ``salt-call`` with this text into a folder of its own, at the end of PATH."""
    folders = []

    def put(text):
        folder = tmp_path / f"bin{len(folders)}"
        script(folder / "salt-call", text)
        folders.append(str(folder))
        monkeypatch.setenv("PATH", os.pathsep.join(folders))

    monkeypatch.setattr(finding, "_PACKAGED", str(tmp_path / "nowhere"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return put


def test_auto_finds_the_interpreter_behind_the_first_salt_call_that_has_salt(salt, on_path):
    on_path(f"#!{sys.executable}\nwithout Salt")
    on_path(f"#!{salt.python}\n")
    found = find_salt("auto", trust=False)
    assert found.argv[0] == str(salt.python)
    assert found.version == "3008.fake"
    assert found.folders["states"] == [str(salt.salt / "states")]
    assert may_have_salt("auto")


def test_without_salt_auto_starts_nothing(on_path):
    assert not may_have_salt("auto")
    assert not may_have_salt("off")
    with pytest.raises(SaltMissing, match="no salt-call on PATH"):
        find_salt("auto", trust=False)
    with pytest.raises(SaltMissing, match="off"):
        find_salt("off", trust=False)


def test_a_named_interpreter_without_salt_says_so(tmp_path):
    with pytest.raises(SaltMissing, match="cannot import Salt: No module named 'salt'"):
        find_salt(sys.executable, trust=False)
    broken = script(tmp_path / "python3", "#!/bin/sh\necho no way >&2\nexit 3\n")
    with pytest.raises(SaltMissing, match="no way"):
        find_salt(broken, trust=False)
    with pytest.raises(SaltMissing, match="not a program"):
        find_salt(str(tmp_path / "none"), trust=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root refuses what others can change")
@pytest.mark.parametrize("part", ["python", "salt"])
def test_root_refuses_what_others_can_change(salt, part):
    if part == "python":
        salt.python.parent.chmod(0o777)
    else:
        salt.salt.chmod(0o777)
    with pytest.raises(SaltMissing, match="can change it"):
        find_salt(str(salt.python), trust=False)
    assert find_salt(str(salt.python), trust=True).version == "3008.fake"


@pytest.mark.parametrize(
    ("first", "python"),
    [
        ("#!{python}\n", True),
        ("#!/usr/bin/env -S PYTHONX=1 {python}\n", True),
        ('#!/bin/sh\n"exec" "$(dirname "$(readlink -f "$0")")/bin/python3" "$0" "$@"\n', True),
        ("#!/bin/sh\nexec something\n", False),
        ("#!/nowhere/python3\n", False),
        ("\x7fELF", False),
        ("#!\n", False),
        ("", False),
    ],
)
def test_the_interpreter_of_a_script(tmp_path, salt, first, python):
    path = script(salt.root / "salt-call", first.format(python=salt.python))
    assert interpreter_of(path) == (str(salt.python) if python else None)
    assert interpreter_of(str(tmp_path / "none")) is None


def test_folders_of_extensions_come_first(salt):
    package = salt.packages / "saltext_x"
    for kind in ("states", "modules"):
        (package / kind).mkdir(parents=True)
    (package / "__init__.py").write_text("def dirs(): return {'states': [__path__[0] + '/states']}\n")
    info = salt.packages / "saltext_x-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: saltext.x\nVersion: 1\n")
    points = ("a=saltext_x", "b=saltext_x:dirs", "broken=nowhere", "states_dirs=saltext_x:dirs")
    (info / "entry_points.txt").write_text("[salt.loader]\n" + "\n".join(points) + "\n")
    folders = find_salt(str(salt.python), trust=False).folders
    assert folders["states"] == [str(package / "states"), str(salt.salt / "states")]
    assert folders["modules"] == [str(package / "modules"), str(salt.salt / "modules")]
