"""The functions of ``salt.…`` that plugins find: what they return is what real Salt 3008.3 returned."""

from __future__ import annotations

import builtins
import importlib
import pkgutil
import re
import warnings
from pathlib import Path

import pytest
from plugin_trees import PluginTree
from tables import rows
from yaml import constructor

from asyncstate.dunders.context import current
from asyncstate.extras.namespace import salt
from asyncstate.extras.namespace.salt.utils import _MOVED

TABLE = Path(__file__).parents[2] / "recorded" / "salt_expressions.txt"
"""Expressions, each followed by what Salt made of it: a ``repr``, or an exception with its text."""


def table():
    lines = TABLE.read_text().splitlines()
    return list(zip(lines[::2], (line.strip() for line in lines[1::2]), strict=True))


@rows(("expression", "result"), table())
def test_results_are_those_of_salt(expression, result):
    refusal = re.match(r"(\w+(?:Error|Exception)): (.+)", result)
    if refusal is None:
        assert repr(eval(expression, {"salt": salt})) == result
        return
    with pytest.raises(_class_of(refusal[1])) as caught:
        eval(expression, {"salt": salt})
    assert str(caught.value).replace("\n", "\\n") == refusal[2]


def _class_of(name):
    yaml = salt.utils.yaml
    homes = (salt.exceptions, salt.serializers, yaml.scanner, yaml.parser, constructor, builtins)
    return next(found for home in homes if (found := getattr(home, name, None)) is not None)


def modules():
    return [found.name for found in pkgutil.walk_packages(salt.__path__, "asyncstate.extras.namespace.salt.")]


@rows("name", modules())
def test_every_module_has_what_it_lists_and_tells_what_it_has_not(name):
    found = importlib.import_module(name)
    assert [each for each in getattr(found, "__all__", ()) if not hasattr(found, each)] == []
    if not name.endswith(".codec"):
        with pytest.raises(AttributeError, match="install salt beside asyncstate"):
            found.no_such_name  # noqa: B018


@rows("name", sorted(_MOVED))
def test_old_names_in_utils_lead_to_the_new_ones(name):
    assert callable(getattr(salt.utils, name))


def test_yaml_loader_class_reads_the_dialect():
    import yaml

    assert yaml.load("a: 010\n", Loader=salt.utils.yaml.SaltYamlSafeLoader) == {"a": 10}
    with pytest.raises(yaml.YAMLError, match="found conflicting ID 'a'"):
        salt.utils.yaml.load("a: 1\na: 2\n")
    with pytest.raises(salt.utils.yaml.YAMLError):
        salt.utils.yaml.load("a: \0")


@pytest.mark.parametrize("name", ["OrderedDumper", "SafeOrderedDumper", "IndentedSafeOrderedDumper"])
def test_yaml_dumpers(name):
    import yaml

    data = salt.utils.odict.OrderedDict([("b", [1]), ("a", 2)])
    dumper = salt.utils.yaml.get_dumper(name)
    assert yaml.dump(data, Dumper=dumper, default_flow_style=False) == "b:\n- 1\na: 2\n"


def test_yaml_streams(tmp_path):
    path = tmp_path / "f"
    with salt.utils.files.fopen(path, "w") as file:
        salt.utils.yaml.safe_dump({"a": "ä"}, file)
    with salt.utils.files.fopen(path) as file:
        assert salt.utils.yaml.safe_load(file) == {"a": "ä"}


def test_fopen_leaves_line_ends_and_reads_utf8(tmp_path):
    path = tmp_path / "f"
    path.write_bytes("ä\r\n".encode())
    fopen = salt.utils.files.fopen
    with fopen(path) as text, fopen(path, "r", binary=True) as raw, fopen(file=path, mode="rb") as also:
        assert (text.read(), raw.read(), also.read()) == ("ä\r\n", b"\xc3\xa4\r\n", b"\xc3\xa4\r\n")


