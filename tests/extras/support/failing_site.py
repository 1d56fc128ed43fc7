"""A tree on one machine whose second state fails until there is a mark, for commands that look at past runs."""

TREE = """
first:
  cmd.run:
    - name: echo first >> {log}
second:
  cmd.run:
    - name: test -e {mark}
    - require: [{{cmd: first}}]
third:
  cmd.run:
    - name: echo third >> {log}
    - require: [{{cmd: second}}]
beside:
  cmd.run:
    - name: echo beside >> {log}
"""


class Site:
    """A tree whose second state fails until there is a mark, and a log of what was done."""

    def __init__(self, path, run_cli):
        self.path, self._run = path, run_cli
        self.log, self.mark, self.sls = path / "log", path / "mark", path / "salt" / "web.sls"
        self.sls.parent.mkdir()
        self.write(TREE)

    def write(self, text):
        self.sls.write_text(text.format(log=self.log, mark=self.mark))

    def call(self, *words, code=0, tree=True):
        roots = ("--file-root", self.sls.parent) if tree else ()
        done = self._run(*words, *roots, cwd=self.path)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def done(self):
        """What was done since this was last asked."""
        words = sorted(self.log.read_text().split()) if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return words
