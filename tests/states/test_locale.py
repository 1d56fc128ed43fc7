"""The locale states on both providers: files in a folder, and programs of our own."""

from __future__ import annotations

import pytest
from asyncstate.modules import _init_system, _locale_generation, debian_locale, localectl_locale
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError, InvocationError

LIST = "# This file lists locales\n# de_DE.UTF-8 UTF-8\n# en_US ISO-8859-1\n"


class FakeLocales:
    """Compiled locales and systemd's variables; `run_all` stands for locale-gen, localedef, localectl and so on."""

    def __init__(self, etc):
        self.compiled = ["C", "C.utf8", "POSIX"]
        self.variables = {"LANG": "C.UTF-8", "LC_TIME": "POSIX"}
        self.broken = False
        self.calls = []
        self._etc = etc

    def run_all(self, command, **_):
        self.calls.append(command)
        if self.broken:
            return {"retcode": 1, "stdout": "", "stderr": "broken"}
        text = ""
        match command:
            case ["locale-gen", *_]:
                enlisted = (self._etc / "locale.gen").read_text().splitlines()
                self.compiled += [line.split()[0].replace("UTF-8", "utf8") for line in enlisted if line[:1] != "#"]
            case ["localedef", *_, target, _]:
                self.compiled.append(target)
            case ["localectl", "status"]:
                shown = "\n                  ".join(f"{name}={value}" for name, value in self.variables.items())
                text = f"   System Locale: {shown}\n       VC Keymap: us\n      X11 Options: a=b\n"
            case ["localectl", "set-locale", *variables]:
                self.variables = dict(each.split("=") for each in variables)
        return {"retcode": 0, "stdout": text, "stderr": ""}


@pytest.fixture
def etc(tmp_path, monkeypatch):
    monkeypatch.setattr(_locale_generation, "_LIST", str(tmp_path / "locale.gen"))
    monkeypatch.setattr(_locale_generation, "_SUPPORTED", str(tmp_path / "SUPPORTED"))
    monkeypatch.setattr(_locale_generation, "_SOURCES", str(tmp_path / "locales"))
    monkeypatch.setattr(debian_locale, "_FILE", str(tmp_path / "default"))
    monkeypatch.setattr(localectl_locale, "_FILE", str(tmp_path / "locale.conf"))
    (tmp_path / "SUPPORTED").write_text("de_DE.UTF-8 UTF-8\nen_US ISO-8859-1\nfr_FR.UTF-8 UTF-8\n")
    (tmp_path / "locale.gen").write_text(LIST)
    (tmp_path / "locales").mkdir()
    (tmp_path / "locales/de_DE").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


@pytest.fixture
def programs(etc):
    """Make programs that can be found."""

    def make(*names):
        (etc / "bin").mkdir(exist_ok=True)
        for name in names:
            (etc / "bin" / name).write_text("")
            (etc / "bin" / name).chmod(0o755)

    return make


@pytest.fixture
def fake(etc):
    return FakeLocales(etc)


@pytest.fixture
def plugins(tmp_path, fake, programs):
    programs("locale-gen", "update-locale")
    harness = PluginHarness(tmp_path)
    harness.salt["cmd.run_all"] = fake.run_all
    harness.salt["cmd.retcode"] = lambda command, **options: fake.run_all(command, **options)["retcode"]
    harness.salt["cmd.run_stdout"] = lambda command, **_: "\n".join(fake.compiled)
    harness.load("modules", "debian_locale")
    harness.load("states", "locale")
    return harness


@pytest.fixture(params=["debian_locale", "localectl_locale"])
def either(plugins, request):
    plugins.load("modules", request.param)
    return plugins


@pytest.mark.feature("F195")
def test_the_locale_of_the_system(either):
    dry, real, again = either.three_runs("locale.system", name="de_DE.UTF-8")
    assert (dry["result"], dry["comment"]) == (None, "System locale de_DE.UTF-8 needs to be set")
    assert (real["comment"], real["changes"]) == ("Set system locale de_DE.UTF-8", {"locale": "de_DE.UTF-8"})
    assert (again["comment"], again["changes"]) == ("System locale de_DE.UTF-8 already set", {})


@pytest.mark.parametrize(("before", "after"), [(None, ""), ("LC_ALL=C\nLANG=x\n", "LC_ALL=C\n")])
def test_other_variables_stay_in_the_file(plugins, etc, before, after):
    if before:
        (etc / "default").write_text(before)
    plugins.state("locale.system", name="C.UTF-8")
    assert (etc / "default").read_text() == f'{after}LANG="C.UTF-8"\n'


