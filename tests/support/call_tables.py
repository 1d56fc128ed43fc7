"""Tables of execution functions, tests/modules/calls/*.yaml: a system, calls one after the other, and what they give.

Each case is a title with ``calls``; a call is a function with its arguments, the named ones in ``options``, and:

gives, raises   the value, or the text of the error. ``…`` is any text, in them and in all that follows.
has             parts of the value: some keys of a dict, some items of a list
runs            the commands that it ran, as a shell reads them, with what they read after ``<<<``; a dict has a ``command``
                and some of the options that it was run with. Commands that the case has in ``asks`` are left out.
logs            levels and texts of what it logged
services        what it asked of the runtime
requests        those that the server of ``web`` got: method and path; a dict has a ``request`` and some ``headers`` or a ``body``
salt            the functions of ``salt`` that it called, with their arguments
turns           what it made of its arguments, if it changed them
shares          whether its value has an argument in it, so that what is done to the one is done to the other
row             result, changes and comment of a state, whose arguments are a dict (``test: true`` for a dry run)

``virtual: [MODULE]`` asks a module whether it loads. Before a call, ``files`` (``~`` removes one), ``opts``, ``grains`` and
``programs`` of the case may become others, and ``context: {}`` empties ``__context__``. Lists and dicts that a call gives
are emptied after it, which no later call may notice. The rest is as in support/state_tables.py, with:

programs   answers of the programs by the first words of the command, of which the last ones count: a text; a dict of
           ``retcode``, ``stdout``, ``stderr``, with ``files`` that it makes and what programs say ``then``, or an error
           that it ``raises``; or a list of those, one after the other. Others say nothing and succeed.
salt       what functions of other modules return; if it is a dict, by their first argument
python     likewise functions of Python that look at this machine; ``{attributes: …}`` is an object that has them
env        variables of the environment
web        the pages of a server, whose URL is ``{web}``: a text, or a dict of ``status``, ``headers`` and ``body``
needs      ``root``, or programs of this machine, without which the case is skipped
"""

from __future__ import annotations

import copy
import importlib
import json
import logging
import os
import re
import shlex
import shutil
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from record_state_rows import cleaned
from recording import filled
from state_tables import difference, essence, lay_out, placed, prepare, seen, table_cases
from web_server import WebServer, web_server

from asyncstate.errors import AsyncStateError, CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from plugin_harness import PluginHarness

TABLES = Path(__file__).parents[1] / "modules" / "calls"
SAID = ("gives", "raises", "has", "runs", "logs", "services", "salt", "requests", "turns", "shares", "row")
BEFORE = {"files", "opts", "grains", "programs", "context"}
OWN = {"programs", "asks", "salt", "python", "env", "needs", "web"}


def cases() -> dict[str, dict[str, Any]]:
    """Return the cases of all tables, by ``table: title``."""
    return table_cases(TABLES, {"calls"}, OWN)


def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any]) -> dict[str, Any]:
    """Make the calls of a case; return them with what they gave, and what became of the system."""
    for need in case.get("needs", []):
        if os.geteuid() if need == "root" else not shutil.which(need):
            pytest.skip(f"needs {need}")
    with web_server() if "web" in case else nullcontext(WebServer("{web}")) as web:
        for path, page in case.get("web", {}).items():
            whole = {"status": 200, "headers": {}, **(page if isinstance(page, dict) else {"body": page})}
            web.pages[path] = (whole["status"], whole["headers"], whole["body"].encode())
        made, *changes = played(tmp_path, monkeypatch, filled(case, {"{web}": web.url}), web)
    found = {"calls": made, "after": changes[0], "machine after": changes[1]}
    return cleaned(cleaned(found, tmp_path / "root"), web.url, "{web}")


