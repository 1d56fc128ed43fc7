"""A copy of this process, and its end."""

import subprocess
import sys
import time

from asyncstate.extras.editor.fork import Fork

FAILS = """
from asyncstate.extras.editor.fork import Fork
def work(stream):
    stream.write(b"half")
    raise ValueError("why")
fork = Fork(work)
heard = b"".join(iter(fork.listen, b""))
print(heard, fork.wait())
"""


def program(text):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=60)


def test_it_says_what_comes_of_what_is_in_memory():
    done = program(FAILS.replace('raise ValueError("why")', "stream.write(b'x' * 100000)"))
    assert done.stdout == f"{b'half' + b'x' * 100000!r} True\n"
    assert done.stderr == ""


def test_what_leaves_its_work_is_told():
    done = program(FAILS)
    assert done.stdout == "b'half' False\n"
    assert "ValueError: why" in done.stderr


def test_it_can_be_killed():
    fork = Fork(lambda _stream: time.sleep(600))
    fork.kill()
    assert fork.stream > 0
