"""Top files, includes, declarations, extend and exclude, and what is wrong with them."""

import pytest

# --- top files


def matched(tree, top, **settings):
    tree.write({"top.sls": top, **{f"{name}.sls": f"{name}: x.run\n" for name in "abcd"}})
    return tree.order(None, **settings)


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
