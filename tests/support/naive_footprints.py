"""What it means to touch a resource, in the plainest words: the scoreboard is held against this."""

from __future__ import annotations


def is_below(path, top):
    """Whether a path is another, or below it."""
    return path == top or path.startswith(top.rstrip("/") + "/")


def access_of(row, resource):
    """How a row touches a resource: a set of "make", "read" and "write". What is below a path needs the path."""
    reads, writes, makes = row
    found = set()
    for names, how in ((makes, "make"), (reads, "read"), (writes, "write")):
        for name in names:
            if not (name.startswith("path:") and resource.startswith("path:")):
                if name == resource:
                    found.add(how)
                continue
            path, target = (each[5:].removesuffix("/**") or "/" for each in (name, resource))
            if path == target or (name.endswith("/**") and is_below(target, path)):
                found.add(how)
            elif is_below(path, target):  # touched below it: the path is needed, a whole tree is touched
                found.add(how if how == "make" or resource.endswith("/**") else "read")
    return found


def is_conflict(one, other):
    """Whether two who touch a resource so have to keep their order: one writes it, or makes what the other needs."""
    either = one | other
    return bool(one and other) and ("write" in either or ("make" in either and "read" in either))
