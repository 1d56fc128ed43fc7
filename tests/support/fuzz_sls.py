"""Hypothesis strategies for SLS files: mostly valid texts in YAML and Jinja, and ways to spoil them."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import strategies as st

WORDS = json.loads(Path(__file__).with_name("fuzz_words.json").read_text())
"""What cases are made of: usual and odd words for each place."""
IDS = ("a", "b", "c d", "é", "1", "true", "/x", "a*", "a:b")
SLS = ("main", "other", "web", "web.sub")
KINDS = WORDS["requisites"]
FUNCTIONS = WORDS["functions"]
ODD = (*WORDS["scalars"], "9" * 5000, "[" * 60 + "]" * 60, "[" * 300 + "]" * 300, "x" * 5000)
_NAMES = WORDS["arguments"]
_GOOD = WORDS["values"]

odd_scalars = st.sampled_from(ODD)


def typed(name):
    """Return the command lines of a name, each a tuple of words; ``@`` in them stands for the usual roots."""
    roots = "--file-root salt --pillar-root pillar"
    return [tuple(line.replace("@", roots).split()) for line in WORDS[name]]


def pick(draw, values):
    """Draw one of some values."""
    return draw(st.sampled_from(values))


@st.composite
def values(draw, name=""):
    """The YAML of one argument: a good one for its name, a plain one, or an odd one."""
    kind = draw(st.integers(0, 15))
    if kind < 11 and name in _GOOD:
        return pick(draw, _GOOD[name])
    if kind < 15:
        return pick(draw, ("x", "1", "true", "[x, y]", "{x: y}", "'a b'"))
    return draw(odd_scalars)


@st.composite
def references(draw, ids=IDS):
    """The YAML of a requisite's members."""
    kind = draw(st.integers(0, 15))
    target = pick(draw, ids)
    if kind < 12:
        return pick(draw, (f"test: '{target}'", f"'{target}'", f"id: '{target}'"))
    if kind < 14:
        return f"sls: {pick(draw, (*SLS, '*', 'w*'))}"
    if kind < 15:
        return f"test: {draw(odd_scalars)}"
    return draw(odd_scalars)


@st.composite
def states(draw, id, ids=IDS):
    """The lines of one declaration, by an ID; its requisites name some of ``ids``."""
    lines = [f"{id}:"]
    some = st.sampled_from(FUNCTIONS[:5]) | st.sampled_from(FUNCTIONS[:5]) | st.sampled_from(FUNCTIONS)
    for function in draw(st.lists(some, min_size=1, max_size=2, unique_by=lambda name: name.partition(".")[0])):
        if draw(st.integers(0, 9)) == 0:
            lines[0] = f"{id}: {function}"
            break
        lines.append(f"  {function}:")
        for _ in range(draw(st.integers(0, 4))):
            if draw(st.booleans()):
                name = pick(draw, _NAMES)
                lines.append(f"    - {name}: {draw(values(name))}")
            else:
                lines.append(f"    - {pick(draw, KINDS)}:")
                lines += [f"      - {draw(references(ids))}" for _ in range(draw(st.integers(0, 3)))]
    return lines


_EXPRESSIONS = WORDS["expressions"]
_FILTERS = WORDS["filters"]


@st.composite
def expressions(draw):
    """A Jinja expression, with filters."""
    text = pick(draw, _EXPRESSIONS)
    for _ in range(draw(st.integers(0, 3))):
        text = f"({text})|{pick(draw, _FILTERS)}"
    return text


