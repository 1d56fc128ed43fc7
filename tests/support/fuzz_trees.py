"""Hypothesis strategies for cases of `fuzz_process`: a tree, and a command line that changes nothing."""

from __future__ import annotations

from fuzz_plugins import hook_files, plugin_files
from fuzz_records import footprints, journal_parts, journals, outward, plans
from fuzz_sls import IDS, SLS, WORDS, expressions, odd_scalars, pick, sls_files, spoiled, typed, values
from hypothesis import strategies as st

ROOTS = ("--file-root", "salt", "--pillar-root", "pillar")
_LOOKS = WORDS["looks"]
_OPTIONS = WORDS["options"]
_FOR_ALL = "base:\n  '*':\n    - main\n"


def case(files, words, **more):
    """Return a case."""
    return {"files": files, "words": list(words), **more}


@st.composite
def looks(draw, *sls):
    """A command line that only looks at the tree."""
    words = [*pick(draw, _LOOKS), *ROOTS]
    if words[0] == "explain" or words[:2] == ["show", "sls"] or draw(st.integers(0, 2)):
        words += sls or ["main"]
    if draw(st.integers(0, 3)) == 0 and words[1] != "top":
        words += pick(draw, _OPTIONS)
    return words


@st.composite
def trees(draw):
    """SLS files that include, extend and import each other."""
    files = {"salt/top.sls": _FOR_ALL, "pillar/top.sls": "base: {'*': [data]}\n", "pillar/data.sls": "a: {b: 1}\n"}
    for name in ("main", *draw(st.lists(st.sampled_from(SLS[1:]), max_size=2, unique=True))):
        files[f"salt/{name.replace('.', '/')}.sls"] = draw(sls_files())
    if draw(st.integers(0, 3)) == 0:
        files["salt/map.jinja"] = draw(
            spoiled("{% macro m(x=1) %}{{ x }}{% endmacro %}\n{% set x = " + draw(expressions()) + " %}\n")
        )
    return case(files, draw(looks()))


_TARGETS = WORDS["targets"]


@st.composite
def tops(draw):
    """Top files of the tree and of the pillar, pillar files, grains and targets."""

    def top(*names):
        lines = []
        for saltenv in draw(
            st.lists(st.sampled_from(("base", "dev", "'*'", "1", "null", "''")), min_size=1, max_size=2, unique=True)
        ):
            lines.append(f"{saltenv}:")
            for target in draw(st.lists(st.sampled_from(_TARGETS), min_size=1, max_size=3, unique=True)):
                lines.append(f"  {target}:")
                for _ in range(draw(st.integers(0, 3))):
                    member = st.sampled_from(
                        (*names, "{match: compound}", "{match: nope}", "{ignore_missing: true}", "gone", "'*'")
                    )
                    lines.append(f"    - {draw(member | odd_scalars)}")
        return draw(spoiled("\n".join(lines) + "\n"))

    keys = st.sampled_from(("a", "b", "a:b", "include", "1", "null", "!!binary aGk=", "é"))
    pillar = [f"{key}: {draw(values())}" for key in draw(st.lists(keys, max_size=4, unique=True))]
    if draw(st.integers(0, 2)) == 0:
        pillar.append(
            "include:\n  - "
            + draw(
                st.sampled_from(("data", "other", "other: {key: a}", "{other: {defaults: {x: 1}, key: 'a:b'}}"))
                | odd_scalars
            )
        )
    files = {
        "salt/top.sls": top("main", "other"),
        "salt/main.sls": "a: test.nop\n{{ pillar|json }}:\n  test.nop: []\n",
        "salt/other.sls": "b: test.nop\n",
        "pillar/top.sls": top("data", "other"),
        "pillar/data.sls": draw(spoiled("\n".join(pillar) + "\n")),
        "pillar/other.sls": "b: {c: {{ a|default(1) }}}\ninclude: [data]\n",
    }
    words = draw(looks())
    if draw(st.integers(0, 2)) == 0:
        files["grains.yaml"] = draw(spoiled(f"os: {draw(values())}\nipv4: {draw(values())}\n{draw(odd_scalars)}: 1\n"))
        words += ["--grains", "grains.yaml"]
    if draw(st.integers(0, 3)) == 0:
        words += ["--pillar", draw(spoiled("{a: " + draw(values()) + "}"))]
    return case(files, [word for word in words if "\0" not in word])


def _settings():
    from asyncstate.config.settings import FIELDS

    writing = {"log_file", "cachedir", "state_dir", "root_dir", "pki_dir"}
    return sorted(set(FIELDS) - writing)


_KEPT = WORDS["settings"]