def test_flopen_locks(tmp_path):
    import fcntl

    path = tmp_path / "f"
    with salt.utils.files.flopen(path, "w"), path.open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    with salt.utils.files.flopen(path), path.open() as other:
        fcntl.flock(other.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_fpopen_sets_the_mode_before_anything_is_written(tmp_path):
    path = tmp_path / "f"
    with salt.utils.files.fpopen(str(path), "w", mode=0o600, uid=None) as file:
        assert path.stat().st_mode & 0o777 == 0o600
        file.write("secret")
    assert path.read_text() == "secret"


def test_copyfile_keeps_the_mode_and_leaves_nothing_behind(tmp_path):
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("new")
    target.write_text("old")
    target.chmod(0o640)
    salt.utils.files.copyfile(str(source), str(target))
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o640)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    with pytest.raises(OSError, match=r"No such file or directory: .*nope"):
        salt.utils.files.copyfile(str(tmp_path / "nope"), str(target))


def test_copyfile_keeps_a_backup_if_asked(tmp_path):
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("new")
    target.write_text("old")
    with PluginTree(tmp_path / "salt").host({"cachedir": str(tmp_path / "cache")}).enter():
        salt.utils.files.copyfile(str(source), str(target), "minion", current.get().opts["cachedir"])
    kept = [path for path in (tmp_path / "cache").rglob("b_*") if path.is_file()]
    assert [path.read_text() for path in kept] == ["old"]