@st.composite
def templates(draw, lines):
    """Lines of YAML with Jinja around and in them."""
    lines = list(lines)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(lines)))
        text = draw(expressions())
        name = pick(draw, (*SLS, "map.jinja", "gone.jinja", "../x", "/etc/passwd", ""))
        kind = draw(st.integers(0, 15))
        if kind < 3:
            lines.insert(at, f"{{% set x = {text} %}}")
        elif kind < 6:
            lines.insert(at, f"{{{{ {text} }}}}")
        elif kind == 6 and at < len(lines):
            lines[at] = f"{lines[at]} {{{{ {text} }}}}"
        elif kind == 7:
            start, end = (
                ("{% for x in " + text + " %}", "{% endfor %}")
                if draw(st.booleans())
                else ("{% if " + text + " %}", "{% else %}\n{% endif %}")
            )
            lines = [*lines[:at], start, *lines[at:], end]
        elif kind == 8:
            call = pick(draw, ("", "{{ m(3) }}", "{{ m() }}", "{% call m(2) %}{% endcall %}"))
            inner = draw(
                st.sampled_from(("{{ x }}", "{{ m(x) }}", "{% if x > 0 %}{{ m(x - 1) }}{{ m(x - 1) }}{% endif %}"))
            )
            lines = [f"{{% macro m(x=1) %}}{inner}{{% endmacro %}}", *lines, call]
        elif kind == 9:
            how = draw(
                st.sampled_from(("include '{}'", "import '{}' as m", "from '{}' import m with context", "extends '{}'"))
            )
            lines.insert(at, "{% " + how.format(pick(draw, (f"{name}.sls", name))) + " %}")
        elif kind == 10:
            how = pick(draw, ("import_yaml", "import_json", "import_text", "load_yaml"))
            end = "{% endload %}" if how == "load_yaml" else ""
            what = "as x" if end else f"'{name}.sls' as x"
            lines = [f"{{% {how} {what} %}}", *lines, end]
        elif kind == 11:
            lines.insert(at, pick(draw, ("{%", "%}", "{{", "}}", "{#", "{% endfor %}", "{% else %}", "{% nope %}")))
        elif kind == 12:
            lines.insert(at, pick(draw, ("{% do x %}", "{% break %}", "{% continue %}", "{% block b %}{% endblock %}")))
        elif kind == 13:
            lines.insert(0, "#jinja2: " + pick(draw, ("trim_blocks: True", "x: [", "", "line_statement_prefix: '%'")))
    return lines


_ERRANT = WORDS["errant"]


@st.composite
def spoiled(draw, text):
    """The text, at times with a few places of it spoiled."""
    for _ in range(max(0, draw(st.integers(-6, 3)))):
        at = draw(st.integers(0, max(0, min(len(text), 3000))))
        kind = draw(st.integers(0, 7))
        if kind < 3:
            text = text[:at] + pick(draw, _ERRANT) + text[at:]
        elif kind == 3:
            text = text[:at] + text[at + draw(st.integers(1, 20)) :]
        elif kind == 4:
            text = text[:at]
        elif kind == 5:
            lines = text.splitlines(keepends=True)
            if lines:
                at = draw(st.integers(0, len(lines) - 1))
                lines.insert(draw(st.integers(0, len(lines))), lines[at])
                text = "".join(lines)
        elif kind == 6:
            text = text.replace("\n", pick(draw, ("\r\n", "\r", "\n\n", "\n ", "\n\t")))
        else:
            text = (
                draw(
                    st.sampled_from(("\ufeff", "\udcff\udcfe", "#!", "#!yaml\n", "#!jinja\n", "#!py\n", "%YAML 9.9\n"))
                )
                + text
            )
    return text


@st.composite
def sls_files(draw):
    """The text of one SLS."""
    lines: list[str] = []
    if draw(st.integers(0, 3)) == 0:
        lines.append("include:")
        good = st.sampled_from(SLS)
        named = good | good | st.sampled_from((".other", "..x", "gone", "*", "base: web")) | odd_scalars
        lines += [f"  - {name}" for name in draw(st.lists(named, max_size=2))]
    ids = draw(st.lists(st.sampled_from(IDS), max_size=4, unique=True)) or ["a"]
    for name in ids:
        shown = f"'{name}'" if draw(st.integers(0, 30)) else draw(odd_scalars)
        lines += draw(states(shown, ids))
    if draw(st.integers(0, 4)) == 0:
        lines += ["extend:", *(f"  {line}" for line in draw(states(f"'{pick(draw, IDS)}'")))]
    if draw(st.integers(0, 6)) == 0:
        lines += ["exclude:", f"  - {draw(st.sampled_from(('id: a', 'sls: web', 'a', 'sls: w*')) | odd_scalars)}"]
    if draw(st.booleans()):
        lines = draw(templates(lines))
    return draw(spoiled("\n".join(lines) + "\n"))
