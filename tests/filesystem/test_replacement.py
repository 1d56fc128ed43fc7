import errno
import os
import re
import stat

import pytest
from messages import said

from asyncstate import residue
from asyncstate.errors import PathRefused
from asyncstate.filesystem import Access, replacement
from asyncstate.filesystem.replacement import edit_content, replace_content

OLD = b"old " * 5000


@pytest.fixture
def names(tmp_path):
    """Two names of one file."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(OLD)
    one.chmod(0o640)
    os.link(one, other)
    return str(one), str(other)


@pytest.fixture
def full(monkeypatch):
    """A disk that is full after one write in place."""
    written = []

    def pwrite(descriptor, data, offset):
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(1)
        return os.write(descriptor, bytes(data[:10]))

    monkeypatch.setattr(replacement.os, "pwrite", pwrite)


def content(path):
    with open(path, "rb") as stream:
        return stream.read()


@pytest.mark.parametrize("new", [b"", b"short\n", OLD * 300])
def test_all_names_of_a_file_show_the_new_content(names, tmp_path, new):
    before = os.stat(names[0])
    edit_content(names[0], new)
    assert [content(name) for name in names] == [new, new]
    after = os.stat(names[1])
    assert (after.st_ino, after.st_nlink, stat.S_IMODE(after.st_mode)) == (before.st_ino, 2, 0o640)
    assert sorted(os.listdir(tmp_path)) == ["one", "other"]


def test_a_file_with_one_name_is_replaced_in_one_step(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    with open(path, "rb") as reader:
        edit_content(str(path), b"new")
        assert (reader.read(), path.read_bytes()) == (b"old", b"new")
    edit_content(str(tmp_path / "made"), b"x")
    assert (tmp_path / "made").read_bytes() == b"x"


@pytest.mark.usefixtures("full")
def test_after_a_failed_write_the_old_content_is_back(names, tmp_path):
    with pytest.raises(OSError, match="No space left"):
        edit_content(names[0], b"new" * 100)
    assert [content(name) for name in names] == [OLD, OLD]
    assert sorted(os.listdir(tmp_path)) == ["one", "other"]


@pytest.mark.usefixtures("full")
def test_what_cannot_be_written_back_is_named(names, tmp_path, monkeypatch):
    def ftruncate(descriptor, size):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(replacement.os, "ftruncate", ftruncate)
    with pytest.raises(OSError, match=re.escape(said("old-content", copy=""))) as raised:
        edit_content(names[0], b"new" * 100)
    copy = str(raised.value).rpartition(said("old-content", copy=""))[2].partition(": ")[0]
    assert os.path.dirname(copy) == str(tmp_path)
    assert content(copy) == OLD


def test_the_copy_outlives_a_kill_and_the_run_after_it(names, tmp_path):
    notes = tmp_path / "cache"
    child = os.fork()
    if child == 0:
        replacement.os.pwrite = lambda *_: os._exit(9)
        with residue.Notes(str(notes), "run"):
            edit_content(names[0], b"new")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    copies = [each for each in os.listdir(tmp_path) if each.startswith(".one.")]
    assert [content(tmp_path / each) for each in copies] == [OLD]
    (found,) = residue.all_notes(str(notes))
    with residue.dead_run(found) as dead:
        assert dead.temporaries.paths == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is led astray; run the tests as root")
def test_a_name_that_a_user_could_have_given_is_refused(names, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    os.link(names[0], home / "h")
    os.chown(home, 65534, 65534)
    with pytest.raises(PathRefused, match="user nobody could have put it"):
        edit_content(str(home / "h"), b"new")
    assert content(names[0]) == OLD


@pytest.fixture
def mounted(tmp_path, monkeypatch):
    """A file that is a mount point, as /etc/hosts in a container: no rename replaces it."""
    path, real = tmp_path / "mounted", os.rename

    def rename(source, target, **folders):
        if os.path.basename(target) == path.name:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), source)
        real(source, target, **folders)

    path.write_text("old")
    monkeypatch.setattr(os, "rename", rename)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_a_mounted_file_gets_content_and_mode(mounted, mode):
    inode = mounted.stat().st_ino
    replace_content(str(mounted), b"new", access=Access(mode=mode))
    found = mounted.stat()
    assert (mounted.read_text(), stat.S_IMODE(found.st_mode), found.st_ino) == ("new", mode, inode)
    assert list(mounted.parent.iterdir()) == [mounted]


@pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")
@pytest.mark.parametrize("before", [0, 1234])
def test_a_mounted_file_gets_an_owner(mounted, before):
    os.chown(mounted, before, before)
    replace_content(str(mounted), b"new", access=Access(uid=0, gid=4321, mode=0o4755))
    found = mounted.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (0, 4321, 0o4755)


def test_after_a_failed_write_a_mounted_file_has_its_old_content_owner_and_mode(mounted, monkeypatch):
    mounted.chmod(0o640)
    inode, real, written = mounted.stat().st_ino, os.write, []

    def write(descriptor, data):
        if os.fstat(descriptor).st_ino == inode and len(written) < 2:  # what was written makes room for the old content
            written.append(1)
            if len(written) == 2:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(descriptor, bytes(data[:10]))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space left") as failed:
        replace_content(str(mounted), b"new" * 100, access=Access(mode=0o644))
    assert (mounted.read_text(), stat.S_IMODE(mounted.stat().st_mode)) == ("old", 0o640)
    assert (failed.value.filename, list(mounted.parent.iterdir())) == (str(mounted), [mounted])


@pytest.mark.parametrize("failing", [("open",), ("rename",), ("rename", "unlink")])
def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path, monkeypatch, failing):
    for function in failing:
        monkeypatch.setattr(os, function, _fails_for_temporaries(getattr(os, function)))
    with pytest.raises(OSError, match="Operation not permitted") as failed:
        replace_content(str(tmp_path / "file"), b"new")
    assert (failed.value.filename, failed.value.filename2) == (str(tmp_path / "file"), None)


def _fails_for_temporaries(real):
    def failing(name, *more, **options):
        if isinstance(name, str) and os.path.basename(name).startswith(".file."):
            second = (None, more[0]) if more and isinstance(more[0], str) else ()
            raise OSError(errno.EPERM, os.strerror(errno.EPERM), name, *second)
        return real(name, *more, **options)

    return failing
