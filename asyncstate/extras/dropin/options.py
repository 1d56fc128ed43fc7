"""The command line of ``salt-call``: Salt's options, which may be shortened, then a function and its arguments."""

from __future__ import annotations

import optparse
import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.errors import AsyncStateError

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIG_DIR = "/etc/salt"
"""Salt's configuration folder."""
USAGE_ERROR = 64
"""Salt's exit code for a command line that cannot be read (EX_USAGE of sysexits.h)."""
_LEVELS = ("all", "garbage", "trace", "debug", "profile", "info", "warning", "error", "critical", "quiet")
_NO_MASTER = "asyncstate has no master, so there is nothing to send it to"
_REFUSED = {
    "returner": ("--return", _NO_MASTER + ". Use --out=json, and send that"),
    "resources": ("--resources", "asyncstate manages this machine only"),
    "proxyid": ("--proxyid", "asyncstate manages this machine only"),
}


class WrongUsage(AsyncStateError):
    """The command line is malformed, or names something that does not exist. ``lines`` are the message."""

    def __init__(self, *lines: str, exit_code: int = USAGE_ERROR) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
        self.exit_code = exit_code


class Request(msgspec.Struct, kw_only=True):
    """A parsed command line of ``salt-call``. Paths are as given."""

    function: str = ""
    arguments: list[str] = []
    help: bool = False
    text: str = ""
    """The text to print instead of a call."""
    doc: bool = False
    all_grains: bool = False
    install: str = ""
    force: bool = False

    config_dir: str = ""
    local: bool = False
    minion_id: str = ""
    file_roots: list[str] = []
    pillar_roots: list[str] = []
    states_dirs: list[str] = []
    module_dirs: list[str] = []
    cachedir: str = ""
    trust_writable: bool = False

    out: str = ""
    out_file: str = ""
    out_file_append: bool = False
    out_indent: int | None = None
    state_output: str = ""
    state_verbose: bool | None = None
    state_output_diff: bool = False
    colour: str = "auto"
    log_level: str = ""
    log_file: str = ""
    log_file_level: str = ""

    retcode_passthrough: bool = False
    with_metadata: bool = False
    metadata: str | None = None
    no_parse: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The module of the function."""
        return self.function.partition(".")[0]

    @property
    def name(self) -> str:
        """The name of the function in its module."""
        return self.function.partition(".")[2]


class _Parser(optparse.OptionParser):
    def error(self, msg: str) -> Any:
        """Raise WrongUsage with Salt's message."""
        raise WrongUsage(*self.get_usage().rstrip("\n").splitlines(), "", f"salt-call: error: {msg}")


def help_text(description: str) -> str:
    """Return the help: what the command does, and all options."""
    return _parser(description).format_help()


def parse(words: Sequence[str]) -> Request:
    """Read a command line. Raises WrongUsage."""
    parser = _parser()
    options, rest = parser.parse_args(list(words))
    if options.help:
        return Request(help=True)
    if options.version or options.versions_report:
        return Request(text=_versions(report=options.versions_report))
    if options.install:
        return Request(install=options.install, force=options.force)
    if options.args_stdin:
        rest += [argument for line in sys.stdin or () for argument in line.split()]
    _check(parser, options, rest)
    return Request(
        function=rest[0] if rest else "",
        arguments=rest[1:],
        doc=options.doc,
        all_grains=options.grains_run,
        config_dir=options.config_dir,
        local=options.local,
        minion_id=options.id,
        file_roots=options.file_root or [],
        pillar_roots=options.pillar_root or [],
        states_dirs=options.states_dir or [],
        module_dirs=[part for each in options.module_dirs or () for part in each.split(",")],
        cachedir=options.cachedir,
        trust_writable=options.trust_writable,
        out=options.output or "",
        out_file=options.output_file or "",
        out_file_append=options.output_file_append,
        out_indent=options.output_indent,
        state_output=options.state_output or "",
        state_verbose=_truth(options.state_verbose),
        state_output_diff=options.state_output_diff,
        colour="always" if options.force_color else "never" if options.no_color else "auto",
        log_level=(options.log_level or "").lower(),
        log_file=options.log_file or "",
        log_file_level=(options.log_file_level or "").lower(),
        retcode_passthrough=options.retcode_passthrough,
        with_metadata=options.print_metadata,
        metadata=options.metadata,
        no_parse=tuple(options.no_parse.split(",")) if options.no_parse else (),
    )


def _check(parser: _Parser, options: Any, rest: list[str]) -> None:
    for name, (option, why) in _REFUSED.items():
        if getattr(options, name):
            parser.error(f"{option}: {why}")
    if options.user and options.user != _own_name():
        parser.error(f"--priv: run salt-call as {options.user}, for example with sudo -u {options.user}")
    if not rest and not options.grains_run and not options.doc:
        parser.error("Requires function, --grains or --doc")
    if rest and options.grains_run:
        parser.error("-g/--grains does not accept any arguments")
    if len(rest) > 1 and options.doc:
        parser.error("You can only get documentation for one method at one time")


def _own_name() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _truth(text: str | None) -> bool | None:
    return None if text is None else text.lower() != "false"


def _versions(*, report: bool) -> str:
    from asyncstate._version import __version__
    from asyncstate.data import SALT_VERSION

    salt = ".".join(map(str, SALT_VERSION))
    first = f"salt-call {salt} (asyncstate {__version__})\n"
    python = ".".join(map(str, sys.version_info[:3]))
    return f"Salt Version:\n  Salt: {salt}\n\nasyncstate: {__version__}\nPython: {python}\n" if report else first


