"""Salt's functions on data: text, collections, dates, addresses, digests, YAML.

Template filters, the ``salt`` namespace and bundled modules offer them under other names. ``packages`` lists the
contents of a distribution's packages. Nothing in this package depends on a tree, a runtime or a plugin.
"""

from __future__ import annotations

from typing import Final

SALT_VERSION: Final = (3008, 3)
"""The release of Salt that asyncstate follows."""
