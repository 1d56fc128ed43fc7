// Where the boxes of a graph are drawn: in layers to the right or down, each beyond all it waited for. An edge over several
// layers gets a bend in each of them, between the boxes, so that it does not go through one.
//
// A picture that is drawn once has the places of asyncstate/layout, which takes twenty seconds for 10,000 states. Here the
// reader waits: for all of them half a second, for those around the chosen one, which none can know before, a moment.

const BOX = { height: 30, gap: 14, least: 70, most: 230 };
const BETWEEN = { right: 56, down: 40 }; // from layer to layer
const BEND = 2;
const SWEEPS = 6;
const MOST_BENDS = 20000; // beyond that, long edges are drawn straight

// `nodes` are numbers, `edges` [before, after, …] between them, `widthOf` says how wide the box of a node is, `room` where
// the picture is to be seen. Returns {boxes: Map(node → {x, y, width, height}), paths, width, height, isDown}. A path has
// for each box and bend of an edge where it begins and ends in the direction of the layers, and its middle across.
function layout(nodes, edges, widthOf, room) {
  const local = new Map(nodes.map((node, place) => [node, place]));
  const pairs = edges.map(([from, to]) => [local.get(from), local.get(to)]);
  const joined = new Set(pairs.flat());
  const layerOf = layersOf(nodes.length, pairs);
  const widths = nodes.map(widthOf);
  const isDown = goesDown(joined, layerOf, widths, room);
  const { links, chains, layers } = withBends(nodes.length, pairs, layerOf, joined);
  const extents = Float64Array.from(links.before, (_, place) => {
    if (place >= nodes.length) return BEND;
    return isDown ? widths[place] : BOX.height;
  });
  untangle(layers, links);
  const middles = middlesOf(layers, links, extents);
  return placed({ nodes, widths, extents, middles, layers, chains, isDown, joined });
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

// The layer of each node: one beyond the last it waits for; first nodes stand close to what waits for them.
function layersOf(size, pairs) {
  const { before, after } = neighbours(size, pairs);
  const layer = new Int32Array(size);
  const waiting = before.map((each) => each.length);
  const order = [...waiting.keys()].filter((node) => waiting[node] === 0);
  for (let at = 0; at < order.length; at += 1) {
    for (const next of after[order[at]]) {
      layer[next] = Math.max(layer[next], layer[order[at]] + 1);
      waiting[next] -= 1;
      if (waiting[next] === 0) order.push(next);
    }
  }
  for (const node of order) {
    if (!before[node].length && after[node].length) {
      layer[node] = after[node].reduce((least, next) => Math.min(least, layer[next]), Infinity) - 1;
    }
  }
  return layer;
}

// Whether layers that go down can be seen in a larger scale than layers to the right, by the sizes of the boxes. Where both
// can be seen whole, they go to the right.
function goesDown(joined, layerOf, widths, room) {
  const found = []; // of each layer: its boxes, the width of the widest, and of all
  for (const node of joined) {
    const layer = (found[layerOf[node]] ??= { boxes: 0, widest: 0, wide: 0 });
    layer.boxes += 1;
    layer.widest = Math.max(layer.widest, widths[node]);
    layer.wide += widths[node] + BOX.gap;
  }
  const layers = found.filter(Boolean);
  const most = (valueOf) => layers.reduce((value, each) => Math.max(value, valueOf(each)), 1);
  const long = layers.reduce((sum, { widest }) => sum + widest + BETWEEN.right, 1);
  const right = Math.min(room.width / long, room.height / (most(({ boxes }) => boxes) * (BOX.height + BOX.gap)));
  const high = Math.max(layers.length, 1) * (BOX.height + BETWEEN.down);
  const down = Math.min(room.width / most(({ wide }) => wide), room.height / high);
  return Math.min(down, 1) > Math.min(right, 1);
}

// Put a bend into each layer that an edge crosses. Bends are numbered after the nodes; `chains` has the nodes and bends
// of each edge, `links` the neighbours of nodes and bends in the layers beside them.
function withBends(size, pairs, layerOf, joined) {
  const crossed = pairs.reduce((sum, [from, to]) => sum + layerOf[to] - layerOf[from] - 1, 0);
  const layers = [];
  const put = (place, layer) => {
    layers[layer] ??= [];
    layers[layer].push(place);
  };
  for (const node of joined) put(node, layerOf[node]);
  let next = size;
  const chains = pairs.map(([from, to]) => {
    const chain = [from];
    for (let layer = layerOf[from] + 1; crossed <= MOST_BENDS && layer < layerOf[to]; layer += 1) {
      put(next, layer);
      chain.push(next);
      next += 1;
    }
    return [...chain, to];
  });
  const steps = chains.flatMap((chain) => chain.slice(1).map((to, at) => [chain[at], to]));
  return { links: neighbours(next, steps), chains, layers: Array.from(layers, (layer) => layer ?? []) };
}

// Sort each layer by the mean place of the neighbours, from the left and from the right in turn.
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

// The middle of each node and bend across the layers: near those of its neighbours, in the order of its layer, none on
// another.
function middlesOf(layers, links, extents) {
  const middles = new Float64Array(extents.length);
  const offsets = layers.map((layer) => offsetsOf(layer, extents));
  const longest = offsets.reduce((most, each) => Math.max(most, each.at(-1) ?? 0), 0);
  layers.forEach((layer, number) => {
    const begin = (longest - (offsets[number].at(-1) ?? 0)) / 2;
    layer.forEach((node, at) => { middles[node] = begin + offsets[number][at]; });
  });
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const near = sweep % 2 ? links.after : links.before;
    for (let at = 0; at < layers.length; at += 1) {
      const number = sweep % 2 ? layers.length - 1 - at : at;
      const wanted = layers[number].map((node) => meanOf(near[node], middles, middles[node]));
      spread(layers[number], wanted, offsets[number], middles);
    }
  }
  return middles;
}

