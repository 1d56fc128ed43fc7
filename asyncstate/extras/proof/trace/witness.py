"""Records the accesses of states while they run: by this process for each of them, and by their programs.

It has three sources: `asyncstate.filesystem` and `asyncstate.process` notify the observer of the call; an audit hook
of Python sees paths that plugins open, list, make and remove by themselves; strace follows programs. The hook stays for
the life of the process, as Python cannot remove one, and does nothing outside of a traced run.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from typing import TYPE_CHECKING, Any

from asyncstate.dunders.context import observer
from asyncstate.extras.proof.trace.noise import shared_paths
from asyncstate.extras.proof.trace.touched import (
    ABSENT,
    ENSURED,
    LISTED,
    LOOKED,
    MADE,
    NAMED,
    REMOVED,
    WRITTEN,
    Touched,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from asyncstate.extras.proof.trace.following import FollowedProgram, Strace

_HOW = {
    "looked": LOOKED,
    "absent": ABSENT,
    "listed": LISTED,
    "ensured": ENSURED | LOOKED,
    "created": MADE,
    "changed": WRITTEN,
    "removed": REMOVED,
    "removed in part": WRITTEN,
}
_CHANGING = os.O_WRONLY | os.O_RDWR | os.O_TRUNC
_EVENTS: dict[str, tuple[tuple[int, int], ...]] = {
    "os.mkdir": ((0, MADE | ENSURED),),
    "os.remove": ((0, REMOVED),),
    "os.rmdir": ((0, REMOVED),),
    "os.rename": ((0, REMOVED), (1, WRITTEN | NAMED)),
    "os.link": ((0, LOOKED), (1, WRITTEN | NAMED)),
    "os.symlink": ((1, MADE | WRITTEN),),
    "os.chmod": ((0, WRITTEN),),
    "os.chown": ((0, WRITTEN),),
    "os.truncate": ((0, WRITTEN),),
    "os.utime": ((0, WRITTEN),),
    "os.listdir": ((0, LISTED),),
    "os.scandir": ((0, LISTED),),
    "os.setxattr": ((0, WRITTEN),),
}
"""Audit events of Python, with the positions of paths among their arguments, and the access to each."""
_PROGRAMS = frozenset({"subprocess.Popen", "os.system", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn"})
_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_installed = threading.Lock()
_is_installed = False


class Witness:
    """The observer of one node of a plan."""

    def __init__(self, strace: Strace, is_shared: Callable[[str], bool]) -> None:
        self.touched: Touched = Touched(is_shared)
        self._strace = strace

    def saw(self, path: str, how: str) -> None:
        """Note that an absolute path was touched by our own code."""
        if how == "looked" and not os.path.lexists(path):
            how = "absent"
        self.touched.note(path, _HOW[how])

    def follow(
        self,
        argv: Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        account: Mapping[str, Any] | None,
    ) -> FollowedProgram | None:
        """Return the program under strace; None if it cannot be started."""
        try:
            return self._strace.follow(argv, cwd, env, account, self.touched)
        except OSError:
            return None  # no space for a trace, or no working directory any more

    def missed(self, program: str) -> None:
        """Note a program that could not be followed."""
        self.touched.unseen[program] = None

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an event of Python's audit."""
        if event == "open":
            path, _, flags = arguments
            self._opened(path, flags)
        elif event in _EVENTS:
            for position, what in _EVENTS[event]:
                path = _path_of(arguments[position], listed=what == LISTED)
                if path:
                    self.touched.note(path, what)
        elif event in _PROGRAMS:
            self._started(arguments[0] if arguments else event)

    def _started(self, program: Any) -> None:
        """Note a program that is started without strace: it runs in the background, or a plugin starts it itself."""
        if program != self._strace.program:
            name = os.fsdecode(program) if isinstance(program, (str, bytes, os.PathLike)) else "a program"
            self.touched.unseen[os.path.basename(name)] = None

    def _opened(self, path: Any, flags: Any) -> None:
        name = _path_of(path)
        if not name:
            return
        flags = flags if isinstance(flags, int) else 0
        if flags & os.O_CREAT and flags & os.O_EXCL:
            what = MADE | WRITTEN
        elif flags & _CHANGING:
            what = WRITTEN | (LOOKED if flags & os.O_RDWR else 0) | (NAMED if flags & os.O_CREAT else 0)
        else:
            what = LOOKED
        self.touched.note(name, what)


class Trace:
    """The accesses of one run's nodes. ``own`` are folders of this program that no state shares."""

    def __init__(self, strace: Strace, own: Iterable[str] = ()) -> None:
        self._strace = strace
        self._is_shared = shared_paths((*own, *_python_folders()))
        self._witnesses: dict[int, Witness] = {}
        install()

    def of(self, node: int) -> Witness:
        """Return the observer of a node; always the same one."""
        witness = self._witnesses.get(node)
        if witness is None:
            witness = self._witnesses[node] = Witness(self._strace, self._is_shared)
        return witness

    def seen_by_others(self) -> tuple[dict[int, dict[str, int]], dict[int, dict[str, set[str]]]]:
        """Return the flags of paths by node, temporary folders included, and the marks of folders by node."""
        touched = {node: witness.touched for node, witness in self._witnesses.items()}
        return (
            {node: each.seen_by_others() for node, each in touched.items()},
            {node: each.marks for node, each in touched.items()},
        )

    def touched(self) -> dict[int, dict[str, int]]:
        """Return the flags of paths by node."""
        return {node: witness.touched.seen() for node, witness in self._witnesses.items()}

    def unseen(self) -> dict[int, list[str]]:
        """Return the programs that could not be followed, by node."""
        return {node: [*witness.touched.unseen] for node, witness in self._witnesses.items() if witness.touched.unseen}


def _python_folders() -> list[str]:
    """Return the folders of the Python that runs this process. The prefix is included only in a virtual environment."""
    paths = sysconfig.get_paths()
    folders = [paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"], _OWN_FOLDER]
    return folders if sys.prefix == sys.base_prefix else [*folders, sys.prefix]


def install() -> None:
    """Install the audit hook, once."""
    global _is_installed  # noqa: PLW0603 - a hook is never removed, so it is one for the process
    with _installed:
        if not _is_installed:
            sys.addaudithook(_hook)
            _is_installed = True


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" and event not in _EVENTS and event not in _PROGRAMS:
        return
    watching = observer.get()
    if isinstance(watching, Witness):
        watching.audit(event, arguments)


def _path_of(value: Any, *, listed: bool = False) -> str:
    """Return the absolute path that an argument names, "" if none is known.

    A relative name may be relative to a descriptor, which an event lacks. Descriptors count where a folder is listed;
    `asyncstate.filesystem` reports its own changes through them.
    """
    if listed and isinstance(value, int):
        try:
            return os.readlink(f"/proc/self/fd/{value}")
        except OSError:
            return ""
    if isinstance(value, bytes):
        value = os.fsdecode(value)
    return value if isinstance(value, str) and value[:1] == "/" else ""
