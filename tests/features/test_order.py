"""Serial order, explicit order, footprints: what runs when, at any width."""

import pytest
from reached import reach

from asyncstate.model.plan import NodeKind


@pytest.mark.feature("F050", "F056")
def test_auto_order(tree):
    tree.write(
        {
            "a.sls": "include: [b]\none: x.run\nfixed: {x.run: [{order: 10001}]}\ntwo: {y.run: [], x.run: []}\n",
            "b.sls": "zero: x.run\n",
        }
    )
    plan = tree.plan()
    assert [(chunk.name, chunk.order) for chunk in plan.chunks] == [
        ("zero", 10000), ("fixed", 10001), ("one", 10001), ("two", 10002), ("two", 10003),
    ]  # fmt: skip


@pytest.mark.feature("F051")
def test_every_form_of_order(sls):
    tree = sls(
        "auto: x.run\nlast: {x.run: [{order: last}]}\nfirst: {x.run: [{order: first}]}\nminus: {x.run: [{order: -1}]}\n"
        "minus2: {x.run: [{order: -2}]}\nfloat: {x.run: [{order: 5.5}]}\nfive: {x.run: [{order: 5}]}\nsix: {x.run: [{order: 6}]}\n"
        "text: {x.run: [{order: '3'}]}\nbool: {x.run: [{order: true}]}\nlate: {x.run: [{order: 20000}]}\n"
    )
    order = tree.order()
    assert order == ["first", "bool", "five", "float", "six", "auto", "late", "text", "minus2", "minus", "last"]
    assert tree.low()["text"]["order"] == 20100


@pytest.mark.feature("F052", "F056")
def test_direct_dependents_pull_forward_and_no_others(sls):
    assert sls(
        "a: {x.run: [{require: [c1]}]}\nm1: x.run\nm2: x.run\nc1: {x.run: [{require: [c2]}]}\nm3: x.run\nc2: x.run\n"
    ).order() == ["m1", "m2", "c2", "c1", "a", "m3"]


@pytest.mark.feature("F052")
def test_equal_orders_go_by_name(sls):
    tree = sls(
        "".join(
            f"{name}: {{{module}.run: [{{order: 1}}]}}\n"
            for name, module in (("b", "x"), ("a", "y"), ("A", "x"), ("a2", "x"))
        )
    )
    assert tree.order() == ["A", "a2", "b", "a"]


@pytest.mark.feature("F053")
def test_weights_and_negative_orders(sls):
    changed, failed = "c: {x.run: [{onchanges: [t]}]}\n", "f: {x.run: [{onfail: [t]}, {order: 2}]}\n"
    assert sls(f"m: x.run\nt: x.run\n{failed}{changed}").order() == ["t", "f", "m", "c"]
    assert sls(f"m: x.run\nt: x.run\n{changed}{failed}").order() == ["m", "t", "f", "c"]
    assert sls("m: x.run\nz: x.run\na: {x.run: [{order: -1}, {require: [z]}]}\n").order() == ["z", "m", "a"]
    assert sls("m: x.run\nz: x.run\na: {x.run: [{order: last}, {require: [z]}]}\n").order() == ["m", "z", "a"]


@pytest.mark.feature("F052")
def test_requisites_win_over_order(sls):
    assert sls("a: {x.run: [{order: last}]}\nb: {x.run: [{require: [a]}]}\nc: x.run\n").order() == ["a", "b", "c"]


@pytest.mark.feature("F054")
def test_without_auto_order_names_decide(sls):
    tree = sls("c: x.run\na: y.run\nb: {x.run: [{order: 1}]}\nd: x.run\n")
    assert tree.order(state_auto_order=False) == ["b", "c", "d", "a"]


@pytest.mark.feature("F055", "F130")
def test_rows_are_numbered_in_serial_order_whatever_the_timing(sls):
    lines = [f"s{n}: {{x.run: [{{sleep: {(9 - n) / 1000}}}]}}" for n in range(10)]
    lines += ["w: {x.run: [{watch: [s3]}]}", "l: {x.run: [{listen: [c]}]}", "c: {x.run: [{changes: {a: 1}}]}"]
    tree = sls("\n".join(lines))
    serial, wide = tree.report(concurrency=1), tree.report(concurrency=16)
    assert tree.ends[:10] != [f"s{n}" for n in range(10)]
    assert list(serial.rows) == list(wide.rows)
    for row in (*serial.rows.values(), *wide.rows.values()):
        del row["start_time"], row["duration"]
    assert serial.rows == wide.rows
    assert [row["__run_num__"] for row in wide.rows.values()] == list(range(14))


