"""mod_watch, mod_init, mod_aggregate, test mode, and the rows a run leaves."""

import re

import pytest


def row(name, result=True, changes=None, comment="", **more):
    return {"name": name, "result": result, "changes": changes or {}, "comment": comment, **more}


# --- mod_watch


@pytest.mark.feature("F100", "B4")
@pytest.mark.parametrize("parallel", ["", ", {parallel: true}"])
def test_mod_watch(sls, parallel, width):
    tree = sls(
        f"w: {{x.run: [{{watch: [{{x: t}}]}}, {{flavour: f}}{parallel}]}}\nt: {{x.run: [{{changes: {{a: 1}}}}]}}\n"
        f"own: {{x.run: [{{watch: [t]}}, {{changes: {{b: 1}}}}{parallel}]}}\n"
        f"skipped: {{x.run: [{{watch: [t]}}, {{onlyif: 'false'}}{parallel}]}}\n"
    )
    report = tree.report(concurrency=width)
    assert [entry for entry in tree.log if entry.startswith("watch")] == ["watch w"]
    watched = report.rows["x_|-w_|-w_|-run"]
    assert (watched["comment"], watched["changes"]) == ("reacted", {"watched": True})
    (given,) = [kwargs for name, kwargs in tree.lows if name == "watch w"]
    assert given["flavour"] == "f"
    assert given["sfun"] == "run"
    assert [low["__id__"] for low in given["__reqs__"]["watch"]] == ["t"]


# --- mod_init


@pytest.mark.feature("F102")
def test_mod_init(tree, width):
    calls = []

    def mod_init(low):
        calls.append((low["fun"], low["__id__"]))
        return low["fun"] == "installed"

    for fun in ("installed", "removed"):
        tree.states[f"z.{fun}"] = row
    tree.states["z.mod_init"] = mod_init
    tree.write(
        {
            "a.sls": "a: z.removed\nb: {z.installed: [{require: [bad]}]}\nbad: {x.run: [{result: false}]}\nc: z.installed\nd: z.gone\n"
        }
    )
    rows = tree.rows(concurrency=1)
    assert calls == [("removed", "a"), ("installed", "b")]
    assert rows["b"]["result"] is False
    calls.clear()
    tree.rows(concurrency=width)
    assert calls.count(("installed", "b")) + calls.count(("installed", "c")) == 1


# --- aggregation


@pytest.fixture
def packages(tree):
    """`z.inst` installs names or pkgs; `tree.calls` are the calls that installed something."""
    tree.calls = []
    installed = set()

    def inst(name, pkgs=None):
        wanted = [each for each in (pkgs or [name]) if each not in installed]
        installed.update(wanted)
        if wanted:
            tree.calls.append(wanted)
        return row(name, changes={each: {"old": "", "new": "1"} for each in wanted})

    def mod_aggregate(low, chunks, running):
        pkgs = []
        for chunk in chunks:
            if chunk["state"] == low["state"] and chunk["fun"] == low["fun"] and not chunk.get("__agg__"):
                pkgs += chunk.get("pkgs") or [chunk["name"]]
                chunk["__agg__"] = True
        if pkgs:
            low["pkgs"] = (low.get("pkgs") or [low["name"]]) + pkgs
        tree.running = dict(running)
        return low

    tree.states |= {"z.inst": inst, "z.mod_aggregate": mod_aggregate}
    return tree


THREE = "a: {z.inst: [{pkgs: [a1, a2]}%s]}\nn: x.run\nb: {z.inst: []}\nc: {z.inst: [{aggregate: false}]}\n"


@pytest.mark.feature("F103", "F104")
@pytest.mark.parametrize("option", [True, ["z"]])
def test_aggregation_by_option(packages, option, width):
    packages.write({"a.sls": THREE % ""})
    rows = packages.rows(state_aggregate=option, concurrency=width)
    assert sorted(packages.calls) == [["a1", "a2", "b"], ["c"]]
    assert list(rows) == ["a", "n", "b", "c"]
    assert rows["b"]["result"] is True
    assert packages.running.keys() <= {"x_|-n_|-n_|-run", "z_|-c_|-c_|-inst"}


@pytest.mark.feature("F104")
@pytest.mark.parametrize("option", [False, ["other"], "z"])
def test_no_aggregation(packages, option):
    packages.write({"a.sls": THREE % ""})
    packages.rows(state_aggregate=option)
    assert packages.calls == [["a1", "a2"], ["b"], ["c"]]


@pytest.mark.feature("F104", "P1")
@pytest.mark.parametrize("aggregate", ["true", "[z]"])
def test_aggregate_on_one_state_takes_in_the_later_ones(packages, aggregate, width):
    packages.write({"a.sls": "early: {z.inst: [{order: 1}]}\n" + THREE % f", {{aggregate: {aggregate}}}"})
    packages.rows(concurrency=width)
    assert packages.calls[0] == ["early"]
    assert sorted(packages.calls[1:]) == [["a1", "a2", "b"], ["c"]]


