// What the page knows: its states, what waits for what, and what the reader has chosen. The views tell each other nothing;
// they change `choice`, and hear of its changes.

const page = JSON.parse(document.getElementById("data").textContent);
const states = page.states;

// From the worst to what needs no look: [kind, sign].
const KINDS = [
  ["failed", "✗"], ["held", "⊘"], ["handled", "!"], ["waiting", "…"],
  ["would", "◐"], ["changed", "●"], ["skipped", "·"], ["unchanged", "✓"], ["planned", "▷"],
];
const SIGNS = Object.fromEntries(KINDS);
const SEVERITY = Object.fromEntries(KINDS.map(([kind], place) => [kind, place]));

const NO_EDGES = [];

// Nodes are numbered: states first, in the order of the data, then the joints between them.
const graph = {
  size: states.length + page.joints.length,
  before: new Map(),
  after: new Map(),
};
page.edges.forEach(([from, to], edge) => {
  listed(graph.after, from).push(edge);
  listed(graph.before, to).push(edge);
});

function listed(map, key) {
  if (!map.has(key)) map.set(key, []);
  return map.get(key);
}

function isState(node) {
  return node >= 0 && node < states.length;
}

function edgesTo(node) {
  return graph.before.get(node) ?? NO_EDGES;
}

function edgesFrom(node) {
  return graph.after.get(node) ?? NO_EDGES;
}

function seconds(state) {
  return state.ended === undefined ? 0 : state.ended - state.began;
}

// Units of time: how many of the unit before make one, its name, and how many of it make one of the next.
const UNITS = [[60, "min", 60], [60, "h", 24], [24, "d", Infinity]];

// Times as terminals show them (`short_time` of asyncstate.report.terminal): 12 ms, 3.4 s, 2 min 5 s.
function shortTime(value) {
  if (value < 0.9995) return `${(value * 1000).toFixed(0)} ms`;
  if (value < 59.95) return `${value.toFixed(1)} s`;
  let [whole, rest, small, large] = [Math.round(value), 0, "s", "s"];
  for (const [size, name, limit] of UNITS) {
    [whole, rest, small, large] = [Math.floor(whole / size), whole % size, large, name];
    if (whole < limit) break;
  }
  return rest ? `${whole} ${large} ${rest} ${small}` : `${whole} ${large}`;
}

// The name of a node in one line, as lists and pictures show it.
function label(node) {
  if (!isState(node)) return page.joints[node - states.length];
  const state = states[node];
  const named = state.name ? `${state.id} (${state.name})` : state.id;
  const host = page.hosts.length ? `${page.hosts[state.host ?? 0]}: ` : "";
  return state.function ? `${host}${state.function}: ${named}` : host + named;
}

// What became of a state, and of one that was held back why.
function outcomeOf(state) {
  return state.held ? `${page.words[state.kind]}: ${state.held}` : page.words[state.kind];
}

// Whether a state was called: what was held back or not needed has a time, but took none.
function wasCalled(state) {
  return state.ended !== undefined && state.kind !== "held" && state.kind !== "skipped";
}

// What the search looks through, made when it is first needed.
const haystacks = new Array(states.length);

function haystack(number) {
  if (haystacks[number] === undefined) {
    const state = states[number];
    const texts = [label(number), state.sls, state.place, state.comment, state.held ?? "", state.changes, ...(state.warnings ?? [])];
    haystacks[number] = texts.join("\n").toLowerCase();
  }
  return haystacks[number];
}

const choice = {
  selected: -1,
  hovered: -1,
  kinds: new Set(),
  words: [],
  order: "failures",
  shown: [], // numbers of the states that pass the filter, in the order of the list
  passes: new Uint8Array(states.length),
  listeners: { select: [], hover: [], filter: [] },

  on(what, listener) {
    this.listeners[what].push(listener);
  },

  tell(what, detail) {
    for (const listener of this.listeners[what]) listener(detail);
  },

  // `from` is the view in which it was chosen: it does not move under the reader's hand.
  select(node, from) {
    this.selected = node;
    this.tell("select", from);
  },

  hover(node) {
    if (node === this.hovered) return;
    this.hovered = node;
    this.tell("hover");
  },

  search(text) {
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.filter();
  },

  toggle(kind) {
    if (!this.kinds.delete(kind)) this.kinds.add(kind);
    this.filter();
  },

  sort(order) {
    this.order = order;
    this.filter();
  },

  filter() {
    this.passes.fill(0);
    const shown = [];
    for (let number = 0; number < states.length; number += 1) {
      if (!this.fits(number)) continue;
      this.passes[number] = 1;
      shown.push(number);
    }
    this.shown = shown.sort(ORDERS[this.order]);
    this.tell("filter");
  },

  fits(number) {
    if (this.kinds.size && !this.kinds.has(states[number].kind)) return false;
    return this.words.length === 0 || this.words.every((word) => haystack(number).includes(word));
  },

  get isFiltered() {
    return this.kinds.size > 0 || this.words.length > 0;
  },

  // Whether a node is to be seen clearly: it passes the filter.
  isClear(node) {
    return !this.isFiltered || (isState(node) && this.passes[node] === 1);
  },
};

const ORDERS = {
  failures: (a, b) => SEVERITY[states[a].kind] - SEVERITY[states[b].kind] || a - b,
  serial: (a, b) => a - b,
  began: (a, b) => (states[a].began ?? Infinity) - (states[b].began ?? Infinity) || a - b,
  took: (a, b) => seconds(states[b]) - seconds(states[a]) || a - b,
};
// States that never began compare as NaN, which `||` passes on to the serial order.
