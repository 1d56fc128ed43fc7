"""One HTTP request."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def query(
    url: str,
    *,
    method: str,
    params: Mapping[str, Any] | None,
    data: Any,
    headers: Mapping[str, str] | None,
    credentials: tuple[str, str] | None,
    decode_as: str | None,
    wanted: Mapping[str, bool],
    timeout: float,
) -> dict[str, Any]:
    """Return ``{"body": text}``, and ``status``, ``headers``, ``text``, ``dict`` if requested.

    For an HTTP error, the result also has ``status`` and ``error``; without any response, only ``error``. Raises
    ValueError only if the URL is not an http or https URL.
    """
    request = _request(url, method, params=params, data=data, headers=headers, credentials=credentials)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310 - _request accepts http and https alone
            body = answer.read().decode(answer.headers.get_content_charset() or "utf-8", "replace")
            return _result(body, answer.status, dict(answer.headers), decode_as, wanted)
    except urllib.error.HTTPError as error:
        with error:
            return {"status": error.code, "error": str(error), "body": error.read().decode("utf-8", "replace")}
    except (OSError, http.client.HTTPException, ssl.SSLError) as error:
        reason = getattr(error, "reason", error)
        return {"error": str(reason)} | ({"status": 0} if wanted["status"] else {})


def _request(
    url: str,
    method: str,
    *,
    params: Mapping[str, Any] | None,
    data: Any,
    headers: Mapping[str, str] | None,
    credentials: tuple[str, str] | None,
) -> urllib.request.Request:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"{url!r} is no http or https URL")
    if params:
        asked = "&".join(part for part in (parts.query, urllib.parse.urlencode(params, doseq=True)) if part)
        url = urllib.parse.urlunsplit(parts._replace(query=asked))
    if isinstance(data, dict):
        data = urllib.parse.urlencode(data)
    body = data.encode() if isinstance(data, str) else data
    request = urllib.request.Request(url, data=body, method=method, headers=dict(headers or {}))  # noqa: S310
    if credentials:
        token = base64.b64encode(":".join(credentials).encode()).decode()
        request.add_header("Authorization", f"Basic {token}")
    return request


def _result(
    body: str, status: int, headers: dict[str, str], decode_as: str | None, wanted: Mapping[str, bool]
) -> dict[str, Any]:
    result: dict[str, Any] = {"body": body}
    if wanted["status"]:
        result["status"] = status
    if wanted["headers"]:
        result["headers"] = headers
    if decode_as is not None:
        content_type = headers.get("Content-Type", "application/json")
        kind = decode_as if decode_as != "auto" else "yaml" if "yaml" in content_type else "json"
        if kind == "json" and "json" in (content_type if decode_as == "auto" else "json"):
            result["dict"] = json.loads(body)
        elif kind == "yaml":
            from asyncstate.data.yaml import load_yaml  # noqa: PLC0415 - only for answers in YAML

            result["dict"] = load_yaml(body)
        else:
            result["text"] = body
    if wanted["text"]:
        result["text"] = body
    return result
