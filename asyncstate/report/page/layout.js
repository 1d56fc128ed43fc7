// Where the boxes of a graph are drawn: in columns from left to right, each right of all it waited for. An edge over
// several columns gets a bend in each of them, between the boxes, so that it does not go through one.

const BOX = { height: 30, gap: 14, between: 56, least: 70, most: 230 };
const SWEEPS = 6;
const MOST_BENDS = 20000; // beyond that, long edges are drawn straight

// `nodes` are numbers, `edges` [before, after, …] between them, `widthOf` says how wide the box of a node is. Returns
// {boxes: Map(node → {x, y, width, height}), paths: [points of each edge], width, height}.
function layout(nodes, edges, widthOf) {
  const local = new Map(nodes.map((node, place) => [node, place]));
  const pairs = edges.map(([from, to]) => [local.get(from), local.get(to)]);
  const joined = new Set(pairs.flat());
  const columns = columnsOf(nodes.length, pairs);
  const { links, chains, layers } = withBends(nodes.length, pairs, columns, joined);
  untangle(layers, links);
  const rows = rowsOf(layers, links);
  return placed(nodes, widthOf, layers, rows, chains, nodes.map((_, place) => place).filter((place) => !joined.has(place)));
}

function neighbours(size, pairs) {
  const before = Array.from({ length: size }, () => []);
  const after = Array.from({ length: size }, () => []);
  for (const [from, to] of pairs) {
    after[from].push(to);
    before[to].push(from);
  }
  return { before, after };
}

// The column of each node: one right of the last it waits for; first nodes stand close to what waits for them.
function columnsOf(size, pairs) {
  const { before, after } = neighbours(size, pairs);
  const column = new Int32Array(size);
  const waiting = before.map((each) => each.length);
  const order = [...waiting.keys()].filter((node) => waiting[node] === 0);
  for (let at = 0; at < order.length; at += 1) {
    for (const next of after[order[at]]) {
      column[next] = Math.max(column[next], column[order[at]] + 1);
      waiting[next] -= 1;
      if (waiting[next] === 0) order.push(next);
    }
  }
  for (const node of order) {
    if (!before[node].length && after[node].length) {
      column[node] = after[node].reduce((least, next) => Math.min(least, column[next]), Infinity) - 1;
    }
  }
  return column;
}

// Put a bend into each column that an edge crosses. Bends are numbered after the nodes; `chains` has the nodes and bends
// of each edge, `links` the neighbours of nodes and bends in the columns beside them.
function withBends(size, pairs, column, joined) {
  const crossed = pairs.reduce((sum, [from, to]) => sum + column[to] - column[from] - 1, 0);
  const layers = [];
  const put = (place, layer) => {
    layers[layer] ??= [];
    layers[layer].push(place);
  };
  for (const node of joined) put(node, column[node]);
  let next = size;
  const chains = pairs.map(([from, to]) => {
    const chain = [from];
    for (let layer = column[from] + 1; crossed <= MOST_BENDS && layer < column[to]; layer += 1) {
      put(next, layer);
      chain.push(next);
      next += 1;
    }
    return [...chain, to];
  });
  const steps = chains.flatMap((chain) => chain.slice(1).map((to, at) => [chain[at], to]));
  return { links: neighbours(next, steps), chains, layers: Array.from(layers, (layer) => layer ?? []) };
}

// Sort each column by the mean place of the neighbours, from the left and from the right in turn.
function untangle(layers, links) {
  const place = new Float64Array(links.before.length);
  const number = (layer) => layer.forEach((node, at) => { place[node] = at; });
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const near = sweep % 2 ? links.after : links.before;
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const mean = new Map(layer.map((node) => [node, meanOf(near[node], place, place[node])]));
      layer.sort((a, b) => mean.get(a) - mean.get(b) || place[a] - place[b]);
      number(layer);
    }
  }
}

function meanOf(nodes, values, otherwise) {
  if (!nodes.length) return otherwise;
  let sum = 0;
  for (const node of nodes) sum += values[node];
  return sum / nodes.length;
}

// The height of each node and bend, in rows: near those of its neighbours, in the order of its column, none on another.
function rowsOf(layers, links) {
  const rows = new Float64Array(links.before.length);
  const tallest = layers.reduce((most, layer) => Math.max(most, layer.length), 0);
  for (const layer of layers) {
    layer.forEach((node, at) => { rows[node] = at + (tallest - layer.length) / 2; });
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const near = sweep % 2 ? links.after : links.before;
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      spread(layer, layer.map((node) => meanOf(near[node], rows, rows[node])), rows);
    }
  }
  return rows;
}

// Give each node of a column the row it wants, as far as they keep their order and a distance of 1: neighbours that want
// the same place share the way they have to go.
function spread(layer, wanted, rows) {
  const groups = [];
  wanted.forEach((row, at) => {
    groups.push({ sum: row - at, count: 1, from: at });
    while (groups.length > 1) {
      const last = groups.at(-1);
      const previous = groups.at(-2);
      if (previous.sum / previous.count <= last.sum / last.count) break;
      groups.pop();
      previous.sum += last.sum;
      previous.count += last.count;
    }
  });
  for (const { sum, count, from } of groups) {
    for (let at = from; at < from + count; at += 1) rows[layer[at]] = sum / count + at;
  }
}

function placed(nodes, widthOf, layers, rows, chains, alone) {
  const step = BOX.height + BOX.gap;
  const top = layers.flat().reduce((least, node) => Math.min(least, rows[node]), Infinity);
  const boxes = new Map();
  const points = new Map(); // left and right of every node and bend
  let x = 0;
  let bottom = 0;
  for (const layer of layers) {
    const width = layer.reduce((most, node) => (node < nodes.length ? Math.max(most, widthOf(nodes[node])) : most), 20);
    for (const node of layer) {
      const y = (rows[node] - top) * step;
      const own = node < nodes.length ? widthOf(nodes[node]) : width;
      if (node < nodes.length) boxes.set(nodes[node], { x, y, width: own, height: BOX.height });
      points.set(node, { left: x, right: x + own, y: y + BOX.height / 2 });
      bottom = Math.max(bottom, y + step);
    }
    x += width + BOX.between;
  }
  const block = besides(nodes, alone, widthOf, bottom && bottom + BOX.gap, x);
  for (const [node, box] of block.boxes) boxes.set(node, box);
  return {
    boxes,
    paths: chains.map((chain) => chain.map((node) => points.get(node))),
    width: Math.max(x - BOX.between, block.width, 1),
    height: Math.max(bottom - BOX.gap, block.height, 1),
  };
}

// The nodes without an edge, in rows below the others.
function besides(nodes, alone, widthOf, top, least) {
  const step = BOX.height + BOX.gap;
  const whole = alone.reduce((sum, place) => sum + widthOf(nodes[place]) + BOX.gap, 0);
  const most = Math.max(least, Math.sqrt(whole * step * 2), BOX.most);
  const boxes = new Map();
  let [x, y, width] = [0, top, 0];
  for (const place of alone) {
    const own = widthOf(nodes[place]);
    if (x > 0 && x + own > most) [x, y] = [0, y + step];
    boxes.set(nodes[place], { x, y, width: own, height: BOX.height });
    x += own + BOX.gap;
    width = Math.max(width, x - BOX.gap);
  }
  return { boxes, width, height: alone.length ? y + BOX.height : 0 };
}
