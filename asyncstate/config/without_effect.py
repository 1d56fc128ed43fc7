"""Salt settings, and folders of a tree, that have no effect here, with the alternatives."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from asyncstate.config.settings import user_name
from asyncstate.errors import Issue
from asyncstate.model.rules import CODES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from asyncstate.config.settings import Settings

CODE = "W401"

_FILES = (
    "SLS files are read from file_roots only: keep a checkout (git clone, or a state of it) and name its folder there"
)
_RESULTS = "results are in the report: give --out json or --out jsonl, or read the journal (asyncstate runs)"
_TIMER = "start asyncstate apply from a systemd timer or cron"
_LOADED = "all plugins are loaded: leave out single execution modules with disable_modules"
_ID = "write the whole ID into the configuration, as id"
_GRAINS = "leave grains out with grains_blacklist"
_MODULE = "write the function as an execution module, in _modules"
_EVENTS = "nothing listens to events: a program can act on asyncstate apply --out jsonl"

INSTEAD = {
    **dict.fromkeys(
        (
            "fileserver_backend gitfs_remotes gitfs_root gitfs_base hgfs_remotes svnfs_remotes minionfs_env "
            "s3.buckets azurefs"
        ).split(),
        _FILES,
    ),
    "ext_pillar": "external pillars are not run: write the data into pillar_roots, or give it with --pillar",
    "git_pillar_remotes": "keep a checkout of the pillar, and name its folder in pillar_roots",
    "decrypt_pillar": "pillar keys are not decrypted: begin the file of the pillar with #!yaml|gpg",
    "master_tops": "assign SLS files in top.sls",
    **dict.fromkeys("return returner event_return ext_job_cache master_job_cache schedule_returner".split(), _RESULTS),
    **dict.fromkeys(("returner_dirs", "outputter_dirs"), _RESULTS),
    **dict.fromkeys(("schedule", "startup_states"), _TIMER),
    **dict.fromkeys("beacons reactor engines thorium_roots".split(), _EVENTS),
    "mine_functions": "the mine is empty: read the data with a function in the template",
    "runner_dirs": _MODULE,
    "module_executors": "states run in this process: use runas, or run asyncstate as the other user",
    "sudo_user": "run asyncstate as root",
    "user": "start asyncstate as that user",
    "snapper_states": "no snapshots are made: take one in a state that the others require",
    "state_queue": "wait for another run with --wait SECONDS",
    "state_max_parallel": "concurrency says how many states run at once",
    **dict.fromkeys("id_function minion_id_caching minion_id_lowercase minion_id_remove_domain".split(), _ID),
    **dict.fromkeys(("cython_enable", "enable_zip_modules"), "write the modules as .py files"),
    "fips_mode": "choose digests, ciphers and keys that are allowed in the states",
    "append_minionid_config_dirs": "write the whole paths into the configuration",
    **dict.fromkeys(
        "whitelist_modules whitelist_state_modules extmod_whitelist extmod_blacklist autoload_dynamic_modules".split(),
        _LOADED,
    ),
    **dict.fromkeys(("enable_fqdns_grains", "enable_gpu_grains"), _GRAINS),
    "proxy": "there are no proxy minions: write the calls as states of your own, in _states of a file root",
}
"""The alternative to each option."""
_ON = frozenset({"autoload_dynamic_modules", "enable_fqdns_grains", "enable_gpu_grains", "minion_id_caching"})
"""Options that are on by default."""

_MASTER = "there is no master that would load it"

FOLDERS = {
    **dict.fromkeys(("_beacons", "_engines", "_thorium"), _EVENTS),
    "_returners": _RESULTS,
    "_output": "give --out json, and let a program show the rows",
    "_pillar": INSTEAD["ext_pillar"],
    "_tops": INSTEAD["master_tops"],
    **dict.fromkeys(("_proxy", "_resources"), INSTEAD["proxy"]),
    "_executors": INSTEAD["module_executors"],
    "_fileserver": _FILES,
    "_roster": "write the hosts into a roster file, and name it with --ssh",
    "_runners": _MODULE,
    "_wrapper": "hosts over ssh have the execution modules of _modules",
    "_matchers": "compare grains in the template, or write the target with Salt's own matchers",
    "_serializers": "make the text in a template, or with a function in _modules",
    "_sdb": "read the data with a function in _modules",
    "_log_handlers": "give --log-file, and --log-format json for programs",
    "_clouds": "make machines with another program",
    **dict.fromkeys(("_cache", "_queues", "_tokens", "_wheel"), _MASTER),
}
"""The alternative to each folder of a file root with plugins of a kind that is not loaded."""


def without_effect(settings: Settings) -> Iterator[Issue]:
    """Yield a warning for each option that is set and has no effect."""
    rule = CODES[CODE]
    given: Mapping[str, Any] = {**settings.extra, "ext_pillar": settings.ext_pillar}
    for option, value in given.items():
        if option in INSTEAD and _differs(option, value) and rule not in settings.ignore_rules:
            file = settings.file_of(option)
            yield Issue(f"the option {option} has no effect", file, 0, INSTEAD[option], rule, code=CODE)


def folders_without_effect(settings: Settings) -> Iterator[Issue]:
    """Yield a warning for each kind of plugin in the file roots that is not loaded, at the first folder of it."""
    rule = CODES[CODE]
    found: dict[str, str] = {}
    for root in (root for roots in settings.file_roots.values() for root in roots):
        for name in FOLDERS:
            folder = os.path.join(root, name)
            with suppress(OSError):
                if any(each.endswith(".py") for each in os.listdir(folder)):
                    found.setdefault(name, folder)
    for name, folder in found.items() if rule not in settings.ignore_rules else ():
        yield Issue(f"the folder {name} has no effect", folder, 0, FOLDERS[name], rule, code=CODE)


def _differs(option: str, value: Any) -> bool:
    """Return whether a value demands something that is not done."""
    if option == "fileserver_backend":
        return not {*(value if isinstance(value, list) else [value])} <= {"roots", "file", None}
    if option == "user":
        return value not in {None, "", user_name()}
    return value is not True if option in _ON else bool(value)
