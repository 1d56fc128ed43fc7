"""Bundled state modules: they compare before and after; the execution modules do the work."""