def _parser(description: str = "") -> _Parser:
    parser = _Parser(
        prog="salt-call",
        usage="%prog [options] <function> [arguments]",
        description=description,
        epilog="What has no meaning without a Salt master is accepted and does nothing.",
        add_help_option=False,
    )
    for title, options in OPTIONS.items():
        group = optparse.OptionGroup(parser, title)
        for names, attributes in options:
            group.add_option(*names.split(), **attributes)
        parser.add_option_group(group)
    return parser


def _flag(names: str, help_: str, dest: str | None = None) -> tuple[str, dict[str, Any]]:
    return names, {"action": "store_true", "default": False, "help": help_, "dest": dest}


def _value(
    names: str, help_: str, dest: str | None = None, *, default: Any = "", **more: Any
) -> tuple[str, dict[str, Any]]:
    return names, {"default": default, "help": help_, "dest": dest, **more}


def _folders(names: str, help_: str) -> tuple[str, dict[str, Any]]:
    return names, {"action": "append", "default": None, "help": help_, "metavar": "DIR"}


OPTIONS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "What to do": [
        _flag("-h --help", "Show this help and examples."),
        _flag("--version", "Show the version of Salt whose behaviour this is."),
        _flag("-V --versions-report", "Show the versions of asyncstate and Python, too."),
        _flag("-g --grains", "Return the grains of this machine.", "grains_run"),
        _flag("-d --doc --documentation", "Show the documentation of a function, a module or all.", "doc"),
        _flag("--local", "Do not ask a master; asyncstate never does."),
        _flag("--args-stdin", "Read more arguments from standard input."),
        _value("--no-parse", "Arguments that are text, not YAML: a,b.", metavar="NAMES"),
        _value("--install", "Write a program named salt-call to DIR that runs this command.", metavar="DIR"),
        _flag("--force", "With --install: also where a real salt-call would no longer be found."),
    ],
    "Tree and configuration": [
        _value("-c --config-dir", "Folder of the configuration file, minion. Default: /etc/salt.", metavar="DIR"),
        _folders("-m --module-dirs", "Folder with more modules (repeatable)."),
        _folders("--file-root", "Folder with SLS files (repeatable)."),
        _folders("--pillar-root", "Folder with pillar files (repeatable)."),
        _folders("--states-dir", "Folder with more state modules (repeatable)."),
        _value("--cachedir", "Folder of the cache and of the lock.", metavar="DIR"),
        _value("--id", "The ID of this machine."),
        _flag("--trust-writable", "As root, follow configuration and load modules that others can change."),
        _flag("--skip-grains", "Accepted; grains are gathered quickly."),
        _flag("--refresh-grains-cache", "Accepted; grains are never cached."),
        _value("--master", "Accepted; there is no master."),
        _value("-t --timeout", "Accepted; there is no master.", "auth_timeout", default=60, type="int"),
        _value("--priv", "User to run as: only the one who runs it.", "user"),
        _value("--proxyid", "Not available: asyncstate manages this machine only."),
        _value("--saltfile", "Accepted; a Saltfile is not read."),
        _flag("-r --resources", "Not available: asyncstate manages this machine only."),
        _value("--tgt", "Not available: asyncstate manages this machine only."),
        _value("--tgt-type", "Not available: asyncstate manages this machine only."),
    ],
    "Result": [
        _flag("--retcode-passthrough", "Exit with the exit code of the function, not with 1."),
        _flag("--metadata", "Print what is known about the call, too.", "print_metadata"),
        _value("--set-metadata", "Metadata of the call, in YAML.", "metadata", default=None),
        _value("--return", "Not available: results are not sent anywhere.", "returner", metavar="RETURNER"),
        _flag("--no-return-event", "Accepted; there is no master."),
        _flag("--hard-crash", "Accepted; it has no effect."),
        _value("--module-executors", "Accepted; functions are called directly."),
        _value("--executor-opts", "Accepted; it has no effect."),
        _flag("--enable-profiling", "Accepted; see asyncstate apply --profile."),
        _value("--profiling-path", "Accepted; see asyncstate apply --profile."),
    ],
    "Output": [
        _value(
            "--out --output",
            "nested, highstate, json, yaml, txt, raw, pprint, table, quiet or newline_values_only.",
            "output",
            default=None,
        ),
        _value(
            "--out-indent --output-indent",
            "Spaces of a level; negative: none.",
            "output_indent",
            default=None,
            type="int",
        ),
        _value("--out-file --output-file", "Write the answer to FILE.", "output_file", default=None, metavar="FILE"),
        _flag("--out-file-append --output-file-append", "Append to that file, not replace it.", "output_file_append"),
        _flag("--no-color --no-colour", "No colours, wherever it is.", "no_color"),
        _flag("--force-color --force-colour", "Colours, even where there is no terminal.", "force_color"),
        _value("--state-output --state_output", "full, terse, mixed, changes or filter.", "state_output", default=None),
        _value(
            "--state-verbose --state_verbose",
            "False: leave out states that changed nothing.",
            "state_verbose",
            default=None,
        ),
        _flag("--output-diff", "Show only states that changed something.", "state_output_diff"),
        _value("-l --log-level", "Level of the log on standard error.", default=None, type="choice", choices=_LEVELS),
        _value("--log-file", "Append the log to FILE.", default=None, metavar="FILE"),
        _value("--log-file-level", "Level of the log in the file.", default=None, type="choice", choices=_LEVELS),
    ],
}
"""Title of a group -> its options: names, and the attributes of optparse."""
