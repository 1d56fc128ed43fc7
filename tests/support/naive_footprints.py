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
    """How a row touches a resource: a set of "make", "read" and "write". What is below a path needs the path."""
    reads, writes, makes = row
    found = set()
    for names, how in ((makes, "make"), (reads, "read"), (writes, "write")):
        for name in names:
            if not is_alike(name, resource):
                continue
            if covers(name, path_of(resource)):
                found.add(how)
            elif is_below(path_of(name), path_of(resource)):  # touched below it: the path is needed, a tree is touched
                found.add(how if how == "make" or covers(resource, path_of(name)) else "read")
    return found


def is_conflict(one, other):
    """Whether two who touch a resource so have to keep their order: one writes it, or makes what the other needs."""
    either = one | other
    return bool(one and other) and ("write" in either or ("make" in either and "read" in either))
