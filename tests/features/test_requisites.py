"""Requisites: what they refer to, what they decide, and the rows that follow."""

import pytest
from reached import reach
from tables import beside

from asyncstate.errors import CycleError

TABLES = beside(__file__)

TARGETS = TABLES["targets"]


def one_requisite(tree, kind, module="x", **options):
    """One dependent for each target; return the names of the dependents by what became of them."""
    lines = [f"{name}: {{{module}.run: {args}}}" for name, args in TARGETS.items()]
    lines += [f"after_{name}: {{{module}.run: [{{{kind}: [{{{module}: {name}}}]}}]}}" for name in TARGETS]
    rows = tree.write({"a.sls": "\n".join(lines)}).rows(**options)
    ran = {name for name in TARGETS if rows[f"after_{name}"].get("__state_ran__", True)}
    failed = {name for name in TARGETS if rows[f"after_{name}"]["result"] is False}
    watched = {entry.removeprefix("watch after_") for entry in tree.log if entry.startswith("watch")}
    return ran, failed, watched


FAILING = {"bad", "badchg", "boom"}
CHANGING = {"chg", "nonechg"}


@pytest.mark.feature("F064", "F072")
@pytest.mark.parametrize("kind", ["require", "require_any"])
def test_require(tree, kind, width):
    ran, failed, _ = one_requisite(tree, kind, concurrency=width)
    assert failed == FAILING
    assert ran == TARGETS.keys() - FAILING


@pytest.mark.feature("F065", "F100")
@pytest.mark.parametrize("kind", ["watch", "watch_any"])
def test_watch(tree, kind, width):
    ran, failed, watched = one_requisite(tree, kind, concurrency=width)
    assert (ran, failed) == (TARGETS.keys() - FAILING, FAILING)
    assert watched == CHANGING


@pytest.mark.feature("F065")
def test_watch_without_mod_watch_is_require(tree):
    tree.write({"a.sls": "a: {y.run: [{watch: [b]}]}\nb: {y.run: [{changes: {a: 1}}]}\n"})
    plan = tree.plan()
    assert [requisite.kind for requisite in plan.requisites[1]] == ["require"]
    assert tree.rows().results == {"b": True, "a": True}
    assert tree.log == ["b", "a"]


@pytest.mark.feature("F066")
@pytest.mark.parametrize("kind", ["onchanges", "onchanges_any"])
def test_onchanges(tree, kind, width):
    ran, failed, _ = one_requisite(tree, kind, concurrency=width)
    assert (ran, failed) == (CHANGING, set())


@pytest.mark.feature("F067", "F111")
@pytest.mark.parametrize("kind", ["onfail", "onfail_any", "onfail_all"])
def test_onfail(tree, kind, width):
    ran, failed, _ = one_requisite(tree, kind, concurrency=width)
    assert (ran, failed) == (FAILING | {"none", "nonechg"}, set())


@pytest.mark.feature("F111", "F110")
def test_onfail_in_test_mode_takes_a_predicted_change_for_a_failure(tree):
    tree.write({"a.sls": "t: {x.run: [{changes: {a: 1}, predicted: [null, {a: 1}]}]}\nh: {x.run: [{onfail: [t]}]}\n"})
    assert tree.rows(test=True)["h"].get("__state_ran__", True) is True
    assert tree.rows(test=False)["h"]["__state_ran__"] is False


@pytest.mark.feature("F067")
def test_several_targets_of_onfail(sls):
    tree = sls(
        "good: x.run\nbad: {x.run: [{result: false}]}\n"
        "one: {x.run: [{onfail: [good, bad]}]}\nany: {x.run: [{onfail_any: [good, bad]}]}\n"
        "all: {x.run: [{onfail_all: [good, bad]}]}\n"
    )
    tree.rows()
    assert set(tree.log) == {"good", "bad", "one", "any"}


@pytest.mark.feature("F064", "F065", "F066")
def test_several_targets(sls):
    tree = sls(
        "good: x.run\nbad: {x.run: [{result: false}]}\nchg: {x.run: [{changes: {a: 1}}]}\n"
        "all: {x.run: [{require: [good, bad]}]}\nany: {x.run: [{require_any: [good, bad]}]}\n"
        "watch: {x.run: [{watch_any: [bad, chg]}]}\nchanged: {x.run: [{onchanges: [bad, good, chg]}]}\n"
    )
    rows = tree.rows()
    assert rows.results == {
        "good": True, "bad": False, "chg": True, "all": False, "any": True, "watch": True, "changed": True,
    }  # fmt: skip
    assert "watch watch" in tree.log
    assert "changed" in tree.log


