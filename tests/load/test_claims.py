from __future__ import annotations

import pytest
from plugin_trees import rewrite, write

from asyncstate.load.folders import PluginFile, PluginFolder
from asyncstate.load.virtual import claims_of


def plugin(path):
    return PluginFile(path.stem, str(path), PluginFolder(str(path.parent)))


def test_a_file_that_does_not_rename_itself_claims_nothing(tmp_path):
    claims = claims_of(plugin(write(tmp_path / "plain.py", "x = 'pkg'\n")))
    assert not claims.may_claim("pkg")


def test_a_plain_virtualname_claims_that_name_only(tmp_path):
    text = "__virtualname__: str = 'pkg'\nother = 'svc'\ndef __virtual__(): return True\n"
    claims = claims_of(plugin(write(tmp_path / "apt.py", text)))
    assert claims.may_claim("pkg")
    assert not claims.may_claim("svc")


VIRTUALS = [
    pytest.param("def __virtual__():\n    return 'pkg'\n", {"pkg"}, id="a name"),
    pytest.param("def __virtual__(): return 'pkg'\n", {"pkg"}, id="on one line"),
    pytest.param("def __virtual__():\n    if x:\n\n# why\n        return 'pkg'\n    return False, 'no'\n", {"pkg", "no"}, id="either"),
    pytest.param("def __virtual__():\n    return True\n", set(), id="no name"),
    pytest.param("NAME = 'pkg'\ndef __virtual__():\n    return NAME\n", {"pkg", "svc"}, id="computed"),
    pytest.param("from x import __virtual__\n", {"svc"}, id="from elsewhere"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "names"), VIRTUALS)
def test_without_a_virtualname_the_words_that_may_be_returned_are_claimed(tmp_path, text, names):
    claims = claims_of(plugin(write(tmp_path / "apt.py", f"{text}def f():\n    return 'svc'\n")))
    assert {name for name in ("pkg", "svc", "no", "apt2") if claims.may_claim(name)} == names


def test_aliases_are_claimed_too(tmp_path):
    text = "__virtualname__ = 'pkg'\n__virtual_aliases__ = ('packages',)\ndef __virtual__(): return True\n"
    claims = claims_of(plugin(write(tmp_path / "apt.py", text)))
    assert claims.may_claim("packages")
    assert claims.may_claim("pkg")


def test_an_interface_claims_the_name_its_class_speaks_of(tmp_path):
    text = "__virtualname__ = LinuxAclInterface(__name__)()\ndef __virtual__(): return True\n"
    claims = claims_of(plugin(write(tmp_path / "facl.py", text)))
    assert claims.may_claim("linux_acl")
    assert not claims.may_claim("pkg")
    assert claims.opaque


def test_an_edited_file_is_read_again(tmp_path):
    path = write(tmp_path / "x.py", "pass\n")
    assert not claims_of(plugin(path)).renames
    rewrite(path, "def __virtual__(): return 'y'\n")
    assert claims_of(plugin(path)).may_claim("y")


def test_a_file_that_is_gone_claims_nothing(tmp_path):
    assert not claims_of(plugin(tmp_path / "gone.py")).renames
