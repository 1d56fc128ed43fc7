"""The part of the ``salt`` package that custom modules of real trees import.

The names were chosen by counting imports: 273 custom modules of 21 public repositories use exceptions,
``utils.files|path|platform|yaml|json|odict|dictupdate|data|args|versions|…``, ``ext.six`` and little else. Results and
messages are those of Salt 3008; names that older releases kept in ``salt.utils`` itself are found there as well.
``salt.modules.x`` and ``salt.states.x`` lead to ``__salt__`` and ``__states__``.

The package layout, ``utils`` included, is Salt's interface. Nothing here is for use by asyncstate itself.
"""

from __future__ import annotations

from asyncstate.extras.namespace.names import ModuleGetattr, submodules

__getattr__: ModuleGetattr = submodules(__name__)
