"""The commands of the engine, and the text of ``asyncstate --help``, which also lists the commands of extras."""

from __future__ import annotations

OWN = {
    "apply": ("Run", "Bring this machine into the state a tree describes."),
    "plan": ("Run", "Show what apply would do, without changing anything: a dry run."),
    "check": ("Run", "Compile a tree and report every mistake; run nothing."),
    "init": ("Run", "Create a small tree with comments that explain it."),
    "single": ("Run", "Run one state function, without an SLS file."),
    "call": ("Run", "Call one execution module function and print what it returns."),
    "show": ("Look", "Show what a tree compiles to: highstate, lowstate, sls, top"),
    "runs": ("Past runs", "List, show, compare and forget past runs of this machine."),
    "replay": ("Past runs", "Show the report of a past run again, in any format."),
    "help": ("Shell", "Explain a command: its usual options, or all of them."),
}
"""Command -> (section of the overview, one line of help), in the order of the overview."""
_SECTIONS = ("Run", "Look", "Past runs", "Fleet", "Shell")


def commands() -> dict[str, tuple[str, str]]:
    """Return the section and the line of help of each command, extras included, in the order of the overview."""
    from asyncstate import extend

    additions = extend.commands()
    added = {name: (section, text) for name, (section, text, _) in additions.items() if " " not in name}
    every = OWN | added
    section, text = OWN["show"]
    shown = [name.removeprefix("show ") for name in additions if name.startswith("show ")]
    every["show"] = (section, f"{', '.join([text, *sorted(shown)])}.")
    return dict(sorted(every.items(), key=lambda each: _SECTIONS.index(each[1][0])))


GENERAL_OPTIONS = (
    ("-l, --log-level LEVEL", "Log to standard error: debug, info, warning (default), error, quiet."),
    ("--log-file FILE", "Append the log to FILE; standard error then gets warnings only."),
    ("--log-format text|json", "Format of the log."),
    ("--color auto|always|never", "Use colours. NO_COLOR and FORCE_COLOR are respected."),
    ("--debug", "Show the Python traceback of an internal error."),
    ("-h, --help", "Explain the command and its usual options."),
    ("--help-all", "Explain every option of the command."),
)

_EXAMPLES = (
    ("asyncstate apply", "the highstate: what top.sls assigns to this machine", ""),
    ("asyncstate plan web db", "a dry run of two SLS files", ""),
    ("asyncstate apply web -j 16 --profile", "sixteen states at once, and where the time went", "analysis"),
    ("asyncstate check --file-root ./salt", "find every mistake before anything runs", ""),
    ("asyncstate doc file.managed", "arguments and documentation of a state", "manual"),
)
"""Command lines, what they do, and the part of an extra that they need, if any."""

_CLOSING = (
    "",
    "Exit codes: 0 all right, 1 does not compile or wrong usage, 2 a state failed,",
    "            124 timeout, 125 cancelled by a program, 130 or 143 interrupted.",
    "asyncstate --version prints the version.",
)


def overview() -> str:
    """Return the text of ``asyncstate --help``."""
    from asyncstate import extend

    lines = ["Usage: asyncstate COMMAND [ARGUMENTS] [OPTIONS]", "", "Apply Salt-style state trees, concurrently."]
    section = ""
    for name, (part, text) in commands().items():
        if part != section:
            lines += ["", f"{part}:"]
            section = part
        lines.append(f"  {name:<12}{text}")
    lines += ["", "Options of every command:"]
    lines += [f"  {option:<28}{text}" for option, text in GENERAL_OPTIONS]
    lines += ["", "Examples:"]
    there = {"", *(part for extra in extend.extras() for part in extra.parts)}
    lines += [f"  {command:<38}{text}" for command, text, needed in _EXAMPLES if needed in there]
    return "\n".join([*lines, *_CLOSING])
