"""The one door to the file system for everything that takes a path.

We run as root on machines where others have accounts. Whoever may change a folder can put a symbolic link, a hard
link, a pipe or another folder in the place of what a state names, also between our look at it and our act. So no path
is looked at and then used: each function here reaches a *descriptor* without being led astray, and acts on that.

The rule, for root:

- A folder is **trusted** when only root can change what is in it: it belongs to root, its group and others may not
  write to it (a group without members may), and so it is with every folder above. In a sticky folder of root's
  (``/tmp``) what root owns is as good as in a trusted one. Symbolic links in trusted places are followed, as ever.
- From the first folder on that somebody else can change, **no symbolic link is followed**, be it root's own: its
  folder's owner could have moved it there. One exception: a link of a user, in folders nobody but he can change, that
  leads to what belongs to that very user. It gives him nothing he has not got. That is decided by the descriptor
  reached, after the fact.
- A **hard link** in such a folder, to a file whose owner does not own the folder, is neither read nor given another
  owner or mode.
- What is to be read must be a **regular file**: a pipe would block, a device might never end. What is read as a whole
  has at most `READ_LIMIT` bytes.

A process that is not root has no more rights than its user: for it paths mean what they mean to the kernel. Pipes and
devices are refused all the same.

`PathRefused` says which part of the path is in the way, whose it is and what to do. It is no OSError: code that takes a
missing file for granted does not swallow it.

Descriptors are reached with ``openat2(RESOLVE_NO_SYMLINKS)``, one call for a path without links. Where there is a link,
or no openat2 (before Linux 5.6, or forbidden in a container), the path is walked part by part with ``O_NOFOLLOW``.
"""

from __future__ import annotations

from .authority import who_can_change, writable_below
from .beneath import Beneath
from .change import (
    KEEP,
    Access,
    give,
    give_descriptor,
    link,
    makedirs,
    mkdir,
    mknod,
    remove,
    rename,
    rmdir,
    set_times,
    symlink,
)
from .journal import changes_so_far
from .place import Place, absolute, open_folder, parent, pinned, require_changeable, resolved
from .programs import require_own_place, require_unshared
from .query import (
    exists,
    is_directory,
    is_file,
    is_link,
    is_plain_directory,
    lexists,
    listdir,
    lstat,
    readlink,
    same_file,
    stat,
    walk,
)
from .reading import READ_LIMIT, handed_over, open_read, open_text, open_write, read_bytes, read_input, require_readable
from .replacement import Replacement, copy_attributes, copy_file, merged, replace_content, replace_text
from .trees import copy_tree, move, remove_tree

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
    "exists",
    "give",
    "give_descriptor",
    "handed_over",
    "is_directory",
    "is_file",
    "is_link",
    "is_plain_directory",
    "lexists",
    "link",
    "listdir",
    "lstat",
    "makedirs",
    "merged",
    "mkdir",
    "mknod",
    "move",
    "open_folder",
    "open_read",
    "open_text",
    "open_write",
    "parent",
    "pinned",
    "read_bytes",
    "read_input",
    "readlink",
    "remove",
    "remove_tree",
    "rename",
    "replace_content",
    "replace_text",
    "require_changeable",
    "require_own_place",
    "require_readable",
    "require_unshared",
    "resolved",
    "rmdir",
    "same_file",
    "set_times",
    "stat",
    "symlink",
    "walk",
    "who_can_change",
    "writable_below",
]
