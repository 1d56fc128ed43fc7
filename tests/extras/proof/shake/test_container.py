"""A program in another root: rights that a container lacks are not among those it keeps. Rooms test the rest."""

import os
import sys

import pytest

from asyncstate.extras.proof.shake.container import CAPABILITIES
from asyncstate.process.child import run_child

FORBIDDEN = {
    "linux_immutable": 9,
    "sys_module": 16,
    "sys_rawio": 17,
    "sys_ptrace": 19,
    "sys_admin": 21,
    "sys_boot": 22,
    "sys_time": 25,
}
NOWHERE = """
import sys
from asyncstate.extras.proof.shake.container import run_contained
sys.exit(run_contained(["/bin/true"], {}, sys.argv[1], "/old", stdin=b"", stdout=1))
"""


def test_nothing_of_the_kernel_is_left():
    assert not CAPABILITIES & set(FORBIDDEN.values())


def test_a_root_that_cannot_be_entered_is_said(tmp_path):
    done = run_child([sys.executable, "-c", NOWHERE, str(tmp_path / "none")], env={**os.environ})
    assert done.returncode == 71
    assert b"the root cannot be entered: " in done.stderr


@pytest.mark.parametrize("name", sorted(FORBIDDEN))
def test_the_kernel_calls_them_so(name):
    headers = "/usr/include/linux/capability.h"
    if not os.path.exists(headers):
        pytest.skip("there are no headers of the kernel here")
    with open(headers, encoding="utf-8") as file:
        words = [line.split() for line in file if line.startswith("#define CAP_")]
    assert ["#define", f"CAP_{name.upper()}", str(FORBIDDEN[name])] in [line[:3] for line in words]
