"""Record what Salt makes of falsy arguments: ``python tests/support/record_falsy.py [states|modules [CALL…]]``.

Run it as root where salt is installed, in namespaces in which the scratch folder and the answers are all that can be written:

    unshare -mnpif --mount-proc sh -c 'mount --make-rprivate /; mkdir -p /tmp/falsy; here=tests/recorded/falsy
    mount --bind $here $here; mount -o remount,bind,ro /; mount -o remount,bind,ro /sys
    mount -t tmpfs none /tmp/falsy; mount -t tmpfs none /run; mount -t tmpfs none /dev/shm
    exec python tests/support/record_falsy.py'

Each call of tests/recorded/falsy/*.yaml is made as it stands, then with each argument of the function left out, None, '', 0,
False, [] and {}, but for those in ``but``, which could reach a file of the machine. States are called with test=True, those
with ``real`` also without; execution functions for real. NAME.json beside the calls gets the answers; those recorded already
are kept: name a call to ask again. Nearly all equal that of the call as it stands, and are written as "=".
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import yaml
from recording import filled, minion_options, write_lines

FOLDER = Path(__file__).parents[1] / "recorded" / "falsy"
ROOT = Path("/tmp/falsy/scratch")
FALSY = {"None": None, "''": "", "0": 0, "False": False, "[]": [], "{}": {}}
LEFT_OUT = "absent"
LONG = 2000
"""Answers with more characters depend on the machine, as all grains do."""
PILLAR = {"web": {"port": 80}, "zero": 0, "name": "a"}

_FILES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())["files"]
_KEY = _FILES["a.key"]
_DATED = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in {"DATE": "2024-01-01T00:00:00Z", "NAME": "a", "EMAIL": "a@example.org"}.items()
}


def lay_out(root):
    """Make the scratch folder of one call."""
    for name, text in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if name.endswith(".sh") else 0o644)
    (root / "folder" / "empty").mkdir()
    (root / "mnt").mkdir()
    (root / "link").symlink_to(root / "old")
    with tarfile.open(root / "a.tar", "w") as archive:
        archive.add(root / "folder", "packed", filter=_of_nobody)
    with zipfile.ZipFile(root / "a.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("packed/inner"), "inner\n")
    git = ["git", "-C", str(root / "source"), "-c", "init.defaultBranch=main"]
    (root / "source").mkdir()
    for words in (["init", "-q", "--template="], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *words], check=True, env={**os.environ, **_DATED})


def _of_nobody(entry):
    entry.uid, entry.gid, entry.uname, entry.gname, entry.mtime = os.getuid(), os.getgid(), "", "", 0
    return entry


def scanned(root):
    """Return mode and content of all below the scratch folder, but of what a program keeps for itself."""
    found = {}
    for folder, folders, files in os.walk(root):
        if folder == str(root):
            folders[:] = [name for name in folders if name != "source"]
        for name in [*folders, *files]:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            mode = stat.filemode(status.st_mode)
            content = ""
            if stat.S_ISLNK(status.st_mode):
                content, mode = os.readlink(path), "link"
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = _text_of(file.read())
            found[os.path.relpath(path, root)] = f"{mode} {content}"
    return found


def _text_of(content):
    try:
        return content.decode() if b"\0" not in content else "(no text)"
    except UnicodeDecodeError:
        return "(no text)"


def changed(before, after):
    """Return what a call made of the scratch folder."""
    gone = {name: None for name in before if name not in after}
    return {**gone, **{name: text for name, text in sorted(after.items()) if before.get(name) != text}}


def plain(value, root):
    """Return an answer as JSON has it, without what differs from call to call; the scratch folder is in ``{cwd}``."""
    for each in (value, *(value if isinstance(value, list) else ())):
        if isinstance(each, dict):
            each.pop("pid", None)
    text = json.dumps(value, default=_odd, sort_keys=True)
    text = text.replace(json.dumps(str(root))[1:-1], "{root}").replace(json.dumps(str(root.parent))[1:-1], "{cwd}")
    return json.loads(re.sub(r"/[\w./]*(__salt\.tmp\.|salt-|tmp)[\w-]{8}\b", "{temporary}", text))


def _odd(value):
    if isinstance(value, (set, frozenset, tuple)):
        return sorted(value, key=str)
    if isinstance(value, bytes):
        return repr(value)
    return dict(value) if hasattr(value, "keys") else f"<{type(value).__name__}>"


def shape_of(answer):
    """Reduce an answer that depends on the machine to its type, and whether it is empty."""
    if isinstance(answer, str) and answer.startswith("!"):
        return answer.partition(":")[0]
    if isinstance(answer, (int, float)) and not isinstance(answer, bool):
        return "number"
    return f"{type(answer).__name__}{'' if answer else ' (falsy)'}"


def told(error):
    """Return an exception as an answer."""
    return f"!{type(error).__name__}: {error}"


def variations(case, names):
    """Yield argument, value and the arguments of each call that differs from the one that stands there."""
    given = case["arguments"]
    for name in names:
        if name in given and name != "args":
            yield name, LEFT_OUT, {key: value for key, value in given.items() if key != name}
        for label, value in FALSY.items() if name != "args" else ():
            yield name, label, {**given, name: value}


def modes(kind, case):
    """Return the values of test with which a case is called."""
    return [True, False] if kind == "states" and case.get("real") else [kind == "states"]


def answers(kind, title, case, names, call, root):  # noqa: PLR0917
    """Make all calls of a case with ``call(function, arguments, test)``; return their answers."""
    function = title.partition(" ")[0]
    fresh = None

    def one(arguments, test):
        nonlocal fresh
        if fresh is None:
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir(parents=True)
            lay_out(root)
            fresh = scanned(root)
        answer = plain(call(function, filled(arguments, {"{root}": root, "{key}": _KEY}), test), root)
        if kind == "modules" and case.get("shape"):
            answer = shape_of(answer)
        after = scanned(root)
        if deeds := changed(fresh, after):
            fresh = None
            answer = [answer, "made", plain(deeds, root)]
        return answer if len(json.dumps(answer)) <= LONG else "(long)"

    found = {}
    for test in modes(kind, case):
        standing = one(case["arguments"], test)
        mine = {"": standing}
        for name, label, arguments in variations(case, names):
            if not test and kind == "states" and name in ("name", *case.get("but", ())):
                continue  # only where nothing is changed
            if name in case.get("but", ()):
                continue
            answer = one(arguments, test)
            mine.setdefault(name, {})[label] = "=" if answer == standing else answer
        found["real" if kind == "states" and not test else "call"] = mine
    return found


def packed(recorded):
    """Write equal answers of an argument once: ``{"None '' False": "="}``."""
    result = {}
    for how, arguments in recorded.items():
        result[how] = {}
        for name, each in arguments.items():
            if not name:
                result[how][name] = each
                continue
            labels = {}
            for label, answer in each.items():
                labels.setdefault(json.dumps(answer, sort_keys=True), []).append(label)
            result[how][name] = {" ".join(several): json.loads(answer) for answer, several in labels.items()}
    return result


def unpacked(arguments):
    """Do the opposite of `packed`, for one way of calling."""
    return {
        name: each if not name else {label: answer for labels, answer in each.items() for label in labels.split()}
        for name, each in arguments.items()
    }


def calls_of(kind):
    """Return the calls of a file by title; libyaml, if it is there, takes a tenth of the time."""
    return yaml.load((FOLDER / f"{kind}.yaml").read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def read_cases(kind):
    """Return the calls of a file by title, each with what Salt answered."""
    cases = calls_of(kind)
    recorded = json.loads((FOLDER / f"{kind}.json").read_text())
    return {
        title: (case, {how: unpacked(each) for how, each in recorded[title].items()})
        for title, case in cases.items()
        if title in recorded and "absent" not in recorded[title]
    }


def compared(theirs, ours):
    """Yield where our answers are not Salt's: how it was called, argument, value, Salt's answer, ours.

    What crashed in Salt may end in any way here. An exception of Salt's own has the same words here.
    """
    for how, arguments in theirs.items():
        for name, values in arguments.items():
            for label, answer in values.items() if name else [("", values)]:
                own = ours[how][name][label] if name else ours[how][name]
                if answer != own and not _same_failure(answer, own):
                    yield how, name, label, answer, own


def _same_failure(answer, own):
    words = json.dumps(answer)
    if _PYTHONS_WORDS.search(words):
        return True
    if not isinstance(answer, str) or not answer.startswith("!"):
        return False
    kind, _, words = answer.partition(": ")
    return kind not in _TOLD or json.dumps(words)[1:-1] in json.dumps(own)


_TOLD = {"!CommandExecutionError", "!SaltInvocationError"}
"""Salt's exceptions with words for users; what else it raises, it did not mean to."""
_PYTHONS_WORDS = re.compile(
    r"object has no attribute|not supported between|unsupported operand|requires string as|must be str, not|object is not"
    r"|!\w*(?:Type|Attribute|Key|Index|Value|UnboundLocal|FileNotFound|Name|OS)Error|unbuffered text|argument of type"
    r"|expected str, bytes"
)
"""A row with such words is a crash that Salt caught by accident."""


