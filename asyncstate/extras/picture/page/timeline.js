// When each state ran: a bar for each, in as many lanes as ran at once; a group of lanes for each host.

const LANE = 20;
const AXIS = 20;
const FONT = `12px ${getComputedStyle(document.body).fontFamily}`;

class Timeline extends Chart {
  constructor(section) {
    super(section);
    this.bars = states.map((_, number) => number).filter((number) => states[number].ended !== undefined);
    this.bars.sort((a, b) => SEVERITY[states[b].kind] - SEVERITY[states[a].kind]); // the worst are drawn last, on top
    this.topDown = this.bars.toReversed();
    this.wall = Math.max(page.wall, 0.001);
    this.groups = this.grouped();
    this.canvas.setAttribute("aria-label", `${this.bars.length} bars over ${shortTime(this.wall)}; the list has them in words`);
    this.scroller.style.height = `${this.full() + 2}px`;
    section.hidden = this.bars.length === 0;
  }

  // The hosts with the first of their lanes and how many they have.
  grouped() {
    const lanes = new Map();
    for (const number of this.bars) {
      const { host = 0, lane = 0 } = states[number];
      lanes.set(host, Math.max(lanes.get(host) ?? 0, lane + 1));
    }
    let first = 0;
    const groups = new Map();
    const hosts = page.hosts.length ? page.hosts.map((_, host) => host) : [0];
    for (const host of hosts) {
      groups.set(host, { first, lanes: lanes.get(host) ?? 1 });
      first += lanes.get(host) ?? 1;
    }
    this.lanes = first;
    return groups;
  }

  // How high the picture is with all its lanes.
  full() {
    return this.lanes * LANE + AXIS;
  }

  // Pixels at the left for the names of hosts.
  get margin() {
    return page.hosts.length ? Math.min(160, this.width / 4) : 8;
  }

  smallest() {
    return (this.width - this.margin - 8) / this.wall;
  }

  largest() {
    return Math.max(this.smallest(), 200000);
  }

  fit() {
    this.view = { x: this.margin, y: this.view.y, scale: Math.max(this.smallest(), 1e-6) };
    this.isFitted = true;
    this.keepInView();
    this.redraw();
  }

  zoomed() {
    return this.view.y;
  }

  wheel(event) {
    if (event.ctrlKey || event.metaKey || this.full() <= this.height) {
      super.wheel(event);
    } else if (isForPictures(event)) {
      event.preventDefault();
      this.shift(-event.deltaX, -event.deltaY);
    }
  }

  keepInView() {
    const right = this.width - 8 - this.wall * this.view.scale;
    this.view.x = Math.min(this.margin, Math.max(this.view.x, Math.min(right, this.margin)));
    this.view.y = Math.min(0, Math.max(this.view.y, Math.min(0, this.height - this.full())));
  }

  boxOf(number) {
    const { began, ended, host = 0, lane = 0 } = states[number];
    return {
      x: this.view.x + began * this.view.scale,
      y: this.view.y + (this.groups.get(host).first + lane) * LANE + 2,
      width: Math.max((ended - began) * this.view.scale - 1, 2),
      height: LANE - 4,
    };
  }

  hit(x, y) {
    if (y > this.height - AXIS || x < this.margin - 8) return -1;
    let nearest = -1;
    let distance = 4; // pixels beside a short bar
    for (const number of this.topDown) {
      const box = this.boxOf(number);
      if (y < box.y || y > box.y + box.height) continue;
      const beside = Math.max(box.x - x, x - box.x - box.width, 0);
      if (beside < distance) [nearest, distance] = [number, beside];
      if (beside === 0) break;
    }
    return nearest;
  }

  tipOf(number) {
    if (number < 0) return "";
    const state = states[number];
    const took = wasCalled(state) ? `, ${shortTime(seconds(state))}` : "";
    const waited = state.waited ? `, had no slot for ${shortTime(state.waited)}` : "";
    return `${label(number)}\n${outcomeOf(state)}${took}${waited}`;
  }

