"""The page of a report in a real Chromium: from its file to the first picture, and what a reader does with it.

``python benchmarks/report_page.py [COUNT [SHAPE]]`` applies a tree of COUNT states (10,000) of a shape of ``trees.py``
(layered) with ``--report``, and opens the page. Each time is from the act of the reader until the browser has drawn
what follows from it. `.ci/browser-tools` brings Chromium.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from trees import SHAPES

TOOLS = Path(__file__).resolve().parent.parent / "build" / "browser-tools"
ROUNDS = 5

DRAWN = """async (act) => {
  const began = performance.now();
  act();
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - began;
}"""
LOADED = """() => new Promise((done) => {
  const paint = () => performance.getEntriesByName("first-contentful-paint")[0];
  const { domContentLoadedEventEnd } = performance.getEntriesByType("navigation")[0];
  const wait = () => paint() ? done([domContentLoadedEventEnd, paint().startTime]) : requestAnimationFrame(wait);
  wait();
})"""
ACTS = {
    "search for a word that few have": "() => { choice.search(''); choice.search('s1234'); }",
    "search for a word that all have": "() => choice.search('test')",
    "show unchanged states only": "() => choice.toggle('unchanged')",
    "longest first": "() => choice.sort('took')",
    "scroll to the middle": "() => { list.scroller.scrollTop = list.scroller.scrollHeight / 2; }",
    "choose a state": "() => choice.select(states.length >> 1)",
    "point at a bar": "() => { timeline.hit(300, 30); choice.hover(7); }",
    "zoom the timeline": "() => timeline.zoom(1.5)",
    "show the whole graph": "() => { dag.around.value = 'all'; dag.layouts.clear(); dag.change(); }",
    "move the whole graph": "() => dag.shift(5, 5)",
}


def applied(folder: Path, count: int, shape: str) -> tuple[Path, float, float]:
    """Apply the tree; return the page, and the wall time of an apply with and without it."""
    folder.joinpath("web.sls").write_text("".join(SHAPES[shape](count)))
    page = folder / "run.html"
    environ = {
        **os.environ,
        "HOME": str(folder),
        "ASYNCSTATE_STATE_DIR": str(folder / "state"),
        "ASYNCSTATE_CACHEDIR": str(folder / "cache"),
    }
    walls = []
    for more in ([], ["--report", str(page)]):
        words = ["asyncstate", "apply", "web", "--file-root", str(folder), "--out", "json", *more]
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", *words], env=environ, stdout=subprocess.DEVNULL, check=True)
        walls.append(time.perf_counter() - began)
    return page, walls[1], walls[0]


def measured(browser: Any, page: Path) -> dict[str, list[float]]:
    """Return the milliseconds of loading, and of each act, of all rounds."""
    found: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        window = browser.new_page(viewport={"width": 1400, "height": 900})
        window.goto(page.as_uri())
        ready, painted = window.evaluate(LOADED)
        found.setdefault("load: all is there", []).append(ready)
        found.setdefault("load: first picture", []).append(painted)
        for name, act in ACTS.items():
            found.setdefault(name, []).append(window.evaluate(f"() => ({DRAWN})({act})"))
        window.close()
    return found


def main(count: int = 10_000, shape: str = "layered") -> None:
    """Print the shortest and the median time of each: on a busy machine, the shortest says what the page needs."""
    sys.path.insert(0, str(TOOLS / "python"))
    playwright = importlib.import_module("playwright.sync_api")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as name, playwright.sync_playwright() as driver:
        page, with_page, without = applied(Path(name), count, shape)
        size = page.stat().st_size / 1e6
        print(f"{count} states ({shape}): apply {without:.1f} s, with the page {with_page:.1f} s; {size:.1f} MB")
        browser = driver.chromium.launch(executable_path=TOOLS / "chromium", args=sandbox)
        for what, times in measured(browser, page).items():
            print(f"{what:36} {min(times):5.0f} ms   median {sorted(times)[len(times) // 2]:5.0f} ms")
        browser.close()


if __name__ == "__main__":
    main(*(int(word) if word.isdigit() else word for word in sys.argv[1:]))  # type: ignore[arg-type]
