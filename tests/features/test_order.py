"""Serial order, explicit order, footprints: what runs when, at any width."""

import pytest

from asyncstate.model.plan import NodeKind


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
