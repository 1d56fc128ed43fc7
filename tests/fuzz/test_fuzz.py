"""On any input the program ends soon, with a documented exit code, a message, and no traceback."""

import os

import pytest
from fuzz_cases import tried
from fuzz_trees import FAMILIES, case

ROOTS = ["--file-root", "salt", "--pillar-root", "pillar"]
HARMFUL = {
    "opened": "open('../beside/file').close()\n",
    "died": "import os\nos.abort()\n",
    "memory": "import mmap\nx = mmap.mmap(-1, 1_200_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_POPULATE)\n",
    "changed": "open('../beside/made', 'w').close()\n",
    "traceback": "import sys\nsys.stderr.write('Traceback (most recent call last):')\n",
    "exit code": "import os\nos._exit(77)\n",
    "internal error": "import asyncstate.runtime as r\nr.StateRuntime.compile_sync = None\n",
}


@pytest.mark.parametrize("kind", HARMFUL)
def test_what_is_wrong_is_seen(kind, run_case):
    files = {
        "salt/a.sls": "a: {odd.here: []}\n",
        "salt/_states/odd.py": HARMFUL[kind],
        "salt/_grains/odd.py": HARMFUL[kind],
        "pillar/x": "",
    }
    files["salt/_grains/odd.py"] += "def some(): return {'a': 1}\n"
    assert run_case(case(files, ["check", "a", *ROOTS, "--log-level", "quiet"])).kind == kind


LOOKS = {
    "open": "open('/proc/self/fd/99/beside/file')",
    "os.stat": "os.path.exists('../beside/none')",
    "os.lstat": "os.path.islink('../beside/file')",
    "os.readlink": "os.readlink('../beside/file')",
    "os.access": "os.access(b'../beside/file', os.R_OK)",
    "os.open": "os.open('beside', os.O_PATH, dir_fd=os.open('..', os.O_PATH))",
    "openat2": "filesystem.lexists(os.path.abspath('../beside/file'))",
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_beyond_the_roots_is_seen(look, run_case):
    text = f"import os\nfrom asyncstate import filesystem\ntry:\n    {LOOKS[look]}\nexcept OSError:\n    pass\n"
    files = {"salt/a.sls": "a: {test.nop: []}\n", "salt/_grains/odd.py": f"{text}def some(): return {{'a': 1}}\n"}
    found = run_case(case({**files, "pillar/x": ""}, ["check", "a", *ROOTS, "--log-level", "quiet"]))
    by = "os.stat" if look == "openat2" and os.geteuid() else look  # root alone walks to a path
    assert (found.kind, found.place.split()[0]) == ("opened", by)


@pytest.mark.parametrize("family", FAMILIES)
def test_odd_input_ends_well(family, run_case):
    tried(FAMILIES[family], run_case, 3)


def test_no_record_leads_out_of_the_roots_that_the_operator_chose(run_case):
    tried(FAMILIES["outward"], run_case, 60)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_much_odd_input_ends_well(family, run_case):
    tried(FAMILIES[family], run_case, 40)
