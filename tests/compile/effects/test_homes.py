import pytest
from trees import FakeStates, edges, plan

from asyncstate.compile.effects.homes import Homes

MACHINE = {"": "/home/me", "ada": "/home/ada", "odd": "nowhere"}
USERS = """
old: {user.present: [{name: ada}, {home: /srv/ada/}]}
new: {user.present: [{name: eve}, {home: /srv/eve}]}
none: {user.present: [{name: bob}, {home: 5}]}
other: {user.absent: [{name: mal}, {home: /srv/mal}]}
"""


@pytest.mark.parametrize(
    ("name", "resolved"),
    [
        ("path:~/x", ["path:/home/me/x"]),
        ("path:~", ["path:/home/me"]),
        ("path:~ada/.ssh/**", ["path:/srv/ada/.ssh/**", "path:/home/ada/.ssh/**"]),
        ("path:~eve//.ssh?0700:eve:g", ["path:/srv/eve//.ssh?0700:eve:g"]),
        ("path:~eve?0700:eve:g", ["path:/srv/eve?0700:eve:g"]),
        ("path:~bob", ["path:/home/bob"]),
        ("path:~mal", ["path:/home/mal"]),
        ("path:~odd", ["path:/home/odd"]),
        ("path:~root/x", ["path:/root/x"]),
        ("path:/x/~ada", ["path:/x/~ada"]),
        ("user:~ada", ["user:~ada"]),
    ],
)
def test_a_home_is_where_the_tree_or_the_machine_says(name, resolved):
    homes = Homes(plan(USERS).chunks, lambda user: MACHINE.get(user, ""))
    assert list(homes.resolved((name, "pkgdb"))) == [*resolved, "pkgdb"]


def test_without_a_machine_it_is_the_usual_place():
    assert Homes().resolved(("path:~/x", "path:~u/x")) == ("path:/root/x", "path:/home/u/x")


def test_the_compiler_asks_the_tree():
    def declare(low):
        return {"writes": [f"path:{low.get('at', '~eve')}/x"]}

    tree = USERS + "a: {file.touch: []}\nb: {file.touch: [{at: /srv/eve}]}\nc: {file.touch: [{at: /home/eve}]}\n"
    states = FakeStates(footprints={"file": declare, "user": lambda low: {}})
    compiled = plan(tree, states=states, implicit_order="footprint")
    assert edges(compiled) == {("a", "b")}


@pytest.mark.parametrize(
    ("removed", "order"),
    [("/root", {("gone", "run")}), ("/**", {("gone", "run")}), ("/root/x", set()), ("/home", set())],
)
def test_commands_run_in_our_home_so_they_wait_for_what_removes_it(removed, order):
    def declare(low):
        return {"writes": [f"path:{removed}"]} if low["fun"] == "absent" else {"reads": ["environ:process"]}

    states = FakeStates(footprints={"file": declare, "cmd": declare})
    tree = "gone: {file.absent: []}\nrun: {cmd.run: []}\n"
    assert edges(plan(tree, states=states, implicit_order="footprint")) == order
