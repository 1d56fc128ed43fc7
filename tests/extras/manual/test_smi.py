from __future__ import annotations

import ast
import importlib.util
import inspect
import json
from collections import Counter

import pytest
from plugin_trees import PluginTree

from asyncstate.extras.manual.interface_source import interface_source
from asyncstate.extras.manual.providers import (
    bundled_interfaces,
    check_providers,
    differing_defaults,
    plugin_files,
    tree_interfaces,
    unknown_grains,
)
from asyncstate.interfaces import Interface, functions_of
from asyncstate.load.folders import bundled_folder, scan
from asyncstate.load.virtual import claims_of

GRAINS = {"os": "Debian", "os_family": "Debian", "kernel": "Linux"}

INTERFACE = """
    from asyncstate.interfaces import Interface

    class VirtInterface(Interface):
        __modulename__ = "virt"

        def info(self, name):
            "One of them."
            return {}

        @Interface.supported(weather=["fine"])
        def lock(self, name): ...

    __virtualname__ = VirtInterface(__name__)()
"""


@pytest.fixture
def tree(tmp_path):
    return PluginTree(tmp_path / "salt")


@pytest.fixture
def smi(run_here, tree):
    def run(*arguments):
        options = ["--file-root", tree.root] if arguments[0] != "--help" else []
        return run_here("smi", *arguments, *options)

    tree.add("top.sls", "{}")
    return run


@pytest.mark.feature("F176")
def test_every_bundled_provider_fits_its_interface():
    found = check_providers(scan(bundled_folder("modules")), GRAINS)
    assert found.troubles == {}
    assert found.additions == {}
    assert all(provider.follows for group in found.providers.values() for provider in group)
    bad = {
        f"{provider.name}.{finding.function}": finding.details or finding.status
        for group in found.providers.values()
        for provider in group
        for finding in provider.findings
        if finding.status not in {"ok", "unsupported", "not applicable"}
    }
    assert bad == {}


@pytest.mark.feature("F176")
def test_every_interface_has_two_bundled_providers():
    found = check_providers(scan(bundled_folder("modules")), GRAINS)
    assert {name: len(found.providers.get(name, ())) for name in bundled_interfaces()} == {
        name: max(2, len(found.providers.get(name, ()))) for name in bundled_interfaces()
    }
    names = {name: {provider.name for provider in group} for name, group in found.providers.items()}
    assert names["pkg"] == {"aptpkg", "yumpkg", "zypperpkg", "pacmanpkg", "apkpkg"}
    assert names["service"] == {
        "systemd_service", "debian_service", "gentoo_service", "runit", "supervisord_service",
    }  # fmt: skip


def test_a_name_that_several_bundled_files_provide_has_an_interface():
    claims = [claims_of(plugin) for plugin in scan(bundled_folder("modules")).values()]
    plain = [each.literals for each in claims if not each.opaque and len(each.literals) == 1]
    provided = Counter(name for names in plain for name in names)
    assert {name for name, times in provided.items() if times > 1} == set()


def test_the_check_that_ends_with_an_error_is_what_the_gate_runs(smi):
    done = smi("check", "--out", "json")
    assert done.returncode == 0, done.stdout
    statuses = {
        function["status"]
        for group in json.loads(done.stdout).values()
        for provider in group.values()
        for function in provider["functions"].values()
    }
    assert statuses == {"ok", "unsupported", "not applicable"}


def test_a_provider_is_looked_at_on_the_machine_it_is_for(smi, tree):
    home = "__smi_grains__ = {'weather': 'fine'}\n"
    tree.add("_modules/abroad.py", INTERFACE + "\n    " + home + "    def info(name): ...\n")
    tree.add("_modules/here.py", INTERFACE + "\n    def info(name): ...\n")
    data = json.loads(smi("check", "virt", "--out", "json").stdout)["virt"]
    statuses = {name: provider["functions"]["lock"]["status"] for name, provider in data.items()}
    assert statuses == {"abroad": "missing", "here": "unsupported"}


def test_bundled_interfaces_declare_a_return_for_every_function():
    for interface in bundled_interfaces().values():
        for declared in functions_of(interface).values():
            assert declared.doc, f"{interface}.{declared.name}"


