import pytest

from asyncstate.plans.comparison import ArgumentChange, Differences, EdgeChange, InputChange
from asyncstate.plans.words import argument_lines, difference_lines, label

A, B = "test_|-a_|-a_|-nop", "file_|-b_|-/b_|-managed"


def lines(**differences):
    return [
        f"{'  ' * line.depth}{line.mark} {line.text}" for line in difference_lines(Differences(True, **differences))
    ]


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ({"edges_added": (EdgeChange(A, B, "footprint", ("path:/b",)), EdgeChange(A, B, "require", (), False))},
         ["+ file.managed: b (/b) waits for test.nop: a (footprint, path:/b)"]),
        ({"edges_removed": (EdgeChange("stage 5", f"check of {A}", "stage"),)},
         ["- check of test.nop: a waits for stage 5 (stage)"]),
        ({"selection": (ArgumentChange("sls", ["a"], None),)}, ['~ selected: sls: ["a"] → null']),
        ({"inputs": (InputChange("files", "salt://a.sls", "changed"), InputChange("pillar", "p", "added"))},
         ["~ file salt://a.sls changed", "+ pillar key p added"]),
    ],
)  # fmt: skip
def test_each_difference_has_its_line(differences, expected):
    assert lines(**differences) == expected


def test_of_a_long_text_only_what_differs_is_said():
    before = "".join(f"line {number}\n" for number in range(100))
    shown = list(argument_lines(ArgumentChange("contents", before, before.replace("line 50\n", "line fifty\n"))))
    assert [(line.mark, line.text) for line in shown if line.mark in "+-"] == [("-", "line 50"), ("+", "line fifty")]
    assert len(shown) < 8


def test_the_words_are_bounded():
    many = "".join(f"{number}\n" for number in range(1000))
    assert len(list(argument_lines(ArgumentChange("contents", many, many.replace("\n", "x\n"))))) < 30
    assert len(next(argument_lines(ArgumentChange("x", "a" * 9999, "b"))).text) < 300


def test_nodes_that_are_no_states_have_labels_too():
    assert label("set sls: web") == "set sls: web"
    assert label(f"group of {A}") == "group of test.nop: a"
