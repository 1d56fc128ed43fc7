"""The pack of compiled code: what is taken from it, and that nothing but time depends on it."""

import compileall
import importlib.util
import json
import os
import py_compile
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from asyncstate._code_pack import pack_of

PROGRAM = """
import json, sys
from asyncstate._code_pack import CodePack, pack_of
pack = CodePack(sys.argv[1])
sys.meta_path.insert(0, pack)
class Lazy(type(sys)):
    def __getattribute__(self, name):
        raise RuntimeError(name)
sys.modules["lazy"] = Lazy("lazy")
import many
values = [__import__(f"many.part{number}", fromlist=["value"]).value for number in range(20)]
packed = sorted(name for name, module in sys.modules.items() if type(module) is type(sys) and type(module.__loader__).__module__.endswith("_code_pack"))
pack.renew()
print(json.dumps([values, [name for name in packed if name.startswith("many")]]))
"""
PARTS = [f"many.part{number}" for number in range(20)]


def write_parts(package: Path, text: str, parts: int = 20) -> None:
    for number in range(parts):
        (package / f"part{number}.py").write_text(text.format(number), encoding="utf-8")


class Site:
    """A package of twenty modules, and a program that imports them with a pack."""

    def __init__(self, base: Path) -> None:
        self.package = base / "many"
        self.package.mkdir()
        (self.package / "__init__.py").touch()
        write_parts(self.package, "value = {}\n")
        self.pack = base / "packs" / "program.pack"
        self.pack.parent.mkdir()

    def edit(self, number: int, text: str) -> None:
        (self.package / f"part{number}.py").write_text(text, encoding="utf-8")

    def run(self, program: str = PROGRAM, **environ: str) -> tuple[object, ...]:
        """Return what the program prints: by default the values, and the modules that were taken from the pack."""
        process = self.start(program, **environ)
        out, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
        return tuple(json.loads(out))

    def start(self, program: str = PROGRAM, **environ: str) -> "subprocess.Popen[str]":
        search = os.pathsep.join([str(self.package.parent), str(Path.cwd())])
        environ = {**os.environ, "PYTHONPATH": search, "PYTHONDONTWRITEBYTECODE": "", **environ}
        command = [sys.executable, "-c", program, str(self.pack)]
        return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def test_the_second_program_takes_all_modules_from_the_pack(site):
    assert site.run() == (list(range(20)), [])
    before = site.pack.stat().st_mtime_ns
    values, packed = site.run()
    assert values == list(range(20))
    assert packed == sorted(["many", *PARTS])
    assert site.pack.stat().st_mtime_ns == before


def test_an_edited_module_is_imported_from_its_source(site):
    site.run()
    site.edit(3, "value = 'edited'\n")
    values, packed = site.run()
    assert values[3] == "edited"
    assert packed == sorted({"many", *PARTS} - {"many.part3"})


def test_a_pack_is_written_anew_when_many_modules_were_edited(site):
    site.run()
    write_parts(site.package, "value = 100 + {}\n", 18)
    edited = [*range(100, 118), 18, 19]
    assert site.run() == (edited, ["many", "many.part18", "many.part19"])
    assert site.run() == (edited, sorted(["many", *PARTS]))


