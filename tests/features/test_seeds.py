"""The documents this project was made from: their examples run as written, their promises hold."""

import pytest
from reached import reach
from seed_plugins import PKG
from tables import beside

TABLES = beside(__file__)

SERVICE = """
def running(name, enable=None, reload=False):
    return {"name": name, "result": True, "changes": {}, "comment": "running"}


def mod_watch(name, sfun=None, sig=None, reload=False, full_restart=False):
    return {"name": name, "result": True, "changes": {name: True}, "comment": "Service reloaded" if reload else "Service restarted"}
"""

PLAIN = "def present(name):\n    return {'name': name, 'result': True, 'changes': {}, 'comment': ''}\n"
FILE = "def managed(name, **kwargs):\n    return {'name': name, 'result': True, 'changes': {'diff': 'New file'}, 'comment': ''}\n\n\nappend = managed\n"


@pytest.fixture
def host(tree):
    """A tree with packages, services, users and files that change nothing on this machine."""
    files = {"pkg": PKG, "service": SERVICE, "user": PLAIN, "group": PLAIN, "file": FILE}
    tree.write({f"_states/{name}.py": text for name, text in files.items()})
    return tree


def order(host, text, **settings):
    plan = host.write({"a.sls": text}).plan(**settings)
    return [(chunk.state, chunk.name) for chunk in plan.chunks]


# --- 002: ordering

HTTPD = TABLES["httpd"]


@pytest.mark.feature("F064", "F065", "F044")
def test_httpd_with_all_its_requisites(host, width):
    places = order(host, HTTPD)
    assert places.index(("pkg", "httpd")) < places.index(("file", "/etc/httpd/conf/httpd.conf"))
    assert places[-1] == ("service", "httpd")
    rows = host.report(concurrency=width).rows
    assert rows["service_|-httpd_|-httpd_|-running"]["comment"] == "Service restarted"


@pytest.mark.feature("F060")
def test_a_whole_sls_can_be_required(host):
    host.write({"network.sls": "net: group.present\n"})
    text = "include:\n  - network\n\nhttpd:\n  pkg:\n    - installed\n  service:\n    - running\n    - require:\n      - pkg: httpd\n      - sls: network\n"
    assert order(host, text) == [("group", "net"), ("pkg", "httpd"), ("service", "httpd")]


REDIS = TABLES["redis"]


@pytest.mark.feature("F065", "F100")
def test_redis_reloads_when_its_file_changes(host, width):
    rows = host.write({"a.sls": REDIS}).report(concurrency=width).rows
    assert rows["service_|-redis_|-redis_|-running"]["comment"] == "Service reloaded"
    assert rows["pkg_|-redis_|-redis_|-latest"]["__run_num__"] == 0


@pytest.mark.feature("F064")
def test_a_vimrc_needs_its_vim(host):
    text = "vim:\n  pkg:\n    - installed\n  file.managed:\n    - source: salt://vim/vimrc\n    - require:\n      - pkg: vim\n"
    assert order(host, text) == [("pkg", "vim"), ("file", "vim")]


@pytest.mark.feature("F051", "P3")
def test_order_first_and_last(host):
    text = "plain:\n  pkg.installed: []\nend:\n  pkg.installed:\n    - order: last\nvim:\n  pkg.installed:\n    - order: 1\nemacs:\n  pkg.installed:\n    - order: 1\n"
    assert order(host, text) == [("pkg", "emacs"), ("pkg", "vim"), ("pkg", "plain"), ("pkg", "end")]
    plan = host.plan()
    names = [chunk.name for chunk in plan.chunks]
    waits = {
        name: {names[n] for n in reach(plan.dag, [names.index(name)], forward=False) if n < 4} - {name}
        for name in names
    }
    assert waits == {"emacs": set(), "vim": set(), "plain": {"emacs", "vim"}, "end": {"emacs", "vim", "plain"}}


@pytest.mark.feature("F054")
def test_the_classic_order_is_lexicographic(host):
    assert order(host, "b: pkg.installed\na: pkg.installed\n", state_auto_order=False) == [("pkg", "a"), ("pkg", "b")]
    assert order(host, "b: pkg.installed\na: pkg.installed\n") == [("pkg", "b"), ("pkg", "a")]


# --- 003: state modules


@pytest.mark.feature("F102")
def test_mod_init_refreshes_once(host, width):
    rows = host.write({"a.sls": "a: pkg.installed\nb: {pkg.installed: [{require: [a]}]}\n"}).rows(concurrency=width)
    assert rows["b"]["comment"].endswith(", 1]")


@pytest.mark.feature("F145")
def test_a_state_module_calls_another(tree, tmp_path):
    module = 'def run(name):\n    ret = __states__["file.managed"](name=name, source="salt://myfile")\n    return ret\n'
    target = tmp_path / "out"
    row = tree.write({"_states/mine.py": module, "myfile": "content\n", "a.sls": f"{target}: mine.run\n"}).rows()[
        str(target)
    ]
    assert row["result"] is True, row["comment"]
    assert target.read_text() == "content\n"


