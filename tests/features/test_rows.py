"""Tables of small trees, ``rows/*.yaml``: for each, what compiling and applying it gives.

features          the IDs of docs/features.yaml that the case proves
tree              the text of a.sls, or files by name; ``{root}`` is a folder of the case. States ``x`` and ``y`` return what
                  they are told (`feature_trees.Tree`); ``x`` has mod_watch.
plugins           ``seeds``: packages, services, users and files that change nothing of this machine
sls, settings, grains, pillar     what is compiled (null: the highstate), and with which settings
each              texts that stand for ``EACH`` in the case, one after the other; of a mapping, its values stand for ``SAID``

order, places, orders             names, ``state name``, and ``order name`` of all states in serial order
requisites        of states, by name or ``state name``, each as ``kind target``
before            all that a state waits for, by ID
low               arguments of states; ~ is none
values            a mapping of what a template says to the value that a state gets for it
errors, warnings  ``file:line: message`` of each; ``error``, ``warning``: of one of them at least

run               options of the run; widths: its concurrencies, if not 1 and 16
results, comments one for each name
rows              parts of rows, by name, ID or tag
tags              the tags of all rows, in order
log               what was called, in order; ``called``: in any order
not started       tags
exit code         of the report
files             what is in files afterwards

``…`` in a text is any text.
"""

import re
from pathlib import Path

import pytest
from reached import reach
from recording import filled
from seed_plugins import FILES

from asyncstate.data.formats import yaml_data

CASES = {
    f"{path.stem}: {title}": case
    for path in sorted(Path(__file__).with_name("rows").glob("*.yaml"))
    for title, case in yaml_data(path.read_text(encoding="utf-8")).items()
}
NEEDED = {"features"}
GIVEN = {"tree", "plugins", "sls", "settings", "grains", "pillar", "each", "run", "widths"}
COMPILED = {
    "order": lambda plan: [chunk.name for chunk in plan.chunks],
    "places": lambda plan: [f"{chunk.state} {chunk.name}" for chunk in plan.chunks],
    "orders": lambda plan: [f"{chunk.order} {chunk.name}" for chunk in plan.chunks],
    "warnings": lambda plan: said(plan.warnings),
    "warning": lambda plan: said(plan.warnings),
    "requisites": lambda plan: {
        key: [f"{each.kind.value} {plan.chunks[plan.nodes[each.node].chunk].name}" for each in requisites]
        for chunk, requisites in zip(plan.chunks, plan.requisites, strict=True)
        for key in (chunk.name, f"{chunk.state} {chunk.name}")
    },
    "before": lambda plan: {chunk.id: behind(plan, chunk) for chunk in plan.chunks},
}
RAN = {
    "results": lambda tree, report: {row["name"]: row["result"] for row in report.rows.values()},
    "comments": lambda tree, report: {row["name"]: row["comment"] for row in report.rows.values()},
    "rows": lambda tree, report: {
        **{str(row["name"]): row for row in report.rows.values()},
        **{row["__id__"]: row for row in report.rows.values()},
        **report.rows,
    },
    "tags": lambda tree, report: list(report.rows),
    "log": lambda tree, report: list(tree.log),
    "called": lambda tree, report: sorted(tree.log),
    "not started": lambda tree, report: sorted(report.not_started),
    "exit code": lambda tree, report: report.exit_code,
}


def behind(plan, chunk):
    nodes = reach(plan.dag, [chunk.index], forward=False) - {chunk.index}
    return sorted({plan.chunks[plan.nodes[node].chunk].id for node in nodes if plan.nodes[node].chunk >= 0})


def said(issues):
    return [f"{Path(issue.file or '').name}:{issue.line}: {issue.message}" for issue in issues]


def reduced(found, expected):
    """Reduce what was found to what is expected: to the keys of a mapping, a text to a pattern that fits it."""
    if isinstance(expected, str) and "…" in expected and isinstance(found, str):
        fits = re.fullmatch(".*".join(map(re.escape, expected.split("…"))), found, re.DOTALL)
        return expected if fits else found
    if isinstance(expected, dict) and isinstance(found, dict):
        return {key: reduced(found.get(key), value) for key, value in expected.items()}
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [reduced(*each) for each in zip(found, expected, strict=True)]
    return found


def whole(found, expected):
    """Keep the names that are found and not expected: results and comments have one for each state."""
    return {**{key: found[key] for key in found if key not in expected}, **reduced(found, expected)}


def check(tree, case):
    files = case.get("tree", {})
    tree.write({f"_states/{name}.py": text for name, text in FILES.items()} if "plugins" in case else {})
    tree.write(files if isinstance(files, dict) else {"a.sls": files})
    sls = case.get("sls", "a")
    settings = case.get("settings", {}) | {key: case[key] for key in ("grains", "pillar") if key in case}
    for key in case.keys() & {*COMPILED, "error", "errors"}:
        found = COMPILED[key](tree.plan(sls, **settings)) if key in COMPILED else said(tree.errors(sls, **settings))
        if key in {"error", "warning"}:
            assert case[key] in [reduced(each, case[key]) for each in found], found
            assert all(each.startswith(case[key].partition("…")[0]) for each in found), found
            assert key == "error" or not any(":None:" in each for each in found), found
        else:
            assert reduced(found, case[key]) == case[key]
    if "low" in case:
        assert reduced(tree.low(sls, **settings), case["low"]) == case["low"]
    for width in case.get("widths", (1, 16)) if case.keys() & {*RAN, "files"} else ():
        report = tree.report(sls, concurrency=width, **{**settings, **case.get("run", {})})
        for key in case.keys() & RAN:
            found = RAN[key](tree, report)
            narrow = whole if key in {"results", "comments"} else reduced
            assert narrow(found, case[key]) == case[key], width
        for path, text in case.get("files", {}).items():
            assert Path(path).read_text() == text
    for expression, expected in case.get("values", {}).items():
        tree.write({"a.sls": f"a: {{x.run: [{{v: {expression}}}]}}\n"})
        found = tree.low(sls, **settings)["a"]["v"]
        assert (type(found), reduced(found, expected)) == (type(expected), expected), expression


@pytest.mark.parametrize(
    "title", [pytest.param(title, marks=pytest.mark.feature(*case["features"])) for title, case in CASES.items()]
)
def test_a_tree_does_what_its_table_says(tree, title):
    case = CASES[title]
    checks = {*COMPILED, *RAN, "error", "errors", "low", "values", "files"}
    assert case.keys() >= NEEDED
    assert case.keys() <= NEEDED | GIVEN | checks
    assert case.keys() & checks
    each = case.get("each", [""])
    for text, words in each.items() if isinstance(each, dict) else zip(each, each, strict=True):
        check(tree, filled(case, {"{root}": tree.base, "EACH": text, "SAID": words}))
