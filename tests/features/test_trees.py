"""Top files, includes, declarations, extend and exclude, and what is wrong with them."""

import pytest
from tables import beside

TABLES = beside(__file__)

# --- top files


def matched(tree, top, **settings):
    tree.write({"top.sls": top, **{f"{name}.sls": f"{name}: x.run\n" for name in "abcd"}})
    return tree.order(None, **settings)


@pytest.mark.feature("F030")
@pytest.mark.parametrize(
    "target",
    TABLES["compound targets"],
)
def test_compound_targets(tree, target):
    assert matched(
        tree,
        f"base: {{{target}: [a], 'there': [b]}}\n",
        grains={"role": "web"},
        pillar={"site": "shop"},
        nodegroups={"group": "L@here"},
    ) == ["a"]


@pytest.mark.feature("F030")
@pytest.mark.parametrize(
    ("kind", "hit", "miss"),
    TABLES["other matchers"],
)
def test_other_matchers(tree, kind, hit, miss):
    top = f"base:\n  '{miss}': [{{match: {kind}}}, b]\n  '{hit}': [{{match: {kind}}}, a]\n"
    groups = {"group": "L@here", "other": "L@there"}
    assert matched(tree, top, grains={"role": "web"}, pillar={"site": "shop"}, nodegroups=groups) == ["a"]


def environments(tree, **settings):
    """SLS by environment for two top files that each speak of both environments."""
    for env in ("base", "dev"):
        root = tree.base / env
        root.mkdir(exist_ok=True)
        other = {"base": "dev", "dev": "base"}[env]
        (root / "top.sls").write_text(f"{env}: {{'*': [own_{env}]}}\n{other}: {{'*': [by_{env}]}}\n")
        for name in ("own_base", "by_dev", "own_dev", "by_base"):
            (root / f"{name}.sls").write_text(f"{name}_{env}: x.run\n")
    roots = {env: [str(tree.base / env)] for env in ("base", "dev")}
    with tree.runtime(file_roots=roots, **settings).open_sync() as runtime:
        return runtime.top_sync()


@pytest.mark.feature("F031")
def test_merge_takes_base_for_every_environment_it_names(tree):
    assert environments(tree) == {"base": ["own_base"], "dev": ["by_base"]}


@pytest.mark.feature("F032")
def test_other_merging_strategies(tree):
    assert environments(tree, top_file_merging_strategy="same") == {"base": ["own_base"], "dev": ["own_dev"]}
    both = environments(tree, top_file_merging_strategy="merge_all", env_order=["dev", "base"])
    assert {env: sorted(names) for env, names in both.items()} == {
        "base": ["by_dev", "own_base"],
        "dev": ["by_base", "own_dev"],
    }
    assert environments(tree, state_top_saltenv="dev") == {"dev": ["own_dev"]}


@pytest.mark.feature("F032")
def test_default_top_is_for_environments_without_one(tree):
    environments(tree)
    (tree.base / "dev" / "top.sls").unlink()
    roots = {env: [str(tree.base / env)] for env in ("base", "dev")}
    settings = {"file_roots": roots, "top_file_merging_strategy": "same", "default_top": "base"}
    with tree.runtime(**settings).open_sync() as runtime:
        assert runtime.top_sync() == {"base": ["own_base"], "dev": ["by_base"]}


@pytest.mark.feature("F033")
@pytest.mark.parametrize("top", [{}, {"top.sls": "base: {'there': [a]}\n", "a.sls": "a: x.run\n"}])
def test_a_top_that_assigns_nothing(tree, top):
    report = tree.write(top).report(None)
    (row,) = report.rows.values()
    assert list(report.rows) == ["no_|-states_|-states_|-None"]
    assert (row["name"], row["result"], row["changes"]) == ("No States", False, {})
    assert row["comment"] == "No Top file or master_tops data matches found. Please see master log for details."
    assert report.exit_code == 2


