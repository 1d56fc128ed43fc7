// What waits for what. Edges that other paths stand for are left out, unless the reader wants them. A large graph is laid
// out when the reader asks for all of it; until then the picture has what is around the chosen state.

const LARGE = 1500; // nodes
const AROUND = 60; // nodes on each side of the chosen one
const READABLE = 0.3; // pixels for a unit, from which on texts are drawn
const LEGIBLE = 0.8; // to which the picture is zoomed to show a box
const DASHES = { requisite: [], across: [], order: [5, 4] };

class Graph extends Chart {
  constructor(section) {
    super(section);
    this.around = section.querySelector("#around");
    this.implied = section.querySelector("#implied");
    this.note = section.querySelector(".empty");
    this.layouts = new Map();
    this.widths = new Map();
    this.drawn = null;
    this.around.value = graph.size > LARGE ? "near" : "all";
    this.around.addEventListener("change", () => this.change());
    this.implied.addEventListener("change", () => {
      this.layouts.clear();
      this.change();
    });
    section.hidden = states.length === 0;
    this.addLegend();
    this.change();
  }

  addLegend() {
    const families = new Set(page.reasons.map(([, family]) => family));
    const words = { requisite: "requisite", order: "order, footprint or group", across: "to another host" };
    const legend = this.section.querySelector(".legend");
    for (const family of Object.keys(words)) if (families.has(family)) legend.append(element("span", family, words[family]));
    this.implied.closest("label").hidden = page.edges.every((edge) => edge[3]);
  }

  smallest() {
    return Math.min(this.whole(), 0.05);
  }

  largest() {
    return 3;
  }

  // The scale at which all of the graph is in view.
  whole() {
    const { width, height } = this.drawn ?? { width: 1, height: 1 };
    return Math.min((this.width - 30) / width, (this.height - 30) / height, 1.2);
  }

  fit() {
    if (!this.drawn || !this.width) return;
    const scale = Math.max(this.whole(), 1e-4);
    this.view = {
      scale,
      x: (this.width - this.drawn.width * scale) / 2,
      y: (this.height - this.drawn.height * scale) / 2,
    };
    this.isFitted = true;
    this.redraw();
  }

  isNear() {
    return this.around.value === "near";
  }

  change() {
    this.drawn = this.laidOut();
    this.note.hidden = Boolean(this.drawn);
    this.note.textContent = `${states.length.toLocaleString("en")} states: choose one, or show all.`;
    this.canvas.setAttribute("aria-label", this.description());
    this.fit();
    if (this.drawn?.boxes.has(choice.selected)) this.show(choice.selected);
    else if (this.drawn && this.whole() < READABLE) this.show(this.first());
    this.redraw();
  }

  // Where a picture begins that cannot be read as a whole: at what failed, else where it has no box before.
  first() {
    const nodes = [...this.drawn.boxes.keys()];
    const failed = nodes.find((node) => states[node]?.kind === "failed");
    return failed ?? nodes.reduce((least, node) => (this.distance(node) < this.distance(least) ? node : least));
  }

  distance(node) {
    const { x, y } = this.drawn.boxes.get(node);
    return x + y;
  }

  description() {
    if (!this.drawn) return "Nothing is drawn";
    return `${this.drawn.boxes.size} boxes, ${this.drawn.edges.length} edges; each state in the list names what it waited for`;
  }

  // Lay out what is to be drawn, or return what was laid out before; null if there is nothing.
  laidOut() {
    if (this.isNear() && choice.selected < 0) return null;
    const key = this.isNear() ? choice.selected : "all";
    if (!this.layouts.has(key)) {
      const nodes = this.isNear() ? this.near(choice.selected) : Array.from({ length: graph.size }, (_, node) => node);
      const within = new Set(nodes);
      const edges = page.edges.filter((edge) => this.isWanted(edge) && within.has(edge[0]) && within.has(edge[1]));
      const made = layout(nodes, edges, (node) => this.widthOf(node), this);
      if (this.isNear()) this.layouts.delete(this.lastNear);
      if (this.isNear()) this.lastNear = key;
      this.layouts.set(key, { ...made, edges });
    }
    return this.layouts.get(key);
  }

