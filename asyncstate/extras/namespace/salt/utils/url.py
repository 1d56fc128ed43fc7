"""``salt://`` addresses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit, urlunsplit

from asyncstate.data.urls import SALT_SCHEME
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

if TYPE_CHECKING:
    from collections.abc import Container


def parse(url: str) -> tuple[str, str | None]:
    """Return the path below the file root, and the environment that ``?saltenv=`` names."""
    if not url.startswith(SALT_SCHEME):
        return url, None
    resource = url.removeprefix(SALT_SCHEME)
    path, old_style, _ = resource.partition("?env=")
    saltenv = None
    if not old_style:
        path, asked, value = resource.partition("?saltenv=")
        saltenv = value if asked else None
    return path.lstrip("/"), saltenv


def create(path: str, saltenv: str | None = None) -> str:
    """Return the address of a path."""
    rest = urlunsplit(("", "", path.replace("\\", "/"), f"saltenv={saltenv}" if saltenv else "", ""))
    return f"{SALT_SCHEME}{rest}"


def is_escaped(url: str) -> bool:
    """Return whether the path begins with ``|``: then it is literal."""
    scheme = urlsplit(url).scheme
    if scheme in {"", "salt"}:
        return parse(url)[0].startswith("|")
    return False


def escape(url: str) -> str:
    """Put a ``|`` before the path."""
    return url if is_escaped(url) else _with_path(url, "|" + parse(url)[0])


def unescape(url: str) -> str:
    """Remove the ``|`` before the path."""
    return _with_path(url, parse(url)[0].lstrip("|"))


def _with_path(url: str, path: str) -> str:
    scheme = urlsplit(url).scheme
    if scheme == "salt":
        return create(path, parse(url)[1])
    return url if scheme else path


def add_env(url: str, saltenv: str) -> str:
    """Return a ``salt://`` address with the environment added."""
    return create(parse(url)[0], saltenv) if url.startswith(SALT_SCHEME) else url


def split_env(url: str) -> tuple[str, str | None]:
    """Return a ``salt://`` address without its environment, and the environment."""
    if not url.startswith(SALT_SCHEME):
        return url, None
    path, saltenv = parse(url)
    return create(path), saltenv


def validate(url: str, protos: Container[str]) -> bool:
    """Return whether the scheme is one of ``protos``."""
    return urlsplit(url).scheme in protos


def strip_proto(url: str) -> str:
    """Return the address without its scheme."""
    return re.sub("^[^:/]+://", "", url)


def add_http_basic_auth(
    url: str, user: str | None = None, password: str | None = None, https_only: bool = False
) -> str:
    """Add a user and password to an address. With ``https_only`` raises ValueError if it is not an https address."""
    if user is None and password is None:
        return url
    parts = urlsplit(url)
    if https_only and parts.scheme != "https":
        raise ValueError("Basic Auth only supported for HTTPS")
    secret = "" if password is None else f":{quote(password, safe='')}"
    return urlunsplit(parts._replace(netloc=f"{quote(user or '', safe='')}{secret}@{parts.netloc}"))


def redact_http_basic_auth(output: str) -> str:
    """Hide the users and passwords of addresses in a text."""
    return re.sub(r"(https?)://.*@", r"\1://<redacted>@", output, flags=re.IGNORECASE)


__getattr__: ModuleGetattr = nothing_else(__name__)
