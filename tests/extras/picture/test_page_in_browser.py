"""The page of a report, as its reader has it: in a real browser, with a mouse and a keyboard."""

from __future__ import annotations

import pytest
from looked_at import chosen, listed, middle, number_of
from plans import PlanBuilder
from report_page import page_of, row

from asyncstate.extras.picture.picture import html
from asyncstate.extras.picture.plan_graph import picture_of
from asyncstate.report.terminal import short_time

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>"


def small():
    """Six states: `site` waits for `conf`, which waits for `pkg`; an implied edge; one failure, which held one back."""
    plan = PlanBuilder()
    plan.chunk("pkg").chunk("conf", require=["pkg"]).chunk("site", require=["conf", "pkg"]).chunk("alone")
    plan.chunk("bad", require=["pkg"]).chunk("late", require=["bad"])
    rows = {
        "pkg": row(comment="Already installed"),
        "conf": row(changes={"diff": "--- a\n+++ b\n@@ -1 +1 @@\n-Port 22\n+Port 2222\n"}),
        "site": row(),
        "alone": row(),
        "bad": row(result=False, comment="it broke\nbadly"),
        "late": row(result=False, __state_ran__=False, comment="requisite failed"),
    }
    return page_of(rows, plan.build(), seconds=1.0)


def planned():
    """The picture of a plan: two states that wait for one, and nothing that ran."""
    plan = PlanBuilder().chunk("pkg").chunk("conf", require=["pkg"]).chunk("site", require=["pkg"])
    return html(picture_of(plan.build()), "plan of web")


def is_in_view(page, name):
    return page.evaluate(
        """number => {
          const item = list.items.get(number);
          if (!item) return false;
          const [own, view] = [item.getBoundingClientRect(), list.scroller.getBoundingClientRect()];
          return own.top < view.bottom && own.bottom > view.top;
        }""",
        number_of(page, name),
    )


def settled(page):
    """Let what is due be drawn, and drawn again where a size was measured."""
    page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))))"
    )


def test_a_picture_of_a_plan_lists_and_draws_its_states_and_has_neither_verdict_nor_times(looking):
    with looking(planned()) as page:
        settled(page)
        assert listed(page) == ["pkg", "conf", "site"]
        assert [page.locator(each).is_visible() for each in (".verdict", "#sorting", "#timeline")] == [False] * 3
        assert page.locator("#graph canvas").is_visible()
        assert page.evaluate("dag.drawn.width > 0")
        assert page.locator("button.count").inner_text().split() == ["▷", "Planned", "3"]


def test_failures_come_first_and_are_open(looking):
    with looking(small()) as page:
        settled(page)
        assert listed(page) == ["bad", "late", "conf", "pkg", "site", "alone"]
        assert "it broke\nbadly" in page.locator(".item.failed .detail").inner_text()
        assert page.locator(".detail").count() == 1
        page.locator(".row", has_text="late").click()
        assert "requires test: bad, which failed" in page.locator(".item.held .row").inner_text()
        assert page.locator(".item.held .took").inner_text() == "", "it was not called"
        held = page.locator(".item.held .detail").inner_text()
        assert "Held back: requires test: bad, which failed" in held
        assert "Began" not in held
        page.select_option("#order", "serial")
        assert listed(page) == ["pkg", "conf", "site", "alone", "bad", "late"]


def test_times_are_written_as_a_terminal_has_them(looking):
    seconds = [0, 0.0124, 0.9994, 0.9996, 1.26, 59.94, 59.96, 60, 125, 3599.4, 3599.6, 3720, 86_399.6, 86_400, 1e6]
    with looking(small()) as page:
        assert page.evaluate("seconds => seconds.map(shortTime)", seconds) == list(map(short_time, seconds))


def test_results_filter_and_the_search_looks_through_everything(looking):
    with looking(small()) as page:
        page.click("[data-kind=failed]")
        assert listed(page) == ["bad"]
        page.click("[data-kind=changed]")
        assert listed(page) == ["bad", "conf"]
        assert page.locator("[data-kind=changed]").get_attribute("aria-pressed") == "true"
        assert page.locator("#shown").inner_text() == "2 of 6 states"
        page.fill("#search", "PORT 2222")
        assert listed(page) == ["conf"], "a search within changes, whatever its case; all words count"
        page.fill("#search", "port nowhere")
        assert page.locator("#list .empty").is_visible()
        page.keyboard.press("Escape")
        assert len(listed(page)) == 6
        page.fill("#search", "alo nop")
        assert page.locator("mark").all_text_contents() == ["alo", "nop"]


