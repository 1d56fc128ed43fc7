"""Runs odd input in processes of their own, and says what is wrong with how they ended.

A case is data, so that it can be kept as a file: ``files`` (path → text, or what it is instead of a file), ``words`` (the
command line, run in the folder of the files), and for the library ``call`` (a function of `fuzz_calls`, or ``MODULE.FUNCTION``).
The text of a file is UTF-8; ``\\udc80`` … ``\\udcff`` in it are bytes that are none. Run as a program, this module
reads cases from standard input and writes findings to standard output, a line of JSON each.
"""

from __future__ import annotations

import base64
import faulthandler
import functools
import gc
import importlib
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.filesystem import rule

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 20
"""The longest that a case may calculate."""
LONGEST_WAIT = 120
"""The longest that a case may last: it may have to wait for its turn on a busy machine."""
MEMORY = 1 << 30
"""The most memory that a case may add to that of the program."""
CODES = frozenset({0, 1, 2, 3, 64, 74, 124, 125, 255})
"""The exit codes of docs/cli.md, and of docs/extras/salt-call.md, that say something of the input."""
BESIDE = {
    "file": "of somebody else",
    "bait.sls": "#!py\ndef run():\n    return {'a': {'test.nop': []}}\n",
    "base/main.sls": "a: test.nop\n",
    "_modules/bait.py": "def a():\n    return 1\n",
}
"""What lies outside of the folder of a case: nothing there changes, and the program opens and runs none of it."""
LOOKS = ("stat", "lstat", "readlink", "access", "open")
"""What looks for a path and raises no audit event, or one without the folder that the path is relative to."""
OUTSIDE = 99
"""The descriptor by which absolute paths of all cases lead to the folder above that of the files."""
_OUTPUTS = ("beside", "home", "opened", "root", "stack", "stderr", "stdout")
_DUMP = signal.SIGRTMIN + 5
_SHOWN = 1 << 22


class Finding(NamedTuple):
    """What is wrong with the end of a process: ``kind``, and its ``place`` in the program, by which two are the same."""

    kind: str
    place: str
    detail: str


