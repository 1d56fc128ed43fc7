"""``asyncstate lsp`` where it cannot serve; tests/extras/editor has all that it answers."""

import subprocess
import sys

WITHOUT_PYGLS = """
import sys
sys.modules["pygls"] = sys.modules["lsprotocol"] = None
sys.argv[1:] = ["lsp"]
from asyncstate.cli import main
sys.exit(main())
"""


def test_without_pygls_the_extra_is_named(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYGLS], env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "pip install 'pygls>=2.0'" in done.stderr
    assert "Traceback" not in done.stderr
