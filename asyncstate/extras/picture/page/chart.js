// A picture on a canvas that can be moved and zoomed. Subclasses say what is drawn, and what is at a place of it.

const FAR = 5; // pixels that a pointer moves before it drags

class Chart {
  constructor(section) {
    this.section = section;
    this.scroller = section.querySelector(".scroller");
    this.canvas = section.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.view = { x: 0, y: 0, scale: 1 }; // pixels of the left upper corner, pixels for a unit
    this.isFitted = true; // until the reader moves it
    this.isDue = false;
    this.pointers = new Map();
    this.listen();
    this.addButtons();
    choice.on("hover", () => this.redraw());
    choice.on("filter", () => this.redraw());
    choice.on("select", (from) => this.selected(from));
  }

  listen() {
    const canvas = this.canvas;
    new ResizeObserver(() => this.resize()).observe(this.scroller);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => {
      choice.hover(-1);
      showTip(-1);
    });
    canvas.addEventListener("keydown", (event) => this.pan(event));
  }

  addButtons() {
    const make = (text, name, act) => {
      const button = element("button", "", text);
      button.type = "button";
      button.title = name;
      button.setAttribute("aria-label", `${name}: ${this.section.getAttribute("aria-label")}`);
      button.addEventListener("click", act);
      return button;
    };
    this.section.querySelector(".zoom").append(
      make("+", "Zoom in", () => this.zoom(1.5)),
      make("−", "Zoom out", () => this.zoom(1 / 1.5)),
      make("⤢", "Show all", () => this.fit()),
    );
  }

  get width() {
    return this.scroller.clientWidth;
  }

  get height() {
    return this.scroller.clientHeight;
  }

  resize() {
    if (this.isFitted) this.fit();
    this.redraw();
  }

  // Draw before the next picture of the screen, once, however often this is asked for.
  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.paint();
    });
  }

  paint() {
    const dense = devicePixelRatio || 1;
    const [width, height] = [Math.round(this.width * dense), Math.round(this.height * dense)];
    if (!width || !height) return;
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.context.setTransform(dense, 0, 0, dense, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    this.colours = colours();
    this.draw(this.context);
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  wheel(event) {
    if (!isForPictures(event)) return;
    event.preventDefault();
    const [x, y] = this.at(event);
    this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), x, y);
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.at(event));
    this.moved = 0;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    const [x, y] = this.at(event);
    if (!before) {
      const node = this.hit(x, y);
      this.canvas.classList.toggle("pointing", node >= 0);
      choice.hover(node);
      showTip(node, event, this.tipOf(node));
      return;
    }
    this.moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
    if (this.pointers.size === 2) this.pinch(event.pointerId, before, [x, y]);
    else if (this.moved > FAR) this.shift(x - before[0], y - before[1]);
    this.canvas.classList.toggle("dragging", this.moved > FAR);
    this.pointers.set(event.pointerId, [x, y]);
  }

  pinch(id, before, now) {
    const other = [...this.pointers].find(([each]) => each !== id)[1];
    const distance = ([x, y]) => Math.hypot(x - other[0], y - other[1]) || 1;
    this.zoom(distance(now) / distance(before), other[0], other[1]);
  }

  release(event) {
    this.pointers.delete(event.pointerId);
    this.canvas.classList.remove("dragging");
    const node = this.moved > FAR ? -1 : this.hit(...this.at(event));
    if (node >= 0) choice.select(node, this);
  }

  shift(x, y) {
    this.isFitted = false;
    this.view.x += x;
    this.view.y += y;
    this.keepInView();
    this.redraw();
  }

  pan(event) {
    const ways = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    const way = ways[event.key];
    if (!way || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.shift(...way);
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.view.scale;
    const scale = Math.min(Math.max(before * factor, this.smallest()), this.largest());
    this.isFitted = false;
    this.view.x = x - (x - this.view.x) * (scale / before);
    this.view.y = this.zoomed(y, scale / before);
    this.view.scale = scale;
    this.keepInView();
    this.redraw();
  }

  // Where the upper edge is after a zoom at height `y`.
  zoomed(y, factor) {
    return y - (y - this.view.y) * factor;
  }

  keepInView() {}
}

// Where the page itself scrolls, it has the wheel, and pictures have it together with Ctrl.
function isForPictures(event) {
  return event.ctrlKey || event.metaKey || document.documentElement.scrollHeight <= innerHeight + 1;
}

const NAMED = [
  "ground", "panel", "raised", "text", "muted", "line", "accent", "chosen", "join", "calm", ...KINDS.map(([kind]) => kind),
];

// The colours of the style sheet, for what is drawn.
function colours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMED.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

const tip = document.getElementById("tip");

function showTip(node, event, text) {
  tip.hidden = node < 0;
  if (node < 0) return;
  tip.textContent = shortened(text, 600);
  const room = document.documentElement;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, room.clientWidth - tip.offsetWidth - 4))}px`;
  const below = event.clientY + 18;
  tip.style.top = `${below + tip.offsetHeight > room.clientHeight ? event.clientY - tip.offsetHeight - 8 : below}px`;
}

// The text, cut so that it fits into a width.
function cut(context, whole, width) {
  const text = whole.slice(0, 400);
  if (context.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 0 ? `${text.slice(0, low)}…` : "";
}
