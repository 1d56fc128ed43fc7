"""The file with everything that a party needs besides an address."""

import json
import os

import pytest

from asyncstate.errors import FleetError
from asyncstate.extras.fleet import credentials, nkeys
from asyncstate.extras.fleet.credentials import Credentials

USER, SIGNS = nkeys.KeyPair.new(nkeys.USER), nkeys.KeyPair.new(nkeys.OPERATOR)
HOST = Credentials(
    name="db1", role="host", seed=USER.seed, authority="-----BEGIN", operators=(SIGNS.public,), since=1.5
)
OPERATOR = Credentials(
    name="operator",
    role="operator",
    seed=USER.seed,
    authority="x",
    operators=(SIGNS.public,),
    since=1.5,
    signs=SIGNS.seed,
)


@pytest.mark.parametrize("made", [HOST, OPERATOR])
def test_what_is_written_is_read_and_nobody_else_can_read_it(tmp_path, made):
    path = tmp_path / "a.creds"
    path.write_text("something longer than what replaces it" * 100)
    path.chmod(0o644)
    credentials.write(str(path), made)
    assert path.stat().st_mode & 0o777 == 0o600
    assert credentials.read(str(path)) == made


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_can_use_is_refused(tmp_path, mode):
    path = tmp_path / "a.creds"
    credentials.write(str(path), HOST)
    path.chmod(mode)
    with pytest.raises(FleetError, match=r"chmod 600 .*a\.creds"):
        credentials.read(str(path))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"asyncstate_fleet": 2}, "later asyncstate"),
        ({"role": "king"}, "role 'king'"),
        ({"role": "operator"}, "do not fit"),
        ({"seed": USER.seed[:-1]}, "not a credentials file"),
        ({"seed": SIGNS.seed}, "do not fit"),
        ({"signs": USER.seed}, "do not fit"),
        ({"name": 5}, "not a credentials file"),
    ],
)
def test_a_damaged_file_is_refused_and_no_key_is_shown(tmp_path, change, words):
    path = tmp_path / "a.creds"
    credentials.write(str(path), HOST)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FleetError, match=words) as caught:
        credentials.read(str(path))
    assert USER.seed[:-1] not in str(caught.value)


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff", b"-----BEGIN NATS USER JWT-----"])
def test_another_file_is_refused(tmp_path, text):
    path = tmp_path / "a.creds"
    path.write_bytes(text)
    path.chmod(0o600)
    with pytest.raises(FleetError, match="fleet enroll"):
        credentials.read(str(path))


def test_a_missing_file_and_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FleetError, match=r"No such file.*fleet enroll"):
        credentials.read(str(tmp_path / "a.creds"))
    with pytest.raises(FleetError, match="cannot be written"):
        credentials.write(str(tmp_path / "no" / "a.creds"), HOST)
    for path in (tmp_path / "no" / "a.creds", tmp_path):
        with pytest.raises(FleetError, match="name a file"):
            credentials.require_writable(str(path), HOST.name)
    credentials.require_writable(os.path.relpath(tmp_path / "a.creds"), HOST.name)


def test_neither_repr_nor_str_shows_a_key():
    assert SIGNS.seed not in f"{OPERATOR!r}{OPERATOR}"
    assert USER.seed not in f"{OPERATOR!r}{OPERATOR}{USER!r}"
