"""Running child processes for ``cmd.run`` and similar functions, with Salt's dict as result."""

from __future__ import annotations

import codecs
import errno
import logging
import os
import shlex
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate import dunders
from asyncstate.dunders.context import observer
from asyncstate.errors import CommandExecutionError, InvocationError
from asyncstate.process.child import run_child, start_detached

from .._environ_overlay import effective_environ  # noqa: TID252 - type checkers know this tree as `modules`
from ._account import Account, login_environment
from ._direct import direct, is_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.process.child import Finished

    from ._direct import Direct

log = logging.getLogger(__name__)

_LEVELS = {
    "all": 0,
    "garbage": 1,
    "trace": 5,
    "debug": logging.DEBUG,
    "profile": 15,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "quiet": None,
}
_LONGEST_TEXT = 32 * os.sysconf("SC_PAGE_SIZE")
"""The kernel's limit on one argument or variable, with the NUL at its end."""
_NOT_EXECUTED = {
    *(errno.E2BIG, errno.EACCES, errno.EISDIR, errno.ELIBBAD, errno.ELOOP, errno.ENOENT, errno.ENOEXEC, errno.ENOTDIR),
    *(errno.EPERM, errno.ETXTBSY),
}
"""The errors of a program that the kernel does not start."""
_RESET_LOCALE = dict.fromkeys(
    (
        "LC_CTYPE",
        "LC_NUMERIC",
        "LC_TIME",
        "LC_COLLATE",
        "LC_MONETARY",
        "LC_MESSAGES",
        "LC_PAPER",
        "LC_NAME",
        "LC_ADDRESS",
        "LC_TELEPHONE",
        "LC_MEASUREMENT",
        "LC_IDENTIFICATION",
        "LANGUAGE",
    ),
    "C",
)


class Options(msgspec.Struct, kw_only=True):
    """The arguments, with Salt's names, for running a command. Others (``use_vt`` …) are accepted and ignored.

    ``runas`` and ``umask`` default to those of the current state. ``in_row`` is not Salt's: the row of the caller has
    the exit status and the output, so the log does not have the failure as an error.
    """

    cwd: Any = None
    stdin: Any = None
    runas: Any = None
    group: Any = None
    shell: Any = None
    python_shell: Any = None
    env: Any = None
    clean_env: bool = False
    prepend_path: Any = None
    template: Any = None
    rstrip: bool = True
    umask: Any = None
    timeout: Any = None
    output_encoding: Any = None
    output_loglevel: Any = "debug"
    log_callback: Any = None
    reset_system_locale: bool = True
    ignore_retcode: bool = False
    saltenv: Any = None
    bg: bool = False
    success_retcodes: Any = None
    success_stdout: Any = None
    success_stderr: Any = None
    stdin_raw_newlines: bool = False
    in_row: bool = False

    @classmethod
    def of(cls, arguments: dict[str, Any]) -> Options:
        """Return the options among ``arguments``; others are ignored."""
        return cls(**{name: arguments[name] for name in cls.__struct_fields__ if name in arguments})


