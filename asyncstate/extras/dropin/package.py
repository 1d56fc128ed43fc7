"""Packages of salt-ssh, applied by ``state.pkg``: an archive of low chunks, pillar, and files of the tree."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.errors import AsyncStateError
from asyncstate.extras.dropin.answer import Refused
from asyncstate.extras.dropin.settings import changed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from asyncstate.config import Settings

TOP = "top.sls"
"""The top file of an unpacked package."""
_COMPILED = ".compiled"
"""The folder that has the low chunks of a package as SLS files, by environment."""
_NO_ARGUMENTS = frozenset({"state", "fun", "name"})


def unpack(path: str, digest: str, hash_type: str, folder: str) -> str:
    """Unpack a package into a folder. Returns the reason if it is missing or its digest differs. Raises Refused."""
    try:
        opened = filesystem.open_read(path)
    except (OSError, AsyncStateError):
        return f"There is no file {path}."
    with opened as file:  # opened once: the path may lead to another file after the check
        try:
            found = hashlib.file_digest(file, hash_type).hexdigest()
        except (ValueError, TypeError):  # a digest of no fixed length
            raise Refused(f"{hash_type} is no kind of hash: expected md5 or sha256, for example") from None
        if found != digest:
            return f"The {hash_type} of {path} is {found}, not {digest}."
        file.seek(0)
        try:
            with tarfile.open(fileobj=file, mode="r:gz") as archive:
                return _extract(archive, folder)
        except (tarfile.TarError, OSError, EOFError) as error:
            raise Refused(f"{path} is no package of salt-ssh: {error}") from error


def low_chunks(folder: str) -> list[Any]:
    """Return the low chunks of an unpacked package. Raises Refused."""
    chunks = _read(folder, "lowstate.json")
    if not isinstance(chunks, list):
        raise Refused("It is no package of salt-ssh: it has no list of low chunks in lowstate.json")
    return chunks


def settings_of_package(settings: Settings, folder: str, chunks: Iterable[dict[str, Any]]) -> Settings:
    """Write SLS files for the chunks of an unpacked package, and return settings with its files, grains and pillar."""
    environments = [name for name in sorted(os.listdir(folder)) if os.path.isdir(os.path.join(folder, name))]
    compiled = os.path.join(folder, _COMPILED)
    top: dict[str, dict[str, list[str]]] = {}
    for (env, sls), high in _high_data(chunks).items():
        path = os.path.join(compiled, env, *sls.split(".")) + ".sls"
        if not os.path.normpath(path).startswith(f"{compiled}{os.sep}"):
            raise Refused(f"The SLS {sls} of {env} would be outside of the package")
        _write(path, high)
        top.setdefault(env, {}).setdefault("*", []).append(sls)
    _write(os.path.join(compiled, "base", TOP), top)
    names = dict.fromkeys(["base", *environments, *top])
    grains = _read(folder, "roster_grains.json") or {}
    return changed(
        settings,
        file_roots={env: [os.path.join(compiled, env), os.path.join(folder, env)] for env in names},
        pillar=_read(folder, "pillar.json"),
        grains_override={**settings.grains_override, **grains},
    )


def _extract(archive: tarfile.TarFile, folder: str) -> str:
    for member in archive:
        parts = member.name.split("/")
        if member.name.startswith("/") or ".." in parts:
            return f"{member.name} would be outside of the package."
        content = archive.extractfile(member) if member.isreg() else None
        if content is None:
            continue
        target = os.path.join(folder, *parts)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with content, open(target, "wb") as file:
            shutil.copyfileobj(content, file)
    return ""


def _high_data(chunks: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return high data by environment and SLS name; chunks of one declaration are its ``names``."""
    declared: dict[tuple[str, str, str, str], list[Mapping[str, Any]]] = {}
    for chunk in chunks:
        sls = str(chunk.get("__sls__") or "package")
        where = (str(chunk.get("__env__") or "base"), sls, str(chunk.get("__id__")), str(chunk.get("state")))
        declared.setdefault(where, []).append(chunk)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for (env, sls, id_, state), same in declared.items():
        named = [{chunk.get("name", id_): [{key: value} for key, value in _arguments(chunk)]} for chunk in same]
        body = found.setdefault((env, sls), {}).setdefault(id_, {})
        body[f"{state}.{same[0].get('fun')}"] = [{"names": named}]
    return found


def _arguments(chunk: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(key, value) for key, value in chunk.items() if key not in _NO_ARGUMENTS and not key.startswith("__")]


def _read(folder: str, name: str) -> Any:
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return json.load(file)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise Refused(f"{name} of the package is no JSON: {error}") from error


def _write(path: str, data: Any) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!json\n{json.dumps(data)}\n")
