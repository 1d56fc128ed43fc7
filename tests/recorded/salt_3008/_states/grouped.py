"""States that say which chunks their mod_aggregate was given."""


def mod_aggregate(low, chunks, running):
    """Keep the IDs of the chunks in the low data."""
    low["given"] = sorted(chunk["__id__"] for chunk in chunks)
    return low


def told(name, given=None, **_):
    """Say them."""
    return {"name": name, "result": True, "changes": {}, "comment": f"given {given}"}


def also(name, given=None, **_):
    """Say them, too: another function of the module."""
    return told(name, given)