@pytest.mark.feature("F123", "F122")
def test_sub_states_and_comments_in_lists(tree):
    module = """
def engine(name):
    low = {"name": "one", "state": "tool", "__id__": "tool_id", "fun": "present"}
    sub = {"changes": {"a": 1}, "result": True, "comment": None, "duration": None, "start_time": None, "low": low}
    return {"name": name, "result": True, "comment": ["First.", "Second."], "changes": {}, "sub_state_run": [sub]}
"""
    rows = tree.write({"_states/tool.py": module, "a.sls": "a: tool.engine\n"}).report().rows
    assert rows["tool_|-a_|-a_|-engine"]["comment"] == "First.\nSecond."
    assert rows["tool_|-tool_id_|-one_|-present"]["changes"] == {"a": 1}


@pytest.mark.feature("F140")
def test_the_encoding_of_the_system(tree):
    module = "def run(name):\n    return {'name': name, 'result': True, 'changes': {}, 'comment': 'é'.encode(__salt_system_encoding__).decode()}\n"
    assert tree.write({"_states/enc.py": module, "a.sls": "a: enc.run\n"}).rows()["a"]["comment"] == "é"


# --- 004: the forms of a highstate


@pytest.mark.feature("F040", "F046")
def test_include_and_extend(host):
    host.write({"apache.sls": "apache:\n  pkg.installed: []\n  service.running: []\n"})
    text = (
        "include:\n  - apache\n\nextend:\n  apache:\n    service:\n      - watch:\n        - file: mywebsite\n\n"
        "mywebsite:\n  file.managed:\n    - name: /var/www/mysite\n"
    )
    assert order(host, text) == [("pkg", "apache"), ("file", "/var/www/mysite"), ("service", "apache")]
    assert host.report().rows["service_|-apache_|-apache_|-running"]["comment"] == "Service restarted"


@pytest.mark.feature("F044")
@pytest.mark.parametrize(
    "text", ["httpd:\n  pkg.installed: []\n", "httpd:\n  pkg:\n    - installed\n", "httpd: pkg.installed\n"]
)
def test_function_declarations(host, text):
    assert order(host, text) == [("pkg", "httpd")]


@pytest.mark.feature("F044", "F048")
def test_two_functions_without_arguments(host):
    assert order(host, "httpd:\n  pkg.installed: []\n  service.running: []\n") == [
        ("pkg", "httpd"),
        ("service", "httpd"),
    ]
    assert host.write({"a.sls": "httpd:\n  pkg.installed\n  service.running\n"}).errors()


@pytest.mark.feature("F045")
def test_names_of_states(host):
    text = (
        "motd_perms:\n  file.managed:\n    - name: /etc/motd\n    - mode: 644\n\n"
        "motd_quote:\n  file.append:\n    - name: /etc/motd\n    - text: 'Of all smells, bread; of all tastes, salt.'\n"
        "\npython-pkgs:\n  pkg.installed:\n    - names:\n      - python-django\n      - python-crypto\n      - python-yaml\n"
    )
    assert order(host, text) == [
        ("file", "/etc/motd"), ("file", "/etc/motd"), ("pkg", "python-django"), ("pkg", "python-crypto"), ("pkg", "python-yaml"),
    ]  # fmt: skip
    assert host.low()["python-yaml"]["__id__"] == "python-pkgs"


@pytest.mark.feature("F045")
def test_names_with_overrides(host):
    host.write(
        {
            "_states/pkgrepo.py": "def managed(name, **kwargs):\n    return {'name': name, 'result': True, 'changes': {}, 'comment': kwargs['baseurl']}\n"
        }
    )
    text = (
        "ius:\n  pkgrepo.managed:\n    - humanname: IUS Community Packages for Enterprise Linux 6 - $basearch\n    - gpgcheck: 1\n"
        "    - baseurl: http://mirror/stable/$basearch\n    - names:\n      - ius\n      - ius-devel:\n          - baseurl: http://mirror/development/$basearch\n"
    )
    rows = host.write({"a.sls": text}).rows()
    assert rows.comments == {
        "ius": "http://mirror/stable/$basearch",
        "ius-devel": "http://mirror/development/$basearch",
    }


@pytest.mark.feature("F065", "F080")
def test_one_file_watched_by_a_command_and_a_service(host):
    text = (
        "mywebsite:\n  file.managed:\n    - name: /etc/apache2/sites-available/mywebsite.com\n    - source: salt://mywebsite.com\n\n"
        "echo enabled:\n  cmd.wait:\n    - unless: test -L /etc/nowhere\n    - watch:\n      - file: mywebsite\n\n"
        "apache2:\n  service.running:\n    - watch:\n      - file: mywebsite\n"
    )
    rows = host.write({"a.sls": text}).rows()
    assert rows["echo enabled"]["changes"]["stdout"] == "enabled"
    assert rows["apache2"]["comment"] == "Service restarted"


@pytest.mark.feature("F044", "F045", "F060", "P2")
def test_the_large_example(host):
    host.write({"one.sls": "extended: pkg.installed\n", "two.sls": "base: pkg.installed\n"})
    text = TABLES["the large example"]
    places = order(host, text)
    assert [name for _, name in places] == TABLES["the large example 2"]
    plan = host.plan()
    assert all(plan.requisites[index] for index in range(2, 10))


@pytest.mark.feature("F043", "P4")
def test_the_first_of_two_ids_wins_if_asked_to(host):
    host.write(
        {
            "a.sls": "include: [b]\nmotd: {pkg.installed: [{name: second}]}\n",
            "b.sls": "motd: {pkg.installed: [{name: first}]}\n",
        }
    )
    assert host.errors()
    assert host.order(duplicate_ids="first") == ["first"]
