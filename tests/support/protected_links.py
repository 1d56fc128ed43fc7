"""A kernel with ``fs.protected_symlinks`` and ``fs.protected_regular``, as Debian sets them, for one test."""

from __future__ import annotations

import errno
import os
import stat
from functools import partial
from typing import TYPE_CHECKING, Any

from asyncstate.filesystem import rule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

_LINKS = 40


def protect_links(monkeypatch: pytest.MonkeyPatch, base: Path) -> None:
    """Let this process follow no link of another user in a sticky folder, and create over no file of another user's.

    What programs do is not changed, nor what is done outside of the folder ``base``.
    """
    monkeypatch.setitem(_GUARDED, "base", f"{base}/")
    for name in ("open", "stat", "lstat", "access", "listdir", "scandir", "readlink"):
        monkeypatch.setattr(os, name, partial(_guarded, getattr(os, name), name not in ("lstat", "readlink")))
    monkeypatch.setattr(rule, "_openat2", partial(_opened, rule._openat2))


def _opened(original: Callable[..., int], folder: int, path: str, how: Any) -> int:
    _require_allowed(path, None if folder < 0 else folder, follow=not how._obj.flags & os.O_NOFOLLOW)
    return original(folder, path, how)


def _guarded(original: Callable[..., Any], follow: bool, path: Any = ".", *args: Any, **options: Any) -> Any:
    if isinstance(path, int):
        return original(path, *args, **options)
    flags = args[0] if original.__name__ == "open" else 0
    follow = follow and options.get("follow_symlinks", True) and not flags & os.O_NOFOLLOW
    try:
        _require_allowed(path, options.get("dir_fd"), follow=follow, creates=bool(flags & os.O_CREAT))
    except PermissionError:
        if original.__name__ == "access":
            return False
        raise
    return original(path, *args, **options)


def _require_allowed(path: Any, dir_fd: int | None, *, follow: bool, creates: bool = False) -> None:
    path = os.fsdecode(path)
    base = _GUARDED["base"]
    if path.startswith(base):
        todo, at = _parts(path.removeprefix(base)), base
    elif path.startswith("/"):
        if not path.startswith("/proc/"):  # which leads back, by descriptors
            return
        todo, at = _parts(path), "/"
    else:
        todo, at = _parts(path), "." if dir_fd is None else f"/proc/self/fd/{dir_fd}/."
    for _ in range(_LINKS):
        while todo:
            part = todo.pop()
            try:
                found, folder = _REAL_STAT(os.path.join(at, part), follow_symlinks=False), _REAL_STAT(at)
            except (OSError, ValueError):
                return
            is_foreign = _is_sticky(folder) and found.st_uid not in (os.geteuid(), folder.st_uid)
            if stat.S_ISLNK(found.st_mode) and (todo or follow):
                if is_foreign:
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
                target = _REAL_READLINK(os.path.join(at, part))
                todo += _parts(target)
                at = "/" if target.startswith("/") else at
                break
            if not todo and creates and is_foreign and stat.S_ISREG(found.st_mode):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            at = os.path.join(at, part)
        else:
            return


def _is_sticky(folder: os.stat_result) -> bool:
    return bool(folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH)


def _parts(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


_GUARDED: dict[str, str] = {}
_REAL_STAT = os.stat
_REAL_READLINK = os.readlink