  isWanted(edge) {
    return edge[3] || this.implied.checked;
  }

  // A node with what it waited for and what waited for it, the nearest first, and so on from there.
  near(node) {
    const found = new Set([node]);
    for (const [edgesOf, end] of [[edgesTo, 0], [edgesFrom, 1]]) {
      const queue = [node];
      let left = AROUND;
      for (let at = 0; at < queue.length && left > 0; at += 1) {
        for (const edge of edgesOf(queue[at])) {
          const next = page.edges[edge][end];
          if (!this.isWanted(page.edges[edge]) || found.has(next) || left === 0) continue;
          found.add(next);
          queue.push(next);
          left -= 1;
        }
      }
    }
    return [...found].sort((a, b) => a - b);
  }

  lines(node) {
    if (!isState(node)) return [label(node), ""];
    const state = states[node];
    const host = page.hosts.length ? `${page.hosts[state.host ?? 0]} ` : "";
    return [state.id, host + state.function];
  }

  widthOf(node) {
    if (!this.widths.has(node)) {
      this.context.font = FONT;
      const widest = Math.max(...this.lines(node).map((line) => this.context.measureText(line.slice(0, 60)).width));
      this.widths.set(node, Math.min(Math.max(widest + 16, BOX.least), BOX.most));
    }
    return this.widths.get(node);
  }

  selected(from) {
    if (this.isNear()) this.change();
    else if (from !== this && this.drawn?.boxes.has(choice.selected)) this.show(choice.selected);
    this.redraw();
  }

  // Move the picture so far that the box is in view and can be read.
  show(node) {
    const box = this.drawn.boxes.get(node);
    if (this.view.scale < LEGIBLE / 2) {
      this.view.scale = LEGIBLE;
      this.isFitted = false;
    }
    const { scale } = this.view;
    const [x, y] = [this.view.x + box.x * scale, this.view.y + box.y * scale];
    const isInside = x > 0 && y > 0 && x + box.width * scale < this.width && y + box.height * scale < this.height;
    if (isInside) return;
    this.isFitted = false;
    this.view.x += this.width / 2 - x - (box.width * scale) / 2;
    this.view.y += this.height / 2 - y - (box.height * scale) / 2;
  }

  unit(x, y) {
    return [(x - this.view.x) / this.view.scale, (y - this.view.y) / this.view.scale];
  }

  boxOf(node) {
    const box = this.drawn.boxes.get(node);
    const { x, y, scale } = this.view;
    return { x: x + box.x * scale, y: y + box.y * scale, width: box.width * scale, height: box.height * scale };
  }

  hit(x, y) {
    if (!this.drawn) return -1;
    const [left, top] = this.unit(x, y);
    for (const [node, box] of this.drawn.boxes) {
      if (left >= box.x && left <= box.x + box.width && top >= box.y && top <= box.y + box.height) return node;
    }
    return -1;
  }

  tipOf(node) {
    if (node < 0) return "";
    const word = isState(node) ? `\n${outcomeOf(states[node])}` : "";
    const place = states[node]?.place ? `\n${states[node].place}` : "";
    return label(node) + word + place;
  }

  draw(context) {
    if (!this.drawn) return;
    const { x, y, scale } = this.view;
    context.translate(x, y);
    context.scale(scale, scale);
    const [left, top] = this.unit(0, 0);
    const [right, bottom] = this.unit(this.width, this.height);
    const focus = this.drawn.boxes.has(choice.hovered) ? choice.hovered : choice.selected;
    this.drawEdges(context, { left, top, right, bottom }, focus);
    context.textBaseline = "middle";
    for (const [node, box] of this.drawn.boxes) {
      if (box.x > right || box.y > bottom || box.x + box.width < left || box.y + box.height < top) continue;
      this.drawBox(context, node, box);
    }
  }

