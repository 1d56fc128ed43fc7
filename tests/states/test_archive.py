import errno
import hashlib
import io
import os
import shutil
import stat
import subprocess
import tarfile
import zipfile
from random import Random

import pytest
from plugin_harness import PluginHarness

from asyncstate.filesystem import change

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


def run_all(command, cwd=None, **_):
    done = subprocess.run(command, cwd=cwd, shell=isinstance(command, str), capture_output=True, text=True, check=False)
    return {"retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip(), "pid": 1}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    for name in ("file", "archive", "hashutil"):
        harness.load("modules", name)
    for name in ("file", "archive"):
        harness.load("states", name)
    harness.salt["cmd.run_all"] = run_all
    harness.salt["cmd.run"] = lambda command, **_: run_all(command)["stdout"]
    return harness


def add(archive, name, data=b"", *, link="", kind=tarfile.REGTYPE, mode=0o644):
    member = tarfile.TarInfo(name)
    member.size, member.type, member.linkname, member.mode = len(data), kind, link, mode
    archive.addfile(member, io.BytesIO(data))


@pytest.fixture
def package(tmp_path):
    path = tmp_path / "pkg.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        add(archive, "pkg", kind=tarfile.DIRTYPE, mode=0o755)
        add(archive, "pkg/one", b"1", mode=0o755)
        add(archive, "pkg/sub/two", b"2")
        add(archive, "pkg/link", kind=tarfile.SYMTYPE, link="one")
    return path


def names(path):
    return sorted(str(entry.relative_to(path)) for entry in path.rglob("*"))


@pytest.mark.skipif(not shutil.which("zstd"), reason="needs zstd")
def test_zstd(plugins, tmp_path, package):
    plain = tmp_path / "p.tar"
    with tarfile.open(plain, "w") as archive:
        add(archive, "top/f", b"x")
    subprocess.run(["zstd", "-q", str(plain)], check=True)
    row = plugins.state("archive.extracted", name=str(tmp_path / "d"), source=f"{plain}.zst")
    assert row["result"] is True


def test_a_cut_off_archive_leaves_no_empty_directory(plugins, tmp_path, package):
    package.write_bytes(package.read_bytes()[:60])
    row = plugins.state("archive.extracted", name=str(tmp_path / "d"), source=str(package))
    assert row["result"] is False
    assert not (tmp_path / "d").exists()


def test_a_new_hash_unpacks_again(plugins, tmp_path, package):
    dest = tmp_path / "d"

    def apply():
        digest = hashlib.sha256(package.read_bytes()).hexdigest()
        return plugins.state(
            "archive.extracted", name=str(dest), source=str(package), source_hash=digest, source_hash_update=True
        )

    assert apply()["result"] is True
    assert apply()["changes"] == {}
    with tarfile.open(package, "w:gz") as archive:
        add(archive, "pkg/one", b"new")
    row = apply()
    assert row["comment"].endswith(", due to source_hash update")
    assert (dest / "pkg" / "one").read_text() == "new"
    assert apply()["changes"] == {}


def test_a_known_hash_needs_no_listing(plugins, tmp_path, package):
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    arguments = {
        "name": str(tmp_path / "d"),
        "source": str(package),
        "source_hash": digest,
        "skip_files_list_verify": True,
    }
    assert plugins.state("archive.extracted", **arguments)["changes"] != {}
    plugins.salt["archive.list"] = None
    row = plugins.state("archive.extracted", **arguments)
    assert row["comment"].endswith("Extraction is not needed")
    plugins.load("modules", "archive")
    row = plugins.state("archive.extracted", **{**arguments, "name": str(tmp_path / "elsewhere")})
    assert row["changes"] != {}


def test_options_go_to_tar(plugins, tmp_path, package):
    plugins.opts["foresight"] = True
    dest = tmp_path / "d"
    arguments = {"name": str(dest), "source": str(package), "options": "--strip-components=1"}
    row = plugins.state("archive.extracted", enforce_toplevel=False, **arguments)
    assert row["result"] is True
    assert names(dest) == ["link", "one", "sub", "sub/two"]
    assert plugins.state("archive.extracted", enforce_toplevel=False, **arguments)["changes"] == {}
    arguments |= {"options": "--bogus", "clean": True, "overwrite": True, "enforce_toplevel": False}
    for test in (True, False):
        row = plugins.state("archive.extracted", test=test, **arguments)
        assert (row["result"], row["changes"]["retcode"]) == (False, 64)
        assert names(dest) == ["link", "one", "sub", "sub/two"]


def test_a_signature_is_verified_before_anything_is_unpacked(plugins, tmp_path, package):
    arguments = {"name": str(tmp_path / "d"), "source": str(package), "signature": True, "signed_by_any": ["AA"]}
    row = plugins.state("archive.extracted", test=True, **arguments)
    missing = "Cannot verify signatures because the gpg module was not loaded"
    assert (row["result"], row["comment"]) == (False, missing)
    asked = []
    plugins.salt["gpg.verify"] = lambda **given: (
        asked.append(given) or {"res": "AB" in given["signed_by_any"], "message": "no"}
    )
    for test in (True, False):
        row = plugins.state("archive.extracted", test=test, **arguments)
        said = "Failed verifying the source file's signature: The file's signature could not be verified: no"
        assert (row["result"], row["comment"]) == (False, said)
    assert not (tmp_path / "d").exists()
    assert asked[0] | {"filename": str(package), "signature": None, "signed_by_any": ["AA"]} == asked[0]
    assert plugins.state("archive.extracted", **arguments | {"signed_by_any": ["AB"]})["result"] is True


@needs_root
@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_options_make_no_devices(plugins, tmp_path, kind):
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        add(archive, "d/one", b"1")
        add(archive, "d/node", kind=kind, mode=0o666)
    row = plugins.state(
        "archive.extracted", name=str(tmp_path / "d"), source=str(tmp_path / "evil.tar"), options="--no-same-owner"
    )
    assert row["result"] is False
    assert "not a regular file" in row["comment"]
    assert not (tmp_path / "d" / "d" / "node").exists()


def test_set_id_bits_need_to_be_asked_for(plugins, tmp_path):
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        add(archive, "d/one", b"1", mode=0o4755)
    arguments = {"name": str(tmp_path / "d"), "source": str(tmp_path / "evil.tar"), "overwrite": True}
    modes = []
    for options in (None, "--no-same-owner", "--no-same-owner --same-permissions", "--no-same-owner -p"):
        assert plugins.state("archive.extracted", options=options, **arguments)["result"] is True
        modes.append((tmp_path / "d" / "d" / "one").stat().st_mode & 0o7777)
    assert modes == [0o755, 0o755, 0o4755, 0o4755]


@needs_root
def test_owner(plugins, tmp_path, package):
    arguments = {"name": str(tmp_path / "d"), "source": str(package), "user": "nobody", "group": "nogroup"}
    row = plugins.state("archive.extracted", **arguments)
    assert row["changes"]["updated ownership"] is True
    assert (tmp_path / "d" / "pkg" / "sub" / "two").stat().st_uid == 65534
    assert plugins.state("archive.extracted", **arguments)["changes"] == {}
    os.chown(tmp_path / "d" / "pkg" / "one", 0, 0)
    dry = plugins.state("archive.extracted", test=True, **arguments)
    assert (dry["result"], dry["changes"]) == (None, {"updated ownership": True})
    assert plugins.state("archive.extracted", **arguments)["changes"] == {"updated ownership": True}


def test_an_archive_of_the_file_roots(plugins, tmp_path, package):
    plugins.salt_file("pkg.tar.gz", package.read_bytes())
    arguments = {"name": str(tmp_path / "d"), "source": "salt://pkg.tar.gz", "keep_source": False}
    dry = plugins.state("archive.extracted", test=True, **arguments)
    where = f"{tmp_path}/d/"
    assert (dry["result"], dry["comment"]) == (
        None,
        f"Archive salt://pkg.tar.gz would be extracted to {where}, due to absence of one or more files/dirs",
    )
    assert plugins.state("archive.extracted", **arguments)["result"] is True
    again = plugins.state("archive.extracted", test=True, **arguments)
    assert (again["result"], again["changes"]) == (True, {})
    assert (tmp_path / "file_roots" / "base" / "pkg.tar.gz").exists()
    row = plugins.state("archive.extracted", name=str(tmp_path / "d"), source="salt://no.tar.gz")
    assert (row["name"], row["result"], row["changes"]) == ("salt://no.tar.gz", False, {})


def zipped(path, names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "x")


def tarred(path, names):
    with tarfile.open(path, "w") as archive:
        for name in names:
            add(archive, name, b"x")


WAYS = {
    "tar": (tarred, {}),
    "tar by a program": (tarred, {"options": "-v"}),
    "zip": (zipped, {"use_cmd_unzip": False}),
    "zip by a program": (zipped, {"use_cmd_unzip": True}),
}
ARGUMENTS = {
    "force": {"force": True},
    "clean": {"clean": True},
    "clean_parent": {"clean_parent": True},
    "overwrite": {"overwrite": True},
    "owner": {"user": os.geteuid(), "group": os.getegid()},
}


@pytest.mark.parametrize("way", [way for way in WAYS if "zip by" not in way or shutil.which("unzip")])
@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
@pytest.mark.parametrize(
    "name", ["{root}/victim", "../victim", "x/../../victim", "{root}/victim/kept", "../victim/new"]
)
def test_whatever_an_archive_names_nothing_outside_is_touched(plugins, tmp_path, way, arguments, name):
    make, more = WAYS[way]
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "kept").mkdir()
    (victim / "kept" / "data").write_text("precious")
    owned = []
    plugins.states["file.directory"] = lambda name, **_: owned.append(name) or plugins.file_directory(name)
    plugins.file_directory = lambda name: os.makedirs(name, exist_ok=True) or {
        "name": name, "result": True, "changes": {}, "comment": "",
    }  # fmt: skip
    dest = tmp_path / "dest"
    dest.mkdir()
    (dest / "mine").write_text("mine")
    make(tmp_path / "a", [name.format(root=tmp_path), "fine"])
    kind = way.partition(" ")[0]
    common = {"source": str(tmp_path / "a"), "archive_format": kind, "enforce_toplevel": False, **more, **arguments}
    row = plugins.state("archive.extracted", name=str(dest), **common)
    assert names(victim) == ["kept", "kept/data"]
    assert (victim / "kept" / "data").read_text() == "precious"
    assert all(os.path.normpath(path).startswith(str(dest)) for path in owned)
    if row["result"] is False:  # unzip fails at an absolute name, when all is unpacked
        assert (dest / "mine").exists() or way == "zip by a program"
    else:
        landed = dest / str(tmp_path / name.format(root=tmp_path).removeprefix(f"{tmp_path}/")).lstrip("/")
        assert landed.read_text() == "x"
        again = plugins.state("archive.extracted", name=str(dest), **{**common, "overwrite": False})
        assert (again["result"], again["changes"]) == (True, {})


