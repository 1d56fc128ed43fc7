import os
import shutil
import subprocess
import tarfile
import zipfile

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError, InvocationError


def run_all(command, cwd=None, **_):
    done = subprocess.run(command, cwd=cwd, shell=isinstance(command, str), capture_output=True, text=True, check=False)
    return {"retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip(), "pid": 1}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "archive")
    harness.salt["cmd.run_all"] = run_all
    harness.salt["cmd.run"] = lambda command, cwd=None, **_: run_all(command, cwd)["stdout"]
    return harness


@pytest.fixture
def files(tmp_path):
    top = tmp_path / "src" / "pkg"
    (top / "sub").mkdir(parents=True)
    (top / "one").write_text("1")
    (top / "sub" / "two").write_text("2")
    return tmp_path / "src"


@pytest.fixture
def package(tmp_path, files):
    path = tmp_path / "pkg.tgz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(files / "pkg", "pkg")
    return path


def test_list_a_tar(plugins, package):
    assert plugins.call("archive.list", str(package)) == ["pkg/", "pkg/one", "pkg/sub/", "pkg/sub/two"]
    found = plugins.call("archive.list", str(package), verbose=True)
    assert found == {
        "dirs": ["pkg/", "pkg/sub/"],
        "files": ["pkg/one", "pkg/sub/two"],
        "links": [],
        "top_level_dirs": ["pkg/"],
        "top_level_files": [],
        "top_level_links": [],
    }
    stripped = plugins.call("archive.list", str(package), strip_components=1)
    assert stripped == ["one", "sub/", "sub/two"]


def test_list_an_archive_that_names_no_directories(plugins, tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("top/a", "1")
        archive.writestr("top/sub/b", "2")
    assert plugins.call("archive.list", str(path), verbose=True)["top_level_dirs"] == ["top/"]
    bare = tmp_path / "x.tar"
    with tarfile.open(bare, "w") as archive:
        archive.addfile(tarfile.TarInfo("jdk/bin/java"))
    assert plugins.call("archive.list", str(bare), verbose=True)["top_level_dirs"] == ["jdk/"]


def test_list_mistakes(plugins, tmp_path, package):
    for name, arguments, message in (
        (str(tmp_path / "no.tar"), {}, "Failed to cache"),
        (str(tmp_path / "what.ever"), {}, "Unable to guess archive format"),
        (str(package), {"archive_format": "arj"}, "Unsupported archive format 'arj'"),
        (str(package), {"strip_components": "x"}, "'strip_components' must be a positive integer"),
        (str(package), {"archive_format": "zip"}, "is not a ZIP file"),
    ):
        with pytest.raises(CommandExecutionError, match=message):
            plugins.call("archive.list", name, **arguments)


def test_list_from_the_file_roots(plugins, package):
    plugins.salt_file("p.tgz", package.read_bytes())
    assert plugins.call("archive.list", "salt://p.tgz") == ["pkg/", "pkg/one", "pkg/sub/", "pkg/sub/two"]


def test_zip_and_unzip(plugins, tmp_path, files):
    path, dest = tmp_path / "x.zip", tmp_path / "out"
    dest.mkdir()
    assert plugins.call("archive.zip", str(path), "pkg", cwd=str(files)) == [
        "pkg/",
        "pkg/one",
        "pkg/sub/",
        "pkg/sub/two",
    ]
    assert plugins.call("archive.is_encrypted", str(path)) is False
    names = plugins.call("archive.unzip", str(path), str(dest), excludes="pkg/one")
    assert names == ["pkg/", "pkg/sub/", "pkg/sub/two"]
    assert (dest / "pkg" / "sub" / "two").read_text() == "2"
    assert not (dest / "pkg" / "one").exists()
    assert plugins.call("archive.unzip", str(path), str(dest), trim_output=1) == ["pkg/", "List trimmed after 1 files."]


def test_zip_mistakes(plugins, tmp_path):
    with pytest.raises(InvocationError, match="Relative paths require the 'cwd' parameter"):
        plugins.call("archive.zip", str(tmp_path / "x.zip"), "rel")
    with pytest.raises(InvocationError, match="cwd must be absolute"):
        plugins.call("archive.zip", str(tmp_path / "x.zip"), "rel", cwd="rel")
    (tmp_path / "x.zip").write_text("no zip")
    with pytest.raises(CommandExecutionError, match="Exception encountered unpacking zipfile"):
        plugins.call("archive.unzip", str(tmp_path / "x.zip"), str(tmp_path))


def test_a_zip_gives_others_no_more_than_a_tar_does(plugins, tmp_path):
    (tmp_path / "out").mkdir()
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for name, mode in {"d/": 0o40777, "d/open": 0o100777, "d/setuid": 0o104775, "d/private": 0o100600}.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = mode << 16
            archive.writestr(member, b"")
    plugins.call("archive.unzip", str(tmp_path / "x.zip"), str(tmp_path / "out"))
    modes = {path.name: path.stat().st_mode & 0o7777 for path in (tmp_path / "out").rglob("*")}
    assert modes == {"d": 0o755, "open": 0o755, "setuid": 0o755, "private": 0o600}


@pytest.mark.skipif(not shutil.which("unzip") or not shutil.which("zip"), reason="needs zip and unzip")
def test_programs_for_zip(plugins, tmp_path, files):
    path = tmp_path / "x.zip"
    subprocess.run(["zip", "-q", "-r", "-P", "secret", str(path), "pkg"], cwd=files, check=True)
    assert plugins.call("archive.is_encrypted", str(path)) is True
    plugins.call("archive.cmd_unzip", str(path), str(tmp_path / "out"), password="secret")
    assert (tmp_path / "out" / "pkg" / "one").read_text() == "1"
    with pytest.raises(CommandExecutionError):
        plugins.call("archive.cmd_unzip", str(tmp_path / "no.zip"), str(tmp_path))


def test_tar_and_gzip_programs(plugins, tmp_path, files, package):
    assert plugins.call("archive.tar", "tzf", str(package)) == ["pkg/", "pkg/one", "pkg/sub/", "pkg/sub/two"]
    plugins.call("archive.tar", "cf", str(tmp_path / "new.tar"), sources=f"{files}/pkg/o*", cwd=str(files))
    assert tarfile.is_tarfile(tmp_path / "new.tar")
    plugins.call("archive.gzip", str(tmp_path / "new.tar"))
    assert (tmp_path / "new.tar.gz").exists()
    plugins.call("archive.gunzip", str(tmp_path / "new.tar.gz"))
    assert (tmp_path / "new.tar").exists()
    with pytest.raises(InvocationError, match="Tar options can not be empty"):
        plugins.call("archive.tar", "", "x")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads what its user may not")
def test_a_program_decompresses_no_file_that_was_exchanged(plugins, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    archive = home / "x.tar.odd"
    archive.write_bytes(b"no tar")
    for path in (home, archive):
        os.chown(path, 65534, -1)
    seen = []

    def decompress(command, **_):
        seen.append(command.split()[1])
        return {"retcode": 1, "stdout": "", "stderr": ""}

    plugins.salt["cmd.run_all"] = decompress
    with pytest.raises(CommandExecutionError, match="Unable to list contents"):
        plugins.call("archive.list", str(archive), archive_format="tar", options="odd")
    assert len(seen) == 1
    assert not seen[0].startswith(str(home))
