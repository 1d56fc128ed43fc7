"""Footprints of the bundled states: each has one, in the documented terms, and conflicting states are kept apart."""

import inspect
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import asyncstate.states as bundled
import pytest
from bare_footprints import declared
from bundled_states import Bundled, edges_between, state_module
from call_tables import like
from plugin_harness import PluginHarness
from tables import beside, rows
from trees import edges, plan

from asyncstate.data.formats import yaml_data

MODULES = sorted(info.name for info in pkgutil.iter_modules(bundled.__path__) if not info.name.startswith("_"))
ODD = ("", "x", "/x/y", "/x/../y/", "salt://x", None, [], ["/x", "y"], [{"/x": "y"}], {"/x": "y"}, [None, 5])
NAMES = ("/x/y", "x", "https://host/x", "")


def functions_of(module):
    """(name in an SLS, function) of the states of a module."""
    aliases = getattr(module, "__func_alias__", {})
    for name, function in vars(module).items():
        own = inspect.isfunction(function) and function.__module__.startswith("asyncstate.states")
        if own and not name.startswith(("_", "mod_")):
            yield aliases.get(name, name), function


@pytest.fixture(scope="module")
def kinds(checkout):
    """The kinds of names that docs/writing-states.md lists."""
    guide = (checkout / "docs/writing-states.md").read_text().split("## Saying what it touches")[1].split("\n### ")[0]
    cells = "".join(re.findall(r"^- (`[a-z].*?`): ", guide, re.MULTILINE))
    return {name.split(":")[0] for name in re.findall(r"`([^`]+)`", cells)}


KEYS = {"reads", "writes", "makes", "leaves", "links", "copies", "programs", "unknown"}


@pytest.mark.feature("F059")
@pytest.mark.parametrize("name", MODULES)
def test_every_state_says_what_it_touches_in_documented_words_whatever_it_is_given(name, kinds, tmp_path):
    module = state_module(name)
    assert callable(getattr(module, "mod_footprint", None)), f"states/{name} has no mod_footprint"
    harness = PluginHarness(tmp_path)
    for function, call in functions_of(module):
        parameters = [parameter for parameter in inspect.signature(call).parameters if parameter != "name"]
        for value in ODD:
            for called in NAMES:
                low = dict.fromkeys(parameters, value) | {"state": name, "fun": function, "name": called, "__id__": "i"}
                with harness.calling():
                    footprint = module.mod_footprint(low)
                assert footprint.keys() <= KEYS
                links = footprint.get("links", {})
                said = [each for link in links.values() for each in (link if isinstance(link, list) else [link])]
                assert all(isinstance(each, str) for each in (*links, *said)), (function, value, links)
                touched = [*footprint.get("reads", ()), *footprint.get("writes", ()), *footprint.get("makes", ())]
                assert all(isinstance(each, str) for each in touched), (function, value, touched)
                unheard_of = {re.split("[:#]", each)[0] for each in touched} - kinds
                assert not unheard_of, f"{name}.{function}: list these in docs/writing-states.md, or use what is there"


PAIRS = beside(__file__)


def flow(state):
    """A state in one line of an SLS."""
    return json.dumps(state, ensure_ascii=False)[1:-1]


@pytest.fixture
def calling(tmp_path):
    """A context for footprints that ask the options and the pillar."""
    harness = PluginHarness(tmp_path)
    harness.opts["cachedir"] = "/CACHE"
    with harness.calling():
        yield


@pytest.mark.feature("F059")
@pytest.mark.usefixtures("calling")
@rows("case", PAIRS["ordered"])
def test_states_that_share_a_thing_keep_their_order(case):
    first, second = map(flow, PAIRS["ordered"][case])
    assert edges_between(first, second) == {("s0", "s1")}
    assert edges_between(second, first) == {("s0", "s1")}


@pytest.mark.usefixtures("calling")
@rows("case", PAIRS["apart"])
def test_states_that_share_nothing_run_beside_each_other(case):
    assert edges_between(*map(flow, PAIRS["apart"][case])) == set()


@pytest.mark.usefixtures("calling")
@rows("waits", ["waits for packages", "does not wait for packages"])
def test_a_state_waits_for_packages_that_it_needs_whichever_comes_first(waits):
    packages = "pkg.installed: [{pkgs: [unzip, openssl]}]"
    for case, state in PAIRS[waits].items():
        for first, last in ((packages, flow(state)), (flow(state), packages)):
            tree = f"s0: {{{first}}}\ns1: {{{last}}}\n"
            made = plan(tree, states=Bundled(), grains={"os_family": "Debian"}, implicit_order="footprint")
            assert (("s0", "s1") in edges(made)) is (waits == "waits for packages"), case


@pytest.mark.usefixtures("calling")
@rows(("first", "second"), PAIRS["ordered or told"])
@rows("turned", [False, True])
def test_what_the_words_of_two_states_do_not_say_is_ordered_or_told(first, second, turned):
    states = (second, first) if turned else (first, second)
    tree = {f"formula{number}": f"s{number}: {{{flow(state)}}}\n" for number, state in enumerate(states)}
    made = plan(tree, list(tree), states=Bundled(), implicit_order="footprint")
    assert made.dag.sources(0, 1) or made.unknown


@pytest.mark.usefixtures("calling")
@pytest.mark.parametrize(
    "command", ["dpkg -i /tmp/x.deb", "apt-get -y install x", "rpm -Uvh /x.rpm", "yum install -y x"]
)
def test_what_a_command_installs_comes_before_what_the_formula_writes_over_it(command):
    made = plan(
        f"a: {{cmd.run: [{{name: {command}}}]}}\nb: {{file.managed: [{{name: /etc/x/x.conf}}]}}\n",
        states=Bundled(),
        implicit_order="footprint",
    )
    assert made.dag.sources(0, 1)


FOOTPRINTS = yaml_data(Path(__file__).with_name("footprints.yaml").read_text())


@rows("name", FOOTPRINTS)
def test_a_footprint_is_that_of_the_table(name, tmp_path):
    for case in FOOTPRINTS[name]:
        harness = PluginHarness(tmp_path)
        harness.opts.update(case.get("opts", {}))
        harness.pillar.update(case.get("pillar", {}))
        with harness.calling():
            found = state_module(name).mod_footprint(case["state"])
        said = {key: list(value) if isinstance(value, tuple) else value for key, value in found.items() if value}
        assert said == like({key: value for key, value in case.items() if key in KEYS}, said), case["state"]


def test_what_is_not_installed_yet_changes_nothing_in_what_a_state_touches(tmp_path):
    """A tree that installs a library, or a program, must not run what needs it before that."""
    script = Path(__file__).parent.parent / "support" / "bare_footprints.py"
    ran = subprocess.run(
        [sys.executable, script], env={"PATH": ""}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    bare = json.loads(ran.stdout)
    assert {"x509", "docker_container", "docker_image", "docker_network", "git", "pkgrepo"} <= set(bare["refused"])
    with PluginHarness(tmp_path).calling():
        everything_there = declared(Bundled())
    assert bare["footprints"] == json.loads(json.dumps(everything_there))