def test_bar_row_and_box_are_one(looking):
    with looking(small()) as page:
        page.mouse.click(*middle(page, "timeline", "site"))
        assert chosen(page) == "site"
        settled(page)
        assert is_in_view(page, "site")
        assert page.locator(".item.chosen .detail").count() == 1
        page.wait_for_url("**#state=2")
        page.mouse.click(*middle(page, "dag", "conf"))
        assert chosen(page) == "conf"
        assert page.locator(".item.chosen .id").inner_text() == "conf"
        page.click(".item.chosen .links button >> text=pkg")
        assert chosen(page) == "pkg"
        page.locator(".row", has_text="alone").click()
        assert chosen(page) == "alone"
        page.mouse.move(*middle(page, "timeline", "conf"))
        assert page.locator(".item.hovered .id").inner_text() == "conf"
        assert page.locator("#tip").inner_text() == "test.nop: conf\nChanged, 1.0 s"
        page.locator(".row", has_text="late").hover()
        assert page.evaluate("states[choice.hovered].id") == "late"


def test_an_address_leads_to_a_state_even_if_a_filter_hides_it(looking):
    with looking(small(), address="#state=3") as page:
        assert chosen(page) == "alone"
        page.click("[data-kind=failed]")
        page.evaluate("location.hash = '#state=1'")
        page.wait_for_selector(".item.chosen .id >> text=conf")
        assert len(listed(page)) == 6


def test_an_address_that_is_typed_at_once_is_not_undone(looking):
    with looking(small()) as page:
        page.evaluate("choose(3)")
        page.evaluate(
            "new Promise((done) => { const end = Date.now() + 300; while (Date.now() < end);"
            " location.hash = '#state=1'; setTimeout(done, 0); })"
        )
        page.wait_for_function("choice.selected === 1 && location.hash === '#state=1'")