  drawEdges(context, view, focus) {
    const near = [];
    this.drawn.edges.forEach((edge, number) => {
      if (edge[0] === focus || edge[1] === focus) near.push(number);
      else this.drawEdge(context, view, number, this.colours.join, 1);
    });
    for (const number of near) this.drawEdge(context, view, number, this.colours.accent, 2.5);
  }

  drawEdge(context, view, number, colour, width) {
    const points = this.drawn.paths[number];
    const [first, last] = [points[0], points.at(-1)];
    const { isDown } = this.drawn;
    if (isDown ? first.end > view.bottom || last.start < view.top : first.end > view.right || last.start < view.left) return;
    const [from, to, reason] = this.drawn.edges[number];
    const family = page.reasons[reason][1];
    context.strokeStyle = family === "across" && width === 1 ? this.colours.failed : colour;
    context.lineWidth = width;
    context.globalAlpha = choice.isClear(from) || choice.isClear(to) ? 1 : 0.15;
    context.setLineDash(DASHES[family]);
    context.beginPath();
    const spot = (along, across) => (isDown ? [across, along] : [along, across]);
    context.moveTo(...spot(first.end, first.middle));
    for (let at = 1; at < points.length; at += 1) {
      const [before, here] = [points[at - 1], points[at]];
      const half = (before.end + here.start) / 2;
      context.bezierCurveTo(...spot(half, before.middle), ...spot(half, here.middle), ...spot(here.start, here.middle));
      if (at < points.length - 1) context.lineTo(...spot(here.end, here.middle));
    }
    context.stroke();
    context.setLineDash([]);
    if (this.view.scale > 0.2) this.drawArrow(context, spot, last);
    context.globalAlpha = 1;
  }

  drawArrow(context, spot, { start, middle }) {
    context.fillStyle = context.strokeStyle;
    context.beginPath();
    context.moveTo(...spot(start, middle));
    context.lineTo(...spot(start - 8, middle - 4));
    context.lineTo(...spot(start - 8, middle + 4));
    context.fill();
  }

  drawBox(context, node, { x, y, width, height }) {
    const state = isState(node) ? states[node] : null;
    const isMarked = node === choice.selected || node === choice.hovered;
    context.globalAlpha = choice.isClear(node) ? 1 : 0.2;
    context.fillStyle = isMarked ? this.colours.chosen : this.colours.raised;
    context.strokeStyle = isMarked ? this.colours.accent : this.colours.join;
    context.lineWidth = isMarked ? 3 : 1;
    context.beginPath();
    context.roundRect(x, y, width, height, state ? 4 : height / 2);
    context.fill();
    context.stroke();
    if (state) {
      context.fillStyle = this.colours[state.kind];
      context.fillRect(x, y, 5, height);
    }
    if (this.view.scale >= READABLE) this.drawLines(context, node, { x, y, width, height });
    context.globalAlpha = 1;
  }

  // Both lines of a box; from far away only the first, in letters as large as the box has room for.
  drawLines(context, node, { x, y, width, height }) {
    const isFar = this.view.scale < 0.5;
    const [first, line] = this.lines(node);
    const second = isFar ? "" : line;
    context.font = FONT;
    if (isFar) {
      const room = (12 * (width - 14)) / context.measureText(first.slice(0, 60)).width;
      context.font = FONT.replace("12px", `${Math.max(12, Math.min(9 / this.view.scale, 24, room))}px`);
    }
    context.fillStyle = isState(node) ? this.colours.text : this.colours.muted;
    context.fillText(cut(context, first, width - 14), x + 10, y + (second ? height * 0.3 : height / 2));
    if (!second) return;
    context.fillStyle = this.colours.muted;
    context.fillText(cut(context, second, width - 14), x + 10, y + height * 0.74);
  }
}
