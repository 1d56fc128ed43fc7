// The list of states. Only what is in view, and the chosen state, is in the document: ten thousand states scroll like ten.
// A document of few states has all of them, so that the browser can search and print it.

const ROW_HEIGHT = 31;
const ALL_AT_ONCE = 400;
const BEYOND = 12; // rows above and below the view
const LONG_TEXT = 20000; // characters of a text that are shown at first
const MOST_LINKS = 30;
const LONG_NAME = 300; // characters of a name that a line shows

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function shortened(text, length) {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

// The text with each of the words that are searched for in a <mark>.
function marked(tag, className, whole) {
  const made = element(tag, className);
  const text = shortened(whole, LONG_NAME);
  const lower = text.toLowerCase();
  let at = 0;
  while (choice.words.length && lower.length === text.length) {
    const found = choice.words.map((word) => [lower.indexOf(word, at), word]).filter(([place]) => place >= 0);
    if (!found.length) break;
    const [place, word] = found.reduce((best, each) => (each[0] < best[0] ? each : best));
    made.append(text.slice(at, place), element("mark", "", text.slice(place, place + word.length)));
    at = place + word.length;
  }
  made.append(text.slice(at));
  return made;
}

// A text in <pre>; of a very long one the beginning, and a button that shows ten times as much.
function block(className, text, fill) {
  const pre = element("pre", className);
  const show = (length) => {
    pre.replaceChildren();
    fill(pre, text.slice(0, length));
    if (text.length > length) pre.append("\n", moreButton(length, text.length, () => show(10 * length)));
  };
  show(LONG_TEXT);
  return pre;
}

function moreButton(shown, all, act) {
  const button = element("button", "", `Show more: ${shown.toLocaleString("en")} of ${all.toLocaleString("en")} characters`);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}

function plainText(pre, text) {
  pre.append(text);
}

const COLOURS = { "\u0001": "add", "\u0002": "del", "\u0003": "at" };

// Changes have marks for colours: one of COLOURS begins a colour, \u0004 ends it.
function colouredText(pre, text) {
  let colour = "";
  for (const part of text.split(/([\u0001-\u0004])/)) {
    if (part.length === 1 && part <= "\u0004") colour = COLOURS[part] ?? "";
    else if (part) pre.append(colour ? element("span", colour, part) : part);
  }
}

class StateList {
  constructor(section) {
    this.scroller = section.querySelector(".scroller");
    this.rows = section.querySelector(".rows");
    this.empty = section.querySelector(".empty");
    this.items = new Map(); // the items in the document, by the number of their state
    this.open = new Map(); // the height of each open state
    this.tops = new Float64Array(1); // where each place of the list begins, and where the last ends
    this.placeOf = new Int32Array(states.length);
    this.sizes = new ResizeObserver((entries) => this.resized(entries));
    this.scroller.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    this.rows.addEventListener("click", (event) => this.clicked(event));
    this.rows.addEventListener("mouseover", (event) => choice.hover(this.numberOf(event.target)));
    this.rows.addEventListener("mouseleave", () => choice.hover(-1));
    choice.on("filter", () => this.filtered());
    choice.on("hover", () => this.mark());
    choice.on("select", (from) => this.selected(from));
  }

  numberOf(target) {
    const item = target.closest(".item");
    return item ? Number(item.dataset.state) : -1;
  }

  clicked(event) {
    if (!event.target.closest(".row")) return;
    const number = this.numberOf(event.target);
    this.toggle(number);
    choice.select(number, this);
  }

  toggle(number) {
    if (this.open.has(number)) this.open.delete(number);
    else this.open.set(number, 200); // until it is measured
    this.drop(number);
    this.measure();
    this.draw();
  }

  // Take an item out of the document: it is made anew when it is in view.
  drop(number) {
    const item = this.items.get(number);
    if (!item) return;
    this.sizes.unobserve(item);
    item.remove();
    this.items.delete(number);
  }

  filtered() {
    for (const number of [...this.items.keys()]) this.drop(number);
    this.placeOf.fill(-1);
    choice.shown.forEach((number, place) => { this.placeOf[number] = place; });
    this.empty.hidden = choice.shown.length > 0;
    this.measure();
    this.scroller.scrollTop = 0;
    this.draw();
  }

  measure() {
    const shown = choice.shown;
    const tops = new Float64Array(shown.length + 1);
    for (let place = 0; place < shown.length; place += 1) {
      tops[place + 1] = tops[place] + ROW_HEIGHT + (this.open.get(shown[place]) ?? 0);
    }
    this.tops = tops;
    this.rows.style.height = `${tops[shown.length]}px`;
  }

  resized(entries) {
    for (const { target } of entries) {
      const number = Number(target.dataset.state);
      const detail = target.querySelector(".detail");
      if (detail && this.open.has(number)) this.open.set(number, detail.offsetHeight);
    }
    this.measure();
    this.draw();
  }

  // The place of the list at this height.
  placeAt(height) {
    let low = 0;
    let high = Math.max(0, this.tops.length - 2);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle] <= height) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  wanted() {
    const shown = choice.shown;
    if (shown.length <= ALL_AT_ONCE) return new Set(shown);
    const top = this.scroller.scrollTop;
    const first = Math.max(0, this.placeAt(top) - BEYOND);
    const last = this.placeAt(top + this.scroller.clientHeight) + BEYOND;
    const wanted = new Set(shown.slice(first, last + 1));
    for (const number of [choice.selected, this.numberOf(document.activeElement)]) { // what has the focus keeps it
      if (isState(number) && this.placeOf[number] >= 0) wanted.add(number);
    }
    return wanted;
  }

  draw() {
    const wanted = this.wanted();
    for (const number of [...this.items.keys()]) if (!wanted.has(number)) this.drop(number);
    for (const number of wanted) {
      const item = this.items.get(number) ?? this.add(number);
      item.style.transform = `translateY(${this.tops[this.placeOf[number]]}px)`;
    }
  }

  add(number) {
    const item = this.made(number);
    this.items.set(number, item);
    const after = this.rows.children;
    const place = this.placeOf[number];
    let next = after.length; // the document has the order of the list, for those who read or tab through it
    while (next > 0 && this.placeOf[Number(after[next - 1].dataset.state)] > place) next -= 1;
    this.rows.insertBefore(item, after[next] ?? null);
    if (this.open.has(number)) this.sizes.observe(item);
    this.markItem(number, item);
    return item;
  }

  made(number) {
    const state = states[number];
    const item = element("div", `item ${state.kind}`);
    item.dataset.state = number;
    item.setAttribute("role", "listitem");
    item.setAttribute("aria-setsize", choice.shown.length);
    item.setAttribute("aria-posinset", this.placeOf[number] + 1);
    const isOpen = this.open.has(number);
    item.append(this.head(number, isOpen));
    if (isOpen) item.append(detailOf(number));
    return item;
  }

  head(number, isOpen) {
    const state = states[number];
    const row = element("button", "row");
    row.type = "button";
    row.setAttribute("aria-expanded", isOpen);
    const sign = element("span", "sign", SIGNS[state.kind]);
    sign.title = page.words[state.kind];
    sign.setAttribute("role", "img");
    sign.setAttribute("aria-label", page.words[state.kind]);
    const names = marked("span", "id", state.id);
    if (state.name) names.append(" ", marked("span", "name", state.name));
    const where = page.hosts.length ? `${page.hosts[state.host ?? 0]} ${state.sls ?? ""}` : state.sls ?? "";
    const others = [marked("span", "function", state.function), marked("span", "sls", where)];
    row.append(
      sign,
      names,
      ...(state.held ? [marked("span", "reason", state.held)] : others), // which needs their room
      element("span", "took", wasCalled(state) ? shortTime(seconds(state)) : ""),
    );
    return row;
  }

  mark() {
    for (const [number, item] of this.items) this.markItem(number, item);
  }

  markItem(number, item) {
    item.classList.toggle("chosen", number === choice.selected);
    item.classList.toggle("hovered", number === choice.hovered);
    if (number === choice.selected) item.firstChild.setAttribute("aria-current", "true");
    else item.firstChild.removeAttribute("aria-current");
  }

  selected(from) {
    const number = choice.selected;
    if (isState(number) && from !== this && this.placeOf[number] >= 0) {
      if (from !== "keys" && !this.open.has(number)) this.toggle(number);
      this.show(number);
    }
    this.draw();
    this.mark();
    if (from === "keys" || from === "link") this.items.get(number)?.firstChild.focus({ preventScroll: true });
  }

  // Scroll so far that the state is in view.
  show(number) {
    const place = this.placeOf[number];
    const height = this.scroller.clientHeight;
    const top = this.tops[place];
    const bottom = Math.min(this.tops[place + 1], top + height);
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (bottom > this.scroller.scrollTop + height) this.scroller.scrollTop = bottom - height;
  }

  // Choose the state so many places further down.
  step(by) {
    if (!choice.shown.length) return;
    const at = isState(choice.selected) ? this.placeOf[choice.selected] : -1;
    const place = Math.min(Math.max(at < 0 ? by - 1 : at + by, 0), choice.shown.length - 1);
    choice.select(choice.shown[place], "keys");
  }

  // Choose the next state of this kind, from the top again after the last.
  stepTo(kind) {
    const at = isState(choice.selected) ? this.placeOf[choice.selected] : -1;
    const after = choice.shown.findIndex((number, place) => place > at && states[number].kind === kind);
    const next = after >= 0 ? after : choice.shown.findIndex((number) => states[number].kind === kind);
    if (next >= 0) choice.select(choice.shown[next], "keys");
  }
}