@pytest.mark.feature("F034", "B3")
@pytest.mark.parametrize("top", ["base:\n  '*': [{{ nothing.here }}]\n", "base:\n  '*': [a\n"])
def test_a_top_that_does_not_render(tree, top):
    (issue,) = tree.write({"top.sls": top}).errors(None)
    assert issue.file.endswith("top.sls")
    assert issue.line in {2, 3}


@pytest.mark.feature("F035")
def test_tops_that_include_name_other_environments_and_subfilter(tree):
    (tree.base / "dev").mkdir()
    (tree.base / "dev" / "d.sls").write_text("d: x.run\n")
    roots = {"base": [str(tree.base / "salt")], "dev": [str(tree.base / "dev")]}
    top = "include: [more]\nbase:\n  '*': [a, {dev: d}, {subfilter: {'role:web': [b, {match: grain}]}}]\n"
    more = {"more.sls": "base: {'here': [c]}\n"}
    tree.write(more)
    order = matched(tree, top, file_roots=roots, grains={"role": "web"})
    assert {"a", "c", "d"} <= set(order)


# --- includes


@pytest.mark.feature("F040", "F041", "F042")
def test_includes_come_first_once_and_in_circles(tree):
    tree.write(TABLES["includes come first once and in circles"])
    low = tree.low()
    assert list(low) == ["in_b", "in_r", "in_c", "in_p", "in_q1", "in_q2", "mine"]
    assert [each["order"] for each in low.values()] == list(range(10000, 10007))
    assert low["in_r"]["__sls_included_from__"] == ["p.c", "p", "a"] or low["in_r"]["__sls_included_from__"] == [
        "a",
        "p",
        "p.c",
    ]
    assert "__sls_included_from__" not in low["mine"]


@pytest.mark.feature("F040", "F048")
@pytest.mark.parametrize(
    ("include", "message"),
    TABLES["broken includes"],
)
def test_broken_includes(sls, include, message):
    issues = sls(f"include: {include}\nb: x.run\n").errors()
    assert any(message in issue.message for issue in issues), [issue.message for issue in issues]


# --- declarations


@pytest.mark.feature("F043", "P4")
def test_a_duplicate_id(tree):
    tree.write({"a.sls": "include: [b]\ntwice: x.run\n", "b.sls": "twice: y.run\n"})
    (issue,) = tree.errors()
    assert issue.message.startswith(
        "Detected conflicting IDs, SLS IDs need to be globally unique.\n"
        "    The conflicting ID is 'twice' and is found in SLS "
    )
    plan = tree.plan(duplicate_ids="first")
    assert [(chunk.state, chunk.sls) for chunk in plan.chunks] == [("y", "b")]
    assert any("twice" in issue.message for issue in plan.warnings)


@pytest.mark.feature("F044")
def test_forms_of_a_declaration(sls):
    tree = sls(
        "dotted: {x.run: [{v: 1}]}\nplain: {x: [run, {v: 2}]}\nshort: x.run\nempty: {x.run: []}\n"
        "both: {x.run: [], y: [run]}\nmerged: {x.run: [{v: 3, w: 4}, {v: 5}, {state: ignored}]}\n"
    )
    plan = tree.plan()
    assert [(chunk.name, chunk.function) for chunk in plan.chunks] == [
        ("dotted", "x.run"), ("plain", "x.run"), ("short", "x.run"), ("empty", "x.run"),
        ("both", "y.run"), ("both", "x.run"), ("merged", "x.run"),
    ]  # fmt: skip
    assert plan.chunks[-1].args["v"] == 5
    assert plan.chunks[-1].args["w"] == 4


@pytest.mark.feature("F045")
def test_name_and_names(sls):
    plan = sls(
        "n: {x.run: [{names: [one, {two: [{v: 2}, {order: 1}]}, one]}, {v: 1}]}\n"
        "m: {x.run: [{name: 7}]}\ne: {x.run: [{name: ''}]}\n"
    ).plan()
    assert [(chunk.name, chunk.id, chunk.args.get("v"), chunk.order) for chunk in plan.chunks] == [
        ("two", "n", 2, 1.0002), ("one", "n", 1, 10000.0001), ("m", "m", None, 10001), ("", "e", None, 10002),
    ]  # fmt: skip