@st.composite
def configurations(draw):
    """Configuration files with options of wrong types, and the environment."""
    lines = [f"{pick(draw, (*_settings(), *_KEPT))}: {draw(values())}" for _ in range(draw(st.integers(1, 3)))]
    if draw(st.integers(0, 4)) == 0:
        lines.append(
            "default_include: " + draw(st.sampled_from(("'*.conf'", "minion.d/*", "config", "'['", "..")) | odd_scalars)
        )
    files = {
        "config": draw(spoiled("\n".join(lines) + "\n")),
        "more.conf": draw(spoiled("nodegroups: {g: 'N@h', h: [a, N@g]}\n")),
        "salt/top.sls": "base: {'*': [main], 'N@g': [main]}\n",
        "salt/main.sls": "a:\n  test.nop:\n    - x: {{ opts|length }}\nb: {test.succeed_with_changes: [{require: [a]}]}\n",
        "pillar/top.sls": "base: {'*': [main]}\n",
        "pillar/main.sls": "a: 1\n",
    }
    words = [*pick(draw, _LOOKS), *(ROOTS if draw(st.booleans()) else ROOTS[:2]), "--config", "config"]
    if words[0] == "explain" or words[:2] == ["show", "sls"]:
        words += ["main"]
    environ = {}
    if draw(st.integers(0, 3)) == 0:
        value = draw(values())
        if "\0" not in value:
            environ[f"ASYNCSTATE_{pick(draw, _settings()).upper()}"] = value
    return case(files, words, environ=environ)


_PYTHON = WORDS["python"]
_PIPES = WORDS["pipes"]


@st.composite
def renderers(draw):
    """Files in other languages than YAML, and odd pipes."""
    pipe = pick(draw, _PIPES)
    if "py" in pipe and "objects" not in pipe:
        text = f"def run():\n    return {pick(draw, _PYTHON)}\n"
    elif pipe == "pyobjects":
        line = pick(draw, (*WORDS["texts of pyobjects"], "Test.nop(" * 50))
        text = f"#!pyobjects\n{line}\n"
    elif "json" in pipe:
        text = pick(draw, (*WORDS["texts of json"], "[" * 100000, "1" * 5000))
    elif "toml" in pipe:
        text = pick(draw, (*WORDS["texts of toml"], "a = [" * 2000, "a." * 3000 + "b = 1\n"))
    else:
        text = draw(sls_files())
    text = draw(spoiled(f"#!{pipe}\n{text}"))
    files = {
        "salt/main.sls": text,
        "salt/top.sls": _FOR_ALL,
        "pillar/top.sls": "base: {'*': [a]}",
        "pillar/a.sls": "a: 1\n",
    }
    if draw(st.integers(0, 4)) == 0:
        files["pillar/a.sls"] = text
    return case(files, draw(looks()))


_SPECIAL = WORDS["special files"]
_ROLES = WORDS["places"]


@st.composite
def special_files(draw):
    """Pipes, devices, folders, loops of links and large files where regular files are expected."""
    usual = {
        "salt/top.sls": "base: {'*': [main, 'web']}\n",
        "salt/main.sls": "{% import 'map.jinja' as m %}\n{% import_text 'map.jinja' as t %}\na: {file.managed: [{name: /nowhere/x}, {source: salt://source}]}\n"
        "b: {file.recurse: [{name: /nowhere/y}, {source: salt://web}]}\nc: {odd.here: [{x: 1}]}\nd: {test.nop: []}\n",
        "salt/web/init.sls": "w: test.nop\n",
        "salt/map.jinja": "{% set x = 1 %}\n",
        "salt/source": "text\n",
        "pillar/top.sls": "base: {'*': [data]}\n",
        "pillar/data.sls": "a: 1\n",
        "config": "test: true\n",
        "grains.yaml": "os: x\n",
        "one.sls": "a: test.nop\n",
    }
    for role in draw(st.lists(st.sampled_from(_ROLES), min_size=1, max_size=2, unique=True)):
        for below in [name for name in usual if name.startswith(f"{role}/")]:
            del usual[below]
        if not any(
            role.startswith(f"{name}/")
            for name, content in usual.items()
            if not isinstance(content, str) or name == role
        ):
            usual[role] = pick(draw, _SPECIAL)
    words = draw(looks())
    words += pick(draw, ((), ("--config", "config"), ("--grains", "grains.yaml")))
    if words[0] == "apply" and draw(st.booleans()):
        words = ["apply", "--file", "one.sls", "--test", *ROOTS]
    return case(usual, words)


_PLAIN_TREE = {
    "salt/top.sls": _FOR_ALL,
    "salt/main.sls": "a: test.nop\nb: {test.succeed_with_changes: [{watch: [a]}]}\n",
    "pillar/top.sls": "base: {'*': [data]}\n",
    "pillar/data.sls": "a: {b: 1}\n",
    "fifo": {"fifo": 1},
    "folder": {"folder": 1},
}
_ODD_WORDS = (*WORDS["words"], "x" * 10000, "9" * 5000)
_WRITING = WORDS["writing options"]
_LEFT_OUT = ("--install", "--trace-effects", "--root", "--network", "--show-secrets", "--wait", "--timeout")


def commands():
    """Return the words of each command that may be called, and its options: names, and whether one takes a value."""
    from asyncstate.cli.framework import general_options
    from asyncstate.cli.root import root

    found = {}

    def visit(words, command):
        if hasattr(command, "commands"):
            for name, inner in command.commands.items():
                visit((*words, name), inner)
            return
        options = [param for param in [*command.params, *general_options()] if param.param_type_name == "option"]
        found[words] = sorted(
            {
                (name, not param.is_flag)
                for param in options
                for name in (*param.opts, *param.secondary_opts)
                if name not in _LEFT_OUT and not param.count
            }
        )

    for name in root.list_commands(None):
        if name != "shake":
            visit((name,), root.get_command(None, name))
    return found


