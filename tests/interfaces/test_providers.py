"""Virtual modules and their interfaces: what the loader makes of a provider, and what the small parts decide."""

from __future__ import annotations

import asyncio
import inspect
import logging
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugin_trees import PluginTree
from tables import beside

from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces import (
    Condition,
    Interface,
    InterfaceError,
    SMINotImplementedError,
    SMINotSupportedError,
    StructureError,
    VirtualName,
    all_match,
    describe,
    functions_of,
    interface_of,
)
from asyncstate.interfaces.conformance import Status, check_conformance, conflicts, mismatches

TABLES = beside(__file__)

INTERFACE = """
    from asyncstate.interfaces import Interface

    class VirtInterface(Interface):
        __modulename__ = "virt"
        __func_alias__ = {"list_": "list"}
        __deprecated__ = {"left": "Use list."}

        def list_(self, *names, **kwargs):
            "What there is."
            return {}

        def info(self, name):
            "One of them."
            return {"name": "", "size": 0}

        @Interface.supported(os=["WeirdLinux"], os_family="debian")
        def lock(self, name):
            return {}

        @Interface.supported(os_family=["RedHat"])
        def fireworks(self, name):
            return {}

        @Interface.not_applicable(osfamily=["Debian"])
        def registry(self, name, *args):
            "Only elsewhere."
            return {"key": name}
"""
PROVIDER = """
    __virtualname__ = VirtInterface(__name__)()

    __func_alias__ = {"list_": "list"}

    def list_(*names, **kwargs): return {name: 1 for name in names}
    def info(name, verbose=False): return {"name": name, "size": 3}
    def left(): return 7
    def _private(): pass
"""
GRAINS = {"os": "Debian", "os_family": "Debian", "kernel": "Linux"}


@pytest.fixture
def tree(tmp_path):
    return PluginTree(tmp_path)


@pytest.fixture
def load(tree):
    """The loader of a tree whose provider has this text."""

    def load(provider=PROVIDER, opts=None, interface=INTERFACE, grains=GRAINS, name="weird"):
        tree.add(f"_modules/{name}.py", interface + provider)
        host = tree.host(opts)
        host.set_grains(dict(grains))
        return host

    return load


def call(host, name, *args, **kwargs):
    return host.salt[name](*args, **kwargs)


# --- what the loader makes of a provider


@pytest.mark.feature("F170", "F171", "F178", "P5")
@pytest.mark.parametrize("name", TABLES["providers"])
def test_what_a_provider_gives(tree, load, name):
    case = {"provider": "", "files": {}, "options": {}, "gives": {}, "lacks": [], **TABLES["providers"][name]}
    for path, text in case["files"].items():
        tree.add(
            f"_modules/{path}",
            text.replace("PROVIDER", inspect.cleandoc(INTERFACE) + "\n" + inspect.cleandoc(PROVIDER)),
        )
    host = load(PROVIDER + textwrap.indent(case["provider"], "    "), case["options"])
    modules = host.loaders["modules"]
    for line, value in case["gives"].items():
        function, *arguments = line.split()
        assert call(host, function, *arguments) == value
        assert function in host.salt
        assert modules.names().count(function) == 1
    for function in case["lacks"]:
        assert function not in host.salt
        assert not modules.has(function)
        assert function not in modules.names()


@pytest.mark.feature("F170")
def test_a_refusing_provider_leaves_the_name_to_the_next(load):
    load(
        "\n    __virtualname__ = VirtInterface(__name__)()\n    def __virtual__(): return False, 'not here'\n",
        name="a_first",
    )
    host = load()
    assert call(host, "virt.info", "a")["name"] == "a"
    assert "not here" in host.loaders["modules"].refusals().values()


