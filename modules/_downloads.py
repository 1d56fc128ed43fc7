"""Fetching http and https URLs with the standard library, without ever showing a password."""

from __future__ import annotations

import base64
import hashlib
import http.client
import io
import os
import socket
import ssl
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from asyncstate import dunders, filesystem
from asyncstate.dunders import __opts__
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CHUNK = 1 << 18
_BODY_LIMIT = filesystem.READ_LIMIT
_HARMLESS = ("accept", "user-agent")


def redacted(url: str) -> str:
    """Return ``url`` with its password hidden."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc=f"<redacted>@{parts.netloc.rpartition('@')[2]}"))


def extern_path(url: str, saltenv: str, cachedir: str) -> str:
    """Return the path where Salt caches ``url``. CommandExecutionError for a URL whose path would leave the cache."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].replace(":", "")
    name = f"{parts.path}-{parts.query}" if parts.query else parts.path
    root = os.path.join(cachedir, "extrn_files", saltenv, host)
    path = os.path.normpath(root + os.sep + name)
    if not path.startswith(root + os.sep):
        raise CommandExecutionError(f"Invalid path: {redacted(url)}")
    return path


@contextmanager
def opened(
    url: str,
    *,
    method: str = "GET",
    data: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    verify_ssl: bool = True,
    ca_bundle: str | None = None,
    cert: Any = None,
    timeout: float | None = None,
) -> Iterator[Any]:
    """Open an http or https URL; a user and password in it become basic authentication. Raises urllib's errors.

    ``cert`` is the path of a client certificate, or a list of that path and the path of its key. ``timeout``, else the
    option ``http_connect_timeout``, is the number of seconds that the server may be silent.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"}:
        raise CommandExecutionError(f"Only http and https can be fetched: {redacted(url)}")
    sent = dict(headers or {})
    if parts.username is not None:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        sent["Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
        url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    context = None
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=ca_bundle)
        if not verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if cert:
            context.load_cert_chain(*([cert] if isinstance(cert, str) else cert))
    request = urllib.request.Request(url, data=data, headers=sent, method=method)  # noqa: S310 - the scheme was checked
    opener = urllib.request.build_opener(_Redirects(), _Connections(context=context))
    silent = float(__opts__["http_connect_timeout"] if timeout is None else timeout)
    try:
        response = opener.open(request, timeout=silent)
    except (http.client.HTTPException, ValueError) as error:  # a malformed URL, header or answer
        raise urllib.error.URLError(str(error)) from error
    with response, _hung_up_with_its_call(response):
        yield response


@contextmanager
def _hung_up_with_its_call(response: Any) -> Iterator[None]:
    """Close the connection when the call is cancelled: a silent server would block it until the timeout."""
    call = dunders.context.current.get(None)
    token = call.cancel if call is not None else None
    if token is None or response.isclosed():
        yield
        return
    with socket.socket(fileno=os.dup(response.fileno())) as line:
        release = token.on_cancel(partial(_hang_up, line))
        try:
            yield
        finally:
            release()


def _hang_up(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


class _Connections(urllib.request.HTTPSHandler, urllib.request.HTTPHandler):
    """Makes connections whose whole answers must arrive within ``http_request_timeout``."""

    def do_open(self, http_class: Any, req: urllib.request.Request, **http_conn_args: Any) -> Any:
        """Return the answer to a request."""

        def connect(host: str, **args: Any) -> http.client.HTTPConnection:
            connection: http.client.HTTPConnection = http_class(host, **args)
            connection.response_class = _Answer
            return connection

        return super().do_open(connect, req, **http_conn_args)


class _Answer(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        if limit := float(__opts__["http_request_timeout"]):
            self.fp: Any = io.BufferedReader(_Until(time.monotonic() + limit, sock, self.fp.detach()))


class _Until(io.RawIOBase):
    """Reads from a socket until a deadline: a server that sends single bytes is never silent."""

    def __init__(self, end: float, line: socket.socket, raw: Any) -> None:
        self._end, self._line, self._raw = end, line, raw

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def readinto(self, buffer: Any, /) -> int | None:
        left = self._end - time.monotonic()
        silent = self._line.gettimeout()
        try:
            self._line.settimeout(max(0.001, left if silent is None else min(left, silent)))
            return int(self._raw.readinto(buffer))
        except TimeoutError:
            if time.monotonic() < self._end:
                raise
            limit = f"{__opts__['http_request_timeout']:g} seconds of the option http_request_timeout"
            raise TimeoutError(f"The answer takes longer than the {limit}: raise it to wait") from None
        finally:
            self._line.settimeout(silent)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but sends no password, token or cookie to another server."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the next request."""
        if urlsplit(newurl).scheme not in {"http", "https"}:
            raise urllib.error.HTTPError(req.full_url, code, "redirected to another protocol", headers, fp)
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        if new is not None:
            fp.close()  # else its whole page would be read into memory
        if new is not None and urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
            for name in [name for name in new.headers if name.lower() not in _HARMLESS]:
                new.remove_header(name)
        return new


