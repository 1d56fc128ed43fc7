"""Bundled state modules: thin checks before and after; the work is in the execution modules."""