@pytest.mark.feature("F046")
def test_extend(tree):
    tree.write(
        {
            "a.sls": "include: [b, c]\nextend:\n  t:\n    x: [{v: 2}, {require: [{x: new}]}, {extra_arg: 1}]\n    y: [run]\n"
            "  byname: {x: [{v: 9}]}\n  l: {x: [{name: only}]}\nnew: x.run\n",
            "b.sls": "t: {x.run: [{v: 1}, {require: [{x: old}]}]}\nold: x.run\nn: {x.run: [{name: byname}]}\n",
            "c.sls": "include: [b]\nextend: {t: {x: [{v: 3}]}}\nl: {x.run: [{names: [p, q]}]}\n",
        }
    )
    plan = tree.plan()
    by = {(chunk.state, chunk.name): chunk for chunk in plan.chunks}
    extended = by["x", "t"].args
    assert extended["v"] in {2, 3}
    assert extended["extra_arg"] == 1
    assert extended["require"] == [{"x": "old"}, {"x": "new"}]
    assert by["y", "t"].order not in range(10000, 10010)
    assert by["x", "byname"].args["v"] == 9
    assert ("x", "only") in by
    assert ("x", "p") not in by


@pytest.mark.feature("F046", "F048")
def test_an_extend_of_nothing(sls):
    (issue,) = sls("extend: {gone: {x: [{v: 1}]}}\nb: x.run\n").errors()
    assert issue.message.startswith("Cannot extend ID 'gone' in 'base:a'. It is not part of the high state.\n")


@pytest.mark.feature("F047")
def test_exclude(tree):
    tree.write(
        {
            "a.sls": "include: [b, c1, c2]\nexclude:\n  - b\n  - sls: c*\n  - id: gone\nkept: x.run\ngone: x.run\n",
            "b.sls": "in_b: x.run\n",
            "c1.sls": "in_c1: x.run\n",
            "c2.sls": "in_c2: x.run\n",
        }
    )
    assert tree.order() == ["kept"]
    assert tree.order("b c1", exclude=["b"]) == ["in_c1"]
    assert tree.order("b c1", exclude=[{"id": "in_c1"}]) == ["in_b"]


@pytest.mark.feature("F047", "F062")
def test_requiring_what_is_excluded(sls):
    (issue,) = sls("exclude: [{id: b}]\na: {x.run: [{require: [b]}]}\nb: x.run\n").errors()
    assert issue.message.startswith("Referenced state does not exist for requisite [require: (id: b)]")


@pytest.mark.feature("F048")
@pytest.mark.parametrize(
    ("text", "message"),
    TABLES["every verification error"],
)
def test_every_verification_error(sls, text, message):
    issues = sls(f"{text}\n").errors()
    assert any(message in issue.message for issue in issues), [issue.message for issue in issues]
    assert all(issue.file.endswith("a.sls") for issue in issues)


@pytest.mark.feature("F048")
def test_a_missing_sls(tree):
    (issue,) = tree.errors("gone")
    assert issue.message == "No matching sls found for 'gone' in env 'base'"


@pytest.mark.feature("F049", "B6")
@pytest.mark.parametrize(
    ("text", "word"),
    TABLES["what has no effect is warned of"],
)
def test_what_has_no_effect_is_warned_of(sls, text, word):
    tree = sls(f"{text}\n")
    warnings = tree.warnings()
    assert any(word in issue.message for issue in warnings), [issue.message for issue in warnings]
    assert all(issue.file.endswith("a.sls") and issue.line for issue in warnings), warnings
    assert tree.report().ok or "watch_any_in" in text


@pytest.mark.feature("F060", "P2")
def test_a_requisite_under_an_id_is_for_all_its_states(sls):
    tree = sls("a:\n  x.run: []\n  y.run: []\n  require:\n    - x: b\nb: x.run\n")
    plan = tree.plan()
    assert [chunk.name for chunk in plan.chunks] == ["b", "a", "a"]
    assert [len(each) for each in plan.requisites] == [0, 1, 1]