def read(url: str) -> bytes:
    """Return the content of ``url``. Raises CommandExecutionError, with Salt's message, if it cannot be fetched."""
    with _explained(url), opened(url) as response:
        return body(response)


def download(url: str, path: str, *, verify_ssl: bool = True, checksum: tuple[str, str] | None = None) -> None:
    """Download ``url`` to the file ``path``, completely or not at all.

    With ``checksum``, a kind of hash and its digits, CommandExecutionError for any other content.
    """
    digest = None if checksum is None else hashlib.new(checksum[0], usedforsecurity=False)
    with filesystem.Replacement(path) as new:
        with _explained(url), opened(url, verify_ssl=verify_ssl) as response:
            for chunk in _limited(response, *_room(response, new)):
                new.write(chunk)
                if digest is not None:
                    digest.update(chunk)
        if digest is not None and checksum is not None and digest.hexdigest() != checksum[1]:
            found = f"the {checksum[0]} {digest.hexdigest()}, not {checksum[1]}"
            raise CommandExecutionError(f"{redacted(url)} has {found}")
        new.commit(sync=False)


def body(response: Any) -> bytes:
    """Return the answer of a server. OSError if it has more than `filesystem.READ_LIMIT` bytes: it may be endless."""
    return b"".join(_limited(response, _BODY_LIMIT, "that are read at once"))


def _room(response: Any, new: filesystem.Replacement) -> tuple[int, str]:
    """Return the largest size of a downloaded file in bytes, and the reason for the limit.

    An answer of unknown length must leave a tenth of the free disk space.
    """
    disk = os.fstatvfs(new.fd)
    free = disk.f_bavail * disk.f_frsize
    room = free if response.length is not None else free * 9 // 10
    allowed = int(__opts__["http_max_body"])
    if room < allowed:
        return room, f"that the disk of {os.path.dirname(new.path)} has room for"
    return allowed, "of the option http_max_body: raise it to take the file"


def _limited(response: Any, limit: int, what: str) -> Iterator[bytes]:
    """Yield an answer in chunks. OSError if it is cut off, or if its length or announced length is beyond the limit."""
    announced, size = response.length or 0, 0
    try:
        while max(announced, size) <= limit:
            chunk = response.read(_CHUNK)
            dunders.check_cancelled()  # an interrupted read is not the end
            if not chunk and response.length:
                raise OSError(f"The answer was cut off: {response.length} bytes are missing")
            if not chunk:
                return
            size += len(chunk)
            yield chunk
    except http.client.HTTPException as error:
        raise OSError(f"The answer was cut off: {error}") from error
    raise OSError(f"The answer is longer than the {limit} bytes {what}")


@contextmanager
def _explained(url: str) -> Iterator[None]:
    path = urlsplit(url).path
    try:
        yield
    except urllib.error.HTTPError as error:
        with error:
            raise CommandExecutionError(f"Error: HTTP {error.code}: {error.reason} reading {path}") from error
    except OSError as error:
        raise CommandExecutionError(f"Error: {getattr(error, 'reason', error)} reading {path}") from error
