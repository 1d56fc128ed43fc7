"""Bundled state modules: they check before and after; the execution modules do the work."""
