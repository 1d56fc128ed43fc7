"""What plugins, options and codes say of themselves: their documentation, and the values that arguments may have.

Read in this order: ``function`` (the documentation of one function) with ``described`` and ``entries`` (its arguments),
``lookup`` (the functions of a loader), ``language`` (the words of SLS files), ``codes`` (mistakes), ``schemas``; then
``values`` with ``kinds`` and ``templates`` (wrong values in a tree), and interfaces: ``providers`` and
``interface_source``.
"""