@pytest.mark.feature("F072")
@pytest.mark.parametrize(
    ("requisites", "outcome"),
    TABLES["mixed kinds"],
)
def test_mixed_kinds(sls, requisites, outcome, width):
    tree = sls(
        "good: x.run\nbad: {x.run: [{result: false}]}\nchg: {x.run: [{changes: {a: 1}}]}\n"
        f"d: {{x.run: [{requisites}]}}\n"
    )
    row = tree.rows(concurrency=width)["d"]
    if outcome == "fails":
        assert row["comment"] == "One or more requisite failed: a.bad"
    elif outcome in {"runs", "watched"}:
        assert "d" in tree.log
        assert ("watch d" in tree.log) == (outcome == "watched")
    else:
        assert row["comment"] == f"State was not run because {outcome}"
        assert "d" not in tree.log


@pytest.mark.feature("F073", "F120")
def test_rows_of_states_that_did_not_run(sls):
    tree = sls(
        "bad: {x.run: [{result: false}]}\nf: {x.run: [{require: [bad]}]}\nc: {x.run: [{onchanges: [bad]}]}\n"
        "o: {x.run: [{onfail: [good]}]}\ngood: x.run\np: {x.run: [{prereq: [good]}]}\n"
    )
    rows = tree.rows()
    held = {name: rows[name] for name in "fcop"}
    assert {name: (row["result"], row["comment"]) for name, row in held.items()} == {
        "f": (False, "One or more requisite failed: a.bad"),
        "c": (True, "State was not run because none of the onchanges reqs changed"),
        "o": (True, "State was not run because onfail req did not change"),
        "p": (True, "No changes detected"),
    }
    for name, row in held.items():
        assert row["__state_ran__"] is False
        assert (row["changes"], row["__id__"], row["__sls__"], row["duration"]) == ({}, name, "a", 0.0)
        assert row["start_time"]


@pytest.mark.feature("F074")
def test_skip_req_and_skip_watch(sls):
    tree = sls(
        "t: {x.run: [{changes: {a: 1}, extra: {skip_req: true}}]}\nw: {x.run: [{watch: [t]}]}\n"
        "c: {x.run: [{onchanges: [t]}]}\ns: {x.run: [{watch: [u]}, {extra: {skip_watch: true}}]}\n"
        "u: {x.run: [{changes: {a: 1}}]}\n"
    )
    rows = tree.rows()
    assert rows["w"]["comment"].endswith(" mod_watch was not run because requisites were skipped by another state")
    assert rows["c"]["comment"] == "State was not run because requisites were skipped by another state"
    assert not [entry for entry in tree.log if entry.startswith("watch")]


# --- what they refer to


@pytest.mark.feature("F060")
def test_references_by_id_name_module_and_sls(tree):
    tree.write(
        {
            "a.sls": "include: [b]\nd: {x.run: [{require: [{x: named}, {id: i}, plain, {sls: b}]}]}\n"
            "i: {x.run: [{name: other}], y.run: [{name: another}]}\nj: {x.run: [{name: named}]}\nplain: x.run\n",
            "b.sls": "in_b: x.run\n",
        }
    )
    assert tree.order()[-1] == "d"
    assert set(tree.order()[:-1]) == {"in_b", "other", "another", "named", "plain"}


@pytest.mark.feature("F060", "F045")
def test_a_name_of_names_is_one_state_and_the_id_is_all(sls):
    tree = sls("n: {x.run: [{names: [one, two]}]}\na: {x.run: [{require: [{x: one}]}]}\nb: {x.run: [{require: [n]}]}\n")
    plan = tree.plan()
    names = [chunk.name for chunk in plan.chunks]
    assert [names[r.node] for r in plan.requisites[names.index("a")]] == ["one"]
    assert len(reach(plan.dag, [names.index("b")], forward=False)) >= 3


