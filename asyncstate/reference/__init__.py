"""The documentation of plugins, read from their source: for ``asyncstate doc``, ``smi`` and the pages of the site.

Read in this order: ``function`` (the documentation of one function) with ``examples``, ``lookup`` (the functions of a
loader), ``pages`` (the site); then interfaces: ``providers`` and ``interface_source``.
"""
