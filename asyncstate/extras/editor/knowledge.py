"""The data that answers are made of: the texts, and the compiler's last answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from asyncstate.extras.editor.messages import Compiled, Seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.extras.editor.messages import Function, Rendered
    from asyncstate.extras.editor.tree import Tree


@dataclass
class Knowledge:
    """``functions`` are all states by name, ``seen`` what this host has, ``compiled`` the tree after rendering."""

    tree: Tree
    functions: dict[str, Function] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)
    compiled: Compiled = field(default_factory=Compiled)

    def rendered(self, module: str, target: str) -> Iterator[Rendered]:
        """Yield the states of the compiled tree that ``module: target`` names, by ID or name."""
        for state in self.compiled.states:
            if target in {state.id, state.name} and (not module or module in {state.state, "id"}):
                yield state
