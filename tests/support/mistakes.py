"""A tree for each mistake that compiling finds, and the codes of the mistakes in a text."""

from contextlib import contextmanager

from asyncstate import extend
from asyncstate.config import Settings
from asyncstate.errors import CompileError
from asyncstate.runtime import StateRuntime

MISTAKES = {
    "E201": "5:\n  test.nop: []\n",
    "E204": "mapping:\n  file.managed:\n    name: /tmp/mapping\n    contents: x\n",
    "E205": "colon:\n  test.nop:\n",
    "E207": "two:\n  cmd.run: [x, y]\n",
    "E212": "names:\n  test.nop:\n    - names: x\n",
    "E217": "reaching:\n  test.nop:\n    - require_in:\n      - test: nowhere\n",
    "E301": "text:\n  test.nop:\n    - require: x\n",
    "E302": "crowded:\n  test.nop:\n    - require: [{test: a, file: b}]\n",
    "E305": "reference:\n  test.nop:\n    - require:\n      - test: gone\n",
    "E307": "round:\n  test.nop:\n    - require:\n      - test: back\n"
    "back:\n  test.nop:\n    - require:\n      - test: round\n",
    "E401": "function:\n  test.nopp: []\n",
    "E402": "argument:\n  environ.setenv:\n    - valu: x\n    - value: x\n",
    "E403": "required:\n  file.symlink:\n    - name: /tmp/required\n",
    "E404": "keyword:\n  service.running:\n    - restart: True\n",
    "E407": "source:\n  file.managed:\n    - name: /tmp/source\n    - source: salt://gone\n",
}
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