@pytest.mark.feature("F176")
def test_check_shows_what_is_wrong_and_fails(smi, tree):
    tree.add("_modules/good.py", INTERFACE + "\n    def info(name): ...\n")
    tree.add("_modules/bad.py", INTERFACE + "\n    def info(): ...\n    def more(): ...\n")
    tree.add("_modules/old.py", "__virtualname__ = 'user'\ndef __virtual__(): return True\n")
    done = smi("check", "virt")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "virt  (VirtInterface)"
    assert lines[1].split() == ["bad", "good"]
    assert lines[2].split() == ["info", "incompatible", "ok"]
    assert lines[3].split() == ["lock", "unsupported", "unsupported"]
    assert lines[4].split() == ["more", "deprecated"]
    assert "  bad.info lacks parameter 'name'" in lines
    assert "  note: lock depends on grains that this machine does not have: weather" in lines
    assert "old.py adds to user functions that the interface does not have" in smi("check", "user").stdout


FILES = {
    "an instance of a class of another name": INTERFACE.replace("VirtInterface", "Machines"),
    "an instance in place of its name": INTERFACE.replace("VirtInterface(__name__)()", "VirtInterface(__name__)"),
    "a plain name": "__virtualname__ = 'virt'\n    def __virtual__(): return True\n",
    "a constant": "NAME = 'virt'\n    __virtualname__ = NAME\n    def __virtual__(): return True\n",
    "the answer of __virtual__": "def __virtual__(): return 'virt' if __grains__ else (False, 'no')\n",
}


@pytest.mark.feature("F176")
@pytest.mark.parametrize("how", FILES)
@pytest.mark.parametrize(
    ("function", "status"), [("def info(): ...", "incompatible"), ("def lock(name): ...", "missing")]
)
def test_no_provider_is_overlooked_however_it_takes_its_name(tree, how, function, status):
    tree.add("_interfaces/virt.py", INTERFACE.rpartition("__virtualname__")[0])
    tree.add("_modules/mine.py", f"    {FILES[how].strip()}\n    {function}\n")
    host = tree.host({"grains": GRAINS})
    with host.enter():
        interfaces, troubles = tree_interfaces(host.opts, host.file_client)
        found = check_providers(plugin_files(host.opts, host.file_client), GRAINS, interfaces, troubles)
    [provider] = found.providers["virt"]
    assert provider.is_broken
    assert provider.findings[0].function == "info"
    assert provider.findings[0].status == status
    assert provider.follows is (not how.startswith(("a ", "the ")))


