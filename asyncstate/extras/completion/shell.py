"""The interface to shells: completion scripts for bash, zsh and fish, and the answer to their requests.

The scripts run the program with the name of the shell in ``_ASYNCSTATE_COMPLETE``. zsh and fish pass the words up to
the cursor as arguments, the unfinished one last, with its quotation marks in fish; bash passes the whole line, because
it splits words at ``=`` and ``:``. The answer is a line with the kind of completion, then a line for each word:
``words``; ``nospace``, if more is to be typed; ``files`` and ``dirs``, which the shell finds itself.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.errors import AsyncStateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

VARIABLE = "_ASYNCSTATE_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
SALT_CALL = "salt-call"
PROGRAMS = ("asyncstate", SALT_CALL)
"""The programs to complete: this one, or the launcher that ``salt-call --install`` writes."""
_OPEN_ENDED = ("=", ".", "/", ":")
_SPECIAL = frozenset(" \t\"'\\$`&|;<>()*?[]{}#!~")
_SPECIAL_QUOTED = frozenset('"\\$`')

_SCRIPTS = {
    "bash": r"""# bash completion of PROGRAM
_FUNCTION_completion() {
    local answer
    mapfile -t answer < <(
        export _ASYNCSTATE_COMPLETE=bash COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS
        exec "$1" 2>/dev/null
    )
    COMPREPLY=()
    case "${answer[0]-}" in
        words | nospace | files | dirs) COMPREPLY=("${answer[@]:1}") ;;
    esac
    case "${answer[0]-}" in
        files) compopt -o default ;;
        dirs) compopt -o dirnames ;;
        nospace) compopt -o nospace ;;
    esac
}
complete -o nosort -F _FUNCTION_completion PROGRAM
""",
    "zsh": r"""#compdef PROGRAM
# zsh completion of PROGRAM
_PROGRAM() {
    local -a answer values shown described
    local line
    answer=("${(@f)$(_ASYNCSTATE_COMPLETE=zsh ${~words[1]} "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    case "$answer[1]" in
        files) compset -P 1 '*='; _files ;;
        dirs) compset -P 1 '*='; _files -/ ;;
        words|nospace)
            for line in "${(@)answer[2,-1]}"; do
                values+=("${line%%$'\t'*}")
                shown+=("${line/$'\t'/  -- }")
            done
            described=(${(M)answer:#*$'\t'*})
            (( $#described )) && described=(-l)
            [[ $answer[1] == nospace ]] && described+=(-S '')
            compadd "${(@)described}" -V PROGRAM -d shown -a values
            ;;
    esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _PROGRAM "$@"
else
    compdef _PROGRAM PROGRAM
fi
""",
    "fish": r"""# fish completion of PROGRAM
function __FUNCTION_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l answer (_ASYNCSTATE_COMPLETE=fish command $program $words "$token" 2>/dev/null)
    switch "$answer[1]"
        case files dirs
            set -l before (string match -r '^[^=]*=' -- $token)
            for path in (__fish_complete_path (string replace -r '^[^=]*=' '' -- $token))
                printf '%s\n' "$before$path"
            end
        case words nospace
            set -e answer[1]
            test (count $answer) -gt 0; and printf '%s\n' $answer
    end
end
complete -c PROGRAM -f -k -a '(__FUNCTION_complete)'
""",
}


def script(shell: str, program: str) -> str:
    """Return the script that a shell has to read to complete lines of a program."""
    return _SCRIPTS[shell].replace("PROGRAM", program).replace("FUNCTION", program.replace("-", "_"))


class Line(NamedTuple):
    """A command line up to the cursor: ``words``, then the unfinished word ``begun`` without its quotes.

    The shell replaces ``begun`` from character ``start`` on; ``quote`` is the open quotation mark, if any.
    """

    words: list[str]
    begun: str
    start: int = 0
    quote: str = ""


def answer(shell: str, arguments: Sequence[str]) -> int:
    """Print the completions for a shell; nothing on an error, because a message would land in the line being typed."""
    if shell == "bash":
        launched = [word for word in arguments[:1] if word == SALT_CALL]
        own = launched[0] if launched else os.path.basename(sys.argv[0])
        breaks = os.environ.get("COMP_WORDBREAKS", " \t\n\"'><=;|&(:")
        line = bash_line(os.environ.get("COMP_LINE", ""), breaks, own)
        line = line._replace(words=[*launched, *line.words])
    else:
        begun = arguments[-1] if arguments else ""
        line = Line(list(arguments[:-1]), bash_line(f"- {begun}", "").begun if shell == "fish" else begun)
    from click import ClickException

    try:
        offered = completions(line.words, line.begun)
    except (AsyncStateError, ClickException, OSError):
        return 0
    kind = next((f"{item.type}s" for item in offered if item.type in {"file", "dir"}), "words")
    words: list[str] = []
    if kind == "words":
        words = [_word(shell, line, item) for item in offered if _can_stand(shell, line, item.value)]
        if len(words) == 1 and offered[0].value.endswith(_OPEN_ENDED):
            kind = "nospace"
    sys.stdout.write("\n".join([kind, *words, ""]))
    sys.stdout.flush()
    return 0


def completions(words: Sequence[str], begun: str) -> list[CompletionItem]:
    """Return the completions of ``begun`` after ``words`` of a command line of asyncstate."""
    from click.shell_completion import CompletionItem, ShellComplete

    from asyncstate.cli.root import root

    items = ShellComplete(root, {}, "asyncstate", VARIABLE).get_completions(list(words), begun)
    option, equals, _ = begun.partition("=")
    if equals and begun.startswith("-"):  # click leaves the option out
        return [CompletionItem(f"{option}={item.value}", type=item.type, help=item.help) for item in items]
    return items


def bash_line(text: str, breaks: str, own: str = "asyncstate") -> Line:
    """Parse a line of bash. ``breaks`` are the characters at which bash splits words.

    The line may begin with another program: `sudo asyncstate apply`. ``own`` is the name of this program.
    """
    words: list[str] = []
    word: list[str] | None = None
    quote, start, escaped = "", 0, False
    for character in text:
        if escaped:
            escaped = False
            word = [*(word or ()), character]
        elif character == "\\" and quote != "'":
            escaped = True
            word = word or []
        elif quote:
            if character == quote:
                quote = ""
            else:
                word = [*(word or ()), character]
        elif character in "\"'":
            quote, word = character, word or []
            start = len(word)
        elif character in " \t\n":
            if word is not None:
                words.append("".join(word))
            word, start = None, 0
        else:
            word = [*(word or ()), character]
            if character in breaks:
                start = len(word)
    program = next((place for place, each in enumerate(words) if os.path.basename(each) == own), 0)
    return Line(words[program + 1 :], "".join(word or ()), start, quote)


def _can_stand(shell: str, line: Line, value: str) -> bool:
    """Return whether a value can be typed there: in "", bash replaces ``!`` by an old line, whatever escapes it."""
    return value.isprintable() and not (shell == "bash" and line.quote == '"' and "!" in value)


def _word(shell: str, line: Line, item: CompletionItem) -> str:
    if shell != "bash":
        return f"{item.value}\t{item.help.splitlines()[0]}" if item.help else item.value
    value: str = item.value[line.start :]
    if line.quote == "'":
        return value.replace("'", "'\\''")
    special = _SPECIAL_QUOTED if line.quote else _SPECIAL
    return "".join(f"\\{each}" if each in special else each for each in value)
