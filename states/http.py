"""The ``http`` states: they check the answer of a web server and change nothing."""

from __future__ import annotations

import re
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __salt__, failed, is_dry_run, make_row, would_change
from asyncstate.errors import AsyncStateError, RunCancelled

from . import _resources

_READ = ("ca_bundle", "data_file", "cert")
_LOGIN = re.compile(r"([a-z][a-z0-9+.-]*)://[^/\s]*@", re.IGNORECASE)


def query(
    name: str,
    match: Any = None,
    match_type: str = "string",
    status: Any = None,
    status_type: str = "string",
    wait_for: float | None = None,
    **kwargs: Any,
) -> Row:
    """Send a request to the URL ``name``; the answer must have the text ``match``, the ``status``, or both.

    ``match_type: pcre`` makes ``match`` a regular expression; ``status_type`` is ``string``, ``pcre`` or ``list``.
    ``wait_for`` is how many seconds to try until there is an answer. The other arguments are those of ``http.query``.
    A dry run sends nothing, unless there is a ``test_url``.

    Example::

        the application answers:
          http.query:
            - name: http://localhost:8080/health
            - status: 200
    """
    shown = _LOGIN.sub(r"\1://<redacted>@", name)
    answer: dict[str, Any] = {}
    if match is None and status is None:
        return failed(shown, "Either match text (match) or a status code (status) is required.") | {"data": answer}
    asked_for = kwargs.get("test_url") or name
    if filesystem.foretells() and isinstance(asked_for, str) and not re.match("https?:", asked_for, re.IGNORECASE):
        return failed(shown, f"Only http and https can be fetched: {shown}") | {"data": answer}
    asked = _asked(kwargs)
    try:
        if wait_for:
            answer = __salt__["http.wait_for_successful_query"](name, wait_for=wait_for, **asked)
        else:
            answer = __salt__["http.query"](name, **asked)
        result, comments = _judged(answer, match, match_type, status, status_type)
    except RunCancelled:
        raise
    except (AsyncStateError, OSError, re.error) as error:
        return failed(shown, str(error)) | {"data": answer}
    return _concluded(shown, result, comments, kwargs) | {"data": answer}


def wait_for_successful_query(name: str, wait_for: float = 300, **kwargs: Any) -> Row:
    """Repeat a request until the answer is as ``http.query`` wants it, for ``wait_for`` seconds at most.

    ``request_interval`` is the number of seconds between two requests, 1 by default. The other arguments are those of
    ``http.query``. A dry run does not wait.
    """
    wanted = {key: kwargs.pop(key, default) for key, default in _EXPECTATIONS.items()}
    if is_dry_run() or (wanted["match"] is None and wanted["status"] is None):
        kwargs.pop("request_interval", None)
        return query(name, **wanted, **kwargs)
    shown = _LOGIN.sub(r"\1://<redacted>@", name)
    answer: dict[str, Any] = {}
    try:
        answer = __salt__["http.wait_for_successful_query"](
            name,
            wait_for=wait_for,
            accept=lambda answer: _judged(answer, **wanted)[0] is True,
            **_asked(kwargs),
        )
        result, comments = _judged(answer, **wanted)
    except RunCancelled:
        raise
    except (AsyncStateError, OSError, re.error) as error:
        return failed(shown, str(error)) | {"data": answer}
    return _concluded(shown, result, comments, kwargs) | {"data": answer}


_EXPECTATIONS: dict[str, Any] = {"match": None, "match_type": "string", "status": None, "status_type": "string"}


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a request: name lookup, certificates, the file it sends."""
    return {"reads": [*_resources.NETWORK, *_resources.files(*(low.get(key) for key in _READ))], "writes": []}


def _asked(arguments: dict[str, Any]) -> dict[str, Any]:
    asked = {key: value for key, value in arguments.items() if not key.startswith("__")}
    asked.setdefault("decode", False)
    asked |= {"text": True, "status": True}
    return {**asked, "test": True} if is_dry_run() else asked


def _judged(
    answer: dict[str, Any], match: Any, match_type: str, status: Any, status_type: str
) -> tuple[bool | None, list[str]]:
    """Return whether an answer meets the conditions, and the comments about it."""
    verdicts: list[tuple[bool, str]] = []
    if match is not None:
        verdicts += _matched(str(answer.get("text", "")), str(match), match_type)
    if status is not None:
        verdicts += _status_found(str(answer.get("status", "")), status, status_type)
    if not verdicts:
        return None, []
    return all(fine for fine, _ in verdicts), [comment for _, comment in verdicts]


def _matched(text: str, match: str, kind: str) -> list[tuple[bool, str]]:
    if kind not in {"string", "pcre"}:
        return []
    fine = match in text if kind == "string" else bool(re.search(match, text))
    what = "text" if kind == "string" else "pattern"
    return [(fine, f'Match {what} "{match}" was {"" if fine else "not "}found.')]


def _status_found(code: str, status: Any, kind: str) -> list[tuple[bool, str]]:
    if kind == "list":
        wanted = status if isinstance(status, list) else [status]
        found = [each for each in wanted if str(each) == code]
        return [(True, f"Status {found[0]} was found.")] if found else [(False, f"Statuses {status} were not found.")]
    if kind == "pcre":
        fine = bool(re.search(str(status), code))
        return [(fine, f'Status pattern "{status}" was {"" if fine else "not "}found.')]
    if kind == "string":
        fine = code == str(status)
        return [(fine, f"Status {status} was {'' if fine else 'not '}found.")]
    return []


def _concluded(name: str, result: bool | None, comments: list[str], arguments: dict[str, Any]) -> Row:
    comment = " ".join(comments)
    if not is_dry_run():
        return make_row(name, comment, result=result)
    sent = f", TEST URL WAS: {arguments['test_url']}" if "test_url" in arguments else ""
    return would_change(name, f"{comment} (TEST MODE{sent})")
