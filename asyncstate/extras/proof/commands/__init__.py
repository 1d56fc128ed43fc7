"""The commands ``shake`` and ``footprints``."""
