import pytest
from bundled_states import Bundled
from hypothesis import given
from strategies import high_data
from trees import FakeStates, compiler, plan

from asyncstate.extras.analyse.lint import lint, lint_data, lint_lines, one_for_each_place
from asyncstate.model.rules import RULES
from asyncstate.report.issues import unknown_lines


def _path(low):
    return {"writes": [f"path:{low['name']}"]}


STATES = FakeStates(
    "test.mod_watch",
    footprints={"file": _path, "cmd": lambda low: {"unknown": True}, "pkg": lambda low: {"writes": "pkgdb"}},
)


def lines_of(tree, **options):
    compiled = plan(tree, states=STATES, implicit_order="footprint", **options)
    return compiled, lint(compiled)


def pairs(tree, **options):
    """(rule, state, state it should require) of each finding."""
    compiled, findings = lines_of(tree, **options)
    named = {chunk.tag: chunk.id for chunk in compiled.chunks} | {"": ""}
    return [(one["rule"], named[one["state"]], named[one["requires"]]) for one in lint_data(compiled, findings)]


FOLDER = "d: {file.directory: [{name: /x}]}\n"


@pytest.mark.feature("F164")
def test_an_order_that_only_a_footprint_keeps():
    tree = FOLDER + "f: {file.managed: [{name: /x/f}]}\n"
    assert pairs(tree) == [("footprint-order", "f", "d")]
    compiled = plan(tree, states=STATES, implicit_order="footprint")
    assert [finding.message for finding in lint(compiled)] == [
        "file.managed: f (/x/f): it comes after file.directory: d (/x) only because both touch path:/x"
    ]


@pytest.mark.parametrize("kind", ["require", "watch", "onchanges", "onfail"])
def test_an_order_that_a_requisite_keeps(kind):
    assert pairs(FOLDER + f"f: {{file.managed: [{{name: /x/f}}, {{{kind}: [{{file: d}}]}}]}}\n") == []


def test_an_order_that_a_chain_of_requisites_keeps():
    chain = "t: {test.nop: [{require: [d]}]}\nf: {file.managed: [{name: /x/f}, {require: [t]}]}\n"
    assert pairs(FOLDER + chain) == []


def test_what_is_proposed_for_one_state_counts_for_the_next():
    tree = FOLDER + "f: {file.managed: [{name: /x/f}]}\ng: {file.append: [{name: /x/f}]}\n"
    assert pairs(tree) == [("footprint-order", "f", "d"), ("footprint-order", "g", "f")]


def test_an_explicit_order_is_written_down():
    assert pairs("d: {file.directory: [{name: /x}, {order: 1}]}\nf: {file.managed: [{name: /x/f}]}\n") == []


def test_states_with_unknown_effects():
    assert pairs("t: test.nop\nc: {cmd.run: [{require: [t]}]}\ne: cmd.run\n") == [
        ("unknown-effects", "c", ""),
        ("definition-order", "e", "c"),
        ("unknown-effects", "e", ""),
    ]


def test_unknown_effects_have_a_reason_and_a_way_out():
    states = FakeStates(footprints={"cmd": lambda low: {"unknown": "it uses $X"}})
    (finding,) = lint(plan("c: cmd.run\n", states=states, implicit_order="footprint"))
    assert finding.message == "cmd.run: c: it is not known what this state touches: it uses $X"
    assert "footprint: {reads" in finding.hint
    assert "requisite" in finding.hint


def test_many_readers_are_seen_behind_the_node_that_joins_them():
    readers = "".join(f"r{n}: {{file.managed: [{{name: /x/{n}}}]}}\n" for n in range(5))
    states = FakeStates(
        footprints={
            "file": lambda low: {
                "writes": [f"path:{low['name']}/**" if low["fun"] == "pruned" else f"path:{low['name']}"]
            }
        }
    )
    compiled = plan(readers + "gone: {file.pruned: [{name: /x}]}\n", states=states, implicit_order="footprint")
    assert sorted(compiled.chunks[one.missing].id for one in lint(compiled)) == [f"r{n}" for n in range(5)]


def test_no_requisite_is_proposed_where_it_could_make_a_cycle():
    later = "d: {file.directory: [{names: [/x, {/y: [{order: last}]}]}]}\nf: {file.managed: [{name: /x/f}]}\n"
    assert pairs(later) == [("footprint-order", "f", "")]
    checked = """
asks: {test.nop: [{prereq: [{file: f}]}]}
d: {file.directory: [{name: /x}, {require: [asks]}]}
f: {file.managed: [{name: /x/f}]}
"""
    assert all(required == "" for _, state, required in pairs(checked) if state == "f")


def test_a_requisite_on_a_declaration_names_all_that_it_makes():
    several = "d: {file.directory: [{names: [/x, /y]}]}\n"
    assert pairs(several + "f: {file.managed: [{name: /x/f}]}\n") == [("footprint-order", "f", "d")]
    assert pairs(FOLDER + "f: {file.managed: [{names: [/x/f, /x/g]}]}\n") == [("footprint-order", "f", "d")] * 2


