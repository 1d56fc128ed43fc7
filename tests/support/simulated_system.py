"""A simulated system, and state modules that work on it.

Every function takes virtual time between looking and acting, so two that touch the same thing at once do it wrong: what
must not overlap does overlap as soon as an edge of the plan is missing. Formulas are ``a`` and ``b``; a package of one
drops files below ``/etc/a`` or ``/etc/b`` that it does not name beforehand, and a service reads all there is below.
"""

from __future__ import annotations

import asyncio
import posixpath
import random

from fake_host import FakeHost, row, test_mode

from asyncstate.load.plugin import LoadedFunction, LoadedModule

DIRECTORY = "<directory>"
EXISTING = ("/", "/etc", "/etc/a", "/etc/a/conf", "/etc/b", "/shared")


class System:
    """What the states change. ``slow(n)`` waits for some virtual time."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.files = dict.fromkeys(EXISTING, DIRECTORY)
        self.modes: dict[str, int] = {}
        self.packages: set[str] = set()
        self.users: set[str] = {"root"}
        self.services: dict[str, list] = {}
        self.counters: dict[str, int] = {}
        self.initialised: dict[str, int] = {}

    def snapshot(self):
        return (
            sorted(self.files.items()),
            sorted(self.modes.items()),
            sorted(self.packages),
            sorted(self.users),
            sorted(self.services.items()),
            sorted(self.counters.items()),
            sorted(self.initialised.items()),
        )

    async def slow(self) -> None:
        await asyncio.sleep(self._random.choice((0, 0, 0.5, 1, 2, 5)))

    async def initialise(self, module: str) -> bool:
        """Count how often a module was initialised; two at once would count wrong."""
        before = self.initialised.get(module, 0)
        await self.slow()
        self.initialised[module] = before + 1
        return True

    def below(self, path: str) -> list[str]:
        return sorted(name for name in self.files if name == path or name.startswith(path.rstrip("/") + "/"))

    def make_folders(self, path: str) -> None:
        """Make the folders a file needs, as far as nothing else is in their place."""
        above = posixpath.dirname(path)
        if above not in self.files:
            self.make_folders(above)
            if self.files.get(posixpath.dirname(above)) == DIRECTORY:
                self.files[above] = DIRECTORY

    def write(self, path: str, text: str) -> bool:
        """Write a file where its folder exists; False if it does not, or if a folder is in the way."""
        if self.files.get(posixpath.dirname(path)) != DIRECTORY or self.files.get(path) == DIRECTORY:
            return False
        self.files[path] = text
        return True


def file_states(system: System):
    async def managed(name, contents="", user=None, source=None, makedirs=False):
        if user is not None and user not in system.users:
            return row(name, False, comment=f"no user {user}")
        if source is not None and system.files.get(source, DIRECTORY) == DIRECTORY:
            return row(name, False, comment=f"no source {source}")
        text = system.files[source] if source is not None else contents
        await system.slow()
        old = system.files.get(name)
        if old == text:
            return row(name, comment="in place")
        await system.slow()
        if test_mode():
            return row(name, None, {"diff": f"{old} -> {text}"})
        if makedirs:
            system.make_folders(name)
        if not system.write(name, text):
            return row(name, False, comment="no folder")
        return row(name, True, {"diff": f"{old} -> {text}"})

    async def append(name, text):
        old = system.files.get(name, "")
        await system.slow()
        if old.endswith(text):
            return row(name, comment="in place")
        if test_mode():
            return row(name, None, {"diff": old + text})
        await system.slow()
        return row(name, True, {"diff": old + text}) if system.write(name, old + text) else row(name, False)

    async def absent(name):
        gone = system.below(name)
        await system.slow()
        if not gone:
            return row(name, comment="not there")
        if test_mode():
            return row(name, None, {"removed": gone})
        for path in gone:
            system.files.pop(path, None)
            system.modes.pop(path, None)
        await system.slow()
        return row(name, True, {"removed": gone})

    async def directory(name, mode=None, recurse=False):
        new = name not in system.files
        await system.slow()
        touched = system.below(name) if recurse else [name]
        changed = [path for path in touched if mode is not None and system.modes.get(path) != mode]
        if system.files.get(name, DIRECTORY) != DIRECTORY:
            return row(name, False, comment="a file is in the way")
        if not new and not changed:
            return row(name, comment="in place")
        if test_mode():
            return row(name, None, {"new": new, "modes": changed})
        await system.slow()
        if new:
            if system.files.get(posixpath.dirname(name)) != DIRECTORY:
                return row(name, False, comment="no folder")
            system.files[name] = DIRECTORY
        for path in changed:
            if path in system.files:
                system.modes[path] = mode
        return row(name, True, {"new": new, "modes": changed})

    def mod_footprint(low):
        name, function = low["name"], low["fun"]
        reads = [f"user:{low['user']}"] if low.get("user") else []
        reads += [f"path:{low['source']}"] if low.get("source") else []
        whole = function == "absent" or low.get("recurse")
        makes = [f"path:{posixpath.dirname(name)}"] if low.get("makedirs") else []
        footprint = {"reads": reads, "writes": [f"path:{name}/**" if whole else f"path:{name}"], "makes": makes}
        left = {"managed": posixpath.dirname(name), "directory": name}.get(function)
        return footprint | ({"leaves": [f"path:{left}"]} if left else {})

    functions = {"managed": managed, "append": append, "absent": absent, "directory": directory}
    return functions | {"mod_footprint": mod_footprint}


def probe_states(system: System):
    async def read(name):
        first = system.files.get(name)
        await system.slow()
        return row(name, comment=f"{first} {system.files.get(name)} {system.modes.get(name)}")

    async def tree(name):
        first = len(system.below(name))
        await system.slow()
        return row(name, comment=str((first, [(path, system.files[path]) for path in system.below(name)])))

    async def fail(name):
        await system.slow()
        return row(name, False, comment="as told")

    def mod_footprint(low):
        if low["fun"] == "fail":
            return {}
        return {"reads": [f"path:{low['name']}/**" if low["fun"] == "tree" else f"path:{low['name']}"]}

    return {"read": read, "tree": tree, "fail": fail, "mod_footprint": mod_footprint}


def user_states(system: System):
    async def present(name):
        known = name in system.users
        await system.slow()
        if known:
            return row(name, comment="in place")
        if test_mode():
            return row(name, None, {"user": name})
        system.users.add(name)
        return row(name, True, {"user": name})

    async def absent(name):
        known = name in system.users
        await system.slow()
        if not known:
            return row(name, comment="not there")
        if test_mode():
            return row(name, None, {"gone": name})
        system.users.discard(name)
        return row(name, True, {"gone": name})

    return {"present": present, "absent": absent, "mod_footprint": lambda low: {"writes": [f"user:{low['name']}"]}}


def package_states(system: System, *, split: bool):
    """Packages are called ``a-x``: the formula they belong to comes first. One call installs all or nothing."""

    async def mod_init(low):
        return low["fun"] == "installed" and await system.initialise("pkg")

    async def installed(name, pkgs=None):
        if not system.initialised.get("pkg"):
            return row(name, False, comment="no index of packages")
        wanted = list(pkgs or [name])
        before = set(system.packages)
        await system.slow()
        missing = [package for package in wanted if package not in before]
        if not missing:
            return row(name, comment="in place")
        if test_mode():
            return row(name, None, dict.fromkeys(missing, "new"))
        if any(package.endswith("-broken") for package in missing):
            return row(name, False, comment=f"cannot install {missing}")
        await system.slow()
        system.packages = before | set(missing)
        for package in missing:
            system.files.setdefault(f"/etc/{package[0]}/{package}.conf", f"as {package} brings it")
        return row(name, True, dict.fromkeys(missing, "new"), comment=f"installed {missing}")

    async def removed(name):
        before = set(system.packages)
        await system.slow()
        if name not in before:
            return row(name, comment="not there")
        if test_mode():
            return row(name, None, {name: "gone"})
        await system.slow()
        system.packages = before - {name}
        system.files.pop(f"/etc/{name[0]}/{name}.conf", None)
        return row(name, True, {name: "gone"})

    def mod_aggregate(low, chunks, running):
        if low["fun"] != "installed":
            return low
        names = [low["name"]]
        for chunk in chunks:
            if chunk is not low and "__agg__" not in chunk and chunk["fun"] == "installed":
                chunk["__agg__"] = True
                names.append(chunk["name"])
        return {**low, "pkgs": names} if len(names) > 1 else low

    def mod_aggregate_split(low, chunks, ret):
        return {
            f"{chunk['state']}_|-{chunk['__id__']}_|-{chunk['name']}_|-{chunk['fun']}": {
                name: value for name, value in ret["changes"].items() if name == chunk["name"]
            }
            for chunk in chunks
        }

    def mod_transaction(low, first):
        return "" if low["fun"] == "installed" else "what it removes is its own"

    functions = {
        "installed": installed,
        "removed": removed,
        "mod_transaction": mod_transaction,
        "mod_init": mod_init,
        "mod_aggregate": mod_aggregate,
        "mod_footprint": lambda low: {"writes": ["pkgdb"]},
    }
    return functions | {"mod_aggregate_split": mod_aggregate_split} if split else functions


def service_states(system: System):
    """Services are called ``a-x`` as well; one that starts reads everything of its formula."""

    def configuration(name):
        return [(path, system.files[path]) for path in system.below(f"/etc/{name[0]}")]

    async def mod_init(low):
        return await system.initialise("service")

    async def running(name):
        if system.initialised.get("service") != 1:
            return row(name, False, comment="no init system, or two")
        known = name in system.services
        await system.slow()
        if known:
            return row(name, comment=f"runs with {system.services[name]}")
        if test_mode():
            return row(name, None, {"started": name})
        system.services[name] = [1, configuration(name)]
        await system.slow()
        return row(name, True, {"started": name})

    async def dead(name):
        known = name in system.services
        await system.slow()
        if not known:
            return row(name, comment="not there")
        if test_mode():
            return row(name, None, {"stopped": name})
        del system.services[name]
        return row(name, True, {"stopped": name})

    async def mod_watch(name, sfun=None, __reqs__=None):
        watched = [low["__id__"] for low in (__reqs__ or {}).get("watch", ())]
        await system.slow()
        if test_mode():
            return row(name, None, {"restarted": watched})
        starts = system.services.get(name, [0])[0]
        await system.slow()
        system.services[name] = [starts + 1, configuration(name)]
        return row(name, True, {"restarted": watched}, comment=f"restarted {sfun}")

    functions = {"running": running, "dead": dead, "mod_watch": mod_watch, "mod_init": mod_init}
    return functions | {"mod_footprint": lambda low: {"writes": [f"service:{low['name']}"]}}


def counter_states(system: System, *, split: bool):
    """A custom module: what it does twice is seen. One call counts for all that were folded into it, or for none."""

    async def add(name, by, others=()):
        wanted = {name: by, **dict(others)}
        before = {each: system.counters.get(each, 0) for each in wanted}
        await system.slow()
        if test_mode():
            return row(name, None, dict(wanted))
        if any(each.startswith("broken") for each in wanted):
            return row(name, False, comment=f"cannot count {sorted(wanted)}")
        await system.slow()
        system.counters |= {each: before[each] + more for each, more in wanted.items()}
        return row(name, True, dict(wanted), comment=f"from {before}")

    async def mod_watch(name, by, sfun=None, __reqs__=None):
        before = system.counters.get(name, 0)
        await system.slow()
        if test_mode():
            return row(name, None, {"watched": name})
        system.counters[name] = before + 100
        return row(name, True, {"watched": sorted(__reqs__ or ())})

    def mod_aggregate(low, chunks, running):
        others = {}
        for chunk in chunks:
            if not chunk.get("__agg__") and chunk["name"] not in {low["name"], *others}:
                chunk["__agg__"] = True
                others[chunk["name"]] = chunk["by"]
        return {**low, "others": others}

    def mod_aggregate_split(low, chunks, ret):
        return {
            f"{chunk['state']}_|-{chunk['__id__']}_|-{chunk['name']}_|-{chunk['fun']}": {
                name: by for name, by in ret["changes"].items() if name == chunk["name"]
            }
            for chunk in chunks
        }

    functions = {"add": add, "mod_watch": mod_watch, "mod_aggregate": mod_aggregate}
    functions["mod_footprint"] = lambda low: {"writes": [f"counter:{low['name']}"]}
    return functions | {"mod_aggregate_split": mod_aggregate_split} if split else functions


def bundle_states(system: System):
    """States that run others themselves and report a row for each."""

    async def deployed(name, parts):
        entries, changes = [], {}
        for part in parts:
            path = f"{name}/{part}"
            old = system.files.get(path)
            await system.slow()
            done = old is None and not test_mode() and system.write(path, f"part {part}")
            low = {"state": "file", "fun": "managed", "name": path, "__id__": part}
            entries.append({"low": low, "result": True, "changes": {path: "new"} if done else {}, "comment": str(old)})
            changes |= {path: "new"} if done else {}
        return row(name, True, changes, sub_state_run=entries)

    return {"deployed": deployed, "mod_footprint": lambda low: {"writes": [f"path:{low['name']}/**"]}}


def modules(system: System, *, split: bool = False):
    """State functions by module, all over one system."""
    return {
        "file": file_states(system),
        "probe": probe_states(system),
        "user": user_states(system),
        "pkg": package_states(system, split=split),
        "service": service_states(system),
        "counter": counter_states(system, split=split),
        "bundle": bundle_states(system),
    }


CUSTOM = frozenset({"counter"})
"""Modules that are not bundled: their footprint is all that orders them."""


class StateModules:
    """The simulated modules as the compiler asks for them, with footprints."""

    def __init__(self) -> None:
        self._functions = {}
        for name, functions in modules(System(0), split=True).items():
            module = LoadedModule(name, "", None, bundled=name not in CUSTOM)
            self._functions |= {
                f"{name}.{fun}": LoadedFunction(f"{name}.{fun}", func, module) for fun, func in functions.items()
            }

    def has(self, name):
        return name in self._functions

    def refused(self, module_name):
        """No module waits for what the tree installs."""
        return

    def find(self, name):
        return self._functions.get(name)


def host_of(system: System, *, split: bool, **opts) -> FakeHost:
    """A plugin host with the simulated modules and the functions that conditions call."""
    host = FakeHost(**opts)
    for module, functions in modules(system, split=split).items():
        for name, func in functions.items():
            host.state(f"{module}.{name}", func)
    host.salt = {
        "probe.exists": lambda path: path in system.files,
        "probe.installed": lambda name: name in system.packages,
        "cmd.retcode": lambda command, **_: 0 if command.removeprefix("test -e ") in system.files else 1,
    }
    return host