DAMAGES = {
    "empty": lambda data: b"",
    "no length": lambda data: data[:5],
    "half": lambda data: data[: len(data) // 2],
    "ones": lambda data: b"\xff" * len(data),
    "zeros": lambda data: data[:8] + bytes(len(data) - 8),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_pack_costs_time_only(site, damage):
    site.run()
    site.pack.write_bytes(damage(site.pack.read_bytes()))
    values, _ = site.run()
    assert values == list(range(20))


EXPRESSIONS = """
import json, re, sys
from asyncstate._code_pack import CodePack, pack_of
compute, code, computed = re._compiler.compile, re._compiler._code, []
pack = CodePack(sys.argv[1])
sys.meta_path.insert(0, pack)
re._compiler._code = lambda parsed, flags: computed.append(flags) or code(parsed, flags)
import many
parts = [__import__(f"many.part{number}", fromlist=["value"]) for number in range(20)]
made = [parts[0].value, parts[0].Held.value, parts[1].value, parts[2].value, parts[3].made()]
count = len(computed)
anew = [compute(each.pattern, flags) for each, flags in zip(made, (0, re.I, 0, re.X | re.S, 0))]
print(json.dumps([[one == two and one.groupindex == two.groupindex for one, two in zip(made, anew)], count]))
pack.renew()
"""


LATE = """
import sys
from asyncstate._code_pack import CodePack
pack = CodePack(sys.argv[1])
sys.meta_path.insert(0, pack)
assert "re" not in sys.modules
for number in range(20):
    __import__(f"many.part{number}")
import json
print(json.dumps([len(pack._patterns.tables)]))
pack.renew()
"""


def test_a_program_that_imports_re_after_the_pack_writes_and_takes_tables(site):
    write_parts(site.package, "import re\nvalue = re.compile('{}+')\n")
    (before,) = site.run(LATE)
    (after,) = site.run(LATE)
    assert (before, after >= 20) == (0, True)


def test_a_pack_that_lacks_only_tables_is_written_anew(site):
    write_parts(site.package, "import re\nvalue = re.compile('{}+')\n")
    site.run(LATE.replace("pack.renew()", "pack._patterns._lacking.clear()\npack.renew()"))
    assert site.run(LATE) == (0,)
    assert site.run(LATE)[0] >= 20


def test_expressions_of_modules_and_classes_are_those_that_re_would_make(site):
    site.edit(0, "import re\nvalue = re.compile('(?P<a>b)+|(c)')\nclass Held:\n    value = re.compile('Ä|ß', re.I)\n")
    site.edit(1, "import re\nvalue = re.compile(b'[a-z]{3,}(?=x)')\n")
    site.edit(2, "import re\nvalue = re.compile('a . [w] # b', re.X | re.S)\n")
    site.edit(3, "import re\nvalue = 3\ndef made():\n    return re.compile('-'.join(['secret', 'user']))\n")
    assert site.run(EXPRESSIONS) == ([True] * 5, 5)
    assert site.run(EXPRESSIONS) == ([True] * 5, 1)
    held = site.pack.read_bytes()
    assert b"(?P<a>b)+|(c)" in held
    assert b"secret-user" not in held


def test_a_module_that_a_search_path_shadows_is_not_taken_from_the_pack(site, tmp_path):
    site.run()
    other = tmp_path / "other" / "many"
    other.mkdir(parents=True)
    (other / "__init__.py").touch()
    write_parts(other, "value = 'other'\n")
    values, packed = site.run(PYTHONPATH=os.pathsep.join([str(other.parent), str(Path.cwd())]))
    assert (values, packed) == (["other"] * 20, [])


def test_a_new_module_in_an_earlier_folder_is_imported(site, tmp_path):
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    search = os.pathsep.join([str(earlier), str(site.package.parent), str(Path.cwd())])
    assert site.run(PYTHONPATH=search) == (list(range(20)), [])
    assert site.run(PYTHONPATH=search) == (list(range(20)), sorted(["many", *PARTS]))
    shutil.copytree(site.package, earlier / "many")
    write_parts(earlier / "many", "value = -{}\n")
    assert site.run(PYTHONPATH=search) == ([-number for number in range(20)], [])


def test_two_ways_to_start_do_not_write_the_pack_in_turn(site, tmp_path):
    programs = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        programs.append(tmp_path / name / "program.py")
        programs[-1].write_text(PROGRAM)
    search = os.pathsep.join([str(site.package.parent), str(Path.cwd())])
    environ = {**os.environ, "PYTHONPATH": search, "PYTHONDONTWRITEBYTECODE": ""}

    def start(program):
        out = subprocess.run([sys.executable, program, site.pack], env=environ, capture_output=True, check=True).stdout
        values, packed = json.loads(out)
        assert values == list(range(20))
        return packed

    start(programs[0])
    before = site.pack.stat()
    assert (start(programs[1]), start(programs[0])) == ([], sorted(["many", *PARTS]))
    assert site.pack.stat().st_mtime_ns == before.st_mtime_ns
    os.utime(site.pack, (before.st_mtime - 90_000,) * 2)
    assert start(programs[1]) == []
    assert start(programs[1]) == sorted(["many", *PARTS])


def test_compiled_files_that_are_valid_by_their_hash_are_left_to_python(site):
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    assert compileall.compile_dir(site.package, quiet=1, invalidation_mode=mode)
    site.run()
    assert site.run() == (list(range(20)), [])


def test_two_programs_at_once_leave_a_pack(site):
    programs = [site.start() for _ in range(6)]
    assert [program.communicate(timeout=60)[1] for program in programs] == [""] * 6
    assert site.run() == (list(range(20)), sorted(["many", *PARTS]))


def test_nothing_is_written_where_python_writes_no_byte_code(site):
    site.run(PYTHONDONTWRITEBYTECODE="1")
    assert not site.pack.exists()


def test_a_folder_that_cannot_be_written_costs_time_only(site, tmp_path):
    site.pack = tmp_path / "missing" / "program.pack"
    assert site.run() == (list(range(20)), [])
    assert site.run() == (list(range(20)), [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_while_a_pack_is_written_leaves_the_exit_code_of_the_answer(number, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    text = f"""
import os, sys
from asyncstate._code_pack import CodePack, pack_of
from asyncstate.cli import program
CodePack.renew = lambda pack: (os.kill(os.getpid(), {int(number)}), os.write(1, b"renewed"))
sys.argv = ["asyncstate", "--version"]
program()
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("renewed")


def test_the_pack_has_the_place_of_a_compiled_file_of_the_package():
    source = importlib.util.find_spec("asyncstate._program").origin
    pack = pack_of(os.path.dirname(source))
    assert pack is not None
    assert pack.path == importlib.util.cache_from_source(source)