def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any], web: WebServer) -> tuple[Any, ...]:
    """Make the calls of a case; return them with what they gave, and the changes of files and of what is faked."""
    plugins, fake, root = prepare(tmp_path, monkeypatch, case)
    own = {key: placed(copy.deepcopy(case.get(key, {})), root) for key in OWN - {"web"}}
    counts = "programs" in case or any("runs" in call for call in case["calls"])
    programs = Programs(plugins, root, own["programs"], own["asks"]) if counts else None
    log = Log(monkeypatch) if any("logs" in call for call in case["calls"]) else None
    asked: list[Any] = []
    plugins.salt.update({name: returning(value, name, asked) for name, value in own["salt"].items()})
    for name, value in own["python"].items():
        is_object = isinstance(value, dict) and value.keys() == {"attributes"}
        monkeypatch.setattr(name, returning(SimpleNamespace(**value["attributes"]) if is_object else value))
    for name, value in own["env"].items():
        monkeypatch.setenv(name, value)
    before = seen(root, fake)
    made = []
    for each in case["calls"]:
        call = placed(copy.deepcopy(each), root)
        change(plugins, programs, root, call)
        asked.clear(), web.requests.clear()
        said = answered(plugins, programs, call) | (log.lines() if log else {})
        if "salt" in call:
            said["salt"] = copy.deepcopy(asked)
        if "requests" in call:
            said["requests"] = requested(call["requests"], web)
        made.append(said)
    after = seen(root, fake)
    return made, difference(before[0], after[0], deep=False), difference(before[1], after[1])


def requested(wanted: list[Any], web: WebServer) -> list[Any]:
    """Return the requests that a server got: method and path, and what else of each the table tells of."""
    found: list[Any] = []
    for number, (method, path, headers, body) in enumerate(web.requests):
        whole = {"request": f"{method} {path}", "headers": headers, "body": body.decode(errors="backslashreplace")}
        want = wanted[number] if number < len(wanted) else ""
        found.append(part_of(want, whole) if isinstance(want, dict) else whole["request"])
    return found


class Programs:
    """Stands for the programs of the system: answers as the table says, and keeps each command that does not only ask."""

    def __init__(self, plugins: PluginHarness, root: Path, answers: dict[str, Any], asks: list[str]) -> None:
        self.answers, self.ran, self._root = answers, [], root
        self._asks = asks
        plugins.salt |= {
            "cmd.run_all": self._run_all,
            "cmd.run": lambda command, **options: self._run_all(command, **options)["stdout"],
            "cmd.run_stdout": lambda command, **options: self._run_all(command, **options)["stdout"],
            "cmd.retcode": lambda command, **options: self._run_all(command, **options)["retcode"],
            "cmd.which": "/usr/bin/{}".format,
            "cmd.has_exec": lambda _: True,
        }

    def _run_all(self, command: str | list[str], stdin: str | None = None, **options: Any) -> dict[str, Any]:
        line = command if isinstance(command, str) else shlex.join(command)
        line += f" <<< {' '.join(stdin.split())}" if stdin else ""
        if not any(begins(line, start) for start in self._asks):
            self.ran.append({"command": line, **options})
        answer = next((each for start, each in reversed(self.answers.items()) if begins(line, start)), {})
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if not isinstance(answer, dict):
            answer = {"stdout": answer}
        if "raises" in answer:
            raise CommandExecutionError(answer["raises"])
        put(self._root, answer.get("files", {}))
        self.say(answer.get("then", {}))
        return {"retcode": 0, "stdout": "", "stderr": "", "pid": 1, **answer}

    def say(self, answers: dict[str, Any]) -> None:
        """Answer so from now on, too."""
        self.answers = {start: each for start, each in self.answers.items() if start not in answers} | answers


