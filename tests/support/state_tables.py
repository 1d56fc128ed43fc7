"""Tables of states, tests/states/rows/*.yaml: a system, one call, and what the rows and the system are afterwards.

Each case is a title with:

state, arguments   the call. It is made in a dry run, which must change nothing, then for real, then again.
test, run, again   the three rows: result, changes, comment, and other keys if there are any. A row that is left out is
                   the one of ``run``. ``…`` in a comment is any text.
settles            false if a dry run, where a second run changes nothing, says that it will (rows that foretell too much)
files, after       what is below ``{root}``, and what of it is different afterwards: ``~`` is gone. A file is its text, or
                   has a ``text`` and a ``mode``; ``{}`` is a folder, ``{link: …}`` and ``{hard: …}`` are links;
                   ``{archive: …}`` has files, as a folder has, and the form that its name says.
places             where modules look for what belongs to the system: the name of a constant and the path in its place
tree               the files of the file roots
installed          the only programs that are found, by name; none of them does anything
opts, pillar, grains, lowstate
machine, machine after   likewise, of the ``fake`` that stands for the programs of the system

``every case`` says what all cases of a table have; a case says it otherwise, or more.
"""

from __future__ import annotations

import copy
import importlib
import io
import os
import re
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plugin_harness import ROW_KEYS, PluginHarness, snapshot
from record_state_rows import cleaned
from recording import filled

from asyncstate.data.formats import yaml_data
from asyncstate.errors import AsyncStateError

if TYPE_CHECKING:
    import pytest

TABLES = Path(__file__).parents[1] / "states" / "rows"
COMMON = "every case"
RUNS = {"test": True, "run": False, "again": False}
KEYS = {
    "loads", "fake", "places", "installed", "files", "tree", "opts", "pillar", "grains", "lowstate", "machine",
    "test", "again", "settles", "after", "machine after",
}  # fmt: skip
MEMBERS = {"text": tarfile.REGTYPE, "link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE}
UNSEEN = {"calls", "options", "asked", "commands"}
"""Attributes of fakes that tell how they were asked, and nothing of the system."""


def cases() -> dict[str, dict[str, Any]]:
    """Return the cases of all tables, by ``table: title``."""
    return table_cases(TABLES, {"state", "arguments", "run"})


def table_cases(folder: Path, needed: set[str], more: set[str] | None = None) -> dict[str, dict[str, Any]]:
    """Return the cases of a folder's tables. Each has the ``needed`` keys, and no unknown one."""
    known = KEYS | needed | (more or set())
    found = {}
    for path in sorted(folder.glob("*.yaml")):
        table = yaml_data(path.read_text(encoding="utf-8"))
        common = table.pop(COMMON, {})
        for title, case in table.items():
            whole = found[f"{path.stem}: {title}"] = merged(common, case)
            assert needed <= whole.keys() <= known, f"{path.name}, {title}"
    return found


def prepare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any]) -> tuple[PluginHarness, Any, Path]:
    """Make the system of a case; return the plugins, what stands for its programs, and its root."""
    root = tmp_path / "root"
    root.mkdir()
    plugins = PluginHarness(tmp_path, **placed(case.get("opts", {}), root))
    for kind, names in case["loads"].items():
        for name in names:
            plugins.load(kind, name)
    for place, path in placed(case.get("places", {}), root).items():
        monkeypatch.setattr(f"asyncstate.modules.{place}", path)
    if "installed" in case:
        lay_out(tmp_path / "bin", {name: {"text": "", "mode": "0755"} for name in case["installed"]})
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    fake = fake_of(case, plugins)
    lay_out(root, placed(case.get("files", {}), root))
    for name, text in case.get("tree", {}).items():
        plugins.salt_file(name, text)
    for name in ("pillar", "grains"):
        getattr(plugins, name).update(placed(case.get(name, {}), root))
    plugins.lowstate = placed(case.get("lowstate", []), root)
    for name, value in placed(case.get("machine", {}), root).items():
        setattr(fake, name, set(value) if isinstance(getattr(fake, name), set) else value)
    return plugins, fake, root


def placed(value: Any, root: Path) -> Any:
    """Put the root of a case in place of ``{root}``."""
    return filled(value, {"{root}": root})


def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any]) -> dict[str, Any]:
    """Make the three calls of a case; return the rows and what became of the system, in the words of the table."""
    plugins, fake, root = prepare(tmp_path, monkeypatch, case)
    first = seen(root, fake)
    untouched = snapshot(tmp_path)
    found: dict[str, Any] = {}
    for run, test in RUNS.items():
        plugins.context.clear()
        row = call(plugins, case, root, test=test)
        found[run] = essence(cleaned(row, root), case["arguments"])
        after = seen(root, fake)
        assert not test or (after, snapshot(tmp_path)) == (first, untouched), "the dry run changed something"
    if found["again"][:2] == [True, {}]:
        later = call(plugins, case, root, test=True)
        found["settles"] = (later["result"], later["changes"]) == (True, {})
    changes = {"after": difference(first[0], after[0], deep=False), "machine after": difference(first[1], after[1])}
    return {**found, **cleaned(changes, root)}


def fake_of(case: dict[str, Any], plugins: PluginHarness) -> Any:
    """Make what stands for the programs: a class of tests/support, ``module.name``, that puts itself into ``salt``."""
    if "fake" not in case:
        return None
    module, _, name = case["fake"].rpartition(".")
    return getattr(importlib.import_module(module), name)(plugins)


def call(plugins: PluginHarness, case: dict[str, Any], root: Path, *, test: bool) -> dict[str, Any]:
    """Make the call of a case. What the engine makes a failed row of is one."""
    arguments = placed(copy.deepcopy(case["arguments"]), root)
    return plugins.state(case["state"], test=test, errors=(AsyncStateError,), **arguments)