def execute(cmd: Any, options: Options, *, merge_stderr: bool = False, starts: bool = True) -> dict[str, Any]:
    """Run ``cmd`` and return ``pid``, ``retcode``, ``stdout`` and ``stderr``, the outputs decoded.

    A string goes to the shell if ``python_shell`` is True; otherwise it is split as a shell would split it. In the
    background (``bg``) the retcode is None and the outputs are empty. A command that timed out has retcode 1 and a
    message in ``stdout``. Raises CommandExecutionError, with Salt's message, if it cannot be started.

    Without ``starts``, only the checks before a start are made.
    """
    call = dunders.context.current.get(None)
    if options.runas is None and call is not None:
        options.runas = call.runas
    shell = options.shell or default_shell()
    if not is_program(shell):
        raise CommandExecutionError(f"The shell {shell} is not available")
    level = log_level(options.output_loglevel)
    cwd = _working_directory(options)
    if options.template:
        cmd, cwd = _render(str(cmd), options), _render(cwd, options)
    account = None
    if options.runas or options.group:
        account = Account(options.runas, options.group)
    become = {} if account is None else account.popen_arguments()
    env = _environment(options, account, shell, login=starts)
    umask = _umask(options.umask)
    if umask < 0 and call is not None and call.umask is not None:
        umask = call.umask
    if options.cwd and (not os.path.isabs(cwd) or not os.path.isdir(cwd)):
        raise CommandExecutionError(f"Specified cwd '{cwd}' either not absolute or does not exist")
    if isinstance(cmd, str) and not cmd.strip():
        raise InvocationError("There is no command to run.")
    command, argv = _argument_list(cmd, shell if options.python_shell is True else None)
    successes = _success_retcodes(options.success_retcodes)
    timeout = _timeout(options.timeout)
    _check_encoding(options.output_encoding)
    if not starts:
        _require_startable(argv, env)
        _require_program(argv[0], env, cwd, become)
        return {}
    if level is not None and log.isEnabledFor(logging.INFO):
        log.info("Executing command %s in directory '%s'", program_of(cmd), cwd)
    try:
        if options.bg:
            pid = start_detached(argv, cwd=cwd, env=env, umask=umask, account=become)
            _leave_retcode(0)
            return {"pid": pid, "retcode": None, "stdout": "", "stderr": ""}
        run = partial(
            run_child,
            cwd=cwd,
            stdin=_stdin(options),
            merge_stderr=merge_stderr,
            umask=umask,
            account=become,
            timeout=timeout,
        )
        is_line = options.python_shell is True and isinstance(cmd, str) and account is None
        program = direct(cmd, shell, cwd, env) if is_line and observer.get() is None else None
        done = None if program is None else _run_directly(run, program)
        if done is None:
            done = run(argv, env=env)
    except OSError as error:
        if not options.cwd and not os.path.isdir(cwd):  # the home, which existed at the lookup
            return execute(cmd, msgspec.structs.replace(options, cwd="/", template=None), merge_stderr=merge_stderr)
        shown = command if level is not None else "REDACTED"
        context = _shown_context(cwd, shell, options, merge_stderr=merge_stderr)
        raise CommandExecutionError(
            f"Unable to run command '{shown}' with the context '{context}', reason: {error}"
        ) from error
    except ValueError as error:
        raise CommandExecutionError(str(error)) from error
    if done.timed_out:
        _leave_retcode(1)
        message = f"{command} : Timed out after {options.timeout} seconds"
        return {"stdout": message, "stderr": "", "retcode": 1, "pid": done.pid}
    stdout = _decode(done.stdout, options, "stdout", cmd)
    stderr = _decode(done.stderr, options, "stderr", cmd)
    retcode = 0 if done.returncode in successes else done.returncode
    if retcode and (_any_in(options.success_stdout, stdout) or _any_in(options.success_stderr, stderr)):
        retcode = 0
    _leave_retcode(0 if options.ignore_retcode else retcode)
    result = {"pid": done.pid, "retcode": retcode, "stdout": stdout, "stderr": stderr}
    if level is not None:
        _log_outcome(cmd, result, level, options)
    return result


def _run_directly(run: Callable[..., Finished], program: Direct) -> Finished | None:
    """Run a program without a shell; None if it does not start: a shell knows more ways, and has its own messages."""
    try:
        return run(program.argv, env=program.env, executable=program.program)
    except OSError as error:
        if error.errno not in _NOT_EXECUTED:
            raise
        return None


def default_shell() -> str:
    """Return the shell of the user who started this process, as Salt does."""
    return os.environ.get("SHELL", "/bin/sh")


def log_level(name: Any) -> int | None:
    """Return the number of a log level by Salt's name for it, None for ``quiet``; an unknown one counts as info."""
    return _LEVELS.get(str(name).lower(), logging.INFO)


def program_of(cmd: Any) -> str:
    """Return the first word of a command. Only that is logged, as the rest may contain secrets."""
    if isinstance(cmd, (list, tuple)):
        return str(cmd[0]).strip() if cmd else ""
    words = str(cmd).split(maxsplit=1)
    return words[0] if words else ""


def split_input(value: Any) -> list[Any]:
    """Return a list as it is, and anything else as the items of a comma-separated string."""
    return value if isinstance(value, list) else [item.strip() for item in str(value).split(",")]


def parse_env(env: Any) -> dict[str, str]:
    """Return ``env``, a dict or a list of one-key dicts, as strings; a variable without a value is empty."""
    if isinstance(env, list):
        pairs: dict[Any, Any] = {}
        for item in env:
            if isinstance(item, list):
                raise InvocationError("env must be a mapping of variables, or a list of such mappings")
            pairs.update(item if isinstance(item, dict) else {item: None})
        env = pairs
    if not isinstance(env, dict):
        return {}
    for key in (key for key, value in env.items() if value is None):
        log.error("Environment variable '%s' passed without a value. Setting value to an empty string", key)
    return {str(key): "" if value is None else str(value) for key, value in env.items()}


def _require_startable(argv: list[str], env: dict[str, str]) -> None:
    """Raise the error of the system call for arguments that it would refuse."""
    if any("\0" in text for text in (*argv, *env, *env.values())):
        raise CommandExecutionError("embedded null byte")
    if any("=" in name for name in env):
        raise CommandExecutionError("illegal environment variable name")
    texts = (*argv, *(f"{name}={value}" for name, value in env.items()))
    if any(len(os.fsencode(text)) >= _LONGEST_TEXT for text in texts):
        raise CommandExecutionError(os.strerror(errno.E2BIG))


def _working_directory(options: Options) -> str:
    if options.cwd:
        return str(options.cwd)
    home = os.path.expanduser(f"~{options.runas or ''}")
    return home if os.access(home, os.R_OK) and os.path.isdir(home) else "/"