  selected(from) {
    const number = choice.selected;
    if (isState(number) && states[number].ended !== undefined && from !== this) this.show(number);
    this.redraw();
  }

  show(number) {
    const box = this.boxOf(number);
    if (box.x < this.margin || box.x + Math.min(box.width, 60) > this.width) {
      this.view.x += this.width / 2 - box.x;
    }
    if (box.y < 0 || box.y + box.height > this.height - AXIS) this.view.y += this.height / 2 - box.y;
    this.keepInView();
  }

  draw(context) {
    context.font = FONT;
    context.textBaseline = "middle";
    this.drawHosts(context);
    context.save();
    context.beginPath();
    context.rect(this.margin - 8, 0, this.width, this.height - AXIS);
    context.clip();
    for (const number of this.bars) this.drawBar(context, number);
    for (const number of [choice.hovered, choice.selected]) {
      if (isState(number) && states[number].ended !== undefined) this.outline(context, number);
    }
    context.restore();
    this.drawAxis(context);
  }

  drawHosts(context) {
    for (const [host, { first, lanes }] of this.groups) {
      const top = this.view.y + first * LANE;
      if (!page.hosts.length || top > this.height || top + lanes * LANE < 0) continue;
      if (host % 2) {
        context.fillStyle = this.colours.ground;
        context.fillRect(0, top, this.width, lanes * LANE);
      }
      context.fillStyle = page.failedHosts.includes(host) ? this.colours.failed : this.colours.text;
      context.fillText(cut(context, page.hosts[host], this.margin - 20), 10, top + LANE / 2);
    }
  }

  drawBar(context, number) {
    const { x, y, width, height } = this.boxOf(number);
    if (x > this.width || x + width < 0 || y > this.height || y + height < 0) return;
    const state = states[number];
    context.globalAlpha = choice.isClear(number) ? 1 : 0.15;
    const isCalm = state.kind === "unchanged";
    context.fillStyle = isCalm ? this.colours.calm : this.colours[state.kind];
    context.fillRect(x, y, width, height);
    if (state.critical) {
      context.strokeStyle = this.colours.text;
      context.lineWidth = 2;
      context.strokeRect(x + 0.5, y, Math.max(width - 1, 1), height);
    }
    if (width > 40) {
      const from = Math.max(x, this.margin - 8);
      context.fillStyle = isCalm ? this.colours.text : this.colours.ground;
      context.fillText(cut(context, state.id, x + width - from - 10), from + 5, y + height / 2 + 1);
    }
    context.globalAlpha = 1;
  }

  outline(context, number) {
    const { x, y, width, height } = this.boxOf(number);
    context.strokeStyle = this.colours.accent;
    context.lineWidth = 3;
    context.strokeRect(x - 2, y - 1, width + 4, height + 2);
  }

  drawAxis(context) {
    const top = this.height - AXIS;
    context.fillStyle = this.colours.panel;
    context.fillRect(0, top, this.width, AXIS);
    context.fillStyle = this.colours.muted;
    context.strokeStyle = this.colours.line;
    context.lineWidth = 1;
    const step = roundStep(90 / this.view.scale);
    const first = Math.max(0, Math.floor((this.margin - this.view.x) / this.view.scale / step));
    for (let tick = first; tick * step <= this.wall * 1.0001; tick += 1) {
      const x = Math.round(this.view.x + tick * step * this.view.scale) + 0.5;
      if (x > this.width) break;
      if (x < this.margin - 8) continue;
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, top + 4);
      context.stroke();
      const text = shortTime(tick * step);
      context.fillText(text, Math.min(x + 3, this.width - context.measureText(text).width - 3), top + AXIS / 2);
    }
  }
}

const ROUND = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

// The next longer time that people count in.
function roundStep(least) {
  if (least >= 1) return ROUND.find((step) => step >= least) ?? 86400 * Math.ceil(least / 86400);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((each) => each * power).find((step) => step >= least * 0.999);
}
