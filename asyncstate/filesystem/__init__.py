"""Safe access to the file system for everything that takes a path.

asyncstate runs as root on machines where others have accounts. A user who can change a folder can replace what a state
names by a symbolic link, a hard link, a pipe or another folder, even between a check and its use (TOCTOU). So no path
is checked and then used: each function here opens a *descriptor* by the rule below and works on that.

The rule, for root:

- A folder is **trusted** if only root can change its content: it belongs to root, neither its group (unless the group
  has no members) nor others may write to it, and the same is true of every folder above. In a sticky folder of root
  (``/tmp``), an entry that root owns counts as trusted too. Symbolic links in trusted folders are followed.
- From the first untrusted folder on, **no symbolic link is followed**, not even one that belongs to root, because the
  owner of the folder could have moved it there. One exception: a link of a user, in folders that only this user can
  change, to a target of the same user. It gives the user no new rights. The owner of the target is read from the
  descriptor, after the target has been opened.
- A **hard link** in an untrusted folder is refused if the file does not belong to the owner of the folder: it is not
  read, and its owner and mode are not changed.
- Only a **regular file** is read: a pipe would block, and a device might never end. A file that is read as a whole may
  have `READ_LIMIT` bytes at most.

A process that is not root has only the rights of its user, so the kernel's own rules apply. It refuses pipes and
devices too.

`PathRefused` names the offending part of the path, its owner and the next step. It is not an OSError, so that
code which expects a missing file does not hide it.

Descriptors are opened with ``openat2(RESOLVE_NO_SYMLINKS)``, in one call if the path has no link. If it has one, or the
system has no openat2 (before Linux 5.6, or forbidden in a container), the path is walked part by part with
``O_NOFOLLOW``. So the rule is the same whether or not the kernel follows links in sticky folders
(``fs.protected_symlinks``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .authority import require_own_place, require_unshared, who_can_change, writable_below
from .change import (
    KEEP,
    Access,
    changes_so_far,
    foretells,
    give,
    give_descriptor,
    has_room,
    judges,
    link,
    makedirs,
    mkdir,
    mknod,
    refused_owners,
    remove,
    rename,
    require_changeable,
    rmdir,
    room_for,
    set_times,
    symlink,
)
from .place import Place, absolute, open_folder, parent, pinned, resolved
from .reading import (
    READ_LIMIT,
    digest,
    exists,
    handed_over,
    is_directory,
    is_file,
    is_link,
    is_plain_directory,
    lexists,
    listdir,
    lstat,
    open_input,
    open_read,
    open_text,
    open_write,
    read_bytes,
    read_input,
    read_lines,
    read_start,
    readlink,
    require_readable,
    same_file,
    stat,
    version_of,
    walk,
)
from .replacement import Replacement, copy_attributes, copy_file, edit_content, merged, replace_content, replace_text

if TYPE_CHECKING:
    from .beneath import Beneath
    from .trees import copy_tree, mount_points, move, remove_tree, require_copyable, require_removable

__all__ = [
    "KEEP",
    "READ_LIMIT",
    "Access",
    "Beneath",
    "Place",
    "Replacement",
    "absolute",
    "changes_so_far",
    "copy_attributes",
    "copy_file",
    "copy_tree",
    "digest",
    "edit_content",
    "exists",
    "foretells",
    "give",
    "give_descriptor",
    "handed_over",
    "has_room",
    "is_directory",
    "is_file",
    "is_link",
    "is_plain_directory",
    "judges",
    "lexists",
    "link",
    "listdir",
    "lstat",
    "makedirs",
    "merged",
    "mkdir",
    "mknod",
    "mount_points",
    "move",
    "open_folder",
    "open_input",
    "open_read",
    "open_text",
    "open_write",
    "parent",
    "pinned",
    "read_bytes",
    "read_input",
    "read_lines",
    "read_start",
    "readlink",
    "refused_owners",
    "remove",
    "remove_tree",
    "rename",
    "replace_content",
    "replace_text",
    "require_changeable",
    "require_copyable",
    "require_own_place",
    "require_readable",
    "require_removable",
    "require_unshared",
    "resolved",
    "rmdir",
    "room_for",
    "same_file",
    "set_times",
    "stat",
    "symlink",
    "version_of",
    "walk",
    "who_can_change",
    "writable_below",
]

_OF_TREES = frozenset({"copy_tree", "mount_points", "move", "remove_tree", "require_copyable", "require_removable"})


def __getattr__(name: str) -> Any:
    """Import on first use what few states use: whole trees, and places for the content of archives (PEP 562)."""
    if name == "Beneath":
        from .beneath import Beneath  # noqa: PLC0415

        return Beneath
    if name in _OF_TREES:
        from . import trees  # noqa: PLC0415

        return getattr(trees, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