def test_states_of_one_declaration_cannot_require_one_another():
    assert pairs("d: {file.directory: [{names: [/x, /x/y, /x/y/z]}]}\n") == []
    assert pairs("d: {cmd.run: [{names: [one, two]}]}\n") == [("unknown-effects", "d", "")] * 2


def test_warnings_of_the_compiler_and_unused_pillar_keys_are_findings():
    compiled = plan("a: {test.nop: [{require: [{sls: 'no*'}]}, {require_in: [b_]}]}\n", states=STATES)
    findings = lint(compiled, {"z": ("", 0), "y": ("/pillar/p.sls", 3)})
    assert [one.rule for one in findings] == ["tree"] * len(compiled.warnings) + ["unused-pillar"] * 2
    assert len(compiled.warnings) == 2
    assert "'y'" in findings[-2].message
    assert (findings[-2].file, findings[-2].line) == ("/pillar/p.sls", 3)
    assert {one.rule for one in findings} <= RULES.keys()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("{listen: [{test: a}]}", "listens to itself"),
        ("{listen: [a]}", "listens to itself"),
        ("{listen_in: [{test: a}]}", "listens to itself"),
        ("{use: [{test: a}]}", "uses its own arguments"),
        ("{use: [{test: named}, {test: b}]}, {name: named}", "uses its own arguments"),
        ("{use: [{test: b}]}, {listen: [{test: b}]}", ""),
    ],
)
def test_a_state_that_refers_to_itself(words, told):
    _, findings = lines_of(f"a: {{test.nop: [{words}]}}\nb: test.nop\n")
    assert [one.rule for one in findings] == ["self"] * bool(told)
    assert all(told in one.message and one.line == 1 for one in findings)


def test_lines_name_the_place_and_count():
    compiled, findings = lines_of(FOLDER + "f: {file.managed: [{name: /x/f}]}\n")
    first, hint, last = lint_lines(compiled, findings)
    assert first.split(": ", 1)[0].endswith("s.sls:2")
    assert hint.endswith("- require: [{file: d}]")
    assert last == "1 finding in 2 states."
    assert list(lint_lines(compiled, [])) == ["No findings in 2 states."]


def test_how_many_run_free():
    assert list(unknown_lines(plan("a: test.nop\n", states=STATES))) == []
    compiled = plan("a: cmd.run\n", states=STATES, implicit_order="footprint")
    assert next(iter(unknown_lines(compiled))).startswith("1 state has unknown effects")


@given(high_data())
def test_what_is_proposed_never_makes_a_cycle(high):
    states = FakeStates(footprints={module: lambda low: {"writes": ["one"]} for module in ("test", "cmd", "pkg")})
    compiled = compiler({}, states=states, implicit_order="footprint").plan_high(high)
    for one in lint(compiled):
        if one.missing >= 0:
            chunk, missing = compiled.chunks[one.chunk], compiled.chunks[one.missing]
            (arguments,) = (value for value in high[chunk.id].values() if isinstance(value, list))
            arguments.append({"require": [{missing.state: missing.id}]})
    compiler({}, states=states, implicit_order="footprint").plan_high(high)


def test_a_state_that_does_nothing_needs_no_order():
    assert pairs("t: test.nop\nc: cmd.run\n") == [("unknown-effects", "c", "")]
    assert pairs("c: cmd.run\nt: test.nop\ne: cmd.run\n") == [
        ("unknown-effects", "c", ""),
        ("definition-order", "e", "c"),
        ("unknown-effects", "e", ""),
    ]


def test_entries_of_one_list_need_no_order():
    assert pairs("a: pkg.installed\nb: pkg.installed\n") == []
    assert pairs("A: {pkg.installed: [{name: a}]}\nb: {pkg.removed: [{name: a}]}\n") == [("footprint-order", "b", "A")]


def test_what_a_loop_declares_is_one_finding():
    tree = FOLDER + "{% for n in 'abc' %}\nf{{ n }}:\n  file.managed:\n    - name: /x/{{ n }}\n{% endfor %}\n"
    compiled, findings = lines_of(tree)
    [finding] = one_for_each_place(findings)
    assert (len(findings), finding.more) == (3, 2)
    assert "(and 2 more declared in this line)" in next(iter(lint_lines(compiled, [finding])))


@pytest.mark.parametrize(
    ("condition", "code", "rules"), [("", ["E431"], {"refused"}), (", {unless: 'true'}", [], {"refused"})]
)
def test_what_the_next_run_may_refuse_is_found_by_lint(condition, code, rules):
    tree = {
        "a": f"code: {{git.latest: [{{name: https://x/r}}, {{target: /srv/app/code}}{condition}]}}\n"
        "dir: {file.directory: [{name: /srv/app}, {user: app}, {require: [{git: code}]}]}\n"
    }
    made = plan(tree, ["a"], states=Bundled(), is_root=True)
    assert [issue.code for issue in made.warnings if issue.mistake] == code
    assert {each.rule for each in lint(made) if each.code == "E431"} == rules
