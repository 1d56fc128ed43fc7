"""High data: all SLS files merged into one mapping by ID.

Read in this order: ``highstate`` renders and includes, ``declarations`` brings every body into one form, ``extend``,
``requisite_in`` and ``exclude`` apply what one SLS says about the states of another, ``verify`` checks the result.
"""
