"""Bundled execution modules."""