def test_localectl(plugins, fake, etc):
    plugins.load("modules", "localectl_locale")
    plugins.call("locale.set_locale", "de_DE.UTF-8")
    assert fake.variables == {"LANG": "de_DE.UTF-8", "LC_TIME": "POSIX"}
    plugins.salt["cmd.retcode"] = lambda *_, **__: 1
    plugins.call("locale.set_locale", "C.UTF-8")
    assert (etc / "locale.conf").read_text() == "LANG=C.UTF-8\n"
    fake.broken = True
    row = plugins.state("locale.system", name="x")
    assert (row["result"], row["comment"]) == (False, "Failed to set system locale: localectl failed: broken")
    plugins.salt["cmd.run_all"] = lambda *_, **__: {"retcode": 0, "stdout": "?", "stderr": ""}
    with pytest.raises(CommandExecutionError, match="Unable to parse"):
        plugins.call("locale.get_locale")


def test_failures_to_set(plugins, etc):
    (etc / "bin/update-locale").unlink()
    row = plugins.state("locale.system", name="C.UTF-8")
    assert (row["result"], row["comment"]) == (
        False, 'Failed to set system locale: Cannot set locale: "update-locale" was not found.',
    )  # fmt: skip
    plugins.salt["locale.set_locale"] = lambda name: False
    row = plugins.state("locale.system", name="C.UTF-8")
    assert (row["result"], row["comment"]) == (False, "Failed to set system locale to C.UTF-8")


@pytest.mark.parametrize(
    ("name", "enlisted"),
    [
        ("de_DE.UTF-8", LIST.replace("# de", "de")),
        ("fr_FR.UTF-8 UTF-8", f"{LIST}fr_FR.UTF-8 UTF-8\n"),
        ("en_US ISO-8859-1", LIST.replace("# en", "en")),
    ],
)
def test_a_locale_is_compiled(either, etc, fake, name, enlisted):
    dry, real, again = either.three_runs("locale.present", name=name)
    assert (dry["result"], dry["comment"]) == (None, f"Locale {name} needs to be generated")
    assert (real["comment"], real["changes"]) == (f"Generated locale {name}", {"locale": name})
    assert (again["comment"], again["changes"]) == (f"Locale {name} is already present", {})
    assert (etc / "locale.gen").read_text() == enlisted


@pytest.mark.parametrize("name", ["xx_XX.UTF-8", "C.utf8 UTF-9"])
def test_what_cannot_be_compiled(plugins, fake, name):
    fake.compiled.clear()
    plugins.opts["foresight"] = True
    for test in (True, False):
        row = plugins.state("locale.present", test=test, name=name)
        assert (row["result"], row["comment"], row["changes"]) == (False, f"Failed to generate locale {name}", {})


@pytest.mark.parametrize("name", ["", "a/b", "-h", "de_DE\nx"])
def test_what_is_no_name(plugins, name):
    assert plugins.call("locale.avail", name) is False
    with pytest.raises(InvocationError, match="not the name of a locale"):
        plugins.call("locale.gen_locale", name)
    with pytest.raises(InvocationError, match="not the name of a locale"):
        plugins.call("locale.set_locale", name)


def test_without_locale_gen(plugins, etc, fake):
    plugins.grains["os"] = "Fedora"
    for program in ("locale-gen", "update-locale"):
        (etc / "bin" / program).unlink()
    with pytest.raises(CommandExecutionError, match="was not found"):
        plugins.call("locale.gen_locale", "de_DE.UTF-8")
    (etc / "bin/localedef").write_text("")
    (etc / "bin/localedef").chmod(0o755)
    assert plugins.call("locale.gen_locale", "de_DE.UTF-8", verbose=True)["retcode"] == 0
    expected = ["localedef", "--force", "-i", "de_DE", "-f", "UTF-8", "de_DE.UTF-8", "--verbose"]
    assert fake.calls[-1] == expected
    assert plugins.call("locale.gen_locale", "xx_XX.UTF-8") is False


def test_ubuntu_wants_the_short_form(plugins, fake):
    plugins.grains["os"] = "Ubuntu"
    plugins.call("locale.gen_locale", "de_DE.UTF-8")
    assert fake.calls[-1] == ["locale-gen", "de_DE.utf8"]


def test_names():
    name = _locale_generation.parse("ca_es.UTF-8@valencia UTF-8")
    assert str(name) == "ca_es.UTF-8@valencia UTF-8"
    assert name.as_listed() == "ca_ES.utf8@valencia"


@pytest.mark.parametrize("systemd_runs", [True, False])
def test_one_provider_loads(plugins, programs, monkeypatch, systemd_runs):
    programs("localectl")
    monkeypatch.setattr(_init_system, "booted_with_systemd", lambda: systemd_runs)
    with plugins.calling():
        assert (localectl_locale.__virtual__() is True) is systemd_runs
        assert (debian_locale.__virtual__() is True) is not systemd_runs
        plugins.grains["os_family"] = "RedHat"
        assert debian_locale.__virtual__()[0] is False
