"""A custom execution module that the file server gives."""


def ping():
    """Return True."""
    return True
