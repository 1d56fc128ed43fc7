"""Record what Salt itself answers to the questions of tests/recorded/answers.json: ``python tests/support/record_answers.py``.

Run it where Salt is installed. The file has a table for each function of `ASKED`, with an answer for each question;
a question with the answer null is new. All are asked again. An exception is written as ``!`` and its text.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import logging
import math
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import yaml
from recording import minion_options

ANSWERS = Path(__file__).parents[1] / "recorded" / "answers.json"
NAMES = {"inf": math.inf, "nan": math.nan, "datetime": dt}
"""What the written form of a value may name."""
DATA = {"zoo": {"zebra": 1, "ant": {"z": 1, "b": 2}, "mole": [3, {"y": 1, "a": 2}]}, "txt": "a\nb", "n": None}
LIST = ["x", "y z", "it's", "a: b", "#c", ""]
_TABLES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
ROLES = _TABLES["roles"]
NODEGROUPS = _TABLES["nodegroups"]
MACHINE = _TABLES["machine"]
"""Grains of every host of `ROLES`, for the table ``match``."""
PILLAR = _TABLES["pillar"]
GROUPS = _TABLES["groups"]
CRONTAB = """#!/bin/sh
user=root
[ "$1" = -u ] && {{ user=$2; shift 2; }}
case $1 in
    -l) cat {folder}/$user 2>/dev/null ;;
    -) cat > {folder}/$user ;;
    *) cat "$1" > {folder}/$user ;;
esac
"""
"""A program ``crontab``."""
NOW = dt.datetime(2026, 11, 21, 3, 44, 54)  # noqa: DTZ001 - a Saturday, by the wall clock


def recorded(table):
    """Return Salt's answers of a table by question."""
    return json.loads(ANSWERS.read_text())[table]