@pytest.mark.feature("F171")
def test_a_missing_function_raises_when_it_is_called(load):
    host = load()
    with pytest.raises(SMINotImplementedError) as caught:
        call(host, "virt.lock", "a")
    assert not isinstance(caught.value, SMINotSupportedError)
    assert isinstance(caught.value, NotImplementedError)
    for word in ("'virt.lock'", "VirtInterface", "weird.py", "os_family=Debian"):
        assert word in str(caught.value)
    with pytest.raises(SMINotSupportedError, match=r"'virt.fireworks' is not supported here.*os_family=RedHat"):
        call(host, "virt.fireworks", "a")


@pytest.mark.feature("F172")
@pytest.mark.parametrize("own", ["", "    def registry(name, *args): return 'never'\n"], ids=["lacking", "there"])
def test_a_function_that_is_not_applicable_returns_its_structure(load, caplog, own):
    host = load(PROVIDER + own)
    with caplog.at_level(logging.DEBUG):
        assert call(host, "virt.registry", "a") == {"key": "a"}
    assert any(r.levelno == logging.DEBUG and "not applicable" in r.message for r in caplog.records)
    assert any(r.levelno == logging.WARNING and "is ignored" in r.message for r in caplog.records) == bool(own)
    assert host.loaders["modules"].has("virt.registry")


@pytest.mark.feature("F173")
def test_a_function_beyond_the_interface_warns_once(load, caplog):
    host = load()
    assert [call(host, "virt.left"), call(host, "virt.left")] == [7, 7]
    warned = [r.message for r in caplog.records if "deprecated" in r.message]
    assert warned == ["'virt.left' is deprecated: VirtInterface does not have it. Use list."]


@pytest.mark.feature("F174")
@pytest.mark.parametrize(("wanted", "matches"), TABLES["grains match"])
def test_grains_match(wanted, matches):
    grains = {**GRAINS, "roles": ["db", "web"], "osmajorrelease": 12, "selinux": False, "empty": None}
    assert Condition(wanted).matches(grains) is matches


@pytest.mark.parametrize(("wanted", "matches"), TABLES["a colon leads into a grain"])
def test_a_colon_leads_into_a_grain(wanted, matches):
    grains = TABLES["a colon leads into a grain 2"]
    assert Condition(wanted).matches(grains) is matches


@pytest.mark.feature("F174")
def test_stacked_conditions_must_all_match():
    class Stacked(Interface):
        __modulename__ = "stacked"

        @Interface.supported(os=["Debian"])
        @Interface.supported(osmajorrelease=[12, 13])
        def f(self): ...

    conditions = functions_of(Stacked())["f"].supported
    assert all_match(conditions, {"os": "Debian", "osmajorrelease": 12})
    assert not all_match(conditions, {"os": "Debian", "osmajorrelease": 11})
    assert describe(conditions) == "(os=Debian) and (osmajorrelease=12,13)"


@pytest.mark.parametrize("wanted", [{}, {"os": len}, {"os": None}, {"os": [["Debian"]]}, {"os": {"a": 1}}])
def test_a_condition_that_cannot_match_is_an_error_where_it_is_written(wanted):
    with pytest.raises(TypeError):
        Interface.supported(**wanted)


@pytest.mark.feature("F175")
@pytest.mark.parametrize("how", ["VirtInterface(__name__)()", "VirtInterface(__name__)", "VirtInterface()"])
@pytest.mark.parametrize("virtual", ["", "    def __virtual__(): return __grains__['os'] == 'Debian'\n"])
def test_the_check_sees_the_whole_module_in_either_form(load, how, virtual):
    host = load(PROVIDER.replace("VirtInterface(__name__)()", how) + virtual)
    assert call(host, "virt.list", "x") == {"x": 1}
    with pytest.raises(SMINotImplementedError):
        call(host, "virt.lock", "a")


def test_rules_are_applied_anew_when_grains_change(tree, load):
    host = load()
    with pytest.raises(SMINotSupportedError):
        call(host, "virt.fireworks", "a")
    host = load(grains={"os": "CentOS", "os_family": "RedHat"})
    with pytest.raises(SMINotImplementedError, match="is not implemented"):
        call(host, "virt.fireworks", "a")
    assert not host.loaders["modules"].has("virt.registry")