def packed(path, kind, members):
    """Make an archive of ``(name, content)``: text of a file, ``-> target`` of a link, ``= name`` of a hard link."""
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in dict(members).items():
                info = zipfile.ZipInfo(name)
                mode = stat.S_IFLNK | 0o777 if content.startswith("-> ") else stat.S_IFREG | 0o644
                info.external_attr = mode << 16
                archive.writestr(info, content.removeprefix("-> "))
        return
    with tarfile.open(path, "w") as archive:
        for name, content in members:
            if content.startswith("-> "):
                add(archive, name, kind=tarfile.SYMTYPE, link=content[3:])
            elif content.startswith("= "):
                add(archive, name, kind=tarfile.LNKTYPE, link=content[2:])
            else:
                kind = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
                add(archive, name.rstrip("/"), content.encode(), kind=kind, mode=0o755)


CLEARED = {
    "clean": {"clean": True},
    "clean_parent": {"clean_parent": True},
    "force": {"force": True},
    "clean and force": {"clean": True, "force": True},
}


def kept(path):
    return {
        name: os.readlink(path / name) if (path / name).is_symlink() else (path / name).is_file()
        for name in names(path)
    }


@pytest.mark.parametrize("kind", ["tar", "zip"])
@pytest.mark.parametrize("arguments", CLEARED.values(), ids=CLEARED)
@pytest.mark.parametrize(
    "members",
    [
        [("a/l", "-> ../../dest/a/b"), ("a/b", "x")],
        [("a/to", "-> b/.."), ("a/b/c", "x"), ("a/to/d", "x")],
        [("./", ""), ("./b", "x"), ("./c/", ""), ("./c/d", "x")],
        [("./b", "x"), ("./a/d", "x"), ("./l", "-> b")],
        [("./", ""), ("xxmine", "x"), ("./a/d", "x")],
    ],
)
def test_a_destination_is_cleared_for_every_archive_that_stays_inside(plugins, tmp_path, kind, arguments, members):
    dest = tmp_path / "dest"
    dest.mkdir()
    for folder in ("a", "b", "c"):  # a file, a folder and a link out are where the archive has other things
        (dest / "c").symlink_to("/etc") if folder == "c" else (dest / folder / "b").mkdir(parents=True)
    (dest / "mine").write_text("mine")
    (dest / "a" / "old").write_text("mine")
    packed(tmp_path / "a", kind, members)
    common = {"name": str(dest), "source": str(tmp_path / "a"), "archive_format": kind, "use_cmd_unzip": False}
    common |= {"enforce_toplevel": False}
    dry, real, again = plugins.three_runs("archive.extracted", **common, **arguments)
    assert (dry["result"], real["result"]) == (None, True), real
    assert (dest / members[-1][0]).exists()
    assert (dest / "mine").exists() == ("clean_parent" not in arguments)
    cleans = "clean_parent" in arguments or ("clean" in arguments and any("a/" in name for name, _ in members))
    assert (dest / "a" / "old").exists() == (not cleans)
    assert (again["result"], again["changes"]) == (True, {})