class _Late(Exception):
    pass


def _too_late(*_):
    raise _Late("took more than 5 seconds")


def _salt(root):
    """Return Salt's way of calling, and of finding the arguments of a function."""
    import salt.client
    import salt.state
    import salt.utils.args

    root.mkdir(parents=True)
    lay_out(root)
    own = {"pillar": PILLAR, "conf_file": str(root / "etc/minion"), **filled(OPTS, {"{root}": root})}
    opts = minion_options(root.parent / "salt", root / "tree", **own)
    caller = salt.client.Caller(mopts=opts)
    caller.opts["pillar"] = PILLAR
    states = {}
    for test in (True, False):  # a function keeps the options with which it was loaded
        states[test] = salt.state.State({**caller.opts, "pillar": PILLAR, "test": test}, initial_pillar=PILLAR)
        states[test].check_refresh = lambda *_: None  # it waits for a daemon
    own_context = {test: set(state.state_con) for test, state in states.items()}
    signal.signal(signal.SIGALRM, _too_late)

    def call(function, arguments, test):
        signal.alarm(5)
        try:
            return call_state(function, arguments, test) if test is not None else call_module(function, arguments)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - that is the answer
            return told(error)
        finally:
            signal.alarm(0)

    def call_state(function, arguments, test):
        state = states[test]
        for key in set(state.state_con) - own_context[test]:  # a process of Salt applies one tree
            del state.state_con[key]
        module, name = function.split(".")
        high = {
            "the call": {
                module: [name, *({key: value} for key, value in arguments.items())],
                "__sls__": "falsy",
                "__env__": "base",
            }
        }
        high["the call"][module].append({"order": 10000})
        rows = state.call_high(high)
        if not isinstance(rows, dict):
            return [False, {}, str(rows)]
        row = next(iter(rows.values()))
        comment = row["comment"]
        if isinstance(comment, str) and "Traceback (most recent call last)" in comment:
            return f"!{comment.strip().splitlines()[-1].removeprefix('salt.exceptions.')}"
        return [row["result"], row["changes"], comment]

    def call_module(function, arguments):
        arguments = dict(arguments)
        positional = arguments.pop("args", [])
        return caller.sminion.functions[function](*positional, **arguments)

    def names(kind, function):
        found = caller.sminion.functions[function] if kind == "modules" else states[True].states[function]
        spec = salt.utils.args.get_function_argspec(found)
        return spec.args

    return call, names


