"""Renderers: from SLS text to data, through a pipe."""
