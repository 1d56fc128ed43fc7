"""Package sources by their one-line definition: listing, finding, changing and removing them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, NamedTuple

from asyncstate import filesystem
from asyncstate.data.values import is_one_line
from asyncstate.dunders import __context__, __grains__, __salt__
from asyncstate.errors import CommandExecutionError, InvocationError
from asyncstate.residue import temporary_folder

from . import _sources
from ._candidates import refresh_db
from ._keys import add_repo_key, check_key, get_repo_keys, given_key, normalised, store_key
from ._programs import call, configured
from ._sources import LineSource, Source, SourceLists, StanzaSource, is_true

Repo = dict[str, Any]

_PPA = "deb http://ppa.launchpad.net/{0}/{1}/ubuntu {2} main"
_INVALID = "Name {} is not valid. This must be the complete repo entry as seen in the sources file"
_BOTH = "both keyserver and keyid options required."
_SETTABLE = ("comps", "disabled", "architectures", "signedby", "trusted")


def list_repos(**kwargs: Any) -> dict[str, list[Repo]]:
    """Return all sources by address; a deb822 stanza counts once for each type, address and suite."""
    found: dict[str, list[Repo]] = {}
    for source in SourceLists():
        for uri in source.uris:
            for suite in source.suites:
                for kind in source.types:
                    found.setdefault(uri, []).append(_described(source, kind, uri, suite))
    return found


def get_repo(repo: str, any_architecture: bool = True, **kwargs: Any) -> Repo:
    """Return the source that a one-line definition names, {} if there is none. One common component is enough.

    Of several, it is the one with the same architectures, else the first, or none unless ``any_architecture``. ``dist``
    is another suite than that of the definition.
    """
    try:
        wanted = _entry(repo)
    except CommandExecutionError:  # an invalid definition matches no source
        return {}
    matches: list[Repo] = []
    suite = _suite(wanted, kwargs)
    for repos in list_repos().values():
        for found in repos:
            if (found["type"], found["uri"].rstrip("/"), found["dist"]) != (
                wanted.type,
                wanted.uri.rstrip("/"),
                suite,
            ):
                continue
            if not wanted.comps or set(wanted.comps) & set(found["comps"]):
                matches.append(found)
    architectures = _architectures(wanted, kwargs)
    same = [found for found in matches if set(found["architectures"]) == architectures]
    return next(iter(same or (matches if any_architecture else ())), {})


def del_repo(repo: str, **kwargs: Any) -> str:
    """Remove a source (from a stanza, only its part) and refresh; return a sentence for each changed file.

    CommandExecutionError if there is no such source.
    """
    wanted = _entry(repo)
    suite = _suite(wanted, kwargs)
    lists = SourceLists()
    same = [
        source
        for source in lists
        if wanted.type in source.types
        and wanted.uri.rstrip("/") in [uri.rstrip("/") for uri in source.uris]
        and suite in source.suites
        and set(source.architectures) == _architectures(wanted, kwargs)
    ]
    files: dict[str, None] = {}
    for source in same:
        rest = [component for component in source.comps if component not in wanted.comps]
        if len(rest) == len(source.comps) and source.comps:
            continue
        files[source.file] = None
        if rest:
            source.comps = rest
        else:
            source.drop_suite(suite)
            if not source.suites:
                lists.remove(source)
    if not files:
        raise CommandExecutionError(f"Repo {repo} doesn't exist in the sources.list(s)")
    _drop_empty_lists(lists, files)
    lists.save()
    refresh_db()
    return "".join(
        f"Repo '{repo}' has been removed from {file}.\n"
        if os.path.exists(file)
        else f"File {file} containing repo '{repo}' has been removed."
        for file in files
    )


def mod_repo(repo: str, saltenv: str = "base", aptkey: bool = True, **kwargs: Any) -> dict[str, Repo]:
    """Add or change a source given as a one-line definition, and the key that signs it; return the new source.

    Its properties are ``file`` (one-line ``.list`` or deb822 ``.sources``; ``clean_file`` leaves nothing else in it),
    ``comps``, ``architectures``, ``disabled``, ``trusted``, ``comments``. The key is ``key_url``, ``key_text`` or
    ``keyid`` with ``keyserver``, stored at the path ``signed-by``. ``refresh: False`` does not refresh the lists.
    """
    if repo.startswith("ppa:"):
        return _add_ppa(repo, **kwargs)
    wanted = _new_entry(repo)
    _check_lines(kwargs)
    _fetch_keys(wanted.signedby, saltenv, aptkey=aptkey, **kwargs)
    source, lists = _changed_lists(wanted, aptkey, kwargs)
    filesystem.makedirs(os.path.dirname(source.file), 0o755)
    lists.save()
    __context__.pop("pkg._avail", None)
    if _refreshes(kwargs):
        refresh_db()
    return {repo: get_repo(repo, **kwargs)}


def repo_refusal(repo: str, saltenv: str = "base", aptkey: bool = True, **kwargs: Any) -> str:
    """Return why `mod_repo` with these arguments would fail, or make no source that apt reads; "" if it may not.

    apt reads the sources as they would be. No server is asked: neither for a key nor for a list of packages.
    """
    if repo.startswith("ppa:"):
        return ""
    try:
        wanted = _new_entry(repo)
        _check_lines(kwargs)
        _check_keys(wanted.signedby, saltenv, kwargs)
        source, lists = _changed_lists(wanted, aptkey, kwargs)
    except (CommandExecutionError, InvocationError, OSError) as error:
        return str(error)
    if source.file != _sources.SOURCES_LIST and (
        os.path.dirname(source.file) != _sources.SOURCES_PARTS or not source.file.endswith((".list", ".sources"))
    ):
        return f"apt does not read {source.file}"
    return _unreadable(lists) if _refreshes(kwargs) else ""


def _refreshes(kwargs: dict[str, Any]) -> bool:
    return bool(kwargs.get("refresh_db", kwargs.get("refresh", True)))


def _changed_lists(wanted: LineSource, aptkey: bool, kwargs: dict[str, Any]) -> tuple[Source, SourceLists]:
    """Return the source to add or change, and all sources with it; nothing is written yet."""
    lists = SourceLists()
    source = _counterpart(lists, wanted, kwargs)
    if source is None:
        if not _legacy_keys(aptkey) and not wanted.signedby and not (wanted.trusted or is_true(kwargs.get("trusted"))):
            raise InvocationError("missing 'signedby' or 'trusted' option when apt-key is missing")
        source = _new_source(wanted, str(kwargs.get("file") or _sources.SOURCES_LIST))
        lists.sources.append(source)
    _apply(source, wanted, kwargs)
    if kwargs.get("clean_file"):
        lists.sources = [each for each in lists.sources if each is source or each.file != kwargs.get("file")]
    return source, lists


def _unreadable(lists: SourceLists) -> str:
    """Return the error of apt if it cannot use sources, "" if it can: their form, and the methods of their URLs."""
    with temporary_folder("apt-") as folder:
        lists.save_to(folder)
        places = {"sourcelist": "sources.list", "sourceparts": "parts"}
        options = [word for key, name in places.items() for word in ("-o", f"Dir::Etc::{key}={folder}/{name}")]
        done = call(["apt-get", *options, "indextargets", "--format", "$(SITE)"], ignore_retcode=True)
        if done["retcode"]:
            shown = str(done["stderr"]).replace(f"{folder}/parts", _sources.SOURCES_PARTS)
            return shown.replace(f"{folder}/sources.list", _sources.SOURCES_LIST)
    place = configured("Dir::Bin::methods/d") or ""
    urls = [url for source in lists if not source.disabled for url in source.uris]
    methods = [os.path.join(place, url.partition(":")[0]) for url in urls] if os.path.isabs(place) else []
    return next((f"The method driver {path} could not be found." for path in methods if not os.path.exists(path)), "")


def expand_repo_def(repo: str, **kwargs: Any) -> Repo:
    """Return a source as `get_repo` would return it after `mod_repo` with the same arguments."""
    wanted = _new_entry(repo)
    _check_lines(kwargs)
    source = _new_source(wanted, str(kwargs.get("file") or _sources.SOURCES_LIST))
    _apply(source, wanted, kwargs)
    found = _described(source, wanted.type, wanted.uri, _suite(wanted, kwargs))
    del found["enabled"]
    return found


class _Keys(NamedTuple):
    url: str | None
    text: str | None
    ids: list[Any]
    server: str | None


def _suite(wanted: LineSource, kwargs: dict[str, Any]) -> str:
    return str(kwargs.get("dist") or wanted.dist)


def _architectures(wanted: LineSource, kwargs: dict[str, Any]) -> set[str]:
    return set(_listed(kwargs.get("architectures")) or wanted.architectures)


def _check_lines(kwargs: dict[str, Any]) -> None:
    """Refuse values that would inject more than part of a line: another source, or a field that makes it trusted."""
    for name in ("comps", "architectures", "dist"):
        for word in _listed(kwargs.get(name)):
            if len(word.split()) > 1 or not word.isprintable() or {*"[]#"} & {*word}:
                raise InvocationError(f"{name}: {word!r} is not a valid value in a package source")
    comments = kwargs.get("comments")
    for each in comments if isinstance(comments, list) else [comments]:
        if not is_one_line(str(each).strip()):
            raise InvocationError(f"comments: {each!r} is more than one line")


def _entry(repo: str) -> LineSource:
    if not is_one_line(repo.strip()):
        raise CommandExecutionError(f"Error: repo {repo!r} is more than one line")
    if repo.startswith("ppa:"):
        if __grains__.get("os") not in {"Ubuntu", "Mint", "neon"}:
            raise CommandExecutionError(f'cannot parse "ppa:" style repo definitions: {repo}')
        owner, _, name = repo[4:].partition("/")
        repo = _PPA.format(owner, name, __grains__.get("oscodename"))
    with suppress(InvocationError):
        entry = LineSource(repo)
        if not entry.invalid:
            return entry
    raise CommandExecutionError(_INVALID.format(repo))


def _new_entry(repo: str) -> LineSource:
    """Return a definition to write. Raises CommandExecutionError also if apt would read no sources because of it."""
    entry = _entry(repo)
    if not entry.is_readable:
        raise CommandExecutionError(_INVALID.format(repo))
    return entry


def _described(source: Source, kind: str, uri: str, suite: str) -> Repo:
    line = LineSource(f"{kind} {uri} {suite} {' '.join(source.comps)}")
    line.architectures, line.signedby, line.disabled = source.architectures, source.signedby, source.disabled
    line.trusted = source.trusted
    return {
        "file": source.file,
        "comps": source.comps,
        "disabled": source.disabled,
        "enabled": not source.disabled,
        "dist": suite,
        "suites": source.suites,
        "type": kind,
        "types": source.types,
        "uri": uri,
        "uris": source.uris,
        "line": source.canonical() if isinstance(source, LineSource) else line.canonical(),
        "architectures": source.architectures,
        "signedby": source.signedby,
    }


def _counterpart(lists: SourceLists, wanted: LineSource, kwargs: dict[str, Any]) -> Source | None:
    """Return the source to change: same type, address and suite, with a component in common or none at all.

    Of several, it is the one that `get_repo` returns.
    """
    found: list[Source] = []
    comps = {*wanted.comps, *_listed(kwargs.get("comps"))}
    suites = {wanted.dist, _suite(wanted, kwargs)}
    for source in lists:
        same = wanted.uri.rstrip("/") in [uri.rstrip("/") for uri in source.uris] and not suites.isdisjoint(
            source.suites
        )
        renamed = kwargs.get("dist") in source.suites and kwargs.get("type") in source.types
        if not (same and wanted.type in source.types) and not renamed:
            continue
        if not source.comps or comps & set(source.comps) or wanted.architectures != source.architectures:
            found.append(source)
    architectures = _architectures(wanted, kwargs)
    return next((each for each in found if set(each.architectures) == architectures), next(iter(found), None))


def _new_source(wanted: LineSource, file: str) -> Source:
    if not file.endswith(".sources"):
        return LineSource(wanted.line, file)
    source = StanzaSource("", file)
    source.types, source.uri, source.dist, source.comps = [wanted.type], wanted.uri, wanted.dist, wanted.comps
    source.signedby = wanted.signedby
    if wanted.trusted:
        source.trusted = True
    source.invalid = False
    return source


def _apply(source: Source, wanted: LineSource, kwargs: dict[str, Any]) -> None:
    values = {
        "comps": _listed(kwargs["comps"]) if kwargs.get("comps") else wanted.comps,
        "architectures": _listed(kwargs["architectures"]) if kwargs.get("architectures") else wanted.architectures,
        "signedby": wanted.signedby,
        "trusted": kwargs.get("trusted", wanted.trusted),
        "disabled": wanted.disabled,
    }
    if "disabled" in kwargs:
        values["disabled"] = is_true(kwargs["disabled"])
    elif "enabled" in kwargs:
        values["disabled"] = not is_true(kwargs["enabled"])
    if isinstance(source, LineSource):
        source.uri, source.dist = wanted.uri, kwargs.get("dist") or wanted.dist
    for name in _SETTABLE:
        if values[name] is not None:
            setattr(source, name, values[name])
    if kwargs.get("comments"):
        comments = kwargs["comments"]
        source.comment = " ".join(comments if isinstance(comments, list) else [str(comments)])


def _fetch_keys(signedby: str, saltenv: str, *, aptkey: bool, **kwargs: Any) -> None:
    ids = kwargs.get("keyid") or []
    keys = _Keys(
        kwargs.get("key_url"), kwargs.get("key_text"), ids if isinstance(ids, list) else [ids], kwargs.get("keyserver")
    )
    place: dict[str, Any] = {"saltenv": saltenv, "aptkey": _legacy_keys(aptkey)}
    if signedby:
        place.update(keydir=os.path.dirname(signedby), keyfile=os.path.basename(signedby))
    if keys.ids:
        if not keys.server:
            raise CommandExecutionError(_BOTH)
        known = [facts["fingerprint"] for facts in get_repo_keys(keydir=place.get("keydir")).values()]
        for keyid in map(normalised, keys.ids):
            if not any(fingerprint.endswith(keyid) for fingerprint in known):
                add_repo_key(keyid=keyid, keyserver=keys.server, **place)
    elif keys.url:
        add_repo_key(path=keys.url, **place)
    elif keys.text and signedby:
        store_key(keys.text.encode(), signedby)
    elif keys.text:
        add_repo_key(text=keys.text, **place)


def _check_keys(signedby: str, saltenv: str, kwargs: dict[str, Any]) -> None:
    """Raise the error of `_fetch_keys`, as far as it does not depend on a server."""
    path, text = kwargs.get("key_url"), kwargs.get("key_text")
    if kwargs.get("keyid"):
        if not kwargs.get("keyserver"):
            raise CommandExecutionError(_BOTH)
    elif text or (path and not path.startswith(("http://", "https://"))):
        key, target = given_key(path, text, saltenv), signedby or os.path.basename(path or "")
        check_key(key, str(path or "the text"), target, described=bool(path or not signedby))


def _add_ppa(repo: str, **kwargs: Any) -> dict[str, Repo]:
    found = get_repo(repo)
    if found:
        return {repo: found}
    if not __salt__["cmd.which"]("apt-add-repository"):
        raise CommandExecutionError(f"{repo} needs apt-add-repository: install the package software-properties-common")
    done = call(["apt-add-repository", "-y", "-n", repo])
    if done["retcode"]:
        raise CommandExecutionError(
            f"Unable to add PPA '{repo[4:]}'. apt-add-repository ended with exit status {done['retcode']}: "
            f"'{done['stderr']}'"
        )
    if kwargs.get("refresh_db", kwargs.get("refresh", True)):
        refresh_db()
    return {repo: get_repo(repo, **kwargs)}


def _drop_empty_lists(lists: SourceLists, files: dict[str, None]) -> None:
    """Drop the comments of a file in the parts directory without remaining sources, so that the file is removed."""
    for file in files:
        if os.path.dirname(file) == _sources.SOURCES_PARTS and not any(source.file == file for source in lists):
            lists.sources = [source for source in lists.sources if source.file != file]


def _legacy_keys(aptkey: bool) -> bool:
    """Whether keys may be trusted for all sources: only on systems that still have apt-key."""
    return aptkey and bool(__salt__["cmd.which"]("apt-key"))


def _listed(value: Any) -> list[str]:
    words = value.split(",") if isinstance(value, str) else value or []
    return [str(word).strip() for word in words if str(word).strip()]
