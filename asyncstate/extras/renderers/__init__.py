"""Renderers that few trees use: ``pyobjects`` and ``stateconf``."""
