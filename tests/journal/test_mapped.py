"""A mapped log is read as its bytes are."""

from mmap import ACCESS_READ, mmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.journal import mapped
from asyncstate.journal.mapped import end_of_line, pieces


@given(st.lists(st.integers(0, 9000), min_size=1, max_size=8), st.sampled_from([1, 4096, 5000]))
def test_lines_and_pieces(tmp_path_factory, sizes, piece):
    data = b"".join(b"x" * size + b"\n" for size in sizes) + b"torn"
    path = tmp_path_factory.mktemp("mapped") / "log"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch, open(path, "rb") as file:
        patch.setattr(mapped, "PIECE", piece)
        with mmap(file.fileno(), 0, access=ACCESS_READ) as whole:
            for log in (data, whole):
                ends, at = [], 0
                while at := end_of_line(log, at):
                    ends.append(at)
                assert ends == [number + 1 for number, byte in enumerate(data) if byte == 10]
                read = [log[first:last] for first, last in pieces(log, 3, len(log))]
                assert b"".join(read) == data[3:]
                assert all(len(each) <= piece for each in read)