@pytest.mark.feature("F061", "B7")
def test_globs_and_exact_names(sls):
    tree = sls(
        "d: {x.run: [{require: [{x: 'w*'}]}]}\nw1: x.run\nw2: x.run\n'a[1]': x.run\ne: {x.run: [{require: ['a[1]']}]}\n"
        "s: {x.run: [{require: [{x: '*'}]}]}\n"
    )
    order = tree.order()
    assert order.index("d") > max(order.index("w1"), order.index("w2"))
    assert order.index("e") > order.index("a[1]")
    assert order[-1] == "s"


@pytest.mark.feature("F062")
def test_a_missing_target(sls):
    (issue,) = sls("a:\n  x.run:\n    - require:\n      - x: nobody\n").errors()
    assert (
        issue.message == "Referenced state does not exist for requisite [require: (x: nobody)] in state [a] in SLS [a]"
    )
    assert issue.file.endswith("a.sls")
    assert issue.line in {1, 2, 3, 4}


@pytest.mark.feature("F063", "B3")
def test_a_cycle_lists_its_edges(tree):
    tree.write({"a.sls": "a: {x.run: [{require: [b]}]}\nb: {x.run: [{require: [c]}]}\nc: {x.run: [{watch: [a]}]}\n"})
    with pytest.raises(CycleError) as caught:
        tree.plan()
    message = caught.value.issues[0].message
    assert message.startswith("Recursive requisites were found: ")
    assert "'require'" in message
    assert "'watch'" in message
    assert all(f"'ID': '{id_}'" in message for id_ in "abc")


@pytest.mark.feature("F063", "B3")
def test_depth_is_no_limit(tree):
    lines = ["s0: {x.run: [{require: [s2999]}]}"]
    lines += [f"s{n}: {{x.run: [{{require: [{{x: s{n - 1}}}]}}]}}" for n in range(1, 3000)]
    tree.write({"a.sls": "\n".join(lines)})
    with pytest.raises(CycleError):
        tree.plan()
    tree.write({"a.sls": "\n".join(["s0: x.run", *lines[1:]])})
    assert len(tree.order()) == 3000


@pytest.mark.feature("F070")
def test_every_in_form(sls):
    tree = sls(
        "t: {x.run: [{require: []}]}\nu: x.run\n"
        + "".join(
            f"{kind}: {{x.run: [{{{kind}_in: [{{x: t}}]}}]}}\n" for kind in ("require", "watch", "onchanges", "onfail")
        )
        + "prereq: {x.run: [{prereq_in: [{x: u}]}]}\nlisten: {x.run: [{changes: {a: 1}}, {listen_in: [{x: u}]}]}\n"
        + "use: {x.run: [{flavour: plain}, {use_in: [{x: t}]}]}\n"
    )
    plan = tree.plan()
    names = [chunk.name for chunk in plan.chunks]
    kinds = {r.kind.value for r in plan.requisites[names.index("t")]}
    assert kinds == {"require", "watch", "onchanges", "onfail"}
    assert [r.kind.value for r in plan.requisites[names.index("u")]] == ["prereq"]
    assert plan.chunks[names.index("t")].args["flavour"] == "plain"
    assert [plan.chunks[listener.chunk].name for listener in plan.listeners] == ["u"]


@pytest.mark.feature("F070")
def test_in_forms_for_an_sls_a_text_and_a_name(tree):
    tree.write(
        {
            "a.sls": "include: [b]\n"
            "s: {x.run: [{require_in: [{sls: b}]}]}\np: {x.run: [{require_in: [two]}]}\nn: {x.run: [{require_in: {x: nn}}]}\n",
            "b.sls": "one: x.run\ntwo: {x.run: [], y.run: []}\nz: {x.run: [{name: nn}]}\n",
        }
    )
    plan = tree.plan()
    names = [(chunk.state, chunk.name) for chunk in plan.chunks]
    needs = {
        names[i]: {names[n][1] for n in reach(plan.dag, [i], forward=False) if n < len(names)}
        for i in range(len(names))
    }
    assert needs["x", "one"] == {"one", "s"}
    assert needs["x", "two"] == {"two", "s", "p"}
    assert needs["y", "two"] == {"two", "s"}
    assert needs["x", "nn"] == {"nn", "s", "n"}


