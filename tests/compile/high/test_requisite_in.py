import pytest
from record_answers import recorded
from trees import chunk_of, mistakes, plan


def args(text, id_, **options):
    return chunk_of(plan(text, **options), id_).args


def test_a_very_long_list_is_not_repeated():
    count = 300
    targets = ", ".join(f"{{test: t{i}}}" for i in range(count))
    tree = f"a: {{test.nop: [{{require_in: [{targets}]}}]}}\n" + "".join(f"t{i}: test.nop\n" for i in range(count))
    assert sum(len(chunk.args.get("require", ())) for chunk in plan(tree).chunks) < 2 * count * 40


@pytest.mark.parametrize("value", ["5", "word"])
@pytest.mark.parametrize("key", ["require_in", "use", "use_in"])
def test_a_value_of_the_wrong_shape_is_ignored_as_in_salt_and_named(key, value):
    tree = f"a: {{test.nop: [{{{key}: {value}}}]}}\nword: test.nop\n"
    assert [chunk.id for chunk in plan(tree).chunks] == [low["__id__"] for low in recorded("low")[tree]]
    assert [issue.code for issue in plan(tree).warnings] == ["W204"]


def test_requisites_that_many_states_use_stay_as_many_as_they_are():
    tree = """
x: test.nop
y: test.nop
b: {test.nop: [{require_any: [x]}]}
c: {test.nop: [{require_any: [y]}]}
twice: {test.nop: [{use: [%s]}]}
"""
    tree %= ", ".join(["{test: b}, {test: c}"] * 20)
    tree += "".join(
        f"u{i}: {{test.nop: [{{use: [{{test: {'bc'[i % 2]}}}, {{test: {'cb'[i % 2]}}}]}}]}}\n" for i in range(60)
    )
    for state in ("b", "c", "twice", "u0", "u59"):  # Salt lets b and c share a list, too
        assert sorted(args(tree, state)["require_any"]) == ["x", "y"]


@pytest.mark.parametrize("value", ["5", "[b, c]", "{x: y}"])
def test_a_module_the_target_lacks_is_named_beside_what_use_in_copies(value):
    """Salt has the same error."""
    tree = f"""
a: {{test.nop: [{{watch_in: [{{id: c}}]}}]}}
b: {{test.nop: [{{use_in: [{{sls: s}}]}}, {{watch_in: [{{cmd: c}}]}}, {{foo: {value}}}]}}
c: {{cmd.run: [{{name: 'true'}}]}}
"""
    assert [(issue.code, issue.line) for issue in mistakes(tree)] == [("E217", 3)]
