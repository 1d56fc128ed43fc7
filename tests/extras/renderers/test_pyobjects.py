from __future__ import annotations

from types import SimpleNamespace

import pytest
from memory_files import MemoryFileClient
from salt_functions import Functions

from asyncstate.errors import RenderError
from asyncstate.render import RenderContext, render_sls

GRAINS = {"os_family": "Debian", "os": "Ubuntu"}
PILLAR = {"samba:lookup": {"client": "smbclient"}, "port": 80}
SALT = {
    "grains.item": lambda *names: {name: GRAINS[name] for name in names if name in GRAINS},
    "grains.get": GRAINS.get,
    "pillar.get": PILLAR.get,
    "test.echo": lambda text: text,
}
MAP = """#!pyobjects
class Samba(Map):
    merge = 'samba:lookup'
    priority = ('os_family', 'os')

    class Ubuntu:
        __grain__ = 'os'
        service = 'smbd'

    class Debian:
        server = 'samba'
        client = 'samba-client'
        service = 'samba'

    class RHEL:
        __match__ = 'RedHat'
        service = 'smb'

File.managed('/not/here')
"""


class States(dict):
    """State functions by name, modules as attributes, as a function map is."""

    def __getattr__(self, module):
        if any(name.startswith(f"{module}.") for name in self):
            return SimpleNamespace()
        raise AttributeError(module)


def render(program, **files):
    client = MemoryFileClient({"base": {"a/b.sls": f"#!pyobjects\n{program}", "samba/map.sls": MAP, **files}})
    states = States(dict.fromkeys(("file.managed", "file.absent", "cmd.run", "pkg.installed", "test.nop")))
    context = RenderContext(
        salt=Functions(SALT), grains=GRAINS, pillar=PILLAR, opts={"id": "m"}, fileclient=client, states=states
    )
    return render_sls(client.sls_file("a.b", "base"), context).data


@pytest.mark.feature("F016")
def test_calls_declare_states_with_sorted_arguments():
    assert render("File.managed('/x', user='root', mode='0600')\nFile.absent('/x')\nCmd.run('ls')\n") == {
        "/x": {"file.managed": [{"mode": "0600"}, {"user": "root"}], "file.absent": []},
        "ls": {"cmd.run": []},
    }


def test_requisites_may_be_alone_in_a_list_or_plain_data():
    data = render(
        "Cmd.run('a', require=File('/x'), onchanges=[Cmd('b'), {'sls': 'c'}], watch_in=Service('d'), use=Cmd('b'))\n"
        "Cmd.run('e', prereq=Cmd.run('f'))\n"
    )
    assert data["a"] == {
        "cmd.run": [
            {"onchanges": [{"cmd": "b"}, {"sls": "c"}]},
            {"require": [{"file": "/x"}]},
            {"use": [{"cmd": "b"}]},
            {"watch_in": [{"service": "d"}]},
        ]
    }
    assert data["e"] == {"cmd.run": [{"prereq": [{"cmd": "f"}]}]}


def test_a_declared_state_is_a_requisite_itself():
    data = render(
        "p = Pkg.installed('p')\nf = File.managed('/f').requisite\n"
        "Cmd.run('a', require=[p, f])\nwith p.requisite:\n    Cmd.run(p.id_ + p.module)\n"
    )
    assert data["a"] == {"cmd.run": [{"require": [{"pkg": "p"}, {"file": "/f"}]}]}
    assert data["ppkg"] == {"cmd.run": [{"require": [{"pkg": "p"}]}]}


def test_with_makes_requisites_of_everything_inside():
    data = render(
        "given = [{'sls': 'x'}]\n"
        "with Pkg.installed('nginx'):\n"
        "    Cmd.run('a', require=given)\n"
        "    with Service('nginx', 'watch_in'):\n"
        "        File.managed('/x')\n"
        "Cmd.run('b', require=given)\n"
    )
    assert data == {
        "nginx": {"pkg.installed": []},
        "a": {"cmd.run": [{"require": [{"sls": "x"}, {"pkg": "nginx"}]}]},
        "/x": {"file.managed": [{"require": [{"pkg": "nginx"}]}, {"watch_in": [{"service": "nginx"}]}]},
        "b": {"cmd.run": [{"require": [{"sls": "x"}]}]},
    }