OTHER_SIGNATURE = PROVIDER.replace("def info(name, verbose=False)", "def info(pkg)")


@pytest.mark.feature("F176")
def test_an_incompatible_signature_is_warned_of(load, caplog):
    host = load(OTHER_SIGNATURE.replace("{'name': name", "{'name': pkg"))
    host.loaders["modules"].find("virt.list")
    (warned,) = {r.message for r in caplog.records if "does not fit" in r.message}
    assert "has 'pkg' in the place of 'name'" in warned
    assert "interface: info(name)" in warned


@pytest.mark.feature("F176")
def test_under_smi_strict_the_provider_is_refused(load):
    host = load(OTHER_SIGNATURE, {"smi_strict": True})
    assert not host.loaders["modules"].has("virt.list")
    assert "does not fit VirtInterface" in host.loaders["modules"].reason("virt.list")


@pytest.mark.feature("F177")
def test_a_returned_structure_is_validated_on_demand(load, caplog):
    wrong = PROVIDER.replace('"size": 3', '"size": "big"')
    assert call(load(wrong), "virt.info", "a") == {"name": "a", "size": "big"}
    assert not [r for r in caplog.records if "does not allow" in r.message]
    host = load(wrong, {"smi_validate": "warn"})
    assert [call(host, "virt.info", "a") for _ in range(2)] == [{"name": "a", "size": "big"}] * 2
    (warned,) = [r.message for r in caplog.records if "does not allow" in r.message]
    assert "['size'] is str, not int" in warned
    with pytest.raises(StructureError, match="does not allow"):
        call(load(wrong, {"smi_validate": "raise"}), "virt.info", "a")
    assert call(load(opts={"smi_validate": "raise"}), "virt.info", "a") == {"name": "a", "size": 3}


@pytest.mark.feature("F177")
def test_async_functions_are_validated_too(load):
    wrong = PROVIDER.replace("def info", "async def info").replace('"size": 3', '"size": None')
    host = load(wrong, {"smi_validate": "raise"})
    assert host.loaders["modules"].get("virt.info").is_async
    with pytest.raises(StructureError):
        asyncio.run(host.call(host.loaders["modules"].get("virt.info"), ["a"]))


@pytest.mark.feature("F178")
def test_stubs_show_where_they_are_asked_for(load):
    host = load(opts={"smi_visible_stubs": True})
    assert "virt.lock" in host.salt
    assert "virt.lock" in host.loaders["modules"].names()


def test_what_is_not_implemented_on_purpose_says_why(load, tree):
    tree.add("_modules/virt_here.py", INTERFACE + PROVIDER + "    __smi_not_implemented__ = {'lock': 'no key'}\n")
    host = tree.host()
    host.set_grains(dict(GRAINS))
    with pytest.raises(SMINotImplementedError, match=r"virt_here\.py lacks it: no key \("):
        call(host, "virt.lock", "a")


def test_a_module_without_an_interface_is_left_alone_unless_one_is_demanded(load, tree):
    tree.add("_modules/plain.py", "def f(): return 1\n")
    assert call(load(), "plain.f") == 1
    host = load(opts={"smi_require": ["plain", "virt"]})
    assert not host.loaders["modules"].has("plain.f")
    assert "must follow an interface" in host.loaders["modules"].reason("plain.f")
    assert call(host, "virt.info", "a")


def test_an_interface_may_describe_state_modules(tree):
    tree.add("_states/weird.py", INTERFACE + PROVIDER)
    host = tree.host()
    host.set_grains(dict(GRAINS))
    loader = host.loaders["states"]
    assert loader.get("virt.lock").hidden
    assert loader.get("virt.list").func("x") == {"x": 1}


# --- the parts


class Base(Interface):
    __modulename__ = "base"

    def f(self, name, size=1):
        return {"name": name}

    def gone(self): ...

    @staticmethod
    def plain(name): ...


class Derived(Base):
    gone = None

    def g(self): ...


