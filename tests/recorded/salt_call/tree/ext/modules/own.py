"""A custom execution module."""

__outputter__ = {"table": "txt"}


def add(a, b=2, *, more=0):
    """Add two or three numbers."""
    return a + b + more


def table():
    """Return data that its module wants shown as text."""
    return {"b": "two\nlines", "a": 1}


def refused(result=False):
    """Return what did not work."""
    return {"result": result, "comment": "that is all"}


def exits(code=3):
    """Set the exit code."""
    __context__["retcode"] = code  # noqa: F821 - the loader puts it there
    return "exits"


def given(*args, **kwargs):
    """Return the arguments."""
    return {"args": list(args), "kwargs": {key: kwargs[key] for key in kwargs if not key.startswith("__pub_")}}
