"""What the language server adds to the engine."""

from __future__ import annotations

from asyncstate.extend import Command, Extra

EXTRA = Extra(
    commands={
        "lsp": Command(
            "Shell",
            "Answer an editor: completion, documentation, definitions … (a language server).",
            "asyncstate.extras.editor.command",
        )
    }
)