_COMMANDS = commands()
_FIRST = {
    "single": ("test.nop", "test.nope", "nope", "file.managed", "cmd.run"),
    "call": ("test.ping", "test.echo", "nope", "sys.doc", "test"),
    "explain": ("a", "b", "nope"),
    "doc": ("test", "file.managed", "test.nope", ""),
    "salt-call": ("state.apply", "state.show_sls", "state.single", "state.sls_id", "pillar.get", "test.arg", "nope"),
}


@st.composite
def command_lines(draw):
    """Any option of any command with any value; what would run is a dry run."""
    words = pick(draw, sorted(_COMMANDS))
    options = _COMMANDS[words]
    line = list(words)
    if words[0] in _FIRST:
        line.append(pick(draw, _FIRST[words[0]]))
    if draw(st.integers(0, 5)):
        line += [
            word
            for name, word in zip(ROOTS[::2], ROOTS[1::2], strict=True)
            if (name, True) in options
            for word in (name, word)
        ]
    for _ in range(draw(st.integers(0, 4))):
        name, takes = pick(draw, options)
        line.append(name)
        if takes and name in _WRITING:
            line.append(pick(draw, ("out", "folder", "fifo", "gone/x", "", "a\nb", "\udcff", "x" * 300)))
        elif takes and draw(st.integers(0, 9)):
            line.append(pick(draw, _ODD_WORDS))
    line += draw(st.lists(st.sampled_from(("main", *_ODD_WORDS)), max_size=2))
    if words[0] in ("apply", "single"):
        line = [words[0], pick(draw, ("--test", "--mock")), *(word for word in line[1:] if word != "--no-test")]
        line = [word for word in line if not word.startswith("test=")]
    if words[0] == "salt-call":
        line.append("test=True")
    if words[0] == "single" and "cmd.run" in line:
        line = [word for word in line if word != "true"]
    return case(dict(_PLAIN_TREE), [word for word in line if "\0" not in word])


@st.composite
def plugins(draw):
    """State modules, execution modules, grains and renderers that return and raise anything, and their hooks."""
    files = {**_PLAIN_TREE, **draw(plugin_files())}
    lines = []
    for name in draw(st.lists(st.sampled_from(IDS[:4]), min_size=1, max_size=3, unique=True)):
        lines += [
            f"'{name}':",
            f"  odd.{pick(draw, ('here', 'here', 'gone', 'mod_watch', '_x'))}:",
            f"    - x: {draw(values())}",
        ]
        for kind in draw(
            st.lists(
                st.sampled_from(("watch", "require", "prereq", "listen", "onchanges", "onfail")),
                max_size=2,
                unique=True,
            )
        ):
            lines.append(f"    - {kind}: [{{odd: '{pick(draw, IDS[:4])}'}}]")
        lines += [f"    - {word}" for word in draw(st.lists(st.sampled_from(WORDS["more arguments"]), max_size=2))]
    lines += ["last:", "  test.succeed_with_changes: [{order: last}]"]
    files["salt/main.sls"] = "\n".join(lines) + "\n"
    if draw(st.integers(0, 4)) == 0:
        files["salt/main.sls"] = "{{ salt['odd.value']() }}\n" + files["salt/main.sls"]
    words = [*pick(draw, [*typed("commands that apply plugins"), *_LOOKS]), *ROOTS]
    if words[0] == "explain" or words[:2] == ["show", "sls"]:
        words += ["main"]
    if draw(st.integers(0, 9)) == 0:
        words = [*pick(draw, typed("commands that ask plugins")), *ROOTS[:2]]
    return case(files, words)


@st.composite
def observers(draw):
    """A program that runs a tree with observers of its own."""
    from fuzz_calls import DEEDS

    deeds = draw(st.lists(st.sampled_from(sorted(DEEDS)), min_size=1, max_size=3))
    return case(dict(_PLAIN_TREE), [pick(draw, ("1", "4")), *deeds], call="observe")


@st.composite
def consumers(draw):
    """A program that does odd things with the events of a run."""
    from fuzz_calls import USES

    uses = draw(st.lists(st.sampled_from(sorted(USES)), min_size=1, max_size=4))
    return case(dict(_PLAIN_TREE), [pick(draw, ("1", "4")), *uses], call="consume")


@st.composite
def hooks(draw):
    """State modules one of whose hooks returns or raises anything, in a tree that calls every hook."""
    files = {**_PLAIN_TREE, **draw(hook_files())}
    words = pick(draw, typed("commands that call hooks"))
    return case(files, [*words, *ROOTS, *(["main"] if words[0] == "explain" else [])])


FAMILIES = {
    each.__name__: each
    for each in (
        trees, tops, configurations, renderers, special_files, command_lines, plugins, hooks, observers, consumers,
        journals, journal_parts, plans, footprints, outward,
    )
}  # fmt: skip
"""Strategies for cases, by the name of what they are about."""