def test_trees(tmp_path):
    files = salt.utils.files
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "f").write_text("x")
    (tmp_path / "a" / "loop").symlink_to(tmp_path / "a")
    files.recursive_copy(str(tmp_path / "a" / "b"), str(tmp_path / "c"))
    assert (tmp_path / "c" / "f").read_text() == "x"
    walked = [folder for folder, _, _ in files.safe_walk(str(tmp_path / "a"))]
    assert walked == [str(tmp_path / "a"), str(tmp_path / "a" / "b")]
    files.rm_rf(str(tmp_path / "a" / "loop"))
    assert (tmp_path / "a" / "b" / "f").exists()
    files.rm_rf(str(tmp_path / "a"))
    files.remove(str(tmp_path / "a"))
    files.safe_rm(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        files.rm_rf(str(tmp_path / "a"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c"]


def test_mkstemp(tmp_path):
    import os

    path = salt.utils.files.mkstemp(dir=tmp_path)
    assert Path(path).name.startswith("__salt.tmp.")
    descriptor, other = salt.utils.files.mkstemp(dir=tmp_path, close_fd=False)
    os.close(descriptor)
    assert other != path


def test_six():
    six = salt.ext.six
    assert list(six.iteritems({"a": 1})) == [("a", 1)]
    assert isinstance("x", six.string_types)
    assert six.moves.urllib.parse.urlparse("http://h/p").path == "/p"
    assert six.moves.range is range
    assert list(six.moves.zip([1], [2])) == [(1, 2)]
    assert six.moves.configparser.ConfigParser
    assert six.moves.shlex_quote("a b") == "'a b'"

    class Meta(type):
        pass

    assert type(six.add_metaclass(Meta)(type("A", (), {"x": 1}))) is Meta
    assert type(six.with_metaclass(Meta, dict)) is Meta
    with pytest.raises(ValueError, match="x"):
        six.reraise(ValueError, ValueError("x"))


def test_namespaced_function_sees_the_other_module():
    def original():
        return NAME  # noqa: F821

    names = {"NAME": "theirs"}
    assert salt.utils.functools.namespaced_function(original, names)() == "theirs"
    assert names["pytest"] is pytest


def test_warnings_name_the_version():
    with pytest.warns(DeprecationWarning, match="until 3010"):
        salt.utils.versions.warn_until((3010,), "until {version}")
    with pytest.warns(DeprecationWarning, match=r"will be removed in '3010': 'a', 'b'\."):
        salt.utils.versions.kwargs_warn_until({"a": 1, "b": 2}, (3010,))
    with warnings.catch_warnings():
        salt.utils.versions.kwargs_warn_until({}, (3010,))


def test_what_needs_a_runtime_asks_it(tmp_path):
    tree = PluginTree(tmp_path / "salt")
    tree.add("_modules/http.py", "def query(url, **kw): return url, sorted(kw)")
    minion = tmp_path / "minion"
    minion.write_text("id: other\n")
    host = tree.host({"conf_file": "/etc/salt/minion", "mine": 1})
    with host.enter() as call:
        assert salt.utils.http.query("http://x", opts={}, method="POST") == ("http://x", ["method"])
        assert salt.config.minion_config("/no/such/file")["mine"] == 1
        assert salt.config.minion_config(str(minion))["id"] == "other"
        assert salt.loader.minion_mods({}) is call.salt
        assert salt.loader.states({}, {}) is call.states
        assert salt.loader.grains({}) == call.grains
        assert "lo" in salt.utils.network.interfaces()


def test_keywords_of_states_are_the_ones_the_runtime_consumes():
    assert {"require", "unless", "watch_in", "__id__", "fun"} <= salt.state.STATE_INTERNAL_KEYWORDS
    assert "name" not in salt.state.STATE_INTERNAL_KEYWORDS


def test_systemd_keeps_its_answers_in_the_context():
    context = {"salt.utils.systemd.booted": True, "salt.utils.systemd.version": 252, "salt.utils.systemd.status": True}
    assert salt.utils.systemd.booted(context) is True
    assert salt.utils.systemd.has_scope(context) is True
    assert salt.utils.systemd.has_scope({**context, "salt.utils.systemd.version": 204}) is False
    assert salt.utils.systemd.has_scope({"salt.utils.systemd.booted": False}) is False
    with pytest.raises(salt.exceptions.SaltInvocationError, match="context must be a dictionary"):
        salt.utils.systemd.booted("x")


BACKEND = """
import salt.utils.pkg

__virtualname__ = "pkg"


def __virtual__():
    return __virtualname__


def _note(word):
    with open(__opts__["cachedir"] + "/said", "a") as file:
        file.write(word + " ")


def refresh_db(**kwargs):
    _note("refresh")
    salt.utils.pkg.clear_rtag(__opts__)
    return True


def list_pkgs(versions_as_list=False, purge_desired=False, **kwargs):
    said = open(__opts__["cachedir"] + "/said").read().split() if __context__.get("any") else []
    return {} if purge_desired else {name: ["1"] if versions_as_list else "1" for name in said if name != "refresh"}


def install(name=None, refresh=False, pkgs=None, **kwargs):
    __context__["any"] = True
    if salt.utils.pkg.check_refresh(__opts__, refresh):
        refresh_db()
    names = [next(iter(each)) if isinstance(each, dict) else each for each in pkgs or [name]]
    for each in names:
        _note(each)
    return {each: {"old": "", "new": "1"} for each in names}
"""


def test_a_package_manager_written_for_salt_refreshes_once_in_a_run(run_cli, tmp_path):
    (tmp_path / "_modules").mkdir()
    (tmp_path / "_modules" / "minepkg.py").write_text(BACKEND)
    (tmp_path / "tree.sls").write_text("a: pkg.installed\nb: pkg.installed\nc: {pkg.installed: [{refresh: true}]}\n")
    (tmp_path / "cache").mkdir()
    done = run_cli("apply", "tree", "--file-root", tmp_path, "--out", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "cache" / "said").read_text().split() == ["refresh", "a", "b", "refresh", "c"]


def test_a_refresh_is_due_until_it_was_done(tmp_path):
    host = PluginTree(tmp_path).host({"cachedir": str(tmp_path)})
    opts = host.opts
    with host.enter():
        assert [salt.utils.pkg.check_refresh(opts, word) for word in (None, False, True)] == [False, False, True]
        salt.utils.pkg.write_rtag(opts)
        assert [salt.utils.pkg.check_refresh(opts, word) for word in (None, False, True)] == [True, False, True]
        salt.utils.pkg.clear_rtag(opts)
        salt.utils.pkg.clear_rtag(opts)
        assert not salt.utils.pkg.check_refresh(opts)
    assert list(tmp_path.iterdir()) == []
