"""The command line with its imports done: a process that forks for each call, so that a start takes a tenth of the time.

``with warm_program(folder) as program:`` gives the path of a program that stands for ``asyncstate``: the same streams,
working directory, environment, umask and exit code, in a process of its own. What Python reads before the first import
(``PYTHONHASHSEED``, the locale) and another user's call make it start the real program instead.
"""

from __future__ import annotations

import _socket
import array
import gc
import marshal
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("asyncstate")

# Starts without `site` and with no import that is not built in: it is all that a caller has to wait for.
STAND_IN = """#!{python} -ISE
import _socket, marshal, os, sys

EARLY = ("PYTHON", "LC_", "LANG")
early = sorted(item for item in os.environ.items() if item[0].startswith(EARLY))
if (os.geteuid(), early) != ({user}, {early}):
    os.execv({program!r}, [{program!r}, *sys.argv[1:]])
streams = []
for number in range(3):
    try:
        os.fstat(number)
        streams.append(number)
    except OSError:
        pass
umask = os.umask(0o077)
call = marshal.dumps((sys.argv[1:], os.getcwd(), dict(os.environ), umask, streams))
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect({address!r})
rights = b"".join(number.to_bytes(4, sys.byteorder) for number in streams)
server.sendmsg([len(call).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)] if streams else [])
while call:
    call = call[server.send(call):]
code = server.recv(8)
os._exit(int(code) if code else 70)
"""


OF_OTHERS = ("asyncstate.__main__", "asyncstate.states", "asyncstate.modules", "asyncstate.testing")


def early_environment() -> list[tuple[str, str]]:
    """Return the variables that Python reads before the first import."""
    return sorted(item for item in os.environ.items() if item[0].startswith(("PYTHON", "LC_", "LANG")))


@contextmanager
def warm_program(folder: Path):
    """Yield the path of the program, in ``folder``, until the context is left."""
    address = f"{folder}/socket"
    if len(address) > 100:  # no socket has such a name
        yield PROGRAM
        return
    text = STAND_IN.format(
        python=os.path.realpath(sys.executable),
        user=os.geteuid(),
        early=early_environment(),
        program=str(PROGRAM),
        address=address,
    )
    program = folder / "asyncstate"
    program.write_text(text)
    program.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
    ) as server:
        assert server.stdout.readline() == b"ready\n"
        try:
            yield program
        finally:
            server.stdin.close()  # it ends, too, if this process is killed


def import_everything() -> None:
    """Import what the command line may import, apart from plugins, which each call loads anew."""
    import asyncstate

    for module in pkgutil.walk_packages(asyncstate.__path__, "asyncstate."):
        if not module.name.startswith(OF_OTHERS):
            __import__(module.name)


def serve(address: str) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(16)
    import_everything()
    gc.freeze()
    os.write(1, b"ready\n")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is passed later has a higher number
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:
            return
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            answer(connection)
            os._exit(0)
        connection.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def answer(connection: socket.socket) -> None:
    """Run one call in a child and send its exit code; end it if the caller goes away."""
    head, rights, _, _ = connection.recvmsg(8, _socket.CMSG_SPACE(12))
    passed = array.array("i")
    for _, _, data in rights:
        passed.frombytes(data)
    size, data = int.from_bytes(head, "big"), b""
    while len(data) < size:
        data += connection.recv(size - len(data))
    child = os.fork()
    if not child:
        connection.close()
        run(marshal.loads(data), list(passed))
    for number in passed:
        os.close(number)
    pidfd = os.pidfd_open(child)
    if pidfd not in select.select([connection, pidfd], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(OSError):
        connection.send(str(code % 256 if code >= 0 else 128 - code).encode())


def run(call: tuple, passed: list[int]) -> None:
    """Become the program: never returns."""
    words, folder, environ, umask, streams = call
    for number in range(3):
        os.close(number)
    for number, file in zip(streams, passed, strict=True):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.umask(umask)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = [str(PROGRAM), *words]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        own = getattr(sys, name)  # Python chose the encoding before the first import
        stream = None
        if number in streams:
            stream = open(  # noqa: SIM115 - it lasts as long as the program
                number, own.mode, 1 if number == 2 else -1, encoding=own.encoding, errors=own.errors, closefd=False
            )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    from asyncstate.cli import main

    code = 1
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    serve(sys.argv[1])
