"""The language server of ``asyncstate lsp``: what an editor shows of SLS files while they are written.

Two processes share the work. The server reads texts, which `texts` keeps as the editor has them: `outline` gives the
structure of one SLS file, whether it parses or not; `tree` keeps what all files declare and refer to; `context` says
what stands at the cursor. It answers at once.

Renaming an ID must miss no place: `mentions` reads a text as YAML does, `scope` says what the words of all files mean,
and `renaming` refuses what would change that.

The compiler (`standby`, `compiling`), a process of its own, renders and compiles as ``check`` and ``lint`` do; it
keeps what it has rendered (`kept`), and leaves off when the text changes. `messages` is what the two say to each other,
`server` joins all.
"""
