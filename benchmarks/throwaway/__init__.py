"""Throw-away Debian systems: a root, a slow mirror, and rooms in which a tool applies a tree to a copy of the root."""
