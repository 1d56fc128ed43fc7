from __future__ import annotations

import types
from concurrent.futures import ThreadPoolExecutor

import pytest
from odd_values import ERRORS, odd, odd_names
from plugin_trees import rewrite, write

from asyncstate.load.folders import PluginFile, PluginFolder
from asyncstate.load.virtual import Verdict, claims_of, evaluate


def plugin(path):
    return PluginFile(path.stem, str(path), PluginFolder(str(path.parent)))


def asked(kind="states", **namespace):
    module = types.ModuleType("m")
    module.__dict__.update(namespace)
    return evaluate(module, PluginFile("file_name", "/x/file_name.py", PluginFolder("/x")), kind)


def raising(error):
    def virtual():
        raise error

    return virtual


def test_without_virtual_the_file_name_counts_even_beside_a_virtualname():
    assert asked(__virtualname__="other") == Verdict(accepted=True, name="file_name")


def test_true_takes_the_virtualname():
    assert asked(__virtual__=lambda: True).name == "file_name"
    assert asked(__virtual__=lambda: True, __virtualname__="pkg").name == "pkg"


def test_a_returned_name_counts_unless_a_virtualname_says_otherwise():
    assert asked(__virtual__=lambda: "pkg").name == "pkg"
    assert asked(__virtual__=lambda: "different", __virtualname__="pkg").name == "pkg"


def test_aliases():
    assert asked(__virtual__=lambda: True, __virtual_aliases__=("a", "b")).aliases == ("a", "b")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(False, None), (None, None), ("", None), ((False, "because"), "because"), ((False, None), None)],
)
def test_refusals(answer, reason):
    assert asked(__virtual__=lambda: answer) == Verdict(accepted=False, name="file_name", reason=reason)


def test_a_refusal_is_known_under_the_virtualname():
    assert asked(__virtual__=lambda: False, __virtualname__="pkg").name == "pkg"


@pytest.mark.parametrize(("kind", "tag"), [("states", "states"), ("modules", "module"), ("renderers", "render")])
def test_an_exception_is_a_refusal_in_salts_words(kind, tag):
    verdict = asked(kind, __virtual__=raising(ValueError("vboom")))
    assert verdict.reason == (
        f"Exception raised when processing __virtual__ function for salt.loaded.ext.{tag}.file_name."
        " Module will not be loaded: vboom"
    )


def test_sys_exit_is_a_refusal():
    verdict = asked(__virtual__=raising(SystemExit(3)))
    assert not verdict.accepted
    assert verdict.reason.endswith("sys.exit(3)")


def test_a_virtualname_may_be_any_object_with_a_text():
    class Interface:
        def __str__(self):
            return "pkg"

    assert asked(__virtual__=lambda: True, __virtualname__=Interface()).name == "pkg"


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


@pytest.mark.parametrize("name", ERRORS)
def test_whatever_virtual_raises_is_a_refusal(name):
    def virtual():
        error = ERRORS[name]()
        raise error

    with ThreadPoolExecutor(1) as pool:  # in the main thread a KeyboardInterrupt is the user's
        verdict = pool.submit(asked, __virtual__=virtual).result()
    assert not verdict.accepted
    assert "Exception raised when processing __virtual__ function" in verdict.reason


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("name", odd_names)
def test_whatever_virtual_returns_is_a_verdict(name):
    for answer in (odd(name), (odd(name), odd(name))):
        verdict = asked(__virtual__=lambda answer=answer: answer)
        assert type(verdict.accepted) is bool
        assert type(verdict.name) is str
        assert verdict.reason is None or type(verdict.reason) is str


def test_ctrl_c_while_a_plugin_is_asked_ends_the_program():
    with pytest.raises(KeyboardInterrupt):
        asked(__virtual__=raising(KeyboardInterrupt()))