@pytest.mark.feature("F071")
def test_use_copies_what_is_missing(sls):
    low = sls(
        "a: {x.run: [{flavour: a}, {size: 1}, {order: 3}, {name: n}, {require: [c]}]}\n"
        "b: {y.run: [{use: [{x: a}]}, {size: 2}]}\nc: x.run\nd: {x.run: [{use_in: [c]}, {colour: red}]}\n"
    ).low()
    assert {key: low["b"].get(key) for key in ("flavour", "size", "require")} == {
        "flavour": "a",
        "size": 2,
        "require": None,
    }
    assert low["b"]["name"] == "b"
    assert low["b"]["order"] != 3
    assert low["c"]["colour"] == "red"


@pytest.mark.feature("F075")
def test_disabled_requisites(sls):
    tree = sls("a: {x.run: [{require_in: [nobody]}, {require: [gone]}]}\nb: {x.run: [{require: [a]}]}\n")
    assert tree.order(disabled_requisites=["require_in", "require"]) == ["a", "b"]
    assert tree.errors()


@pytest.mark.feature("F076", "B7")
@pytest.mark.parametrize(("handler", "code"), [("", 0), ("{result: false}, ", 2)])
def test_onfail_stop_false_handles_a_failure(sls, handler, code, width):
    tree = sls(
        f"bad: {{x.run: [{{result: false}}]}}\nh: {{x.run: [{handler}{{onfail: [bad]}}, {{onfail_stop: false}}]}}\n"
    )
    report = tree.report(concurrency=width)
    assert report.exit_code == code
    assert bool(report.handled) == (code == 0)
    assert "h" in tree.log


@pytest.mark.feature("F076")
def test_without_onfail_stop_a_handled_failure_fails_the_run(sls):
    assert sls("bad: {x.run: [{result: false}]}\nh: {x.run: [{onfail: [bad]}]}\n").report().exit_code == 2


@pytest.mark.feature("F077", "B7")
@pytest.mark.parametrize("other", ["", "include: [c]\n", "{% if false %}x{% endif %}\n"])
def test_sls_requisites_on_files_without_states_of_their_own(tree, other):
    tree.write(
        {
            "a.sls": "include: [b]\nd: {x.run: [{require: [{sls: b}]}]}\n",
            "b.sls": other,
            "c.sls": "in_c: x.run\n",
        }
    )
    assert tree.order() == (["in_c", "d"] if "[c]" in other else ["d"])


@pytest.mark.feature("F077", "B7")
def test_sls_requisites_on_a_diamond(tree):
    tree.write(
        {
            "a.sls": "include: [c, b]\nd: {x.run: [{require: [{sls: b}]}]}\n",
            "b.sls": "include: [c]\n",
            "c.sls": "in_c: {x.run: [{result: false}]}\n",
        }
    )
    assert tree.rows().results == {"in_c": False, "d": False}


# --- prereq


PREREQ = "a: {{x.run: [{{prereq: [b]}}, {a}]}}\nb: {{x.run: [{b}]}}\nc: {{x.run: [{{require: [b]}}]}}\n"
PENDING = "{changes: {a: 1}, predicted: [null, {a: 1}]}"


@pytest.mark.feature("F068")
def test_prereq_runs_before_a_change(tree, width):
    tree.write({"a.sls": PREREQ.format(a="{}", b=PENDING)})
    rows = tree.rows(concurrency=width)
    assert tree.log == ["test b", "a", "b", "c"]
    assert rows.results == {"a": True, "b": True, "c": True}
    assert rows["b"]["changes"] == {"a": 1}


@pytest.mark.feature("F068")
def test_prereq_without_a_pending_change(tree, width):
    tree.write({"a.sls": PREREQ.format(a="{}", b="{}")})
    rows = tree.rows(concurrency=width)
    assert tree.log == ["test b", "b", "c"]
    assert rows["a"]["comment"] == "No changes detected"


@pytest.mark.feature("F068")
def test_prereq_that_fails_leaves_the_predicted_row(tree, width):
    tree.write({"a.sls": PREREQ.format(a="{result: false}", b=PENDING)})
    rows = tree.rows(concurrency=width)
    assert tree.log == ["test b", "a", "c"]
    assert (rows["b"]["result"], rows["b"]["changes"]) == (None, {})
    assert rows["c"]["result"] is True


