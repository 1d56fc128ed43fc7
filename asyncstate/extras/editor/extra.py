"""Registration of the language server with the engine."""

from __future__ import annotations

from asyncstate import extend

EXTRA = extend.Extra(
    commands={
        "lsp": (
            "Shell",
            "Run the language server for an editor: completion, documentation, definitions … (a language server).",
            "asyncstate.extras.editor.command",
        )
    }
)
