"""Running git: with SSH identities and options, and without passwords in messages and logs."""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlparse, urlunparse

from asyncstate import filesystem, residue
from asyncstate.data.urls import without_credentials
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SILENT = 60
"""Seconds after which a server that sends nothing counts as gone; git itself waits for ever."""
_UNATTENDED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_HTTP_LOW_SPEED_LIMIT": "1",
    "GIT_HTTP_LOW_SPEED_TIME": str(_SILENT),
}
"""There is no user to answer: a remote that asks for a password is an error instead of a hanging run."""
_SSH = (
    "ssh -oStrictHostKeyChecking=no -oPasswordAuthentication=no -oKbdInteractiveAuthentication=no "
    f"-oChallengeResponseAuthentication=no -oConnectTimeout={_SILENT} -oServerAliveInterval=15 "
    f"-oServerAliveCountMax={_SILENT // 15}"
)


def redacted(text: str) -> str:
    """Return ``text`` with the user and password of every http(s) URL hidden."""
    return without_credentials(text, http_only=True)


def with_credentials(url: str, user: str | None, password: str | None) -> str:
    """Return ``url`` with user and password in it. Raises InvocationError unless it is an https URL."""
    if user is None and password is None:
        return url
    parts = urlparse(url)
    if parts.scheme != "https":
        raise InvocationError("Basic Auth only supported for HTTPS")
    login = quote(user or "", safe="")
    if password is not None:
        login += ":" + quote(password, safe="")
    return urlunparse(parts._replace(netloc=f"{login}@{parts.netloc}"))


def expanded(cwd: Any, user: str | None) -> str:
    """Return ``cwd`` as an absolute path; a relative one starts at the home of ``user``."""
    return os.path.join(os.path.expanduser(f"~{user}" if user else "~"), str(cwd))


def split_options(options: Any) -> list[str]:
    """Return command line options, given as text or as a list, as a list; a last ``--`` is dropped."""
    if options is None:
        return []
    if isinstance(options, (list, tuple)):
        return [str(option) for option in options]
    words = shlex.split(options) if isinstance(options, str) else [str(options)]
    return words[:-1] if words and words[-1] == "--" else words


def comma_separated(value: Any) -> list[str]:
    """Return ``value`` as a list of texts: a list as it is, text split at its commas."""
    return [str(item) for item in (value if isinstance(value, (list, tuple)) else str(value).split(","))]


def refuse_unknown(arguments: dict[str, Any]) -> None:
    """Raise InvocationError, with Salt's message, for keyword arguments that a function does not have."""
    unknown = [f"{name}={value}" for name, value in arguments.items() if not name.startswith("__")]
    if unknown:
        raise InvocationError(f"The following keyword arguments are not valid: {', '.join(unknown)}")


def run(
    arguments: list[str],
    cwd: str | None = None,
    *,
    user: str | None = None,
    password: str | None = None,
    identity: Any = None,
    git_opts: Any = None,
    ignore_retcode: bool = False,
    failhard: bool = True,
    redirect_stderr: bool = False,
    saltenv: str = "base",
    output_encoding: str | None = None,
    rstrip: bool = True,
) -> dict[str, Any]:
    """Run git and return the result of ``cmd.run_all``. With ``failhard``, raises CommandExecutionError if git fails.

    ``identity`` is a private key for ssh, or a list of keys to try in turn; ``salt://`` keys are copied to a private
    file while the command runs. ``git_opts`` stand before the subcommand.
    """
    if cwd:
        filesystem.require_unshared(cwd, "git", user)
    command = ["git", *split_options(git_opts), *arguments]
    options = {
        "cwd": cwd,
        "runas": user,
        "password": password,
        "python_shell": False,
        "log_callback": redacted,
        "ignore_retcode": ignore_retcode,
        "redirect_stderr": redirect_stderr,
        "output_encoding": output_encoding,
        "rstrip": rstrip,
    }
    if identity:
        return _run_with_keys(command, identity, options, user=user, saltenv=saltenv, failhard=failhard)
    result: dict[str, Any] = __salt__["cmd.run_all"](command, env=dict(_UNATTENDED), **options)
    if result["retcode"] and failhard:
        output = result["stdout" if redirect_stderr else "stderr"]
        message = f"Command '{redacted(' '.join(command))}' failed"
        raise CommandExecutionError(f"{message}: {redacted(output)}" if output else message)
    return result


def _run_with_keys(
    command: list[str], identity: Any, options: dict[str, Any], *, user: str | None, saltenv: str, failhard: bool
) -> dict[str, Any]:
    complaints: list[str] = []
    missing: list[str] = []
    result: dict[str, Any] = {"retcode": 1, "stdout": "", "stderr": ""}
    for key in identity if isinstance(identity, (list, tuple)) else [identity]:
        with _key_file(str(key), user, saltenv) as path:
            if path is None:
                missing.append(str(key))
                continue
            env = {**_UNATTENDED, "GIT_SSH_COMMAND": f"{_SSH} -i {shlex.quote(path)}", "GIT_SSH_VARIANT": "ssh"}
            result = __salt__["cmd.run_all"](command, env=env, **options)
        if not result["retcode"]:
            return result
        output = result["stdout" if options["redirect_stderr"] else "stderr"]
        if output:
            complaints.append(redacted(output))
    if not failhard:
        return result
    message = "Unable to authenticate using identity file:\n\n" + "\n".join(complaints)
    if missing:
        gap = "\n\n" if complaints else ""
        message += f"{gap}The following identity file(s) were not found: {', '.join(missing)}"
    raise CommandExecutionError(message)


@contextmanager
def _key_file(key: str, user: str | None, saltenv: str) -> Iterator[str | None]:
    """Yield the path of a private key, None if there is none."""
    if not key.startswith("salt://"):
        yield key if filesystem.is_file(key) else None
        return
    cached = __salt__["cp.cache_file"](key, saltenv)
    if not cached:
        yield None
        return
    descriptor, path = residue.temporary_file(prefix="asyncstate-git-")
    try:
        with os.fdopen(descriptor, "wb") as copy, filesystem.open_read(cached) as original:
            copy.write(original.read())
        if user:
            os.chown(path, int(__salt__["file.user_to_uid"](user)), -1)
        yield path
    finally:
        filesystem.remove(path)
