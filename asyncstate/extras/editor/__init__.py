"""The language server of ``asyncstate lsp``: answers for editors while SLS files are written.

Two processes share the work. The server reads texts, which `texts` keeps as the editor has them: `outline` gives the
structure of one SLS file, whether it parses or not; `tree` keeps what all files declare and refer to; `context`
classifies the word at the cursor. It answers at once.

Renaming an ID must miss no place: `mentions` reads a text as YAML does, `scope` resolves the words of all files, and
`renaming` refuses an edit that would change their meaning.

The compiler (`standby`, `compiling`), a process of its own, renders and compiles as ``check`` and ``lint`` do; it
keeps renderings (`kept`), and stops when the text changes. `messages` is the protocol between the two processes,
`server` joins all.
"""
