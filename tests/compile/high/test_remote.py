import pytest
from trees import chunk_of, compiler

from asyncstate.model.requisite import RemoteRequisite

ONE = "a: {test.nop: [{require: [{host: db1, service: postgresql}]}]}\n"


def fleet_plan(tree, **options):
    return compiler(tree, remote=True, **options).plan(["s"])


@pytest.mark.parametrize(
    "kind",
    [
        "require",
        "require_any",
        "watch",
        "watch_any",
        "onchanges",
        "onchanges_any",
        "onfail",
        "onfail_any",
        "onfail_all",
        "prereq",
        "listen",
    ],
)
def test_every_kind_is_kept_apart_with_its_place(kind):
    plan = fleet_plan(
        f"a:\n  test.nop:\n    - {kind}:\n      - host: G@role:db\n        service: postgresql\n      - test: b\nb: test.nop\n"
    )
    assert plan.remote == (
        RemoteRequisite(
            chunk_of(plan, "a").index, kind, "G@role:db", "service", "postgresql", False, "/memory/base/s.sls", 2
        ),
    )
    assert chunk_of(plan, "a").args[kind] == [{"test": "b"}]


@pytest.mark.parametrize("kind", ["require", "watch", "onchanges", "onfail", "prereq", "listen"])
def test_every_in_form_is_kept_the_other_way_round(kind):
    plan = fleet_plan(f"a: {{test.nop: [{{{kind}_in: [{{host: lb, sls: haproxy}}, {{test: b}}]}}]}}\nb: test.nop\n")
    [found] = plan.remote
    assert (found.kind, found.reverse, found.hosts, found.key, found.value) == (kind, True, "lb", "sls", "haproxy")


def test_each_state_of_an_id_with_names_has_it():
    plan = fleet_plan("a:\n  test.nop:\n    - names: [x, y]\n    - require: [{host: db1, id: z}]\nb: test.nop\n")
    assert [each.chunk for each in plan.remote] == [0, 1]


def test_a_requisite_directly_under_an_id_and_one_by_extend_count():
    tree = "a:\n  test.nop: []\n  require: [{host: db1, id: x}]\nextend: {}\n"
    assert [each.value for each in fleet_plan(tree).remote] == ["x"]
    tree = {"s": "include: [t]\nextend: {b: {test: [{require: [{host: db1, id: y}]}]}}\n", "t": "b: test.nop\n"}
    assert [each.value for each in fleet_plan(tree).remote] == ["y"]


def test_what_cannot_watch_requires():
    from trees import FakeStates

    plan = fleet_plan("a: {cmd.run: [{watch: [{host: db1, id: x}]}]}\n", states=FakeStates())
    assert [each.kind for each in plan.remote] == ["require"]


def test_two_ids_that_share_a_list_both_have_it():
    plan = fleet_plan("a:\n  test.nop:\n    - require: &x [{host: db1, id: z}]\nb:\n  cmd.run:\n    - require: *x\n")
    assert len(plan.remote) == 2


def test_a_disabled_requisite_is_disabled_across_hosts():
    assert fleet_plan(ONE, disabled_requisites=["require"]).remote == ()