@contextmanager
def fuzz_process(folder: Path):
    """Yield a function that runs a case in ``folder`` and returns what it finds, None if all is well."""
    with subprocess.Popen(
        [sys.executable, __file__, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
        env={**os.environ, "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
    ) as server:

        def run(case):
            server.stdin.write(json.dumps(case) + "\n")
            server.stdin.flush()
            line = server.stdout.readline()
            assert line, "the process that runs the cases has ended: its standard error says why"
            answer = json.loads(line)
            return Finding(*answer) if answer else None

        try:
            yield run
        finally:
            server.stdin.close()  # it ends


def serve(folder: Path) -> None:
    """Answer cases until there are no more."""
    from warm_program import import_everything

    sys.path.append(str(Path(__file__).parents[1] / "extras" / "support"))

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    import_everything()
    gc.freeze()
    for line in sys.stdin:
        answers.write(json.dumps(examine(json.loads(line), folder)) + "\n")
        answers.flush()


def examine(case: dict, folder: Path) -> Finding | None:
    """Run one case and return what is wrong."""
    shutil.rmtree(folder, ignore_errors=True)
    root, beside = folder / "root", folder / "beside"
    for made in (root, beside, folder / "home"):
        made.mkdir(parents=True)
    make_files(BESIDE, beside)
    make_files(case["files"], root)
    child = os.fork()
    if not child:
        become(case, folder)
    finding = wait(child, folder)
    found = sorted(path.name for path in folder.iterdir())
    left = {str(path.relative_to(beside)): path.read_text() for path in beside.rglob("*") if path.is_file()}
    if left != BESIDE:
        return Finding("changed", "beside", "a file outside of the folder of the case")
    if found != sorted(_OUTPUTS):
        return Finding("changed", "outside", str(found))
    opened = _shown(folder, "opened")
    return Finding("opened", opened.partition("\n")[0], opened) if opened else finding


def watch(beside: str, report: int) -> None:
    """Report all that this process opens, lists, runs or looks for below ``beside``."""
    real, busy = os.path.realpath, threading.local()

    def tell(event: str, text: str) -> None:
        busy.now = True
        try:
            with suppress(ValueError):
                if "beside" in text and real(text).startswith(beside):
                    os.write(report, f"{event} {text[:200]}\n".encode())
        finally:
            busy.now = False

    def hook(event: str, arguments: tuple) -> None:
        if getattr(busy, "now", False):
            return
        for argument in arguments:
            for each in argument if isinstance(argument, (list, tuple)) else (argument,):
                if isinstance(each, (str, bytes)):
                    tell(event, os.fsdecode(each))

    def telling(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def look(path: Any, *arguments: Any, **options: Any) -> Any:
            if isinstance(path, (str, bytes, os.PathLike)) and not getattr(busy, "now", False):
                folder = options.get("dir_fd")
                at = "" if folder is None else original_readlink(f"/proc/self/fd/{folder}")
                tell(f"os.{name}", os.path.join(at, os.fsdecode(path)))
            return original(path, *arguments, **options)

        return functools.wraps(original)(look)

    original_readlink, open_path = os.readlink, rule._openat2

    def looked(folder: int, path: str, how: Any) -> int:
        at = "" if folder < 0 else original_readlink(f"/proc/self/fd/{folder}")
        tell("openat2", os.path.join(at, path))
        return open_path(folder, path, how)

    for name in LOOKS:
        setattr(os, name, telling(name, getattr(os, name)))
    rule._openat2 = looked
    sys.addaudithook(hook)


def make_files(files: dict, root: Path) -> None:
    """Make the files of a case; a dict says what is there instead of a regular file. The last of one path counts."""
    for name, content in files.items():
        path = os.path.join(os.fsencode(root), os.fsencode(name.lstrip("/")))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(content, str):
            data = content.encode("utf-8", "surrogatepass" if not _is_escaped(content) else "surrogateescape")
            with open(path, "wb") as file:
                file.write(data)
        elif "link" in content:
            _remove(path)
            os.symlink(content["link"], path)
        elif "fifo" in content:
            _remove(path)
            os.mkfifo(path)
        elif "folder" in content:
            os.makedirs(path, exist_ok=True)
        elif "deflated" in content:
            with open(path, "wb", opener=_private) as file:
                file.write(zlib.decompress(base64.b64decode(content["deflated"])))
        elif "times" in content:
            with open(path, "wb") as file:
                file.write(content["text"].encode() * content["times"])


def _remove(path: bytes) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    with suppress(FileNotFoundError):
        os.unlink(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _is_escaped(text: str) -> bool:
    return all("\udc80" <= character <= "\udcff" for character in text if "\ud800" <= character <= "\udfff")


def become(case: dict, folder: Path) -> None:
    """Be the program with the case's command line. Never returns."""
    os.setsid()
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), OUTSIDE)
    stack = open(folder / "stack", "w")  # noqa: SIM115 - it lasts as long as the process
    faulthandler.register(_DUMP, file=stack)
    resource.setrlimit(resource.RLIMIT_DATA, (3 * MEMORY, 3 * MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    root, home = str(folder / "root"), str(folder / "home")
    os.chdir(root)
    os.environ.clear()
    os.environ.update(
        HOME=home,
        XDG_CONFIG_HOME=home,
        ASYNCSTATE_CACHEDIR=f"{home}/cache",
        ASYNCSTATE_STATE_DIR=f"{home}/state",
        PATH="/usr/bin:/bin",
        TMPDIR=home,
        LC_ALL="C.UTF-8",
        **case.get("environ", {}),
    )
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = open(number, "w", 1, encoding="utf-8", errors=getattr(sys, name).errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    code: object = 1
    watch(f"{folder}/beside", os.open(folder / "opened", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    try:
        if "call" in case:
            module, _, function = case["call"].rpartition(".")
            code = getattr(importlib.import_module(module or "fuzz_calls"), function)(*case["words"])
        else:
            from asyncstate.cli import main

            sys.argv = ["asyncstate", *case["words"]]
            code = main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - as Python itself ends
        sys.excepthook(*sys.exc_info())
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 1)


def wait(child: int, folder: Path) -> Finding | None:
    """Wait for the end of a process, not for ever, and judge it."""
    pidfd, began, ended = os.pidfd_open(child), time.monotonic(), False
    while not ended:
        ended = bool(select.select([pidfd], [], [], 0.5)[0])
        if not ended and (_seconds(child) > SECONDS or time.monotonic() - began > LONGEST_WAIT):
            with suppress(OSError):
                signal.pidfd_send_signal(pidfd, _DUMP)
            time.sleep(0.5)
            break
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    os.close(pidfd)
    if not ended:
        return Finding("hang", _place_of_stack(folder), _shown(folder, "stack"))
    return judge(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, folder)


def judge(code: int, memory: int, folder: Path) -> Finding | None:
    """Say what is wrong with an exit code, the memory used, and the output."""
    errors = _shown(folder, "stderr")
    output = errors + _shown(folder, "stdout")
    if code == 70:
        found = re.search(r"internal error: (\w+).*?\(([^()]*:\d+)\)", output, re.DOTALL)
        return Finding("internal error", _within(" ".join(found.groups())) if found else "", output)
    if code < 0:
        return Finding("died", signal.Signals(-code).name, output)
    if memory > MEMORY + resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024:
        return Finding("memory", "", f"{memory >> 20} MiB\n{output}")
    if "Traceback (most recent call last)" in errors:
        places = re.findall(r'File "([^"]*)", line (\d+)', errors)
        return Finding("traceback", _within(":".join(places[-1])) if places else "", errors)
    if code not in CODES:
        return Finding("exit code", str(code), output)
    return None


def _within(place: str) -> str:
    """Return a place in a file of the program by its path in the checkout."""
    return place.replace(f"{Path(__file__).parents[2]}/", "")


def _seconds(child: int) -> float:
    """Return the time that a process and its threads have calculated."""
    try:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _shown(folder: Path, name: str) -> str:
    with open(folder / name, "rb") as file:
        return file.read(_SHOWN).decode("utf-8", "backslashreplace")


def _place_of_stack(folder: Path) -> str:
    """Return the innermost place of the program in the stacks of a process that was still busy."""
    places = re.findall(r'File "([^"]*/(?:asyncstate|states|modules)/[^"]*)", line (\d+)', _shown(folder, "stack"))
    return _within(":".join(places[0])) if places else ""


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
