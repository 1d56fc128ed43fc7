"""Calls to the Docker daemon, through the library docker; its errors become ours."""

from __future__ import annotations

import importlib
import inspect
import os
from typing import Any

from asyncstate.dunders import __context__, __salt__
from asyncstate.errors import CommandExecutionError

CLIENT_TIMEOUT = 60
_DEFAULT_URL = "unix:///var/run/docker.sock"


class NotFound(CommandExecutionError):
    """The daemon has nothing of this name."""


def call(method: str, *arguments: Any, client_timeout: Any = None, **options: Any) -> Any:
    """Call a method of the library's ``APIClient``. Raises NotFound or CommandExecutionError, with its message."""
    errors = importlib.import_module("docker.errors")
    requests = importlib.import_module("requests")
    client: Any = None
    try:
        client = _client(client_timeout)
        found = getattr(client, method)(*arguments, **options)
        # a stream must be read to its end before the connection is closed
        return list(found) if inspect.isgenerator(found) else found
    except errors.NotFound as error:
        raise NotFound(f"Error 404: {error.explanation}") from error
    except errors.APIError as error:
        raise CommandExecutionError(f"Error {error.response.status_code}: {error.explanation}") from error
    except (errors.DockerException, requests.exceptions.RequestException) as error:
        raise CommandExecutionError(f"{method}: {_reason(error)}") from error
    finally:
        if client is not None:
            client.close()


def _client(client_timeout: Any) -> Any:
    """Return a client for the option ``docker.url``, else for DOCKER_HOST, else for the socket of this machine.

    Client and daemon agree on an API version once in a run.
    """
    sdk = importlib.import_module("docker")
    settings: dict[str, Any] = dict(sdk.utils.kwargs_from_env())
    if url := _option("docker.url"):
        settings["base_url"] = url
    url = str(settings.get("base_url") or _DEFAULT_URL)
    _check_socket(url)
    agreed = f"docker.version of {url}"
    settings["version"] = str(_option("docker.version") or __context__.get(agreed) or "auto")
    timeout = client_timeout if client_timeout is not None else _option("docker.timeout") or CLIENT_TIMEOUT
    client = sdk.APIClient(**settings, timeout=int(timeout))
    __context__[agreed] = client.api_version
    return client


def _check_socket(url: str) -> None:
    scheme, _, path = url.partition("://")
    if scheme in {"unix", "http+unix"} and not os.path.exists(f"/{path.lstrip('/')}"):
        raise CommandExecutionError(f"the Docker daemon cannot be reached. Is it running? (there is no socket {path})")


def _reason(error: Exception) -> str:
    text = str(error)
    if (
        "Connection aborted" in text
        or "Error while fetching server API version" in text
        or "Connection refused" in text
    ):
        return f"the Docker daemon cannot be reached. Is it running? ({text})"
    return text


def _option(name: str) -> Any:
    return __salt__["config.option"](name)