def written(value):
    """Return a value in the form that Python reads back, with plain dictionaries, and sets in order."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{written(key)}: {written(item)}' for key, item in value.items())}}}"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(written, value)))}}}" if value else "set()"
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))}{',' * (len(value) == 1)})"
    return f"[{', '.join(map(written, value))}]" if isinstance(value, list) else repr(value)


def read(text):
    """Return the value of a written form."""
    return eval(text, dict(NAMES))


def _filtered(salt, text):
    name, value, args, kwargs = read(text)
    answer = salt.filters[name](value, *args, **kwargs)
    return written(list(answer) if type(answer).__name__ in ("generator", "dict_items") else answer)


def _date(_, text):
    """Return the moment that a text means to the library through which Salt reads dates, at the moment `NOW`."""
    import timelib

    return str(timelib.strtodatetime(text.encode(), now=int(NOW.timestamp())))


def _aggregated(salt, option):
    """Return the comments of two states that may be one call with a value of ``state_aggregate``."""
    salt.opts |= {"states_dirs": [str(ANSWERS.parent / "salt_3008" / "_states")], "state_aggregate": json.loads(option)}
    answer = salt.of_tree({"s.sls": "a: grouped.told\nb: grouped.told\n"}, "state.apply", "s")
    return [row["comment"] for row in answer.values()]


def _row(salt, text):
    """Return the comment of the only row of a dry run of an SLS."""
    answer = salt.of_tree({"s.sls": text}, "state.apply", "s", test=True)
    return answer if isinstance(answer, list) else next(iter(answer.values()))["comment"]


def _meant(salt, text, grains, groups):
    """Return the hosts of `ROLES` that fit a kind of target and its text, each asked as a minion."""
    kind, wanted = json.loads(text)
    return sorted(host for host in ROLES if salt.matches(kind, wanted, host, grains, groups))


def _cron(salt, text):
    """Return the essence of a dry run and two runs of a state on the table of a user, and the table afterwards."""
    user, table, function, arguments = json.loads(text)
    return salt.with_crontab(user, table, lambda: salt.single(f"cron.{function}", {"user": user, **arguments}))


def _stateful(salt, command):
    """Return the essence of a run of a command that reports its outcome itself; the process number is left out."""
    result, comment, changes = salt.single("cmd.run", {"name": command, "stateful": True})[1]
    return [result, comment, {key: value for key, value in changes.items() if key != "pid"}]


ASKED = {
    "yaml_value": lambda salt, text: written(salt.yaml(f"a: {text}")["a"]),
    "yaml_error": lambda salt, text: (salt.yaml(text), None)[1],
    "template": lambda salt, text: salt.jinja(text),
    "template_filter": _filtered,
    "default": lambda salt, option: written(salt.defaults[option]),
    "server_id": lambda salt, name: salt.server_id(name),
    "level": lambda _, name: logging.getLevelName(name.upper()),
    "date": _date,
    "nested": lambda salt, text: salt.nested(read(text)),
    # the lines of a row with some options
    "highstate": lambda salt, text: salt.highstate(*read(text)),
    # the low chunks, or the messages, of an SLS; the high data, and the tags of the rows, of `s` in a tree
    "low": lambda salt, text: salt.of_tree({"s.sls": text}, "state.show_low_sls", "s"),
    "high": lambda salt, files: salt.of_tree(json.loads(files), "state.show_sls", "s"),
    "tags": lambda salt, files: list(salt.of_tree(json.loads(files), "state.apply", "s", test=True)),
    "aggregate": _aggregated,
    "row": _row,
    "top": lambda salt, text: salt.of_tree({"top.sls": text, "x.sls": "x: test.nop"}, "state.show_highstate"),
    "pillar": lambda salt, text: salt.pillar_errors({"top.sls": "base: {'*': [a]}", "a.sls": text, "b.sls": "x: 1"}),
    "target": lambda salt, text: _meant(salt, text, {}, NODEGROUPS),
    "match": lambda salt, text: _meant(salt, text, MACHINE, GROUPS),
    # the hosts of a roster with some `roster_defaults`
    "roster": lambda salt, question: salt.hosts(*json.loads(question)),
    # why there is no such function in state modules with these texts, null where there is one
    "loading": lambda salt, text: salt.missing(*json.loads(text)),
    "cron": _cron,
    "stateful": _stateful,
}


class Salt:
    """Salt, with all of its folders below one that is thrown away."""

    def __init__(self, folder):
        import salt.config
        import salt.loader
        import salt.utils.templates
        from salt.utils.decorators.jinja import JinjaFilter

        self.folder = Path(folder)
        self.defaults = salt.config.minion_config(None)
        self.opts = minion_options(folder, f"{folder}/tree")
        self.filters = {**JinjaFilter.salt_jinja_filters}
        salt.loader.render(self.opts, {})
        self.filters.update(JinjaFilter.salt_jinja_filters)

    def yaml(self, text):
        """Read a text as the YAML renderer does."""
        import salt.renderers.yaml as renderer

        renderer.__opts__, renderer.__salt__ = self.opts, {}
        return renderer.render(io.StringIO(text), saltenv="base", sls="s")

    def jinja(self, text):
        """Render a template."""
        import salt.utils.templates

        context = {"opts": self.opts, "saltenv": "base", "salt": {}, "grains": {}, "pillar": {}, "sls": ""}
        return salt.utils.templates.render_jinja_tmpl(text, {**context, **DATA, "l": LIST})

    def server_id(self, name):
        """Return the grain of a minion of that name."""
        from salt.grains import core

        core.__opts__ = {"id": name}
        return core.get_server_id()["server_id"]

    def nested(self, data):
        """Return the lines that the outputter prints."""
        import salt.output.nested as outputter

        outputter.__opts__ = {**self.opts, "color": False}
        return outputter.output(data).splitlines()

    def highstate(self, rows, options):
        """Return the lines that the outputter prints."""
        from salt.output import highstate as outputter

        outputter.__opts__ = {**self.opts, "color": False, **options}
        return outputter.output({"local": rows}).splitlines()

    def of_tree(self, files, function, *args, **kwargs):
        """Call a function with a tree."""
        import salt.client

        self._write("tree", files)
        return salt.client.Caller(mopts=dict(self.opts)).cmd(function, *args, **kwargs)

    def pillar_errors(self, files):
        """Return the mistakes in a pillar."""
        import salt.pillar

        self._write("pillar", files)
        opts = {**self.opts, "file_roots": self.opts["pillar_roots"]}
        found = salt.pillar.Pillar(opts, {}, "here", "base").compile_pillar()
        self._write("pillar", {})
        return found.get("_errors", [])

    def _write(self, room, files):
        folder = self.folder / room
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        for name, text in files.items():
            (folder / name).write_text(text)

    def matches(self, kind, wanted, host, grains, groups):
        """Return whether a minion takes itself to be meant."""
        import salt.loader

        known = {"grains": {"role": ROLES[host], **grains}, "pillar": PILLAR if grains else {}, "nodegroups": groups}
        opts = {**self.opts, "id": host, "minion_id": host, **known}
        more = {"nodegroups": groups} if kind == "nodegroup" else {}
        return bool(salt.loader.matchers(opts)[f"{kind}_match.match"](wanted, opts=opts, **more))

    def hosts(self, text, defaults):
        """Return the hosts of a roster."""
        import salt.utils.roster_matcher
        from salt.roster import flat

        path = self.folder / "roster"
        path.write_text(text)
        flat.__opts__ = salt.utils.roster_matcher.__opts__ = {
            **self.opts,
            "roster_file": str(path),
            "roster_defaults": defaults,
        }
        flat.__utils__ = {"roster_matcher.targets": salt.utils.roster_matcher.targets}
        return flat.targets("*")

    def missing(self, texts, names):
        """Return the message for each function of state modules that is not there, null for the others."""
        import salt.loader

        folder = self.folder / "states"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, text in texts.items():
            (folder / f"{name}.py").write_text(text)
        opts = {**self.opts, "states_dirs": [str(folder)], "grains": {}}
        found = salt.loader.states(opts, {}, {}, {})
        return {name: None if name in found else found.missing_fun_string(name) for name in names}

    def single(self, function, arguments):
        """Return the result, the comment and the changes of a state in a dry run and two runs."""
        import salt.client

        rows = []
        for test in (True, False, False):
            answer = salt.client.Caller(mopts=dict(self.opts)).cmd("state.single", function, test=test, **arguments)
            rows += [[row["result"], row["comment"], row["changes"]] for row in answer.values()]
        return rows

    def with_crontab(self, user, table, call):
        """Call something with a program ``crontab`` that keeps its tables in a folder; return its answer and the table."""
        folder = self.folder / "crontabs"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if table is not None:
            (folder / user).write_text(table)
        program = folder / "crontab"
        program.write_text(CRONTAB.format(folder=folder))
        program.chmod(0o700)
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{folder}:{path}"
        try:
            return [*call(), (folder / user).read_text() if (folder / user).exists() else None]
        finally:
            os.environ["PATH"] = path


def failed(error):
    """Return an exception as an answer, without source lines; one that Salt did not mean to raise with its type."""
    words = str(error) if type(error).__module__ != "builtins" else f"{type(error).__name__}: {error}"
    return "!" + re.split(r"\n\n---|\nTraceback ", words)[0]


def answers():
    """Ask all questions of the file."""
    logging.disable(logging.CRITICAL)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        salt = Salt(folder)
        for table, questions in json.loads(ANSWERS.read_text()).items():
            found[table] = {}
            for question in questions:
                try:
                    answer = ASKED[table](salt, question)
                except Exception as error:  # noqa: BLE001 - that is the answer
                    answer = failed(error)
                found[table][question] = json.loads(json.dumps(answer).replace(json.dumps(folder)[1:-1], "{folder}"))
    return found


def write(found):
    """Write one answer a line."""
    tables = []
    for table, questions in found.items():
        lines = ",\n".join(f" {json.dumps(question)}: {json.dumps(answer)}" for question, answer in questions.items())
        tables.append(f"{json.dumps(table)}: {{\n{lines}\n}}")
    text = ",\n".join(tables)
    ANSWERS.write_text(f"{{\n{text}\n}}\n")


if __name__ == "__main__":
    sys.setrecursionlimit(1000)
    write(answers())