@pytest.mark.feature("F056")
def test_one_at_a_time_follows_the_plan(sls):
    tree = sls("c: {x.run: [{sleep: 0.002}]}\na: {x.run: [{order: 3}]}\nb: {x.run: [{require: [d]}]}\nd: x.run\n")
    tree.report(concurrency=1)
    assert tree.log == tree.order()


@pytest.mark.feature("F057", "P3")
def test_explicit_orders_are_stages(sls):
    tree = sls(
        "s1: {x.run: [{order: 1}, {sleep: 0.02}]}\ns1b: {x.run: [{order: 1}]}\ns2: {x.run: [{order: 2}]}\n"
        "auto: x.run\nend: {x.run: [{order: last}]}\nneeded: {x.run: [{sleep: 0.01}]}\nearly: {x.run: [{order: 1}, {require: [needed]}]}\n"
    )
    plan = tree.plan()
    assert any(node.kind is NodeKind.STAGE for node in plan.nodes)
    tree.report(concurrency=16)
    ends = tree.ends
    assert ends.index("s1b") < ends.index("s1")
    assert (
        max(ends.index("s1"), ends.index("s1b"), ends.index("early"))
        < ends.index("s2")
        < ends.index("auto")
        < ends.index("end")
    )


FORMULA = """
package: {{cmd.run: [{{name: 'echo a > {0}/made', creates: {0}/made}}]}}
folder: {{file.directory: [{{name: {0}/d}}]}}
inside: {{file.managed: [{{name: {0}/d/f, contents: x}}]}}
user: {{cmd.run: [{{name: 'cat {0}/d/f'}}]}}
other: {{file.managed: [{{name: {0}/other, contents: x}}]}}
free: {{cmd.run: [{{name: 'true'}}]}}
"""


def before(plan, name):
    """The names of all states a state waits for."""
    names = [chunk.id for chunk in plan.chunks]
    return {names[node] for node in reach(plan.dag, [names.index(name)], forward=False) if node < len(names)} - {name}


@pytest.mark.feature("F058", "F059")
def test_implicit_order(sls):
    tree = sls(FORMULA.format("/srv/nowhere"))
    none, footprint, strict = (tree.plan(implicit_order=mode) for mode in ("none", "footprint", "strict"))
    assert {name: before(none, name) for name in ("inside", "user", "free")} == {
        "inside": set(),
        "user": set(),
        "free": set(),
    }
    assert before(footprint, "inside") == {"folder"}
    assert {"folder", "inside"} <= before(footprint, "user")
    assert before(footprint, "other") == set()
    assert before(footprint, "free") == set()
    assert "other" in before(strict, "free")
    assert "package" in before(strict, "user")


@pytest.mark.feature("F059", "F131")
def test_footprints_written_in_the_tree(sls):
    tree = sls(
        "w: {x.run: [{footprint: {writes: ['db:orders']}}]}\nr: {x.run: [{footprint: {reads: ['db:orders']}}]}\n"
        "r2: {x.run: [{footprint: {reads: ['db:orders']}}]}\np: {x.run: [{footprint: {reads: ['db:orders']}}, {parallel: true}]}\n"
        "below: {x.run: [{footprint: {reads: ['path:/srv/a/b']}}]}\nall: {x.run: [{footprint: {writes: ['path:/srv/**']}}]}\n"
    )
    plan = tree.plan(implicit_order="footprint")
    assert before(plan, "r") == before(plan, "r2") == {"w"}
    assert before(plan, "p") == set()
    assert before(plan, "all") == {"below"}
    assert not {"footprint", "parallel"} & {key for _, kwargs in tree.lows for key in kwargs}


@pytest.mark.feature("F059")
def test_packages_and_services_hold_their_formula(tree):
    module = (
        "def installed(name):\n    return {'name': name, 'result': True, 'changes': {}, 'comment': ''}\n"
        "def mod_footprint(low):\n    return {'writes': ['pkgdb']}\n"
    )
    service = module.replace("installed", "running").replace("pkgdb", "service:web")
    tree.write(
        {
            "_states/pkg.py": module,
            "_states/service.py": service,
            "web.sls": "p: pkg.installed\nf: {file.managed: [{name: /etc/nowhere/f, contents: x}]}\ns: service.running\n",
            "db.sls": "q: pkg.installed\ng: {file.managed: [{name: /etc/nowhere/g, contents: x}]}\n",
        }
    )
    plan = tree.plan("web db", implicit_order="footprint")
    assert before(plan, "f") == {"p"}
    assert before(plan, "s") == {"p", "f"}
    assert before(plan, "q") == {"p"}
    assert before(plan, "g") == {"p", "q"}