function detailOf(number) {
  const state = states[number];
  const detail = element("div", "detail");
  if (state.comment) detail.append(block("comment", state.comment, plainText));
  for (const warning of state.warnings ?? []) detail.append(block("comment held", `Warning: ${warning}`, plainText));
  if (state.changes) detail.append(block("changes", state.changes, colouredText));
  detail.append(factsOf(number));
  return detail;
}

function factsOf(number) {
  const state = states[number];
  const facts = element("dl");
  const add = (term, what) => {
    if (!what) return;
    const value = element("dd");
    value.append(what);
    facts.append(element("dt", "", term), value);
  };
  add("Result", outcomeOf(state));
  add("Host", page.hosts[state.host ?? 0]);
  add("Declared", state.place);
  add("SLS", state.sls);
  add("Function", state.function);
  add("ID", state.id);
  add("Name", state.name);
  if (wasCalled(state)) add("Began", `${shortTime(state.began)} after the run began; took ${shortTime(seconds(state))}`);
  if (state.waited) add("Had no slot", `for ${shortTime(state.waited)}`);
  if (state.critical) add("Critical path", "yes: the run cannot be shorter than these states, one after the other");
  add("Waited for", linksOf(edgesTo(number), 0));
  add("Waited for it", linksOf(edgesFrom(number), 1));
  return facts;
}

// Links to the other ends of edges, with the reasons; `end` says which end of an edge that is.
function linksOf(edges, end) {
  if (!edges.length) return null;
  const links = element("ul", "links");
  for (const edge of edges.slice(0, MOST_LINKS)) {
    const node = page.edges[edge][end];
    const line = element("li");
    const link = element("button", "", shortened(label(node), LONG_NAME));
    link.type = "button";
    link.addEventListener("click", () => choose(node));
    line.append(link, ` ${page.reasons[page.edges[edge][2]][0]}`);
    links.append(line);
  }
  if (edges.length > MOST_LINKS) links.append(element("li", "", `… and ${edges.length - MOST_LINKS} more`));
  return links;
}

// Choose a node that something refers to, even if the filter hides it.
function choose(node) {
  if (isState(node) && !choice.passes[node]) resetFilter();
  choice.select(node, "link");
}