@pytest.mark.feature("F068")
def test_prereq_of_a_check_that_fails(tree, width):
    tree.write({"a.sls": PREREQ.format(a="{}", b="{result: false, changes: {a: 1}}")})
    rows = tree.rows(concurrency=width)
    assert tree.log == ["test b"]
    assert rows.results == {"a": False, "b": False, "c": False}
    assert rows["b"]["changes"] == {}


@pytest.mark.feature("F068")
def test_prereqs_in_a_chain_and_of_two_targets(sls, width):
    tree = sls(
        f"a: {{x.run: [{{prereq: [b]}}]}}\nb: {{x.run: [{{prereq: [c]}}, {PENDING}]}}\nc: {{x.run: [{PENDING}]}}\n"
        f"m: {{x.run: [{{prereq: [q, r]}}]}}\nq: x.run\nr: {{x.run: [{PENDING}]}}\n"
    )
    tree.rows(concurrency=width)
    chain = [entry for entry in tree.log if entry[-1] in "abc"]
    assert chain == ["test c", "test b", "a", "b", "c"]
    assert tree.log.index("m") < tree.log.index("r")
    assert "m" in tree.log


@pytest.mark.feature("F079", "B9", "F081")
def test_conditions_say_the_same_in_the_check_and_in_the_run(sls):
    tree = sls(
        "a: {x.run: [{prereq: [b]}]}\n"
        "b:\n  x.run:\n    - onlyif:\n      - fun: test.echo\n        args: ['']\n    - changes: {a: 1}\n"
    )
    rows = tree.rows()
    assert tree.log == []
    assert rows.comments == {"a": "No changes detected", "b": "onlyif condition is false"}


@pytest.mark.feature("F079", "B9")
def test_what_a_plugin_does_to_its_arguments_stays_there(tree):
    def spoil(name, items):
        items.append("spoilt")
        return {"name": name, "result": None, "changes": {"items": list(items)}, "comment": ""}

    tree.states["x.spoil"] = spoil
    tree.write({"a.sls": "a: {x.run: [{prereq: [b]}]}\nb: {x.spoil: [{items: [one]}]}\n"})
    assert tree.rows()["b"]["changes"] == {"items": ["one", "spoilt"]}


# --- listen


@pytest.mark.feature("F069")
def test_listeners_react_once_after_the_run(sls, width):
    tree = sls(
        "l: {x.run: [{listen: [{x: t}, {x: u}]}]}\nt: {x.run: [{changes: {a: 1}}]}\nu: {x.run: [{changes: {a: 1}}]}\n"
        "last: {x.run: [{order: last}]}\nin: {x.run: [{result: false}, {changes: {a: 1}}, {listen_in: [{x: l2}]}]}\nl2: x.run\n"
    )
    report = tree.report(concurrency=width)
    assert tree.log[-2:] == ["watch l", "watch l2"]
    assert tree.log.count("watch l") == 1
    assert list(report.rows)[-2:] == ["x_|-listener_l_|-l_|-mod_watch", "x_|-listener_l2_|-l2_|-mod_watch"]


@pytest.mark.feature("F069")
def test_listeners_that_cannot(sls):
    tree = sls(
        "l: {x.run: [{listen: [{x: 'c*'}]}]}\nm: {y.run: [{listen: [{x: t}]}]}\nt: {x.run: [{changes: {a: 1}}]}\nquiet: x.run\n"
        "q: {x.run: [{listen: [{x: quiet}]}]}\n"
    )
    rows = tree.report().rows
    broken = rows["Listen_Error_|-listen_c*_|-listen_x_|-Listen_Error"]
    assert (broken["result"], broken["comment"]) == (False, "Referenced state x: c* does not exist")
    assert rows["y_|-listener_m_|-m_|-mod_watch"]["comment"].startswith("State 'y.mod_watch' was not found in SLS 'a'")
    assert not [tag for tag in rows if "listener_q" in tag]


@pytest.mark.feature("F069", "F085")
def test_listeners_run_after_failhard(sls):
    tree = sls(
        "l: {x.run: [{listen: [{x: t}]}]}\nt: {x.run: [{changes: {a: 1}}]}\nbad: {x.run: [{result: false}, {failhard: true}]}\n"
        "never: x.run\n"
    )
    tree.report()
    assert tree.log == ["l", "t", "bad", "watch l"]
