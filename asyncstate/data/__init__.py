"""Salt's functions on data: text, collections, dates, addresses, digests, YAML.

Template filters, the ``salt`` namespace and bundled modules offer them under names of their own; each is here once.
Nothing in here knows a tree, a runtime or a plugin.
"""
