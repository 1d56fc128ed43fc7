"""Salt's functions on data: text, collections, dates, addresses, digests, YAML.

Template filters, the ``salt`` namespace and bundled modules offer them under other names; the code of each is here.
``packages`` lists what packages of a distribution bring. Nothing in this package depends on a tree, a runtime or a
plugin.
"""