class Log(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self._lines: list[str] = []
        monkeypatch.setattr(logging.root, "handlers", [*logging.root.handlers, self])
        monkeypatch.setattr(logging.root, "level", logging.DEBUG)

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(f"{record.levelname}: {record.getMessage()}")

    def lines(self) -> dict[str, list[str]]:
        """Return what was logged since this was asked."""
        said, self._lines = self._lines, []
        return {"logs": said}


def returning(value: Any, name: str = "", asked: list[Any] | None = None) -> Callable[..., Any]:
    """Return a function that returns this, or what it has for the first argument; the calls are kept in ``asked``."""

    def function(*arguments: Any, **options: Any) -> Any:
        if asked is not None:
            asked.append(copy.deepcopy([name, *arguments, *([options] if options else [])]))
        if isinstance(value, dict):
            return value.get(arguments[0] if arguments else None)
        return value

    return function


def change(plugins: PluginHarness, programs: Programs | None, root: Path, call: dict[str, Any]) -> None:
    """Make of the system what it is before a call."""
    plugins.opts.update(call.pop("opts", {}))
    if "context" in call:
        plugins.context.clear()
    plugins.grains.update(call.pop("grains", {}))
    if programs:
        programs.say(call.pop("programs", {}))
    put(root, call.pop("files", {}))


def put(root: Path, files: dict[str, Any]) -> None:
    """Make files, in place of those of the name, or remove them."""
    for name, value in files.items():
        if not (root / name).is_dir():
            (root / name).unlink(missing_ok=True)
        lay_out(root, {} if value is None else {name: value})


def answered(plugins: PluginHarness, programs: Programs | None, call: dict[str, Any]) -> dict[str, Any]:
    """Make a call; return it with what it gives or raises, and what else the table says of it."""
    function, arguments = next(iter(call.items()))
    options = call.get("options", {})
    asked = {function: copy.deepcopy(arguments), **({"options": copy.deepcopy(options)} if options else {})}
    before, served, value = len(programs.ran) if programs else 0, len(plugins.services.calls), None
    try:
        if isinstance(arguments, dict):
            test = arguments.pop("test", None)
            row = plugins.state(function, test=test, errors=(AsyncStateError,), **arguments)
            asked["row"] = essence(row, arguments)
        elif function == "virtual":
            with plugins.calling():
                asked["gives"] = importlib.import_module(f"asyncstate.modules.{arguments[0]}").__virtual__()
        else:
            value = plugins.call(function, *arguments, **options)
            gives = json.loads(json.dumps(plain(value)))
            asked |= {"has": part_of(call["has"], gives)} if "has" in call else {"gives": gives}
    except AsyncStateError as error:
        asked["raises"] = str(error)
    except (AssertionError, LookupError, TypeError, ValueError, OSError) as error:
        asked["raises"] = f"{type(error).__name__}: {error}"
    if isinstance(arguments, list):
        if (arguments, options) != (asked[function], asked.get("options", {})):
            asked["turns"] = copy.deepcopy(arguments)
        given = copy.deepcopy((arguments, options))
        spoil(value)
        if "shares" in call:
            asked["shares"] = (arguments, options) != given
    if "services" in call:
        asked["services"] = plugins.services.calls[served:]
    if "runs" in call and programs is not None:
        wanted = call["runs"] + [""] * len(programs.ran)
        asked["runs"] = [
            part_of(want, ran) if isinstance(want, dict) else ran["command"]
            for want, ran in zip(wanted, programs.ran[before:], strict=False)
        ]
    return asked


def spoil(value: Any) -> None:
    """Empty a value, as a template may: no later call may notice that."""
    if isinstance(value, (dict, list)):
        for each in [*(value.values() if isinstance(value, dict) else value)]:
            spoil(each)
        value.clear()


def plain(value: Any) -> Any:
    """Return a value as YAML has it: a tuple as a list, bytes as a dict of their text."""
    if isinstance(value, bytes):
        return {"bytes": value.decode(errors="backslashreplace")}
    if isinstance(value, dict):
        value.pop("pid", None)
    return list(value) if isinstance(value, tuple) else value


def part_of(wanted: Any, found: Any) -> Any:
    """Return what of a value the table tells of."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return {key: part_of(wanted[key], found[key]) for key in wanted if key in found}
    if isinstance(wanted, list) and isinstance(found, list):
        return [want for want in wanted if any(part_of(want, each) == want for each in found)]
    return found


def expected(case: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return what `replay` must have found; what ``…`` leaves open is as it was found."""
    calls = [{key: value for key, value in call.items() if key not in BEFORE} for call in case["calls"]]
    for call, made in zip(calls, found["calls"], strict=True):
        if "logs" in made:
            call.setdefault("logs", made["logs"])
        call.update({key: like(call[key], made.get(key)) for key in SAID if key in call})
    return {"calls": calls, **{name: case.get(name, {}) for name in ("after", "machine after")}}


def like(wanted: Any, found: Any) -> Any:
    """Return what was found where the table says the same of it, and else what the table says."""
    if isinstance(wanted, str) and isinstance(found, str):
        return found if is_like(wanted, found) else wanted
    if isinstance(wanted, dict) and isinstance(found, dict):
        return {key: like(value, found.get(key)) for key, value in wanted.items()}
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return [like(*both) for both in zip(wanted, found, strict=True)]
    return wanted


def begins(line: str, start: str) -> bool:
    """Say whether a command begins with the words of the table."""
    return is_like(start, line) or is_like(f"{start} …", line)


def is_like(wanted: str, found: str) -> bool:
    """Say whether a text is the one of the table."""
    return re.fullmatch(".*".join(map(re.escape, wanted.split("…"))), found, re.DOTALL) is not None