def random_members(random, kind):
    folders = ["", "a/", "b/", "a/b/", "a/l/", "b/l/", "./"]
    targets = ["b", "..", "../..", "a/..", "../a", "../../dest", "../../dest/a", "l", "b/../..", "../../victim"]
    members = []
    for _ in range(random.randint(1, 6)):
        name = random.choice(folders) + random.choice("abl")
        roll = random.random()
        if roll < 0.5:
            members.append((name, f"-> {random.choice(targets)}"))
        elif roll < 0.65 and members and kind == "tar":
            members.append((name, f"= {random.choice(members)[0]}"))
        else:
            members.append((name, "x"))
    return members


@pytest.mark.parametrize("kind", ["tar", "zip"])
@pytest.mark.parametrize("arguments", CLEARED.values(), ids=CLEARED)
@pytest.mark.parametrize("seed", range(30))
def test_the_check_before_clearing_knows_what_unpacking_refuses(plugins, tmp_path, kind, arguments, seed):
    random = Random(seed)
    dest, victim = tmp_path / "dest", tmp_path / "victim"
    for folder in (dest, victim):
        folder.mkdir()
        (folder / "mine").write_text("mine")
    for name in "abl":
        roll = random.random()
        if roll < 0.3:
            (dest / name).symlink_to(random.choice(["/etc", "../victim", "mine", "a", "."]))
        elif roll < 0.6:
            (dest / name / "b").mkdir(parents=True)
        elif roll < 0.8:
            (dest / name).write_text("mine")
    packed(tmp_path / "a", kind, random_members(random, kind))
    common = {"name": str(dest), "source": str(tmp_path / "a"), "archive_format": kind, "use_cmd_unzip": False}
    common |= {"enforce_toplevel": False, **arguments}
    before = kept(dest)
    dry = plugins.state("archive.extracted", test=True, **common)
    assert kept(dest) == before
    real = plugins.state("archive.extracted", **common)
    assert names(victim) == ["mine"]
    assert (victim / "mine").read_text() == "mine"
    if "Refusing" in real["comment"]:
        assert before.items() <= kept(dest).items()
        assert dry["result"] is False
    if dry["result"] is False:
        assert real["result"] is False


@pytest.mark.parametrize("there", [True, False])
def test_unpacking_needs_no_room_beside_the_folders_of_the_archive(plugins, tmp_path, package, monkeypatch, there):
    plugins.opts["foresight"] = True
    dest = tmp_path / "dest"
    (dest / "pkg" if there else dest).mkdir(parents=True)
    of_dest = os.stat(dest).st_ino
    monkeypatch.setattr(change, "refusal", lambda entry: errno.EACCES * (os.fstat(entry.fd).st_ino == of_dest))
    row = plugins.state("archive.extracted", test=True, name=str(dest), source=str(package))
    assert row["result"] is (None if there else False)
    assert there or row["comment"] == f"[Errno 13] Permission denied: '{dest}/pkg'"
