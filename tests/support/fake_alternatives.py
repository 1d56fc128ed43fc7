"""A small update-alternatives."""

from __future__ import annotations

from pathlib import Path

from asyncstate.modules import alternatives as module


class FakeAlternatives:
    """Names with their paths and priorities; the links are real, in a folder."""

    def __init__(self, plugins):
        plugins.salt["cmd.run_all"] = self.run_all
        self.names = {"editor": {"/bin/ed": 100, "/bin/vi": 30}}
        self.manual = set()
        self.broken = False

    def _link(self, name, path):
        (Path(module._LINKS) / name).unlink(missing_ok=True)
        if path:
            (Path(module._LINKS) / name).symlink_to(path)

    def _best(self, name):
        paths = self.names.get(name, {})
        return max(paths, key=paths.get) if paths else None

    def run_all(self, command, **_):
        action, *rest = command[1:]
        return getattr(self, action.strip("-"))(*rest)

    def display(self, name):
        if not self.names.get(name):
            return answer(2, f"update-alternatives: error: no alternatives for {name}")
        mode = "manual" if name in self.manual else "auto"
        lines = [f"{name} - {mode} mode", *(f"{path} - priority {n}" for path, n in self.names[name].items())]
        return answer(0, "\n".join(lines))

    def install(self, link, name, path, priority):
        if path == "/gone":
            return answer(2, f"update-alternatives: error: alternative path {path} doesn't exist")
        self.names.setdefault(name, {})[path] = int(priority)
        return self.auto(name) if name not in self.manual else answer(0, "")

    def remove(self, name, path):
        del self.names[name][path]
        return self.auto(name)

    def auto(self, name):
        self.manual.discard(name)
        self._link(name, self._best(name))
        return answer(0, f"update-alternatives: using {self._best(name)}")

    def set(self, name, path):
        if not self.broken:
            self.manual.add(name)
            self._link(name, path)
        return answer(0, "")


def answer(retcode, text):
    return {"retcode": retcode, "stdout": "" if retcode else text, "stderr": text if retcode else ""}
