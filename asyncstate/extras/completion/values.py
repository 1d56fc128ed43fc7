"""Completions of arguments and options: their ``shell_complete`` functions for click."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from asyncstate.extras.completion.places import places_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click
    from click.shell_completion import CompletionItem

    from asyncstate.extras.completion.plugins import Plugins

_SALT_KEYWORDS = ("exclude=", "mock=", "pillar=", "pillarenv=", "queue=", "saltenv=", "test=")
_TRUTH = ("True", "False")
_LIKE_A_PATH = ("/", "./", "../", "~")
_MOST_RUNS = 500
"""The largest number of runs offered, newest first."""


def complete(what: str, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer what may stand in place of an unfinished word: ``what`` names a function of this module."""
    offered: list[CompletionItem] = globals()[f"complete_{what}"](ctx, param, incomplete)
    return offered


def complete_sls(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the SLS names of the tree that the options typed so far select, except those already on the line.

    In ``web,db`` the last name is completed, as Salt splits at commas. Salt's keywords (``test=True``) are offered
    after their first letter.
    """
    from asyncstate.extras.completion.tree import sls_files

    if "=" in incomplete:
        return _beginning((f"{keyword}={value}" for keyword in ("test", "mock") for value in _TRUTH), incomplete)
    before, comma, _ = incomplete.rpartition(",")
    places = places_of(ctx)
    taken = {*_sls_before(ctx), *before.split(",")}
    names = sls_files(places.file_roots.get(places.saltenv, []), incomplete.removeprefix(before + comma))
    offered = [f"{before}{comma}{name}" for name in names if name not in taken]
    return _beginning([*offered, *(_SALT_KEYWORDS if incomplete and not comma else ())], incomplete)


def complete_id(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the IDs of the SLS on the line and of their includes; those of the whole tree if there are none."""
    return _beginning(_ids(ctx, incomplete), incomplete)


def complete_id_or_code(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer IDs, and the codes of mistakes behind E or W."""
    from asyncstate import extend

    manual = extend.offered("manual")
    begun = incomplete[:1] in {"E", "W"} and not incomplete[1:].strip("0123456789")
    codes = manual.codes() if begun and manual else ()
    return [*_beginning(codes, incomplete), *complete_id(ctx, param, incomplete)]


def complete_command(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the commands of the program, or those of the family that the words on the line name."""
    family: Any = ctx.find_root().command
    for word in ctx.params.get(param.name or "") or ():
        family = family.get_command(ctx, word) if hasattr(family, "list_commands") else None
    return _beginning(family.list_commands(ctx), incomplete) if hasattr(family, "list_commands") else []


def complete_excluded(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer SLS names, bare and after ``sls:``, and IDs after ``id:``."""
    kind, colon, _ = incomplete.partition(":")
    if colon and kind == "id":
        return _beginning((f"id:{name}" for name in _ids(ctx, incomplete.removeprefix("id:"))), incomplete)
    if colon and kind == "sls":
        return _beginning((f"sls:{item.value}" for item in complete_sls(ctx, param, "")), incomplete)
    return [*_beginning(["id:", "sls:"], incomplete), *complete_sls(ctx, param, incomplete)]


def complete_host(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the hosts of the roster on the line, which is written like an SLS."""
    from asyncstate.extras.completion.tree import ids_in

    return _beginning(ids_in(str(ctx.params["ssh"])), incomplete)


def complete_saltenv(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the environments of the tree."""
    return _beginning(places_of(ctx).file_roots, incomplete)


def complete_states(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer state functions."""
    return _beginning(_functions(ctx, ("states",), incomplete), incomplete)


def complete_modules(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer execution module functions."""
    return _beginning(_functions(ctx, ("modules",), incomplete), incomplete)


def complete_documented(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the names that ``doc`` explains: functions of states and execution modules, and words of the language."""
    from asyncstate import extend

    kind = ctx.params.get("kind")
    manual = extend.offered("manual")
    topics = () if kind or manual is None else manual.topics()
    return _beginning([*topics, *_functions(ctx, (kind,) if kind else ("states", "modules"), incomplete)], incomplete)


def complete_module_names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the names of execution modules."""
    return _beginning(_plugins(ctx, "modules").modules(), incomplete)


def complete_state_arguments(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the arguments of the state function on the line, and the values of an argument."""
    from asyncstate.model.requisite import CONDITIONS, RUNTIME_KEYWORDS

    common = sorted({*CONDITIONS, *_OF_ANY_STATE} & RUNTIME_KEYWORDS)
    return _arguments(ctx, "states", incomplete, common)


_OF_ANY_STATE = frozenset("retry runas umask no_log fire_event reload_modules reload_grains reload_pillar".split())
"""The common arguments of states that have an effect on a single one."""


def complete_module_arguments(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the arguments of the execution module function on the line, and the values of an argument."""
    return _arguments(ctx, "modules", incomplete)


def complete_run(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the IDs of the runs in the journal, newest first, with when each began."""
    from click.shell_completion import CompletionItem

    runs = _runs_in(places_of(ctx).state_dir)
    offered = [CompletionItem("latest")] if incomplete and "latest".startswith(incomplete) else []
    return offered + [CompletionItem(run, help=text) for run, text in runs.items() if run.startswith(incomplete)]


def complete_plan(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer files, and runs after ``run:``."""
    from click.shell_completion import CompletionItem

    if incomplete.startswith("run:"):
        runs = complete_run(ctx, param, incomplete.removeprefix("run:"))
        return [CompletionItem(f"run:{item.value}", help=item.help) for item in runs]
    return _beginning(["run:"], incomplete) if incomplete and "run:".startswith(incomplete) else _a_file(incomplete)


def complete_rules(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the rules of lint, also after a comma."""
    from asyncstate.model.rules import RULES

    before, comma, _ = incomplete.rpartition(",")
    return _beginning((f"{before}{comma}{rule}" for rule in RULES if rule not in before.split(",")), incomplete)


def _ids(ctx: click.Context, begun: str) -> list[str]:
    from asyncstate.extras.completion.tree import ids_of

    places = places_of(ctx)
    return ids_of(places.file_roots, places.saltenv, _sls_before(ctx), begun)


def _sls_before(ctx: click.Context) -> list[str]:
    """Return the SLS names on the line, also the words that click leaves unparsed at an option without a value."""
    words = ctx.params.get("sls") or ctx.args[1 if "wanted" in ctx.params else 0 :]
    return [name for word in words if "=" not in word for name in str(word).split(",")]


def _plugins(ctx: click.Context, kind: str) -> Plugins:
    from asyncstate.extras.completion.plugins import Plugins

    return Plugins(places_of(ctx).plugin_dirs[kind])


def _functions(ctx: click.Context, kinds: Iterable[str], incomplete: str) -> list[str]:
    """Return ``module.function`` for each function of the typed module; before the dot, module names with a dot."""
    module, dot, _ = incomplete.partition(".")
    found: set[str] = set()
    for kind in kinds:
        plugins = _plugins(ctx, kind)
        if not dot:
            begun = [name for name in plugins.modules() if name.startswith(module)]
            found.update(f"{name}." for name in begun)
            if len(begun) != 1:
                continue
            module = begun[0]
        found.update(f"{module}.{name}" for name in plugins.functions(module) if not name.startswith("mod_"))
    return sorted(found - {f"{module}."} if len(found) > 1 and (dot or _one_module(found)) else found)


def _one_module(found: Iterable[str]) -> bool:
    return len({name.partition(".")[0] for name in found}) == 1


def _arguments(ctx: click.Context, kind: str, incomplete: str, common: Iterable[str] = ()) -> list[CompletionItem]:
    """Offer the arguments of the function on the line and those in ``common``, and the values of an unfinished one."""
    name, equals, value = incomplete.partition("=")
    if value.startswith("salt://"):
        return _tree_files(ctx, name, value)
    if (value if equals else incomplete).startswith(_LIKE_A_PATH):
        return _a_file(incomplete)
    module, _, wanted = str(ctx.params.get("function")).partition(".")
    arguments = _plugins(ctx, kind).functions(module).get(wanted, [])
    if equals:
        values = next((argument.values for argument in arguments if argument.name == name), [])
        offered = _beginning((f"{name}={each}" for each in values), incomplete)
        return offered or ([] if values else _a_file(incomplete))
    taken = {word.partition("=")[0] for word in ctx.params.get("arguments") or () if "=" in word}
    names = dict.fromkeys([*(argument.name for argument in arguments), *common])
    return _beginning((f"{each}=" for each in names if each not in taken), incomplete)


def _tree_files(ctx: click.Context, name: str, value: str) -> list[CompletionItem]:
    """Offer the files of the tree one folder at a time, as ``name=salt://web/nginx.conf``."""
    places = places_of(ctx)
    folder, slash, _ = value.removeprefix("salt://").rpartition("/")
    found = set()
    for root in places.file_roots.get(places.saltenv, []):
        place = os.path.join(root, *(part for part in folder.split("/") if part not in {"", ".", ".."}))
        try:
            with os.scandir(place) as entries:
                found |= {f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries}
        except OSError:
            continue
    offered = (f"{name}=salt://{folder}{slash}{each}" for each in sorted(found) if not each.startswith("."))
    return _beginning(offered, f"{name}={value}")


def _a_file(incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _beginning(names: Iterable[Any], incomplete: str) -> list[CompletionItem]:
    """Offer the names that begin with the unfinished word."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _runs_in(state_dir: str) -> dict[str, str]:
    """Return when each run began, by ID, newest first, from the names of a journal's files alone.

    For a running or killed one, the last change of its log counts.
    """
    begun: dict[str, float] = {}
    try:
        with os.scandir(os.path.join(state_dir, "journal")) as files:
            for file in files:
                run, suffix = os.path.splitext(file.name)
                if suffix == ".ended":  # its modification time is the start of the run
                    begun[run] = file.stat(follow_symlinks=False).st_mtime
                elif suffix == ".log":
                    begun[run] = file.stat(follow_symlinks=False).st_ctime
    except OSError:
        return {}
    newest = sorted(begun.items(), key=lambda item: (-item[1], item[0]))[:_MOST_RUNS]
    return {run: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) for run, at in newest}
