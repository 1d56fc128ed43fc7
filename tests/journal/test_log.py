"""The log of a run has every line that was written, whatever way they got into the file and whatever became of the disk."""

import errno
import fcntl
import os
import resource
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.journal import log as module
from asyncstate.journal.entry import whole_lines
from asyncstate.journal.log import RunLog
from asyncstate.residue import is_locked, left_file


def read_log(path):
    """The content of a log without the zeros behind it, and whether its run lives."""
    with open(path, "rb") as file:
        return file.read().rstrip(b"\0"), is_locked(file.fileno())


LINES = st.lists(st.integers(2, 60_000).map(lambda size: b"{" + b"x" * (size - 2) + b"}\n"), max_size=60)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "r.log")


def unexpected(error):
    raise AssertionError(error)


@pytest.fixture(params=[True, False], ids=["mapped", "system calls"])
def file_system(request, monkeypatch):
    """File systems that keep reserved space, and others."""
    monkeypatch.setattr(module, "_reserves", lambda _: request.param)
    monkeypatch.setattr(module, "_FEW", 0)
    return request.param


@pytest.mark.parametrize("maps", [True, False])
@given(lines=LINES, space=st.sampled_from([1, 4, 64]), few=st.sampled_from([0, 5000]))
def test_all_lines_are_in_the_file_in_order(tmp_path_factory, maps, lines, space, few):
    path = str(tmp_path_factory.mktemp("log") / "r.log")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_reserves", lambda _: maps)
        patch.setattr(module, "_SPACE", space * 4096)
        patch.setattr(module, "_FEW", few)
        log = RunLog(path, unexpected)
        written = b""
        for line in lines:
            log.write(line)
            written += line
            assert read_log(path) == (written, True)
        assert log.finish()
        log.close()
    with open(path, "rb") as file:
        assert file.read() == written
    assert read_log(path) == (written, False)


def test_what_is_written_outlives_the_process(path, file_system):
    child = os.fork()
    if not child:
        log = RunLog(path, unexpected)
        for number in range(5000):
            log.write(b'{"n":%d}\n' % number)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    with left_file(path) as file, open(file, "rb", closefd=False) as log:
        assert list(whole_lines(log)) == [b'{"n":%d}' % number for number in range(5000)]


def test_a_page_that_a_power_cut_lost_ends_the_log(path):
    with open(path, "wb") as file:
        file.write(b"{1}\n{2" + bytes(4096) + b"}\n{3}\n")
    with open(path, "rb") as file:
        assert list(whole_lines(file)) == [b"{1}"]


def test_where_no_space_can_be_reserved_lines_are_written_all_the_same(path, file_system):
    """The space that is left is less than what is reserved at a time."""
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        errors = []
        log = RunLog(path, errors.append)
        for _ in range(99):
            log.write(b"x" * 999 + b"\n")
        good = not errors and not log.error
        for _ in range(9):
            log.write(b"y" * 999 + b"\n")
        os._exit(0 if good and errors and log.error and not log.finish() else 1)
    assert os.waitpid(child, 0)[1] == 0
    with open(path, "rb") as file:
        assert file.read().startswith((b"x" * 999 + b"\n") * 99)


def test_a_log_on_an_unknown_file_system_is_not_mapped(path, monkeypatch):
    monkeypatch.setattr(module, "_RESERVING", frozenset())
    log = RunLog(path, unexpected)
    log.write(b"{}\n")
    assert os.path.getsize(path) == 3
    log.close()


def test_each_write_is_synced_on_request(path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    log = RunLog(path, unexpected, sync=True)
    for _ in range(3):
        log.write(b"{}\n")
    assert len(synced) == 3
    log.close()


@pytest.mark.parametrize("sync", [True, False])
def test_the_name_of_a_log_is_synced_too(path, monkeypatch, sync):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.readlink(f"/proc/self/fd/{file}")), real(file)))
    log = RunLog(path, unexpected, sync=sync)
    log.write(b"{}\n")
    assert log.finish()
    log.close()
    assert synced == [os.path.dirname(path)]


def failing(monkeypatch, name, error, *, after=0):
    """Let a system call fail after so many calls, as long as the list that is returned is not empty."""
    left, fails = [after], [True]
    real = getattr(os, name)

    def call(*given):
        left[0] -= 1
        if fails and left[0] < 0:
            raise OSError(error, os.strerror(error))
        return real(*given)

    monkeypatch.setattr(os, name, call)
    return fails


def test_no_line_overtakes_one_that_could_not_be_written(path, file_system, monkeypatch):
    monkeypatch.setattr(module, "_SPACE", 4096)
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    errors = []
    log = RunLog(path, errors.append)
    log.write(b"a" * 99 + b"\n")
    fails = failing(monkeypatch, "pwrite", errno.EIO)
    log.write(b"b" * 4999 + b"\n")
    log.write(b"c\n")
    assert errors
    fails.clear()
    log.write(b"d\n")
    assert log.finish()
    log.close()
    assert read_log(path)[0] == b"a" * 99 + b"\n" + b"b" * 4999 + b"\nc\nd\n"


def test_an_error_of_syncing_is_told_with_the_next_line(path, file_system, monkeypatch):
    errors = []
    log = RunLog(path, errors.append)
    log.write(b"a\n")
    log.write(b"b\n")
    failing(monkeypatch, "fdatasync", errno.EIO)
    log._fdatasync()
    log.write(b"c\n")
    assert [error.errno for error in errors] == [errno.EIO]
    assert read_log(path)[0] == b"a\nb\nc\n"
    log.close()


def test_what_cannot_be_held_back_leaves_a_gap(path, monkeypatch):
    monkeypatch.setattr(module, "_MOST_HELD", 8)
    failing(monkeypatch, "pwrite", errno.ENOSPC)
    log = RunLog(path, lambda _: None)
    log.write(b"aaaa\n")
    assert not log.has_gap
    log.write(b"bbbb\n")
    assert log.has_gap
    log.close()


def test_a_line_after_the_end_goes_nowhere(path, file_system):
    log = RunLog(path, unexpected)
    log.write(b"a\n")
    assert log.finish()
    log.write(b"b\n")
    log.close()
    with open(f"{path}.other", "w+b") as other:
        log.write(b"c" * 5000 + b"\n")
        assert other.read() == b""
    assert read_log(path)[0] == b"a\n"


def test_without_threads_each_line_is_synced(path, monkeypatch):
    synced = []
    real = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda file: (synced.append(file), real(file)))
    monkeypatch.setattr(module.Thread, "start", lambda _: (_ for _ in ()).throw(RuntimeError))
    log = RunLog(path, unexpected)
    for count in range(1, 4):
        log.write(b"a\n")
        assert len(synced) >= count
    log.close()


def test_a_file_that_cannot_be_locked_is_not_left(path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOLCK, "no locks")))
    with pytest.raises(OSError, match="no locks"):
        RunLog(path, unexpected)
    assert os.listdir(os.path.dirname(path)) == []


def test_a_log_that_gets_its_last_name_meanwhile_is_not_left_behind(path, monkeypatch):
    """Another run may have opened it under its first name, and wait for the lock of a moment."""
    log = RunLog(path, unexpected)
    flock = fcntl.flock

    def ends_first(file, operation):
        os.rename(path, f"{path}.ended")
        log.close()
        flock(file, operation)

    monkeypatch.setattr("asyncstate.residue.fcntl.flock", ends_first)
    with left_file(path) as file:
        assert file is None
