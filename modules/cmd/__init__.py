"""The ``cmd`` execution module, which runs all programs for plugins.

The functions take Salt's arguments; those that only made sense for Salt (``use_vt``, ``password`` …) are accepted and
ignored. Two promises differ from Salt on purpose: standard input is empty instead of the terminal unless ``stdin`` is
given, and a background process that keeps the output pipe open does not keep the caller waiting (Salt #13861).
"""

from __future__ import annotations

import fcntl
import inspect
import logging
import os
import shlex
import stat
import time
from contextlib import suppress
from typing import Any, BinaryIO

from asyncstate import filesystem, residue
from asyncstate.dunders import __opts__, __salt__
from asyncstate.errors import CommandExecutionError, InvocationError, PathRefused, RenderError

from .._environ_overlay import effective_environ as _effective_environ  # noqa: TID252 - as `modules` for type checkers
from . import _invocation
from ._account import Account as _Account
from ._direct import is_program as _is_program

log = logging.getLogger(__name__)

_SYSTEM_PATH = ("/sbin", "/bin", "/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin")
_WRITER_CHECKS, _WRITER_PAUSE = 200, 0.005


def run_all(
    cmd: Any,
    cwd: str | None = None,
    stdin: str | None = None,
    runas: str | None = None,
    group: str | None = None,
    shell: str | None = None,
    python_shell: bool | None = None,
    env: Any = None,
    *,
    hide_output: bool = False,
    redirect_stderr: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Run ``cmd`` and return ``pid``, ``retcode``, ``stdout`` and ``stderr``.

    No shell is used unless ``python_shell`` is True; then ``shell`` reads the command. ``bg: True`` returns at once,
    with retcode None. `Options` has the other arguments.
    """
    options.update(
        cwd=cwd, stdin=stdin, runas=runas, group=group, shell=shell, python_shell=_shell_wanted(python_shell), env=env
    )
    result = _invocation.execute(cmd, _invocation.Options.of(options), merge_stderr=redirect_stderr)
    if hide_output:
        result["stdout"] = result["stderr"] = ""
    return result


def run(
    cmd: Any,
    cwd: str | None = None,
    stdin: str | None = None,
    runas: str | None = None,
    group: str | None = None,
    shell: str | None = None,
    python_shell: bool | None = None,
    env: Any = None,
    *,
    hide_output: bool = False,
    redirect_stderr: bool = True,
    raise_err: bool = False,
    **options: Any,
) -> str:
    """Run ``cmd`` and return its output, with standard error unless ``redirect_stderr`` is False.

    ``raise_err`` turns a failure into CommandExecutionError with the output as its message.
    """
    result = run_all(
        cmd, cwd, stdin, runas, group, shell, python_shell, env, redirect_stderr=redirect_stderr, **options
    )
    output = "" if hide_output else str(result["stdout"])
    failed = result["retcode"] not in (0, None) and not options.get("ignore_retcode")
    if raise_err and failed:
        raise CommandExecutionError(output)
    return output


def shell(
    cmd: Any,
    cwd: str | None = None,
    stdin: str | None = None,
    runas: str | None = None,
    group: str | None = None,
    shell: str | None = None,
    env: Any = None,
    **options: Any,
) -> str:
    """Like `run`, with the command read by the shell."""
    python_shell = options.pop("python_shell", True)
    return run(cmd, cwd, stdin, runas, group, shell, python_shell is None or python_shell, env, **options)


def run_stdout(cmd: Any, cwd: str | None = None, *, hide_output: bool = False, **options: Any) -> str:
    """Run ``cmd`` and return its standard output alone."""
    return "" if hide_output else str(run_all(cmd, cwd, **options)["stdout"])


def run_stderr(cmd: Any, cwd: str | None = None, *, hide_output: bool = False, **options: Any) -> str:
    """Run ``cmd`` and return its standard error alone."""
    return "" if hide_output else str(run_all(cmd, cwd, **options)["stderr"])


def retcode(cmd: Any, cwd: str | None = None, **options: Any) -> int | None:
    """Run ``cmd`` and return its exit status; negative for a signal."""
    result: int | None = run_all(cmd, cwd, redirect_stderr=True, **options)["retcode"]
    return result


def run_bg(cmd: Any, cwd: str | None = None, **options: Any) -> dict[str, int]:
    """Start ``cmd`` in the background and return its ``pid``. Its output is discarded."""
    options["bg"] = True
    return {"pid": run_all(cmd, cwd, **options)["pid"]}


def refusal(cmd: Any, python_shell: bool | None = None, **options: Any) -> str:
    """Return why `run_all` would not start ``cmd`` with these arguments, "" if it would; nothing is run.

    The account, the folder, the shell and the values are checked; without a shell, also the program.
    """
    options["python_shell"] = _shell_wanted(python_shell)
    try:
        _invocation.execute(cmd, _invocation.Options.of(options), starts=False)
    except (CommandExecutionError, InvocationError, RenderError) as error:
        return str(error)
    return ""


def script_refusal(
    source: str,
    cwd: str | None = None,
    *,
    template: str | None = None,
    saltenv: str | None = None,
    runas: str | None = None,
    **options: Any,
) -> str:
    """Return why `script` would not start ``source`` with these arguments, "" if it would; nothing is run.

    The script is rendered, and the interpreter that it names is looked for.
    """
    import tempfile  # noqa: PLC0415 - few trees foresee a script

    from ._scripts import unstartable  # noqa: PLC0415

    saltenv = saltenv or __opts__.get("saltenv") or "base"
    place = _safe_place(cwd or None, runas) or tempfile.gettempdir()
    path = source if os.path.isabs(source) else __salt__["cp.cache_file"](source, saltenv) or ""
    return unstartable(source, path, template, place, saltenv, {**options, "cwd": cwd, "runas": runas})


def script(
    source: str,
    args: Any = None,
    cwd: str | None = None,
    *,
    template: str | None = None,
    saltenv: str | None = None,
    runas: str | None = None,
    python_shell: bool | None = None,
    hide_output: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Copy a script from ``source``, run it with ``args`` and return what `run_all` returns.

    ``template`` names the renderer for the script; ``context`` and ``defaults`` are its variables. If the source does
    not exist, the result has retcode 1 and ``cache_error``.
    """
    saltenv = saltenv or __opts__.get("saltenv") or "base"
    options.pop("__env__", None)
    cwd = cwd or None
    suffix = os.path.splitext(source.split("?", 1)[0])[1]
    descriptor, path = residue.temporary_file(directory=_safe_place(cwd, runas), suffix=suffix)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if not _fetch_script(source, file, template, saltenv, options):
                return {"pid": 0, "retcode": 1, "stdout": "", "stderr": "", "cache_error": True}
            _hand_over(descriptor, runas)
        _wait_for_writers(path)
        words = shlex.split(args) if isinstance(args, str) else list(args or [])
        return run_all(
            [path, *words],
            cwd,
            runas=runas,
            python_shell=False if words else python_shell,
            hide_output=hide_output,
            **options,
        )
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


def script_retcode(source: str, args: Any = None, cwd: str | None = None, **options: Any) -> int | None:
    """Like `script`, rendered by Jinja unless ``template`` says otherwise; returns the exit status."""
    options.setdefault("template", "jinja")
    result: int | None = script(source, args, cwd, **options)["retcode"]
    return result


def exec_code(lang: str, code: str, cwd: str | None = None, args: Any = None, **options: Any) -> str:
    """Run ``code`` with the interpreter ``lang`` and return its standard output."""
    return str(exec_code_all(lang, code, cwd, args, **options)["stdout"])


def exec_code_all(lang: str, code: str, cwd: str | None = None, args: Any = None, **options: Any) -> dict[str, Any]:
    """Run ``code`` with the interpreter ``lang`` and return what `run_all` returns."""
    descriptor, path = residue.temporary_file()
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(code)
            _hand_over(descriptor, options.get("runas"))
        words = [args] if isinstance(args, str) else list(args or [])
        options["python_shell"] = False
        return run_all([lang, path, *words], cwd, **options)
    finally:
        os.unlink(path)


def run_chroot(
    root: str,
    cmd: Any,
    cwd: str | None = None,
    *,
    runas: str | None = None,
    group: str | None = None,
    binds: list[str] | None = None,
    hide_output: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Run ``cmd`` in a chroot at ``root``, with its shell; dev, proc, sys and ``binds`` are mounted there meanwhile.

    Unlike in Salt, processes left in the tree are not killed, as they may belong to another state.
    """
    filesystem.require_unshared(root, "chroot")
    mounted: list[str] = []
    try:
        for target, device, kind, mount_options in _chroot_mounts(root, binds or []):
            arguments = {"opts": mount_options} if mount_options else {"fstype": kind}
            __salt__["mount.mount"](target, device, **arguments)
            mounted.append(target)
        inner = "/bin/bash" if os.path.isfile(os.path.join(root, "bin/bash")) else "/bin/sh"
        account = [f"--userspec={runas}:{group or ''}"] if runas else []
        line = " ".join(str(word) for word in cmd) if isinstance(cmd, (list, tuple)) else str(cmd)
        options["python_shell"] = False
        return run_all(["chroot", *account, root, inner, "-c", line], cwd, hide_output=hide_output, **options)
    finally:
        for target in reversed(mounted):
            __salt__["mount.umount"](target)


def which(cmd: str) -> str | None:
    """Return the path of a program: the given path, else the one found in PATH or the usual system directories."""
    if not cmd:
        return None
    if _is_program(cmd):
        return cmd
    folders = _effective_environ().get("PATH", "").split(os.pathsep)
    for folder in [*folders, *(path for path in _SYSTEM_PATH if path not in folders)]:
        candidate = os.path.join(os.path.expandvars(folder), cmd)
        if _is_program(candidate):
            return candidate
    return None


def which_bin(cmds: list[str] | str) -> str | None:
    """Return the path of the first of several programs that exists."""
    names = [cmds] if isinstance(cmds, str) else cmds
    return next((path for path in map(which, names) if path), None)


def has_exec(cmd: str) -> bool:
    """Return whether a program exists."""
    return which(cmd) is not None


def shells() -> list[str]:
    """Return the login shells listed in /etc/shells."""
    try:
        with open("/etc/shells", encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except OSError:
        return []
    return [line for line in lines if line and not line.startswith("#")]


def _name_options() -> None:
    """Put the fields of `Options` into the signatures, for code that inspects them."""
    defaults = _invocation.Options()
    for function in (
        run,
        run_all,
        run_stdout,
        run_stderr,
        retcode,
        run_bg,
        run_chroot,
        refusal,
        script,
        script_refusal,
        shell,
    ):
        signature = inspect.signature(function)
        *own, rest = signature.parameters.values()
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=getattr(defaults, name))
            for name in defaults.__struct_fields__
            if name not in signature.parameters
        ]
        vars(function)["__signature__"] = signature.replace(parameters=[*own, *more, rest])


def _shell_wanted(python_shell: bool | None) -> bool:
    if python_shell is None:
        return __opts__.get("cmd_safe", True) is False
    return python_shell is True


def _safe_place(cwd: str | None, runas: str | int | None) -> str | None:
    """Return ``cwd`` as the folder for a script, None if other users could replace the script there."""
    if cwd is None:
        return None
    account = _Account(runas, None)
    found = os.stat(cwd)
    trusted = {0, os.geteuid()} if account.entry is None else {0, os.geteuid(), account.entry.pw_uid}
    is_shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX
    if is_shared or found.st_uid not in trusted:
        return None
    try:
        if not account.is_other_user:
            filesystem.require_own_place(cwd, "a script")  # the owner of a parent folder can replace everything in it
    except PathRefused:
        return None
    return cwd


def _fetch_script(source: str, file: BinaryIO, template: str | None, saltenv: str, options: dict[str, Any]) -> bool:
    """Write a script into an open file: in a user's folder, its path could name another file by now."""
    import shutil  # noqa: PLC0415 - most commands are no scripts

    with residue.temporary_folder(prefix="asyncstate-script-") as folder:
        if template:
            path = os.path.join(folder, "script")
            variables = {name: options.pop(name) for name in ("context", "defaults") if name in options}
            if not __salt__["cp.get_template"](source, path, template, saltenv, **variables):
                return False
        else:
            path = __salt__["cp.cache_file"](source, saltenv)
            if not path or not filesystem.is_file(path):
                return False
        with filesystem.open_read(path) as fetched:
            shutil.copyfileobj(fetched, file)
    return True


def _wait_for_writers(path: str) -> None:
    """Wait until no process has the script open for writing: the kernel would not run it ("Text file busy").

    We closed it, but a child that another thread forks at this moment has our descriptor until its exec. A read lease
    is refused as long as there is such a writer; on a file system without leases we go on.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        for _ in range(_WRITER_CHECKS):
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except BlockingIOError:
                time.sleep(_WRITER_PAUSE)
            else:
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
                return
    except OSError:
        return
    finally:
        os.close(descriptor)


def _hand_over(descriptor: int, runas: str | int | None) -> None:
    """Restrict a script to the account that will run it."""
    account = _Account(runas, None)
    if account.entry is not None:
        os.fchown(descriptor, account.entry.pw_uid, -1)
    os.fchmod(descriptor, 0o500)


def _chroot_mounts(root: str, binds: list[str]) -> list[tuple[str, str, str, str]]:
    kinds = (("dev", "devtmpfs", "devtmpfs"), ("proc", "proc", "proc"), ("sys", "sysfs", "sysfs"))
    system = [(os.path.join(root, name), device, kind, "") for name, device, kind in kinds]
    return system + [(os.path.join(root, os.path.relpath(path, os.sep)), path, "", "default,bind") for path in binds]


_name_options()