OPTS = {"aliases.file": "{root}/aliases", "hosts.file": "{root}/hosts"}


def main():
    kinds = sys.argv[1:2] or ["states", "modules"]
    call, names_of = _salt(ROOT)
    os.environ["HOME"] = str(ROOT)
    os.chdir(ROOT.parent)
    for kind in kinds:
        cases = calls_of(kind)
        target = FOLDER / f"{kind}.json"
        recorded = json.loads(target.read_text()) if target.exists() else {}
        for title, case in cases.items():
            if title in recorded and title not in sys.argv[2:]:
                continue
            function = title.partition(" ")[0]
            sys.stderr.write(f"{time.monotonic():.0f} {title}\n")
            try:
                signature = names_of(kind, function)
            except KeyError as error:
                sys.stderr.write(f"NOT THERE {title}: {error!r}\n")
                continue
            names = [*dict.fromkeys([*signature, *case["arguments"], *case.get("also", ())])]
            names = [name for name in names if name not in ("kwargs", "args")]
            how = call if kind == "states" else lambda function, arguments, _: call(function, arguments, None)
            recorded[title] = packed(answers(kind, title, case, names, how, ROOT))
            write_lines(target, {title: recorded[title] for title in cases if title in recorded})


if __name__ == "__main__":
    main()