@pytest.mark.feature("F103", "F105")
def test_a_module_that_forgets_its_own_name_loses_nothing(packages):
    def mod_aggregate(low, chunks, running):
        others = [chunk["name"] for chunk in chunks if not chunk.get("__agg__")]
        for chunk in chunks:
            chunk["__agg__"] = True
        low["pkgs"] = others
        return low

    packages.states["z.mod_aggregate"] = mod_aggregate
    packages.write({"a.sls": "a: z.inst\nb: z.inst\n"})
    packages.rows(state_aggregate=True)
    assert packages.calls == [["a", "b"]]


@pytest.mark.feature("F105", "B1")
def test_aggregation_waits_for_what_members_require(packages, width):
    packages.write(
        {
            "a.sls": "a: {z.inst: []}\nr: {x.run: [{sleep: 0.01}]}\nb: {z.inst: [{require: [{x: r}]}]}\nafter: {x.run: [{require: [{z: a}]}]}\n"
        }
    )
    packages.rows(state_aggregate=True, concurrency=width)
    assert packages.calls == [["a", "b"]]
    assert packages.running.keys() == {"x_|-r_|-r_|-run"}


@pytest.mark.feature("F105", "B1")
def test_members_that_may_not_run_are_left_out(packages, width):
    packages.write(
        {
            "a.sls": "bad: {x.run: [{result: false}]}\na: {z.inst: [{require: [bad]}]}\nb: z.inst\nc: {z.inst: [{unless: 'true'}]}\nd: z.inst\n"
            "e: {z.inst: [{require: [x: between]}]}\nbetween: {x.run: [{require: [z: d]}]}\nlast: {z.inst: [{order: last}]}\n"
        }
    )
    rows = packages.rows(state_aggregate=True, concurrency=width)
    assert packages.calls == [["b", "d"], ["e"], ["last"]]
    assert rows["a"]["comment"].endswith(" requisite failed: a.bad")


@pytest.mark.feature("F106")
def test_each_member_has_its_own_changes(packages, width):
    def split(low, chunks, ret):
        from asyncstate.model.chunk import state_tag

        owners = {state_tag(low["state"], each["__id__"], each["name"], each["fun"]): each["__id__"] for each in chunks}
        return {
            tag: {id_: change for id_, change in ret["changes"].items() if id_[0] == owner}
            for tag, owner in owners.items()
        }

    packages.states["z.mod_aggregate_split"] = split
    packages.write(
        {
            "a.sls": "a: {z.inst: [{pkgs: [a1, a2]}]}\nb: z.inst\nw: {x.run: [{watch: [{z: b}]}]}\no: {x.run: [{onchanges: [{z: b}]}]}\n"
        }
    )
    rows = packages.rows(state_aggregate=True, concurrency=width)
    assert packages.calls == [["a1", "a2", "b"]]
    assert (sorted(rows["a"]["changes"]), sorted(rows["b"]["changes"])) == (["a1", "a2"], ["b"])
    assert sorted(entry for entry in packages.log) == ["o", "w", "watch w"]


@pytest.mark.feature("F103")
def test_a_type_error_in_mod_aggregate_is_a_notice(packages):
    packages.states["z.mod_aggregate"] = lambda low, chunks, running: low + 1
    packages.write({"a.sls": THREE % ""})
    report = packages.report(state_aggregate=True)
    assert report.ok
    assert len(report.notices) >= 1
    assert "mod_aggregate" in report.notices[0]
    assert "a:a" in report.notices[0]


# --- rows

KEYS = {"name", "result", "changes", "comment", "__id__", "__sls__", "__run_num__", "start_time", "duration"}


@pytest.mark.feature("F120", "B2")
def test_every_row_has_every_key(tree, width):
    tree.states |= {
        "z.strict": lambda name: row(name, comment="strict"),
        "z.needs": lambda name, foo: row(name),
        "z.short": lambda name: {"name": name},
    }
    tree.write(
        {
            "a.sls": "ok: x.run\nbad: {x.run: [{result: false}]}\nheld: {x.run: [{require: [bad]}]}\nskipped: {x.run: [{onlyif: 'false'}]}\n"
            "gone: no.such\nunknown: {z.strict: [{v: 1}]}\nneeds: z.needs\numask: {x.run: [{umask: zz}]}\nshort: z.short\n"
            "boom: {x.run: [{extra: 1}]}\nlisten: {x.run: [{listen: [chg]}]}\nchg: {x.run: [{changes: {a: 1}}]}\nwatch: {x.run: [{watch: [chg]}]}\n"
        }
    )
    report = tree.report(concurrency=width)
    assert len(report.rows) == 14
    for tag, each in report.rows.items():
        assert each.keys() >= KEYS, tag
        assert re.fullmatch(r"\d\d:\d\d:\d\d(\.\d+)?", each["start_time"]), tag
        assert isinstance(each["duration"], float)
        assert tag.split("_|-")[2] == each["name"]
    assert [
        report.rows[f"{s}_|-{i}_|-{i}_|-{f}"]["__id__"] for s, i, f in (("no", "gone", "such"), ("z", "needs", "needs"))
    ] == [None, None]
