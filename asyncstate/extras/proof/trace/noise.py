"""Paths that no two states share: every program touches them, and no order between states depends on them.

- The file systems of the kernel (``/proc``, ``/sys``) and devices (``/dev``, but not ``/dev/shm``).
- Libraries and what belongs to them: ``/lib``, ``/usr/lib``, ``/usr/libexec``, ``/usr/local/lib``, ``/usr/share``, the
  caches of the dynamic linker, the zone and the locales of this machine.
- Byte code of Python: ``__pycache__`` and ``*.pyc``.
- Logs that programs only append to, of package managers and of logins.
- Folders that the caller names: of asyncstate itself, of plugins, and of the Python that runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_TREES = """
    /proc /sys /dev
    /lib /lib32 /lib64 /libx32 /usr/lib /usr/lib32 /usr/lib64 /usr/libx32 /usr/libexec /usr/local/lib /usr/share
    /etc/ld.so.conf.d /var/cache/ldconfig /var/log/apt
""".split()
_FILES = frozenset(
    """
    / /etc /etc/ld.so.cache /etc/ld.so.preload /etc/ld.so.conf /etc/localtime /etc/timezone /etc/locale.alias
    /etc/nsswitch.conf /etc/gai.conf /etc/host.conf
    /usr /usr/bin /usr/sbin /usr/local /usr/local/bin /usr/local/sbin /bin /sbin /home /root /tmp /var /var/tmp /var/lib
    /var/log /var/cache /run /opt /srv /mnt
    /var/log/alternatives.log /var/log/dpkg.log /var/log/faillog /var/log/lastlog /var/log/tallylog /var/log/wtmp
    /var/log/btmp /var/run/utmp /run/utmp
    """.split()
)
_SHARED_AFTER_ALL = ("/dev/shm/",)  # noqa: S108 - the folder itself is not used


def shared_paths(own: Iterable[str] = ()) -> Callable[[str], bool]:
    """Return a predicate that is true for absolute, normalised paths that count. ``own`` are trees that do not."""
    named = tuple(tree.rstrip("/") for tree in own if tree.strip("/"))
    heads = tuple(f"{tree}/" for tree in _TREES)
    named_heads = tuple(f"{tree}/" for tree in named)
    exact = _FILES.union(_TREES, named)

    def is_shared(path: str) -> bool:
        if path in exact:
            return False
        if path.startswith(named_heads) or path.endswith(".pyc") or "/__pycache__" in path:
            return False
        return path.startswith(_SHARED_AFTER_ALL) or not path.startswith(heads)

    return is_shared
