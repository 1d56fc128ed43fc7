"""Top files, includes, declarations, extend and exclude, and what is wrong with them."""

import pytest
from tables import beside

TABLES = beside(__file__)

# --- top files


def matched(tree, top, **settings):
    tree.write({"top.sls": top, **{f"{name}.sls": f"{name}: x.run\n" for name in "abcd"}})
    return tree.order(None, **settings)


@pytest.mark.feature("F030")
@pytest.mark.parametrize("target", TABLES["compound targets"])
def test_compound_targets(tree, target):
    assert matched(
        tree,
        f"base: {{{target}: [a], 'there': [b]}}\n",
        grains={"role": "web"},
        pillar={"site": "shop"},
        nodegroups={"group": "L@here"},
    ) == ["a"]


@pytest.mark.feature("F030")
@pytest.mark.parametrize(("kind", "hit", "miss"), TABLES["other matchers"])
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
@pytest.mark.parametrize(("include", "message"), TABLES["broken includes"])
def test_broken_includes(sls, include, message):
    issues = sls(f"include: {include}\nb: x.run\n").errors()
    assert any(message in issue.message for issue in issues), [issue.message for issue in issues]


# --- declarations


@pytest.mark.feature("F048")
@pytest.mark.parametrize(("text", "message"), TABLES["every verification error"])
def test_every_verification_error(sls, text, message):
    issues = sls(f"{text}\n").errors()
    assert any(message in issue.message for issue in issues), [issue.message for issue in issues]
    assert all(issue.file.endswith("a.sls") for issue in issues)


@pytest.mark.feature("F049", "B6")
@pytest.mark.parametrize(("text", "word"), TABLES["what has no effect is warned of"])
def test_what_has_no_effect_is_warned_of(sls, text, word):
    tree = sls(f"{text}\n")
    warnings = tree.warnings()
    assert any(word in issue.message for issue in warnings), [issue.message for issue in warnings]
    assert all(issue.file.endswith("a.sls") and issue.line for issue in warnings), warnings
    assert tree.report().ok or "watch_any_in" in text