def expected(case: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return what `replay` must have found; what the table leaves open is as it was found."""
    wanted = {run: list(case.get(run, case["run"])) for run in RUNS}
    for run, row in wanted.items():
        said, pattern = found[run][2], ".*".join(map(re.escape, row[2].split("…")))
        row[2] = said if re.fullmatch(pattern, said, re.DOTALL) else row[2]
    settles = {"settles": case.get("settles", True)} if "settles" in found else {}
    return {**wanted, **settles, **{name: case.get(name, {}) for name in ("after", "machine after")}}


def essence(row: dict[str, Any], arguments: dict[str, Any]) -> list[Any]:
    """Reduce a row to what a table says of it."""
    row["changes"].pop("pid", None)
    more = {key: value for key, value in row.items() if key not in ROW_KEYS}
    if row["name"] != arguments.get("name"):
        more["name"] = row["name"]
    return [row["result"], row["changes"], row["comment"], *([more] if more else [])]


def seen(root: Path, fake: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the files and the state of the fake, in the words of a table."""
    plain = {name: value for name, value in vars(fake).items() if name[0] != "_" and name not in UNSEEN} if fake else {}
    values = {name: sorted(value) if isinstance(value, set) else value for name, value in plain.items()}
    return tree_of(root), copy.deepcopy({name: value for name, value in values.items() if is_data(value)})


def is_data(value: Any) -> bool:
    """Say whether YAML has the value."""
    if isinstance(value, dict):
        return all(isinstance(key, (str, int)) and is_data(item) for key, item in value.items())
    return all(map(is_data, value)) if isinstance(value, list) else isinstance(value, (str, int, float, type(None)))


def lay_out(root: Path, files: dict[str, Any]) -> None:
    """Make the files of a case; links lead to what is made before them, or to nothing."""
    for name, value in files.items():
        path, entry = root / name, value if isinstance(value, dict) else {"text": value}
        for folder in reversed([each for each in path.parents if not each.exists()]):
            folder.mkdir(mode=0o755)
        if "link" in entry:
            path.symlink_to(entry["link"])
        elif "hard" in entry:
            path.hardlink_to(root / entry["hard"])
        elif "archive" in entry:
            pack(path, entry["archive"])
        elif "text" in entry:
            text = entry["text"]
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            path.chmod(int(entry.get("mode", "0644"), 8))
        else:
            path.mkdir(exist_ok=True)
            path.chmod(int(entry.get("mode", "0755"), 8))


def pack(path: Path, members: dict[str, Any]) -> None:
    """Make an archive: a zip, or a tar that is compressed as its name says."""
    infos = []
    for name, value in members.items():
        entry = value if isinstance(value, dict) else {"text": value}
        kind = next((kind for word, kind in MEMBERS.items() if word in entry), tarfile.DIRTYPE)
        mode = int(entry.get("mode", "0644" if "text" in entry else "0755"), 8)
        infos.append((name, kind, mode, entry.get("text", "").encode(), entry.get("link") or entry.get("hard", "")))
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, kind, mode, data, target in infos:
                info = zipfile.ZipInfo(name)
                info.external_attr = (mode | (stat.S_IFLNK if kind == tarfile.SYMTYPE else stat.S_IFREG)) << 16
                archive.writestr(info, target or data)
        return
    form = {".gz": "gz", ".tbz2": "bz2", ".xz": "xz"}.get(path.suffix, "")
    with tarfile.open(path, f"w:{form}") as archive:
        for name, kind, mode, data, target in infos:
            member = tarfile.TarInfo(name)
            member.size, member.type, member.mode, member.linkname = len(data), kind, mode, target
            archive.addfile(member, io.BytesIO(data))


def tree_of(root: Path) -> dict[str, Any]:
    """Return what is below a folder, as tables write it: folders with something in them only if their mode is unusual."""
    found: dict[str, Any] = {}
    links: dict[tuple[int, int], str] = {}
    for path in sorted(root.rglob("*")):
        status, name = path.lstat(), path.relative_to(root).as_posix()
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        if stat.S_ISLNK(status.st_mode):
            found[name] = {"link": os.readlink(path)}
        elif stat.S_ISDIR(status.st_mode):
            if mode != "0755" or not any(path.iterdir()):
                found[name] = {"mode": mode} if mode != "0755" else {}
        elif not stat.S_ISREG(status.st_mode):
            found[name] = {"kind": stat.filemode(status.st_mode)[0], "mode": mode}
        elif status.st_nlink > 1 and (status.st_dev, status.st_ino) in links:
            found[name] = {"hard": links[status.st_dev, status.st_ino]}
        else:
            links[status.st_dev, status.st_ino] = name
            text = path.read_bytes().decode(errors="backslashreplace")
            found[name] = {"text": text, "mode": mode} if mode != "0644" else text
    return found


def difference(before: dict[str, Any], after: dict[str, Any], *, deep: bool = True) -> dict[str, Any]:
    """Return what is new or different, and None for what is gone; ``deep`` in dicts, too."""
    filled_folders = {parent for key in after for parent in map(str, Path(str(key)).parents)}
    found = dict.fromkeys(
        [key for key, old in before.items() if key not in after and not (old == {} and key in filled_folders)]
    )
    for key, value in after.items():
        old = before.get(key)
        if key not in before or old != value:
            both = deep and isinstance(old, dict) and isinstance(value, dict)
            found[key] = difference(old, value) if both else value
    return found


def merged(common: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Put what a case says over what all of its table have."""
    both = {
        key: merged(common[key], value) if isinstance(value, dict) and isinstance(common.get(key), dict) else value
        for key, value in own.items()
    }
    return {**copy.deepcopy(common), **both}
