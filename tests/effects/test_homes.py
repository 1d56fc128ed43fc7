import pytest
from tables import rows
from trees import FakeStates, edges, plan

from asyncstate.effects.homes import Homes

MACHINE = {"": "/home/me", "ada": "/home/ada", "odd": "nowhere"}
USERS = """
old: {user.present: [{name: ada}, {home: /srv/X/}]}
new: {user.present: [{name: eve}, {home: /srv/eve}]}
none: {user.present: [{name: bob}, {home: 5}]}
other: {user.absent: [{name: mal}, {home: /srv/mal}]}
"""
ADAS = ["/srv/X", "/home/ada"]


@pytest.mark.parametrize(
    ("name", "resolved"),
    [
        ("path:~/x", ["path:/home/me/x"]),
        ("path:~", ["path:/home/me"]),
        ("path:~ada/.ssh/**", ["path:/srv/X/.ssh/**", "path:/home/ada/.ssh/**"]),
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


@rows(
    ("path", "target", "links"),
    [
        ("/a", "b", [("/a", "b")]),
        ("/a", "~/b", [("/a", "/home/me/b")]),
        ("~/path:", "/path:", [("/home/me/path:", "/path:")]),
        ("~ada/a", "~ada/b", [(f"{one}/a", f"{other}/b") for one in ADAS for other in ADAS]),
    ],
)
def test_a_link_of_a_home_is_one_of_each_home(path, target, links):
    homes = Homes(plan(USERS).chunks, lambda user: MACHINE.get(user, ""))
    assert list(homes.link(path, target)) == links


@rows(
    ("home", "names"),
    [
        ("/home/me/", {"path:/home/me", "path:/home/me/**", "path:/home/**", "path:/**"}),
        ("/", {"path:", "path:/**"}),
    ],
)
def test_our_home_goes_with_each_folder_above(home, names):
    assert Homes((), lambda _: home).ours() == names


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
