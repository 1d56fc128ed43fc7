"""A plain model of footprint conflicts, the oracle for the scoreboard."""

from __future__ import annotations


def is_below(path, top):
    """Whether a path is another, or below it. An entry of a file, behind a ``#``, is below the file."""
    return path == top or path.startswith((top.rstrip("/") + "/", top + "#"))


def covers(name, path):
    """Whether a resource means what is at ``path``: a tree and an entry all below them, the rest its entries, too."""
    own = path_of(name)
    if name.endswith("/**") or "#" in name:
        return is_below(path, own)
    return path == own or path.startswith(own + "#")


def path_of(name):
    """The path of a resource, or its plain name."""
    return (name[5:].removesuffix("/**") or "/") if name.startswith("path:") else name


def is_alike(name, other):
    """Whether two resources are both paths, or both plain names."""
    return name.startswith("path:") == other.startswith("path:")


def affects(written, used):
    """Whether who writes one resource changes what another means."""
    return is_alike(written, used) and (is_below(path_of(used), path_of(written)) or covers(used, path_of(written)))


def access_of(row, resource):
    """How a row touches a resource: a set of "read", "write", and "make" with the marks of the folder.

    What is below a path needs the path.
    """
    reads, writes, makes, *_ = row
    touched = [(name, "read") for name in reads] + [(name, "write") for name in writes]
    touched += [(folder, f"make{marks}") for folder, _, marks in (name.partition("?") for name in makes)]
    found = set()
    for name, how in touched:
        if not is_alike(name, resource):
            continue
        if covers(name, path_of(resource)):
            found.add(how)
        elif is_below(path_of(name), path_of(resource)):  # touched below it: the path is needed, a tree is touched
            found.add(how if how.startswith("make") or covers(resource, path_of(name)) else "read")
    return found


def is_conflict(one, other):
    """Whether two who touch a resource so have to keep their order.

    They do if one writes it, or makes what the other needs or makes with other marks.
    """
    either = one | other
    made = {how for how in either if how.startswith("make")}
    return bool(one and other) and ("write" in either or (bool(made) and "read" in either) or len(made) > 1)


def made(row):
    """{folder: marks} of all folders that a row makes if they are missing, but for the root."""
    found = {}
    for name in row[2]:
        folder, _, marks = path_of(name).partition("?")
        parts = folder.split("/")
        found |= {"/".join(parts[:end]): marks for end in range(2, len(parts) + 1)}
    return found


def needed(row):
    """The folders that must be there for a row: what it reads, and that in which it writes; of an entry, the file's."""
    found = set()
    for name in row[1]:
        file, *entries = path_of(name).split("#", 1)
        found.add(file.rpartition("/")[0])
        parts = entries[0].split("/") if entries else []
        found |= {f"{file}#{'/'.join(parts[:end])}" for end in range(1, len(parts))}
    found |= {path_of(name).partition("#")[0] for name in row[0]}
    return found - made(row).keys()


def keep_order(one, other):
    """Whether two rows, each what it reads, writes and makes, must keep their order."""
    return _disturbs(one, other) or _disturbs(other, one)


def _disturbs(one, other):
    """Whether a row writes what another uses, makes what that needs, or makes it otherwise than that does."""
    mine, theirs = made(one), made(other)
    used = [*other[0], *other[1], *(name.partition("?")[0] for name in other[2])]
    trees = [name for name in other[0] if name.endswith("/**")]
    return (
        any(affects(name, against) for name in one[1] for against in used)
        or any(covers(name, folder) for name in trees for folder in mine)
        or not needed(other).isdisjoint(mine)
        or any(theirs[folder] != mine[folder] for folder in theirs.keys() & mine.keys())
    )


class Joins(dict):
    """The sets that a scoreboard makes, by node: whom each joins, and what it is about."""

    def join(self, nodes, resource):
        self[-2 - len(self)] = list(nodes), resource
        return -1 - len(self)

    def members(self, *nodes):
        """Return the states behind some nodes."""
        return {inner for node in nodes for inner in (self.members(*self[node][0]) if node < 0 else (node,))}
