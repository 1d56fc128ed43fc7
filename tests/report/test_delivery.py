"""Output reaches its reader whole and in order, and no writer waits for the reader."""

import fcntl
import io
import os
import threading

import pytest

from asyncstate.report.delivery import Delivery, deliver


@pytest.fixture
def pipe():
    """Both ends of a pipe that holds little."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb") as target:
        yield source, target


LINES = [b"%d " % number * 200 + b"\n" for number in range(1000)]


def read_in_thread(source, size):
    found = []
    thread = threading.Thread(target=lambda: found.append(source.read(size)))
    thread.start()
    return thread, found


@pytest.mark.parametrize("blocks", [True, False])
def test_all_is_written_whether_the_descriptor_blocks_or_not(pipe, blocks):
    source, target = pipe
    os.set_blocking(target.fileno(), blocks)
    thread, found = read_in_thread(source, len(b"".join(LINES)))
    deliver(target, b"".join(LINES))
    thread.join()
    assert found == [b"".join(LINES)]


@pytest.mark.parametrize("blocks", [True, False])
def test_who_writes_does_not_wait_and_all_arrives_in_order(pipe, blocks):
    source, target = pipe
    os.set_blocking(target.fileno(), blocks)
    delivery = Delivery(target)
    for line in LINES:  # nobody reads yet
        delivery.write(line)
    delivery.settle(0.01)  # nor is a reader waited for who does not read
    thread, found = read_in_thread(source, len(b"".join(LINES)))
    delivery.settle()
    thread.join()
    assert found == [b"".join(LINES)]
    assert delivery.error is None


def test_what_is_written_beyond_a_bound_is_dropped(pipe):
    source, target = pipe
    delivery = Delivery(target, most=50_000)
    for line in LINES:
        delivery.write(line)
    target_size = len(b"".join(LINES))
    found = []

    def read():
        while data := os.read(source.fileno(), 1 << 16):
            found.append(data)

    thread = threading.Thread(target=read)
    thread.start()
    delivery.settle()
    target.close()
    thread.join()
    arrived = b"".join(found).splitlines(keepends=True)
    assert arrived
    assert set(arrived) <= set(LINES)
    assert 4096 <= sum(map(len, arrived)) <= 2 * 50_000 + 2 * 4096 < target_size


def test_a_reader_who_went_away_is_an_error_that_nothing_raises(pipe):
    source, target = pipe
    delivery = Delivery(target)
    source.close()
    for line in LINES:
        delivery.write(line)
    delivery.settle()
    assert isinstance(delivery.error, BrokenPipeError)


def test_a_reader_who_goes_away_amid_it_is_not_waited_for(pipe):
    source, target = pipe
    delivery = Delivery(target)
    for line in LINES:
        delivery.write(line)
    source.close()
    delivery.settle()
    assert isinstance(delivery.error, BrokenPipeError)


def test_a_file_and_a_stream_in_memory_need_no_thread(tmp_path):
    before = threading.active_count()
    memory = io.BytesIO()
    with (tmp_path / "file").open("wb") as file:
        for delivery in (Delivery(file), Delivery(memory)):
            for line in LINES:
                delivery.write(line)
            delivery.settle()
    assert (tmp_path / "file").read_bytes() == memory.getvalue() == b"".join(LINES)
    assert threading.active_count() == before


def test_without_a_thread_it_waits(pipe, monkeypatch):
    source, target = pipe

    def refuse(_self):
        raise RuntimeError("can't start new thread")

    delivery = Delivery(target)
    thread, found = read_in_thread(source, len(b"".join(LINES)))
    monkeypatch.setattr(threading.Thread, "start", refuse)
    for line in LINES:
        delivery.write(line)
    thread.join()
    assert found == [b"".join(LINES)]


def test_a_reader_who_was_waited_for_in_vain_is_not_waited_for_again_before_he_reads(pipe):
    source, target = pipe
    delivery = Delivery(target)
    for line in LINES:
        delivery.write(line)
    assert not delivery.settle(0.01)
    assert not delivery.settle(threading.TIMEOUT_MAX)
    thread, found = read_in_thread(source, len(b"".join(LINES)))
    assert delivery.settle()
    thread.join()
    assert found == [b"".join(LINES)]
    assert delivery.settle(threading.TIMEOUT_MAX)


def test_more_that_is_written_meanwhile_does_not_end_the_wait(pipe):
    source, target = pipe
    delivery = Delivery(target)
    for line in LINES:
        delivery.write(line)
    settled = []
    waiting = threading.Thread(target=lambda: settled.append(delivery.settle(threading.TIMEOUT_MAX)))
    waiting.start()
    for line in LINES:
        delivery.write(line)
    thread, found = read_in_thread(source, 2 * len(b"".join(LINES)))
    waiting.join()
    thread.join()
    assert settled == [True]
    assert found == [b"".join(LINES) * 2]


class Refusing(io.RawIOBase):
    """A pipe that takes ``several`` pieces, and then ``error`` is raised."""

    def __init__(self, descriptor, error, several):
        self.descriptor = descriptor
        self.error = error
        self.several = several

    def fileno(self):
        return self.descriptor

    def flush(self):
        self.several -= 1
        if self.several < 0:
            raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("I/O operation on closed file"), "it is closed"),
        (MemoryError(), "Cannot allocate memory"),
        (OSError(5, "Input/output error"), "Input/output error"),
    ],
)
@pytest.mark.parametrize("several", [0, 1, 2])
def test_whatever_ends_it_nobody_waits_for_what_is_left(pipe, error, said, several):
    source, target = pipe
    delivery = Delivery(Refusing(target.fileno(), error, several))
    for line in LINES:
        delivery.write(line)
    thread, _ = read_in_thread(source, 4096)
    assert delivery.settle()
    assert delivery.error.strerror == said
    delivery.write(b"more")
    assert delivery.settle()
    target.close()
    thread.join()


def test_a_fork_has_nothing_to_wait_for(pipe):
    """Not even for the lock, which a thread that the fork does not have may have held."""
    source, target = pipe
    delivery = Delivery(target)
    for line in LINES:
        delivery.write(line)
    held, done = threading.Event(), threading.Event()

    def hold():
        with delivery._news:
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    delivery._process += 1  # as a fork sees it
    try:
        assert delivery.settle()
    finally:
        delivery._process = os.getpid()
        done.set()
        holder.join()
    thread, _ = read_in_thread(source, len(b"".join(LINES)))
    assert delivery.settle()
    thread.join()