def test_include_and_extend():
    data = render("include('http', 'x.y')\nFile.managed(extend('/e'), require=Pkg('p'))\nCmd.run('a')\n")
    assert data == {
        "a": {"cmd.run": []},
        "include": ["http", "x.y"],
        "extend": {"/e": {"file.managed": [{"require": [{"pkg": "p"}]}]}},
    }


def test_salt_pillar_grains_and_dunders():
    data = render(
        "def all_of_it():\n"
        "    yield from (salt.test.echo('hey'), pillar('port'), grains('os'), __salt__['test.echo'](1),\n"
        "                __pillar__['port'], __grains__['os'], __opts__['id'], __sls__)\n"
        "Cmd.run('a', name=list(all_of_it()))\n"
    )
    assert data["a"]["cmd.run"] == [{"name": ["hey", 80, "Ubuntu", 1, 80, "Ubuntu", "m", "a.b"]}]


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("from salt://samba/map.sls import Samba", "Samba"),
        ("from salt://samba/map.sls import  Samba as S ", "S"),
        ("import salt://samba/map.sls", "map.Samba"),
    ],
)
def test_maps_of_other_files(imports, name):
    data = render(f"{imports}\nCmd.run('a', name=[{name}.server, {name}.client, {name}.service])\n")
    assert data == {"a": {"cmd.run": [{"name": ["samba", "smbclient", "smbd"]}]}}


def test_priority_decides_which_of_two_fitting_classes_wins():
    program = "class M(Map):\n    {}\n    class Debian: x = 1\n    class Ubuntu:\n        __grain__ = 'os'\n        x = 2\nCmd.run('a', name=M.x)\n"
    assert render(program.format("pass"))["a"]["cmd.run"] == [{"name": 2}]
    assert render(program.format("priority = ('os', 'os_family')"))["a"]["cmd.run"] == [{"name": 1}]


def test_a_module_without_a_provider_may_be_used_as_in_yaml():
    assert render("PostgresUser.present('u')\n") == {"u": {"postgres_user.present": []}}


def test_two_renderings_know_nothing_of_each_other():
    assert render("Cmd.run('a')\n") == render("Cmd.run('a')\n")


@pytest.mark.parametrize(
    ("program", "message", "line"),
    [
        ("File.managed('/x')\nFile.managed('/x')\n", "A state with id ''/x'', type ''file.managed'' exists", 3),
        ("File.nothing('/x')\n", "The function 'nothing' does not exist in the StateFactory for 'file'", 2),
        ("nothing('/x')\n", "NameError: name 'nothing' is not defined", 2),
        ("def f():\n    return 1 / 0\nf()\n", "ZeroDivisionError", 3),
        ("if True\n", "SyntaxError", 2),
        ("\nfrom salt://no.sls import X\n", "ImportError: Could not find the file 'salt://no.sls'", 3),
        ("from salt://samba/map.sls import X\n", "ImportError: 'X' was not found in 'salt://samba/map.sls'", 2),
        ("raise SystemExit(3)\n", "SystemExit: 3", 2),
    ],
)
def test_mistakes_have_a_line(program, message, line):
    with pytest.raises(RenderError) as caught:
        render(program)
    assert message in caught.value.message
    assert caught.value.line == line


def test_a_mistake_in_an_imported_file_is_told_for_that_file():
    with pytest.raises(RenderError) as caught:
        render("import salt://bad.sls\n", **{"bad.sls": "\n1 / 0\n"})
    assert caught.value.file.endswith("bad.sls")
    assert caught.value.line == 2


def test_both_renderers_are_known():
    client = MemoryFileClient({"base": {"a.sls": "#!mako\na: 1\n"}})
    context = RenderContext(salt=Functions(SALT), grains=GRAINS, pillar=PILLAR, opts={"id": "m"}, fileclient=client)
    with pytest.raises(RenderError, match=r"Known are: gpg, jinja, json, py, pyobjects, stateconf, text, toml, yaml\."):
        render_sls(client.sls_file("a", "base"), context)
