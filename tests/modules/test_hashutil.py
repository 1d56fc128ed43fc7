import base64

import pytest
from asyncstate.modules import hashutil
from hypothesis import given
from hypothesis import strategies as st
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "file")
    harness.load("modules", "hashutil")
    return harness


def test_unknown_digests_and_missing_files(plugins, tmp_path):
    with pytest.raises(CommandExecutionError, match="Hash func 'crc' is not supported"):
        plugins.call("hashutil.digest", "x", "crc")
    with pytest.raises(CommandExecutionError, match="not found"):
        plugins.call("hashutil.digest_file", str(tmp_path / "no"))


@given(st.text())
def test_base64_round_trips(text):
    assert hashutil.base64_b64decode(hashutil.base64_b64encode(text)) == text
    assert hashutil.base64_decodestring(hashutil.base64_encodestring(text)) == text


def test_base64_in_lines():
    assert hashutil.base64_encodestring("x") == "eA==\n"
    assert [len(line) for line in hashutil.base64_encodestring("x" * 60).splitlines()] == [76, 4]


def test_base64_of_files_and_bytes(plugins, tmp_path):
    (tmp_path / "f").write_bytes(b"\xff" * 100)
    text = plugins.call("hashutil.base64_encodefile", str(tmp_path / "f"))
    assert text == base64.encodebytes(b"\xff" * 100).decode()
    assert plugins.call("hashutil.base64_decodefile", text, str(tmp_path / "g")) is True
    assert (tmp_path / "g").read_bytes() == b"\xff" * 100
    assert plugins.call("hashutil.base64_b64decode", "/w==") == b"\xff"
    with pytest.raises(CommandExecutionError, match="Not base64"):
        plugins.call("hashutil.base64_b64decode", "a")


@pytest.mark.parametrize("function", ["digest", "base64_b64encode", "base64_decodestring", "hmac_compute"])
def test_what_is_no_text_is_refused(plugins, function):
    with pytest.raises(TypeError, match="expected str, bytes, or bytearray not <class 'int'>"):
        plugins.call(f"hashutil.{function}", 5, *(["secret"] if function == "hmac_compute" else []))
