"""A tree for each mistake that compiling finds, and the codes of the mistakes in a text."""

from contextlib import contextmanager

from tables import beside

from asyncstate import extend
from asyncstate.config import Settings
from asyncstate.errors import CompileError
from asyncstate.runtime import StateRuntime

TABLES = beside(__file__)

MISTAKES = TABLES["mistakes"]
"""A tree with each mistake that the compiler finds."""
VALUES = {
    "E410": "rights:\n  file.managed:\n    - name: /tmp/rights\n    - contents: x\n    - mode: rw-r--r--\n",
    "E412": "missing:\n  file.managed:\n    - name: {{ pillar.get('x') }}\n    - contents: x\n",
}
"""A tree with each kind of wrong value."""


@contextmanager
def codes_in(tmp_path):
    """Yield what returns the codes of the mistakes of a text, which other SLS of the folder may stand beside."""
    kept = {"cachedir": str(tmp_path / "cache"), "state_dir": str(tmp_path / "state")}
    with StateRuntime(Settings(file_roots={"base": [str(tmp_path)]}, journal="off", **kept)).open_sync() as runtime:
        if (judge := extend.offered("judge")) is not None:
            judge(runtime)

        def look(text, *more):
            (tmp_path / "a.sls").write_text(text)
            try:
                issues = runtime.compile_sync(["a", *more]).warnings
            except CompileError as error:
                issues = error.issues
            return {issue.code for issue in issues if issue.mistake or issue.code.startswith("E")}

        yield look
