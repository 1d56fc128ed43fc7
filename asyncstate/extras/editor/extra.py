"""Registration of the language server with the engine."""

from __future__ import annotations

from asyncstate.extend import Command, Extra

EXTRA = Extra(
    commands={
        "lsp": Command(
            "Shell",
            "Run the language server for an editor: completion, documentation, definitions … (a language server).",
            "asyncstate.extras.editor.command",
        )
    }
)
