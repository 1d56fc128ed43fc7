from __future__ import annotations

import pytest
from plugin_trees import rewrite, write
from tables import beside

from asyncstate.load.folders import PluginFile, PluginFolder
from asyncstate.load.virtual import claims_of

CLAIMS = beside(__file__)["claims"]


def plugin(path):
    return PluginFile(path.stem, str(path), PluginFolder(str(path.parent)))


@pytest.mark.parametrize(("text", "names"), CLAIMS)
def test_the_names_that_a_file_may_have(tmp_path, text, names):
    claims = claims_of(plugin(write(tmp_path / "apt.py", f"{text}\ndef f():\n    return 'svc'\n")))
    assert [name for name in ("pkg", "svc", "no", "packages", "apt2") if claims.may_claim(name)] == names


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