def deep(layers=30):
    """Layers of three states, each of which waits for one of the layer before; one in the middle failed."""
    plan, rows = PlanBuilder(), {}
    for layer in range(layers):
        for name in "abc":
            before = f"{name}{layer - 1}"
            plan.chunk(f"{name}{layer}", **({"require": [before]} if before in rows else {}))
            rows[f"{name}{layer}"] = row(result=(name, layer) != ("b", layers // 2))
    return page_of(rows, plan.build())


def test_a_deep_graph_goes_down_and_begins_where_it_can_be_read(looking):
    with looking(deep()) as page:
        settled(page)
        assert page.evaluate("dag.drawn.isDown")
        assert page.evaluate("dag.view.scale >= READABLE")
        box = page.evaluate("number => dag.boxOf(number)", number_of(page, "b15"))
        assert 0 < box["x"] < page.evaluate("dag.width")
        assert 0 < box["y"] < page.evaluate("dag.height")
        boxes = page.evaluate("[...dag.drawn.boxes.values()].map(({ x, y, width, height }) => [x, y, width, height])")
        for number, (x, y, width, height) in enumerate(boxes):
            for left, top, wide, high in boxes[:number]:
                assert x >= left + wide or left >= x + width or y >= top + high or top >= y + height
        page.keyboard.press("0")
        assert page.evaluate("dag.view.scale === dag.whole()")


def test_a_graph_that_is_broad_and_flat_goes_to_the_right(looking):
    with looking(small()) as page:
        settled(page)
        assert not page.evaluate("layout([0, 1], [[0, 1]], () => 100, { width: 900, height: 200 }).isDown")


def test_the_row_of_a_state_that_was_held_back_says_why_at_any_width(looking):
    with looking(small()) as page:
        for width in (1300, 480):
            page.set_viewport_size({"width": width, "height": 900})
            settled(page)
            assert page.locator(".item.held .reason").inner_text() == "requires test: bad, which failed"
            reason, next_ = (page.locator(f".item{each} .row").bounding_box() for each in (".held", ".changed"))
            assert reason["y"] + reason["height"] <= next_["y"] + 1


def test_all_of_it_can_be_done_with_keys(looking):
    with looking(small()) as page:
        page.keyboard.press("j")
        assert chosen(page) == "bad"
        assert page.evaluate("document.activeElement.matches('.item.chosen .row:focus-visible')")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        assert chosen(page) == "late"
        page.keyboard.press("Enter")
        row_ = page.locator(".item.chosen .row")
        assert row_.get_attribute("aria-expanded") == "true"
        page.keyboard.press("Enter")
        assert row_.get_attribute("aria-expanded") == "false"
        page.keyboard.press("End")
        assert chosen(page) == "alone"
        page.keyboard.press("f")
        assert chosen(page) == "bad"
        page.keyboard.press("/")
        page.keyboard.type("jkf?/conf"[:3])
        assert page.locator("#search").input_value() == "jkf", "letters in the search are letters"
        page.fill("#search", "conf")
        page.keyboard.press("Enter")
        assert chosen(page) == "conf"
        page.keyboard.press("Escape")
        assert len(listed(page)) == 6
        page.keyboard.press("Escape")
        assert chosen(page) is None
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()
        page.keyboard.press("j")
        page.keyboard.press("Escape")
        assert not page.locator("#help").is_visible()
        assert chosen(page) is None


def test_everything_has_a_name_for_those_who_do_not_see_it(looking):
    with looking(small()) as page:
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll("button, input, select, canvas, section, [role=list]")]
              .filter((each) => !(each.textContent.trim() || each.labels?.length || each.getAttribute("aria-label")))
              .map((each) => each.outerHTML)"""
        )
        assert unnamed == []
        first = page.locator("[role=listitem]").first
        assert (first.get_attribute("aria-posinset"), first.get_attribute("aria-setsize")) == ("1", "6")
        assert first.locator("[role=img]").get_attribute("aria-label") == "Failed"


def test_the_graph_moves_zooms_and_has_implied_edges_on_demand(looking):
    with looking(small()) as page:
        canvas = page.locator("#graph canvas").bounding_box()
        assert page.evaluate("dag.drawn.edges.length") == 4
        x, y = middle(page, "dag", "conf")
        before = page.evaluate("dag.view.scale")
        page.mouse.move(x, y)
        page.mouse.wheel(0, -400)
        assert page.evaluate("dag.view.scale") > before * 1.5
        after = middle(page, "dag", "conf")
        assert after == pytest.approx((x, y), abs=1), "what is below the pointer stays there"
        page.mouse.down()
        page.mouse.move(x + 50, y + 30, steps=4)
        page.mouse.up()
        assert middle(page, "dag", "conf") == pytest.approx((x + 50, y + 30), abs=1)
        assert chosen(page) is None, "a drag chooses nothing"
        page.keyboard.press("0")
        assert page.evaluate("dag.view.scale") == pytest.approx(before)
        page.click("#graph [aria-label^='Zoom in']")
        assert page.evaluate("dag.view.scale") == pytest.approx(before * 1.5)
        page.check("#implied")
        assert page.evaluate("dag.drawn.edges.length") == 5
        page.select_option("#around", "near")
        assert page.locator("#graph .empty").is_visible()
        page.locator(".row", has_text="late").click()
        assert page.evaluate("[...dag.drawn.boxes.keys()].map((each) => states[each].id)") == ["pkg", "bad", "late"]
        assert canvas["height"] > 200


def test_the_timeline_zooms_and_stays_within_the_run(looking):
    with looking(small()) as page:
        x, y = middle(page, "timeline", "alone")
        page.mouse.move(x, y)
        page.mouse.wheel(0, -600)
        assert page.evaluate("timeline.view.scale / timeline.smallest()") > 2
        assert middle(page, "timeline", "alone")[0] == pytest.approx(x, abs=2)
        page.mouse.down()
        page.mouse.move(x + 5000, y, steps=3)
        page.mouse.up()
        assert page.evaluate("timeline.view.x") == page.evaluate("timeline.margin")
        page.locator(".row", has_text="late").click()
        box = page.evaluate("number => timeline.boxOf(number)", number_of(page, "late"))
        assert 0 <= box["x"] < page.evaluate("timeline.width"), "a chosen bar comes into view"


CONTRAST = """() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/\\w\\w/g).map((two) => parseInt(two, 16) / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const all = colours();
  const against = (one, other) => {
    const [a, b] = [light(all[one]), light(all[other])].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const texts = ["text", "muted", "accent", ...KINDS.map(([kind]) => kind)];
  return Math.min(...texts.flatMap((text) => ["ground", "panel", "raised"].map((under) => against(text, under))));
}"""


def test_light_and_dark_can_both_be_read(looking):
    with looking(small(), color_scheme="light") as page:
        settled(page)
        assert page.evaluate(CONTRAST) >= 4.5
        light = page.evaluate("[getComputedStyle(document.body).backgroundColor, dag.colours.raised]")
        page.emulate_media(color_scheme="dark")
        settled(page)
        assert page.evaluate(CONTRAST) >= 4.5
        dark = page.evaluate("[getComputedStyle(document.body).backgroundColor, dag.colours.raised]")
        assert light == ["rgb(255, 255, 255)", "#ffffff"]
        assert dark == ["rgb(18, 22, 28)", "#1f2732"], "the pictures follow, too"


def test_no_text_of_a_run_becomes_a_script(looking):
    hostile = row(
        result=False, changes={HOSTILE: HOSTILE}, comment=HOSTILE, warnings=[HOSTILE], __sls__=HOSTILE
    )  # fmt: skip
    with looking(page_of({HOSTILE: hostile, "after": row()}, after={"after": HOSTILE})) as page:
        page.fill("#search", "onerror")
        assert page.locator("mark").count() > 0
        page.keyboard.press("Escape")
        page.mouse.move(*middle(page, "timeline", HOSTILE))
        assert HOSTILE in page.locator("#tip").inner_text()
        assert page.locator(".detail .comment").first.inner_text() == HOSTILE
        assert page.locator("img, svg, iframe").count() == 0
        assert page.locator("script").count() == 2


def test_what_would_get_into_the_page_could_neither_run_nor_ask(looking):
    with looking(small(), said="Content Security Policy") as page:
        blocked = page.evaluate(
            """async () => {
              const found = [];
              document.addEventListener("securitypolicyviolation", (event) => found.push(event.effectiveDirective));
              const script = document.createElement("script");
              script.textContent = "window.taken = true";
              document.body.append(script);
              const holder = document.createElement("div");
              holder.innerHTML = "<a onclick='window.taken = true' style='color: red'>x</a><img src='http://127.0.0.1:9/x'>";
              document.body.append(holder);
              holder.firstChild.click();
              await fetch("http://127.0.0.1:9/").catch(() => found.push("refused"));
              await new Promise((done) => setTimeout(done, 50));
              return [found, window.taken ?? null];
            }"""
        )
        assert blocked[1] is None
        assert {"script-src-elem", "script-src-attr", "style-src-attr", "connect-src", "img-src", "refused"} == set(
            blocked[0]
        )


def test_names_of_a_megabyte_are_cut(looking):
    long = "x" * 1_000_000
    with looking(page_of({long: row(), "b": row()}, after={"b": long})) as page:
        page.mouse.move(*middle(page, "timeline", long))
        assert len(page.locator("#tip").inner_text()) < 700
        page.locator(".row", has_text="b").last.click()
        assert len(page.locator(".item.chosen .links button").inner_text()) < 400
        page.fill("#search", long[:100])
        assert page.locator(".item").count() == 1


def test_a_very_long_text_is_shown_on_demand(looking):
    long = "line of output\n" * 10_000 + "the end"
    with looking(page_of({"a": row(result=False, comment=long)})) as page:
        comment = page.locator(".comment")
        assert len(comment.inner_text()) < 25_000
        page.click("text=Show more: 20,000 of 150,007 characters")
        assert comment.evaluate("(each) => each.textContent.length") == len(long)


def test_ten_thousand_states_are_all_there(looking):
    names = [f"state {number}" for number in range(10_000)]
    plan = PlanBuilder()
    for number, name in enumerate(names):
        plan.chunk(name, require=[names[number // 2], names[number - 1]] if number > 1 else [])
    rows = {name: row(result=number != 7000, comment=f"comment {number}") for number, name in enumerate(names)}
    with looking(page_of(rows, plan.build(), seconds=0.01)) as page:
        assert listed(page)[0] == "state 7000"
        assert page.locator(".item").count() < 100, "only what is in view is in the document"
        page.keyboard.press("End")
        assert chosen(page) == "state 9999"
        assert is_in_view(page, "state 9999")
        page.fill("#search", "comment 1234")
        assert listed(page) == ["state 1234"]
        page.keyboard.press("Enter")
        assert page.evaluate("dag.drawn.boxes.has(1234)")
        assert page.evaluate("dag.drawn.boxes.size") < 200
        page.keyboard.press("Escape")
        page.select_option("#around", "all")
        assert page.evaluate("dag.drawn.boxes.size") == 10_000
        settled(page)
        page.mouse.click(*middle(page, "dag", "state 1234"))
        assert chosen(page) == "state 1234"


def test_without_scripts_there_are_the_counts_and_the_failures(looking):
    with looking(small(), java_script_enabled=False) as page:
        assert page.locator("[data-kind=failed]").inner_text().split() == ["✗", "Failed", "1"]
        assert "it broke" in page.locator("noscript").inner_text()
        assert not page.locator("main").is_visible()
