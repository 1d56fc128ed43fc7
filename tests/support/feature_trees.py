"""A small tree and a probe, to prove features with: what ran, in which order, with what result."""

from __future__ import annotations

import asyncio
import textwrap

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.dunders.context import current


class Rows(dict):
    """The rows of a report by name, in the order of the report; ``report`` is the whole of it."""

    def __init__(self, report):
        super().__init__()
        self.report = report
        for row in report.rows.values():
            assert row["name"] not in self, f"two rows of {row['name']}: look at the report"
            self[row["name"]] = row

    @property
    def results(self):
        return {name: row["result"] for name, row in self.items()}

    @property
    def comments(self):
        return {name: row["comment"] for name, row in self.items()}


class Tree:
    """Files below tmp_path, settings to read them with, and the state modules `x` and `y` of this process.

    `x.run(name, result, changes, predicted, sleep)` returns a row with these values; `x` has `mod_watch`, `y` has not. ``log``
    lists what was called (names, ``watch NAME`` for mod_watch), ``ends`` in which order calls of `run` ended.
    """

    def __init__(self, base):
        self.base = base
        self.log = []
        self.ends = []
        self.lows = []
        self.settings = {"implicit_order": "none"}
        self.states = {"x.run": self._run, "x.mod_watch": self._mod_watch, "y.run": self._run}
        (base / "salt").mkdir()
        (base / "pillar").mkdir()

    async def _run(  # noqa: PLR0917 - called with what SLS files say, by name
        self, name, result=True, changes=None, predicted=None, sleep=0, comment="done", extra=None, **kwargs
    ):
        self.lows.append((name, kwargs))
        test = current.get().opts["test"]
        self.log.append(f"test {name}" if test else name)
        if sleep:
            await asyncio.sleep(sleep)
        self.ends.append(name)
        if test and predicted is not None:
            result, changes = predicted
        return {"name": name, "result": result, "changes": changes or {}, "comment": comment, **(extra or {})}

    async def _mod_watch(self, name, sfun=None, watched=True, **kwargs):
        self.log.append(f"watch {name}")
        self.lows.append((f"watch {name}", {**kwargs, "sfun": sfun}))
        return {"name": name, "result": watched, "changes": {"watched": True}, "comment": "reacted"}

    def write(self, files):
        """Write files of the tree by name; names that begin with pillar/ are below the pillar root."""
        for name, text in files.items():
            path = self.base / (name if name.startswith("pillar/") else f"salt/{name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return self

    def runtime(self, **settings):
        roots = {
            "file_roots": {"base": [str(self.base / "salt")]},
            "pillar_roots": {"base": [str(self.base / "pillar")]},
        }
        values = {"id": "here", "cachedir": str(self.base / "cache"), "state_dir": str(self.base / "state")}
        return StateRuntime(Settings(**{**roots, **values, **self.settings, **settings}), states=self.states)

    def plan(self, sls="a", *, exclude=(), ids=(), saltenv=None, **settings):
        """Compile. ``sls`` is a text of names, None for the highstate."""
        with self.runtime(**settings).open_sync() as runtime:
            names = sls.split() if sls is not None else None
            return runtime.compile_sync(names, exclude=exclude, ids=ids, saltenv=saltenv)

    def order(self, sls="a", **settings):
        """The names of the states in serial order."""
        return [chunk.name for chunk in self.plan(sls, **settings).chunks]

    def low(self, sls="a", **settings):
        """Low data by name."""
        return {chunk.name: chunk.as_low() for chunk in self.plan(sls, **settings).chunks}

    def report(
        self,
        sls="a",
        *,
        test=None,
        concurrency=1,
        exclude=(),
        ids=(),
        failhard=None,
        timeout=None,
        mock=False,
        **settings,
    ):
        """Apply, and return the report."""

        async def apply():
            async with self.runtime(**settings) as runtime:
                return await runtime.apply(
                    sls.split() if sls is not None else None,
                    exclude=exclude,
                    ids=ids,
                    test=test,
                    concurrency=concurrency,
                    failhard=failhard,
                    timeout=timeout,
                    mock=mock,
                )

        self.log.clear()
        self.ends.clear()
        self.lows.clear()
        return asyncio.run(apply())

    def rows(self, sls="a", **options):
        """Apply, and return the rows by name."""
        return Rows(self.report(sls, **options))

    def errors(self, sls="a", **settings):
        """The mistakes that keep a tree from compiling."""
        from asyncstate.errors import CompileError

        with pytest.raises(CompileError) as caught:
            self.plan(sls, **settings)
        return list(caught.value.issues)

    def warnings(self, sls="a", **settings):
        """What a tree is warned of."""
        return list(self.plan(sls, **settings).warnings)