def test_a_file_that_is_called_like_a_virtual_module_is_one_of_its_providers(smi, tree):
    tree.add("_modules/user.py", "def add(name): ...\n")
    done = smi("check", "user", "--out", "json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["user"]["user"]["functions"]["add"]["status"] == "incompatible"


def test_the_file_that_the_setting_providers_chooses_is_a_provider(smi, tree, tmp_path):
    tree.add("_modules/mine.py", "def add(name): ...\n")
    config = tmp_path / "config.yaml"
    config.write_text("providers: {user: mine}\n")
    assert "mine" not in smi("check", "user").stdout
    done = smi("check", "user", "--config", str(config))
    assert done.returncode == 1
    assert "  mine.delete is missing" in done.stdout
    assert (
        f"the setting providers chooses {tree.root}/_modules/mine.py: no other file provides user here" in done.stdout
    )


@pytest.mark.parametrize(
    ("declared", "code", "status"),
    [("{'info': 'nobody knows'}", 0, "not implemented"), ("['info']", 0, "not implemented"), ("[]", 1, "missing")],
)
def test_what_is_not_implemented_on_purpose_is_declared(smi, tree, declared, code, status):
    tree.add("_modules/mine.py", INTERFACE + f"\n    __smi_not_implemented__ = {declared}\n    def lock(name): ...\n")
    done = smi("check", "virt", "--out", "json")
    assert done.returncode == code
    assert json.loads(done.stdout)["virt"]["mine"]["functions"]["info"]["status"] == status
    if code or "nobody" in declared:
        shown = smi("check", "virt").stdout
        assert ("mine.info is missing" if code else "note: mine.info is not implemented: nobody knows") in shown


def test_a_declaration_that_declares_nothing_is_told(smi, tree):
    tree.add(
        "_modules/mine.py",
        INTERFACE + "\n    __smi_not_implemented__ = ['inof']\n    def info(name): ...\n    def lock(name): ...\n",
    )
    done = smi("check", "virt")
    assert done.returncode == 1
    assert "mine: __smi_not_implemented__ names 'inof', which VirtInterface does not have" in done.stdout


def test_show_and_check_know_the_interfaces_of_the_tree(smi, tree):
    tree.add("_interfaces/virt.py", INTERFACE.rpartition("__virtualname__")[0])
    assert "virt  (VirtInterface" in smi("show", "virt").stdout
    assert smi("check", "virt").returncode == 0
    tree.add("_interfaces/broken.py", "import nothing_of_that_name\n")
    done = smi("check", "virt")
    assert done.returncode == 1
    assert "broken.py cannot be imported: " in done.stdout


def test_generate_sees_what_a_module_imports_from_the_tree(smi, tree):
    tree.add("_interfaces/virt.py", INTERFACE.rpartition("__virtualname__")[0])
    tree.add("_utils/helper.py", "")
    provider = (
        "import helper\nfrom _interfaces.virt import VirtInterface\n__virtualname__ = VirtInterface(__name__)()\n"
    )
    path = tree.add("_modules/mine.py", provider + "def info(name): ...\n")
    for module in ("mine", path):
        assert "class VirtInterface(Interface):" in smi("generate", module).stdout


def test_check_as_data(smi, tree):
    tree.add("_modules/good.py", INTERFACE + "\n    def info(name): ...\n")
    done = smi("check", "virt", "--out", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["virt"]["good"]["functions"]["info"] == {"status": "ok"}


def test_a_provider_that_cannot_be_imported(smi, tree):
    tree.add("_modules/broken.py", INTERFACE + "\n    import nothing_of_that_name\n")
    done = smi("check", "user")
    assert done.returncode == 1
    assert "broken.py cannot be imported: " in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_unknown_names_are_answered_with_near_ones(smi):
    for command in ("check", "show", "generate"):
        done = smi(command, "usr")
        assert done.returncode == 1
        assert "Did you mean user?" in done.stderr


def test_show(smi):
    done = smi("show", "user")
    assert done.returncode == 0
    assert "  chuid(name, uid, root=None)" in done.stdout
    assert "Only on kernel=OpenBSD,FreeBSD." in done.stdout
    data = json.loads(smi("show", "user", "--out", "json").stdout)["user"]
    assert data["chuid"]["signature"] == "(name, uid, root=None)"
    assert data["chloginclass"]["supported"] == "kernel=OpenBSD,FreeBSD"


@pytest.mark.feature("F179")
def test_generate_writes_an_interface_its_module_fits(smi, tmp_path):
    target = tmp_path / "hosts_interface.py"
    done = smi("generate", "hosts", "--output", str(target))
    assert done.returncode == 0, done.stderr
    spec = importlib.util.spec_from_file_location("hosts_interface", target)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    declared = functions_of(module.HostsInterface())
    assert str(declared["set_host"].signature) == "(ip, alias, comment=None)"
    again = smi("generate", "hosts", "--output", str(target))
    assert again.returncode == 1
    assert "exists already" in again.stderr


def test_generate_from_a_file(smi, tree):
    path = tree.add("_modules/mine.py", "def f(a, *, b=(1, 2)):\n    'Do it.'\n")
    done = smi("generate", path, "--as", "yours")
    assert "class YoursInterface(Interface):" in done.stdout
    assert "    def f(self, a, *, b=(1, 2)):" in done.stdout
    assert '        """Do it."""' in done.stdout


def test_the_text_of_awkward_functions():
    def positional(a, b=object(), /, *rest, c=[], **kwargs):  # noqa: B006, B008
        'Say "yes"'

    def plain(*, only): ...

    text = interface_source("linux_thing", {"import": plain, "f": positional})
    ast.parse(text)
    namespace = {}
    exec(text, namespace)
    declared = functions_of(namespace["LinuxThingInterface"]())
    assert str(declared["f"].signature) == "(a, b=None, /, *rest, c=[], **kwargs)"
    assert str(declared["import"].signature) == "(*, only)"
    assert declared["f"].doc == 'Say "yes"'


def test_unknown_grains_are_named():
    class Odd(Interface):
        __modulename__ = "odd"

        @Interface.supported(os=["Debian"], wether=["fine"])
        def f(self): ...

        def g(self): ...

    assert unknown_grains(Odd(), GRAINS) == {"f": ["wether"]}
    assert inspect.isclass(Odd)


def test_differing_defaults_are_worth_a_note():
    ours = inspect.signature(lambda a, b=1, c=2: None)
    assert differing_defaults(ours, inspect.signature(lambda a, b=1, c=3: None)) == ["c: 3, not 2"]
    assert differing_defaults(ours, inspect.signature(lambda a, b=1, c=2, z=3: None)) == []
    assert differing_defaults(ours, None) == []
