"""The ``gpg`` renderer: decrypts every PGP message in text or data with the ``gpg`` program."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from asyncstate.errors import RenderError
from asyncstate.logs import get_logger
from asyncstate.process.child import run_child

if TYPE_CHECKING:
    from asyncstate.render.context import RenderContext

logger: Final = get_logger(__name__)

_MESSAGE: Final = re.compile(r"-----BEGIN PGP MESSAGE-----.*?-----END PGP MESSAGE-----", re.DOTALL)
_PATIENCE: Final = 120


def render(data: Any, context: RenderContext) -> Any:
    """Return ``data`` with every PGP message in its text decrypted.

    Containers are changed in place. Each decrypted text goes into ``context.secrets``. Keys come from the option
    ``gpg_keydir``, else from ``gpgkeys`` beside the configuration. A message that cannot be decrypted raises
    RenderError; if the option ``gpg_decrypt_must_succeed`` is off, it stays as it is, with a warning.
    """
    program = shutil.which("gpg")
    if program is None:
        raise RenderError("GPG unavailable: the gpg renderer needs the program gpg", file=context.path, line=1)
    return _Decrypter(program, context).walk(data)


class _Decrypter:
    """Decrypts each distinct message of one rendering once."""

    def __init__(self, program: str, context: RenderContext) -> None:
        self._context = context
        self._command = [program, "--homedir", _key_directory(context), "--status-fd", "2", "--no-tty", "--batch", "-d"]
        self._plain: dict[str, str] = {}

    def walk(self, data: Any) -> Any:
        """Return ``data`` with its messages decrypted at any depth."""
        if isinstance(data, (str, bytes)):
            return self._text(data)
        waiting = [data]
        while waiting:
            container = waiting.pop()
            if isinstance(container, dict):
                entries: Any = list(container.items())
            elif isinstance(container, list):
                entries = list(enumerate(container))
            else:
                continue
            for key, value in entries:
                if isinstance(value, (str, bytes)):
                    container[key] = self._text(value)
                else:
                    waiting.append(value)
        return data

    def _text(self, value: str | bytes) -> str | bytes:
        try:
            text = value.decode() if isinstance(value, bytes) else value
        except UnicodeDecodeError:
            return value
        replaced, count = _MESSAGE.subn(lambda found: self._decrypt(found[0]), text)
        return replaced.rstrip("\n") if count else value

    def _decrypt(self, message: str) -> str:
        if message not in self._plain:
            self._plain[message] = self._ask(message)
        return self._plain[message]

    def _ask(self, message: str) -> str:
        cipher = message.replace("\\n", "\n").encode()
        try:
            answer = run_child(self._command, stdin=cipher, timeout=_PATIENCE)
        except OSError as error:
            return self._refused(message, str(error))
        if answer.timed_out:
            return self._refused(message, f"gpg did not end within {_PATIENCE:g} seconds")
        if not answer.stdout:
            return self._refused(message, answer.stderr.decode(errors="replace").strip())
        plain = answer.stdout.decode(errors="surrogateescape")
        secret = plain.strip("\n")
        if secret:
            self._context.secrets.add(secret)
        return plain

    def _refused(self, message: str, reason: str) -> str:
        if self._context.opts.get("gpg_decrypt_must_succeed", True):
            raise RenderError(f"Could not decrypt cipher {message!r}, received: {reason}", file=self._context.path)
        logger.warning("Could not decrypt cipher %r, received: %s", message, reason)
        return message


def _key_directory(context: RenderContext) -> str:
    configured = context.opts.get("gpg_keydir")
    if configured:
        return str(configured)
    directory = context.opts.get("config_dir")
    if not directory:
        file = context.opts.get("conf_file")
        directory = Path(str(file)).parent if file else "/etc/asyncstate"
    return str(Path(str(directory)) / "gpgkeys")