// How far the middles of a layer are from the first of them at least.
function offsetsOf(layer, extents) {
  let offset = 0;
  return layer.map((node, at) => {
    if (at) offset += (extents[layer[at - 1]] + extents[node]) / 2 + BOX.gap;
    return offset;
  });
}

// Give each node of a layer the middle it wants, as far as they keep their order and distances: neighbours that want the
// same place share the way they have to go.
function spread(layer, wanted, offsets, middles) {
  const groups = [];
  wanted.forEach((middle, at) => {
    groups.push({ sum: middle - offsets[at], count: 1, from: at });
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
    for (let at = from; at < from + count; at += 1) middles[layer[at]] = sum / count + offsets[at];
  }
}

function placed({ nodes, widths, extents, middles, layers, chains, isDown, joined }) {
  const isBox = (place) => place < nodes.length;
  const drawn = layers.flat();
  const least = drawn.reduce((most, place) => Math.min(most, middles[place] - extents[place] / 2), Infinity);
  const boxes = new Map();
  const points = new Map(); // of every node and bend
  let start = 0;
  let across = 0;
  for (const layer of layers) {
    const lengthOf = (place) => (isDown ? BOX.height : widths[place]);
    const length = layer.reduce((most, place) => (isBox(place) ? Math.max(most, lengthOf(place)) : most), BEND);
    for (const place of layer) {
      const middle = middles[place] - least;
      const end = start + (isBox(place) ? lengthOf(place) : length);
      points.set(place, { start, end, middle });
      across = Math.max(across, middle + extents[place] / 2);
      const side = middle - extents[place] / 2;
      const [x, y] = isDown ? [side, start] : [start, side];
      if (isBox(place)) boxes.set(nodes[place], { x, y, width: widths[place], height: BOX.height });
    }
    start += length + (isDown ? BETWEEN.down : BETWEEN.right);
  }
  const along = Math.max(start - (isDown ? BETWEEN.down : BETWEEN.right), 0);
  const [width, height] = isDown ? [across, along] : [along, across];
  const alone = nodes.map((_, place) => place).filter((place) => !joined.has(place));
  const block = besides(nodes, alone, widths, height && height + 2 * BOX.gap, width);
  for (const [node, box] of block.boxes) boxes.set(node, box);
  return {
    boxes,
    paths: chains.map((chain) => chain.map((place) => points.get(place))),
    width: Math.max(width, block.width, 1),
    height: Math.max(height, block.height, 1),
    isDown,
  };
}

// The nodes without an edge, in rows below the others.
function besides(nodes, alone, widths, top, least) {
  const step = BOX.height + BOX.gap;
  const whole = alone.reduce((sum, place) => sum + widths[place] + BOX.gap, 0);
  const most = Math.max(least, Math.sqrt(whole * step * 2), BOX.most);
  const boxes = new Map();
  let [x, y, width] = [0, top, 0];
  for (const place of alone) {
    const own = widths[place];
    if (x > 0 && x + own > most) [x, y] = [0, y + step];
    boxes.set(nodes[place], { x, y, width: own, height: BOX.height });
    x += own + BOX.gap;
    width = Math.max(width, x - BOX.gap);
  }
  return { boxes, width, height: alone.length ? y + BOX.height : 0 };
}
