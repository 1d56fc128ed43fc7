"""The ``http`` execution module: requests to web servers."""

from __future__ import annotations

import base64
import threading
import time
import urllib.error
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from asyncstate import dunders, filesystem
from asyncstate.data import formats
from asyncstate.errors import CommandExecutionError

from . import _downloads

if TYPE_CHECKING:
    from collections.abc import Callable

_ERROR_PAGE = 1 << 20
"""Number of bytes read from an error page."""


def query(
    url: str,
    method: str = "GET",
    params: dict[str, Any] | None = None,
    data: Any = None,
    data_file: str | None = None,
    header_dict: dict[str, str] | None = None,
    header_list: list[str] | None = None,
    username: str | None = None,
    password: str | None = None,
    text: bool = False,
    status: bool = False,
    headers: bool = False,
    decode: bool = False,
    decode_type: str = "auto",
    verify_ssl: bool = True,
    ca_bundle: str | None = None,
    cert: Any = None,
    agent: str | None = None,
    test: bool = False,
    test_url: str | None = None,
    timeout: float | None = None,
    raise_error: bool = True,
    **kwargs: Any,
) -> dict[str, Any]:
    """Send a request and return ``body``.

    ``status``, ``headers`` and ``text`` add these to the result; ``decode`` adds the data of a JSON or YAML answer as
    ``dict``. ``cert`` is the path of a client certificate, or a list of that path and the path of its key. With
    ``test`` nothing is sent, unless there is a ``test_url``. For an error status, the result has ``error`` and
    ``status``. If the server cannot be reached, it has ``error``, and ``status`` 0 if ``status`` is set; with
    ``backend: requests`` and no ``raise_error: False``, CommandExecutionError is raised, as by that library.
    """
    if test:
        if not test_url:
            return {}
        url = test_url
    sent = _headers(header_dict, header_list, username, password)
    if agent:
        sent["User-Agent"] = agent
    body = _body(data, data_file)
    full = f"{url}{'&' if '?' in url else '?'}{urlencode(params)}" if params else url
    result: dict[str, Any] = {}
    try:
        with _downloads.opened(
            full,
            method=method,
            data=body,
            headers=sent,
            verify_ssl=verify_ssl,
            ca_bundle=ca_bundle,
            cert=cert,
            timeout=timeout,
        ) as response:
            code, answered, raw = response.status, response.headers, _downloads.body(response)
    except urllib.error.HTTPError as error:
        with error:
            code, answered, raw = error.code, error.headers, error.read(_ERROR_PAGE)
        result = {"error": f"HTTP {error.code}: {error.reason}", "status": code}
    except OSError as error:
        reason = getattr(error, "reason", error)
        if raise_error and kwargs.get("backend") == "requests":
            raise CommandExecutionError(f"Error reading {_downloads.redacted(url)}: {reason}") from error
        return {**({"status": 0} if status else {}), "error": str(reason)}
    result["body"] = _text(raw, answered.get_content_charset())
    if text:
        result["text"] = result["body"]
    if status:
        result["status"] = code
    if headers:
        result["headers"] = dict(answered.items())
    if decode and "error" not in result:
        result["dict"] = _decoded(result["body"], decode_type, answered.get_content_type())
    return result


def wait_for_successful_query(
    url: str, wait_for: float = 300, accept: Callable[[dict[str, Any]], bool] | None = None, **kwargs: Any
) -> dict[str, Any]:
    """Repeat a request every ``request_interval`` seconds until it succeeds or the time is over.

    It succeeds if there is no ``error``, or if ``accept`` returns true for the answer. Returns the last answer.
    """
    accept = accept or _has_no_error
    interval = float(kwargs.pop("request_interval", 1))
    silent = float(kwargs.pop("timeout", None) or dunders.__opts__["http_connect_timeout"])
    until = time.monotonic() + wait_for
    while True:
        dunders.check_cancelled()
        failure = None
        result: dict[str, Any] = {}
        try:
            result = query(url, timeout=min(silent, max(1.0, until - time.monotonic())), **kwargs)
        except CommandExecutionError as error:
            failure = error
        if failure is None and accept(result):
            return result
        if time.monotonic() > until:
            if failure is not None:
                raise failure
            return result
        _pause(interval)


def _has_no_error(answer: dict[str, Any]) -> bool:
    return not answer.get("error")


def _pause(seconds: float) -> None:
    """Wait; a cancellation of the call ends the wait."""
    call = dunders.context.current.get(None)
    token = call.cancel if call is not None else None
    woken = threading.Event()
    release = token.on_cancel(woken.set) if token is not None else None
    woken.wait(seconds)
    if release is not None:
        release()


def _headers(
    header_dict: dict[str, str] | None, header_list: list[str] | None, username: str | None, password: str | None
) -> dict[str, str]:
    found = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in header_list or [])}
    found.update({str(name): str(value) for name, value in (header_dict or {}).items()})
    if username is not None:
        secret = f"{username}:{password or ''}".encode()
        found["Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
    return found


def _body(data: Any, data_file: str | None) -> bytes | None:
    if data_file:
        try:
            return filesystem.read_bytes(data_file)
        except OSError as error:
            raise CommandExecutionError(f"Cannot read {data_file}: {error.strerror}") from error
    if data is None or isinstance(data, bytes):
        return data
    return (urlencode(data) if isinstance(data, dict) else str(data)).encode()


def _text(raw: bytes, charset: str | None) -> str:
    try:
        return raw.decode(charset or "utf-8", errors="replace")
    except (LookupError, ValueError):  # an unknown encoding
        return raw.decode("utf-8", errors="replace")


def _decoded(body: str, decode_type: str, content_type: str) -> Any:
    kind = decode_type if decode_type != "auto" else content_type.rpartition("/")[2]
    try:
        if kind.endswith("json"):
            return formats.json_data(body)
        if kind.endswith("yaml"):
            return formats.yaml_data(body)
    except ValueError as error:
        raise CommandExecutionError(f"The answer is no valid {kind}: {error}") from error
    raise CommandExecutionError(f"There is no decoder for {kind!r}; decode_type is json or yaml")