def _environment(options: Options, account: Account | None, shell: str, *, login: bool) -> dict[str, str]:
    own = parse_env(options.env)
    if account is not None and account.entry is not None:
        of_login = login_environment(account, shell) if login and account.is_other_user else {}
        own = {**of_login, **own, "USER": account.name, "HOME": account.entry.pw_dir}
    if options.reset_system_locale:
        own = {**_RESET_LOCALE, **own}
    environment = own if options.clean_env else effective_environ() | own
    if options.prepend_path:
        environment["PATH"] = f"{options.prepend_path}:{environment.get('PATH', os.defpath)}"
    if "NOTIFY_SOCKET" not in own:
        environment.pop("NOTIFY_SOCKET", None)
    return environment


def _require_program(program: str, env: dict[str, str], cwd: str, become: dict[str, Any]) -> None:
    """Raise the error of starting a program, as far as it is foreseeable: the PATH of another user is not known."""
    import shutil  # noqa: PLC0415 - only dry runs ask

    if become and os.geteuid() != 0:
        raise CommandExecutionError(f"Only root can run {program} as another user or group")
    if os.sep not in program and become:
        return
    found = os.path.join(cwd, program) if os.sep in program else shutil.which(program, path=env.get("PATH", os.defpath))
    if not found or not os.path.isfile(found):
        raise CommandExecutionError(f"There is no program {program}")
    if not os.access(found, os.X_OK):
        raise CommandExecutionError(f"The program {program} may not be executed")


def _umask(umask: Any) -> int:
    if umask is None:
        return -1
    digits = str(umask).lstrip("0")
    if not digits:
        raise CommandExecutionError("Zero umask is not allowed.")
    try:
        return int(digits, 8)
    except ValueError:
        raise CommandExecutionError(f"Invalid umask: '{umask}'") from None


def _argument_list(cmd: Any, shell: str | None) -> tuple[Any, list[str]]:
    """Return the command as messages show it, and as it is executed."""
    if shell is not None:
        words = [str(word) for word in cmd] if isinstance(cmd, (list, tuple)) else [str(cmd)]
        return cmd, [shell, "-c", *words]
    if isinstance(cmd, (list, tuple)):
        argv = [str(word) for word in cmd]
    else:
        try:
            argv = shlex.split(str(cmd))
        except ValueError as error:
            raise CommandExecutionError(f"Unable to split command '{cmd}': {error}") from error
    if not argv:
        raise CommandExecutionError("The command is empty")
    return argv, argv


def _success_retcodes(value: Any) -> list[int]:
    if value is None:
        return [0]
    try:
        return [int(code) for code in split_input(value)]
    except (TypeError, ValueError):
        raise InvocationError("success_retcodes must be a list of integers") from None


def _timeout(timeout: Any) -> float | None:
    if not timeout:
        return None
    if not isinstance(timeout, (int, float)):
        raise CommandExecutionError(f"Error: timeout {timeout} must be a number")
    return float(timeout)


def _check_encoding(name: Any) -> None:
    if name:
        try:
            codecs.lookup(str(name))
        except LookupError as error:
            raise CommandExecutionError(str(error)) from error


def _stdin(options: Options) -> bytes | None:
    if options.stdin is None:
        return None
    text = str(options.stdin)
    return (text if options.stdin_raw_newlines else text.replace("\\n", "\n")).encode()


def _render(text: str, options: Options) -> str:
    saltenv = options.saltenv or dunders.__opts__.get("saltenv") or "base"
    return dunders.runtime_services().render_template(text, str(options.template), {}, saltenv)


def _decode(data: bytes, options: Options, name: str, cmd: Any) -> str:
    encoding = options.output_encoding or "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        log.error(  # noqa: TRY400 - the traceback would say nothing more
            "Failed to decode %s from command %s, non-decodable characters have been replaced", name, program_of(cmd)
        )
    return text.rstrip() if options.rstrip else text


def _any_in(wanted: Any, text: str) -> bool:
    return wanted is not None and any(str(item) in text for item in split_input(wanted))


def _leave_retcode(retcode: int) -> None:
    """Store the exit status for conditions (``onlyif: [{fun: cmd.run …}]``), for this call alone."""
    call = dunders.context.current.get(None)
    if call is not None:
        call.retcode = retcode


def _log_outcome(cmd: Any, result: dict[str, Any], level: int, options: Options) -> None:
    masked = options.log_callback if callable(options.log_callback) else str
    if result["retcode"] and not options.ignore_retcode and not options.in_row:
        level = max(level, logging.ERROR)
        log.error("Command '%s' failed with return code: %s", program_of(cmd), result["retcode"])
    for name in ("stdout", "stderr"):
        if result[name] and log.isEnabledFor(level):
            log.log(level, "%s: %s", name, masked(result[name]))


def _shown_context(cwd: str, shell: str, options: Options, *, merge_stderr: bool) -> dict[str, Any]:
    """Return the context in Salt's message: the arguments that Salt would pass to ``Popen``."""
    by_shell = options.python_shell is True
    shown: dict[str, Any] = {
        "cwd": cwd,
        "shell": options.python_shell or False,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT if merge_stderr else subprocess.PIPE,
        "with_communicate": True,
        "timeout": options.timeout,
        "bg": bool(options.bg),
    }
    if by_shell:
        shown["executable"] = shell
    shown["close_fds"] = True
    return shown