def test_functions_are_the_public_methods_of_all_bases():
    declared = functions_of(Derived())
    assert list(declared) == ["f", "plain", "g"]
    assert str(declared["f"].signature) == "(name, size=1)"
    assert str(declared["plain"].signature) == "(name)"


def test_a_name_that_carries_its_interface_is_a_text():
    name = Base("somewhere")()
    assert name == "base"
    assert isinstance(name, VirtualName)
    assert f"{name}.f" == "base.f"
    assert Base() == "base"
    assert Base() == Derived()
    assert {Base(): 1}["base"] == 1
    assert Base() != 3


def test_an_interface_without_a_name_is_an_error():
    with pytest.raises(InterfaceError, match="no __modulename__"):
        Interface("x")


def test_a_body_that_fails_declares_nothing():
    class Failing(Interface):
        __modulename__ = "failing"

        def f(self, name):
            return {name: self.nothing}

    assert functions_of(Failing())["f"].structure("a") == {}
    assert functions_of(Base())["f"].structure("a") == {"name": "a"}
    assert functions_of(Base())["f"].structure() == {}


def test_an_interface_that_contradicts_itself():
    class Both(Interface):
        __modulename__ = "both"

        @Interface.supported(os=["Debian"])
        @Interface.not_applicable(kernel=["Linux"])
        def f(self): ...

    assert [each.status for each in check_conformance(Both(), {}, {"kernel": "Linux"})] == [Status.NOT_APPLICABLE]
    assert [each.status for each in check_conformance(Both(), {}, {"os": "Debian"})] == [Status.MISSING]
    assert [each.status for each in check_conformance(Both(), {}, {})] == [Status.UNSUPPORTED]
    with pytest.raises(InterfaceError, match="both supported and"):
        check_conformance(Both(), {}, {"os": "Debian", "kernel": "Linux"})


def test_interface_of():
    class Provider:
        __virtualname__ = Base()()

    class Instance:
        __virtualname__ = Base()

    assert interface_of(Provider) == interface_of(Instance) == "base"
    assert interface_of(object()) is None
    Provider.__virtualname__ = "base"
    assert interface_of(Provider) is None


def signature(text):
    namespace = {}
    exec(f"def f({text}): ...", namespace)
    return inspect.signature(namespace["f"])


@pytest.mark.feature("F176")
@pytest.mark.parametrize(("declared", "actual", "problem"), TABLES["signatures"])
def test_signatures(declared, actual, problem):
    found = conflicts(signature(declared), signature(actual))
    if problem is None:
        assert found == []
    else:
        assert problem in "; ".join(found)


PARAMETERS = st.lists(st.sampled_from("abcd"), unique=True, max_size=3).flatmap(
    lambda names: st.integers(0, len(names)).map(
        lambda required: ", ".join(name if i < required else f"{name}=None" for i, name in enumerate(names))
    )
)


@given(PARAMETERS, PARAMETERS)
def test_compatible_signatures_accept_every_call_of_the_interface(declared, actual):
    wanted, offered = signature(declared), signature(actual)
    names = list(wanted.parameters)
    calls = [
        (names[:positional], {name: name for name in names[positional:upto]})
        for positional in range(len(names) + 1)
        for upto in range(positional, len(names) + 1)
    ]
    for args, kwargs in calls:
        try:
            expected = wanted.bind(*args, **kwargs).arguments
        except TypeError:
            continue
        if not conflicts(wanted, offered):
            assert offered.bind(*args, **kwargs).arguments == expected


@pytest.mark.feature("F177")
@pytest.mark.parametrize(("declared", "actual", "wrong"), TABLES["structures"])
def test_structures(declared, actual, wrong):
    assert mismatches(declared, actual) == wrong


@pytest.mark.parametrize(("actual", "wrong"), [("a", []), (None, ["the value is None, not str"])])
def test_a_type_stands_for_its_values(actual, wrong):
    assert mismatches(str, actual) == wrong


def test_the_errors_are_failures_of_a_call():
    assert issubclass(SMINotSupportedError, SMINotImplementedError)
    assert issubclass(SMINotImplementedError, CommandExecutionError)
