"""``state.pkg``: archives as salt-ssh makes them, and invalid ones."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile

import pytest


def _chunk(state, fun, id_, order, name=None, *, sls="copies", **arguments):
    about = {"state": state, "fun": fun, "__id__": id_, "name": name or id_, "__sls__": sls, "__env__": "base"}
    return {**about, "order": order, **arguments}


@pytest.fixture
def package(root):
    """Write an archive with these files, and return the words that apply it."""

    def write(files, kind="md5"):
        path = root / "package.tgz"
        with tarfile.open(path, "w:gz") as archive:
            for name, content in files.items():
                data = content.encode() if isinstance(content, str) else json.dumps(content).encode()
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        return ["--out=json", "--retcode-passthrough", "state.pkg", path, _digest(path, kind), kind]

    return write


def _digest(path, kind):
    return hashlib.new(kind, path.read_bytes()).hexdigest()


def test_a_package_is_applied_with_its_files_and_its_order(root, salt_call, package):
    lows = [
        _chunk("cmd", "run", "copied", 10004, "echo hi", onchanges=[{"file": "copied"}], require=[{"sls": "names"}]),
        _chunk("test", "nop", "several", 10000, "one", sls="names"),
        _chunk("test", "nop", "several", 10001, "two", sls="names", require=[{"test": "one"}]),
        _chunk("file", "managed", "copied", 10003, f"{root}/copied", source="salt://sent.txt"),
    ]
    words = package({"lowstate.json": lows, "base/sent.txt": "sent\n"})
    done = salt_call(*words)
    rows = json.loads(done.out)["local"]
    assert list(rows) == [
        "test_|-several_|-one_|-nop",
        "test_|-several_|-two_|-nop",
        f"file_|-copied_|-{root}/copied_|-managed",
        "cmd_|-copied_|-echo hi_|-run",
    ]
    assert {row["__sls__"] for row in rows.values()} == {"names", "copies"}
    assert done.code == 0
    assert (root / "copied").read_text() == "sent\n"
    (root / "copied").unlink()
    assert salt_call(*words, "test=True").code == 0
    assert not (root / "copied").exists()


def test_pillar_grains_and_modules_of_a_package(root, salt_call, package):
    state = (
        "def told(name):\n    return {'name': name, 'changes': {}, 'result': True, 'comment': __salt__['own.all']()}\n"
    )
    module = "def all():\n    return '{} {}'.format(__pillar__['port'], __grains__['rack'])\n"
    words = package(
        {
            "lowstate.json": [_chunk("sent", "told", "x", 10000)],
            "pillar.json": {"port": 99},
            "roster_grains.json": {"rack": "r7"},
            "base/_states/sent.py": state,
            "base/_modules/own.py": module,
        },
        "sha256",
    )
    (row,) = json.loads(salt_call(*words).out)["local"].values()
    assert row["comment"] == "99 r7"


def test_a_failure_is_one(salt_call, package):
    done = salt_call(*package({"lowstate.json": [_chunk("test", "fail_without_changes", "x", 10000)]}))
    assert done.code == 2


def test_a_package_that_is_not_the_one_is_not_applied(root, salt_call, package):
    words = package({"lowstate.json": [_chunk("file", "touch", f"{root}/made", 10000)]})
    for path, digest, said in ((words[3], "0" * 32, "The md5 of"), (root / "none", words[4], "There is no file")):
        done = salt_call("--out=json", "state.pkg", path, digest, "md5")
        assert json.loads(done.out) == {"local": {}}
        assert said in done.errors
    assert not (root / "made").exists()


@pytest.mark.parametrize("name", ["/tmp/outside", "../outside", "base/../../outside"])
def test_nothing_is_written_outside_of_a_package(root, salt_call, package, name):
    done = salt_call(*package({"lowstate.json": [], name: "x"}))
    assert json.loads(done.out) == {"local": {}}
    assert "outside of the package" in done.errors


@pytest.mark.parametrize("where", ["__env__", "__sls__"])
@pytest.mark.parametrize("outside", ["{root}/outside", "../../outside"])
def test_no_chunk_is_written_outside_of_a_package(root, salt_call, package, where, outside):
    chunk = {**_chunk("test", "nop", "x", 10000), where: outside.format(root=root)}
    done = salt_call(*package({"lowstate.json": [chunk]}))
    assert (done.code, done.out) == (1, "")
    assert "would be outside of the package" in done.errors
    assert not (root / "outside").exists()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"other": "x"}, "no list of low chunks"),
        ({"lowstate.json": "{"}, "lowstate.json of the package is no JSON"),
        ({"lowstate.json": {"a": 1}}, "no list of low chunks"),
    ],
)
def test_an_archive_that_is_no_package(salt_call, package, files, said):
    done = salt_call(*package(files))
    assert (done.code, done.out) == (1, "")
    assert said in done.errors
    assert "Traceback" not in done.errors


def test_a_package_that_could_not_be_compiled_gives_its_errors(salt_call, package):
    done = salt_call(*package({"lowstate.json": ["No matching sls found for 'x' in env 'base'"]}))
    assert json.loads(done.out) == {"local": ["No matching sls found for 'x' in env 'base'"]}


def test_a_file_that_is_no_archive_and_a_hash_that_is_none(root, salt_call):
    path = root / "text"
    path.write_text("text")
    assert "no package of salt-ssh" in salt_call("state.pkg", path, _digest(path, "md5"), "md5").errors
    assert "no kind of hash" in salt_call("state.pkg", path, "0", "md55").errors
