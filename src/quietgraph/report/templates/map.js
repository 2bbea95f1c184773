// The embedding on a canvas: one mark per node, a ring around each suspect.
const GRID = 4095;

class NodeMap {
  constructor(data, decisions, onPick) {
    Object.assign(this, { data, decisions, onPick });
    this.canvas = document.getElementById("map");
    this.context = this.canvas.getContext("2d");
    this.tip = document.getElementById("tip");
    this.hidden = new Set(); // classes switched off in the legend
    this.onlySuspects = false;
    this.view = { scale: 1, x: 0.5, y: 0.5 };
    this.hovered = -1;
    this.current = -1;
    this.pointers = new Map();
    this.classes = data.classes.map((_, code) => data.points.predicted.flatMap((predicted, node) => (predicted === code ? [node] : [])));
    this.buildLegend();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.recolour();
  }

  colour(code) { return this.palette[code % COLOURS]; }

  shape(code) { return SHAPES[Math.floor(code / COLOURS) % SHAPES.length]; }

  recolour() {
    const style = getComputedStyle(document.documentElement);
    this.palette = Array.from({ length: COLOURS }, (_, place) => style.getPropertyValue(`--class-${place}`).trim());
    this.ink = style.getPropertyValue("--ink").trim();
    this.paper = style.getPropertyValue("--card").trim();
    for (const canvas of document.querySelectorAll("#legend canvas")) this.drawSwatch(canvas);
    this.draw();
  }

  buildLegend() {
    const legend = document.getElementById("legend");
    const buttons = this.data.classes.map((name, code) => {
      const button = document.createElement("button");
      const swatch = Object.assign(document.createElement("canvas"), { width: 28, height: 28 });
      swatch.dataset.code = code;
      button.type = "button";
      button.append(swatch, `${name} `, Object.assign(document.createElement("small"), { textContent: this.classes[code].length.toLocaleString("en") }));
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        const off = !this.hidden.delete(code) && Boolean(this.hidden.add(code));
        button.setAttribute("aria-pressed", String(!off));
        this.draw();
      });
      return button;
    });
    legend.replaceChildren(...buttons);
  }

  drawSwatch(canvas) {
    const code = Number(canvas.dataset.code);
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, 28, 28);
    context.beginPath();
    trace(context, this.shape(code), 14, 14, 9);
    context.fillStyle = this.colour(code);
    context.fill();
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.draw();
  }

  /** Pixels that the whole map is wide and high; neither axis means anything by itself. */
  extent() {
    const [wide, high] = [this.width - 40, this.height - 40];
    const longest = 1.6 * Math.min(wide, high);
    return [Math.min(wide, longest) * this.view.scale, Math.min(high, longest) * this.view.scale];
  }

  place(node) {
    const [wide, high] = this.sides;
    const { x, y } = this.data.points;
    return [this.width / 2 + (x[node] / GRID - this.view.x) * wide, this.height / 2 + (y[node] / GRID - this.view.y) * high];
  }

  isShown(node) {
    return !this.hidden.has(this.data.points.predicted[node]) && (!this.onlySuspects || node < this.decisions.count);
  }

  draw() {
    if (this.planned || !this.width) return;
    this.planned = true;
    this.sides = this.extent();
    requestAnimationFrame(() => { this.planned = false; this.paint(); });
  }

  paint() {
    const { context } = this;
    const ratio = devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const many = this.data.points.id.length;
    this.radius = Math.min(6, Math.max(1.5, 130 / Math.sqrt(many)) * Math.sqrt(this.view.scale) * (this.width < 500 ? 0.8 : 1));
    context.globalAlpha = many > 4000 ? 0.6 : 0.8;
    this.classes.forEach((nodes, code) => this.paintClass(nodes, code));
    context.globalAlpha = 1;
    this.paintSuspects();
    if (this.hovered >= 0) this.paintRing(this.hovered, this.radius + 4, 2);
    if (this.current >= 0) this.paintTarget(this.current);
  }

  paintClass(nodes, code) {
    if (this.hidden.has(code)) return;
    const path = new Path2D();
    for (const node of nodes) {
      if (this.onlySuspects && node >= this.decisions.count) continue;
      const [x, y] = this.place(node);
      if (x > -9 && y > -9 && x < this.width + 9 && y < this.height + 9) trace(path, this.shape(code), x, y, this.radius);
    }
    this.context.fillStyle = this.colour(code);
    this.context.fill(path);
  }

  paintSuspects() {
    const open = new Path2D();
    const done = new Path2D();
    for (let node = 0; node < this.decisions.count; node += 1) {
      if (this.isShown(node)) {
        const [x, y] = this.place(node);
        trace(this.decisions.merged(node) ? done : open, "circle", x, y, this.radius + 1.8);
      }
    }
    const many = this.decisions.count > 600 * this.view.scale; // thin rings, or nothing else is seen
    this.context.strokeStyle = this.ink;
    this.context.lineWidth = many ? 0.7 : 1.4;
    this.context.globalAlpha = many ? 0.45 : 1;
    this.context.stroke(open);
    this.context.globalAlpha = 0.35;
    this.context.setLineDash([2, 2]);
    this.context.stroke(done);
    this.context.setLineDash([]);
    this.context.globalAlpha = 1;
  }

  paintRing(node, radius, width) {
    const [x, y] = this.place(node);
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 7);
    this.context.lineWidth = width;
    this.context.strokeStyle = this.ink;
    this.context.stroke();
  }

  paintTarget(node) {
    const [x, y] = this.place(node);
    const { context } = this;
    this.paintRing(node, 13, 2.5);
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 13 * dx, y + 13 * dy);
      context.lineTo(x + 20 * dx, y + 20 * dy);
    }
    context.stroke();
    context.beginPath();
    const code = this.data.points.predicted[node];
    trace(context, this.shape(code), x, y, this.radius + 1);
    context.fillStyle = this.colour(code);
    context.fill();
  }

  nodeAt(x, y) {
    let best = -1;
    let least = 14 ** 2;
    for (let node = 0; node < this.data.points.id.length; node += 1) {
      if (!this.isShown(node)) continue;
      const [px, py] = this.place(node);
      const far = (px - x) ** 2 + (py - y) ** 2 - (node < this.decisions.count ? 4 : 0);
      if (far < least) { least = far; best = node; }
    }
    return best;
  }

  words(node) {
    const { points, suspects, classes } = this.data;
    const observed = points.observed[node] >= 0 ? `label ${classes[points.observed[node]]}` : "no label";
    const lines = [`node ${points.id[node]}`, `predicted ${classes[points.predicted[node]]} (${points.percent[node]} %)`, observed];
    if (node < this.decisions.count) lines.push(`wrong with probability ${estimate(suspects.p_wrong[node])}, ${this.decisions.merged(node) || "not decided"}`);
    return lines;
  }

  hover(node, x = 0, y = 0) {
    if (node !== this.hovered) { this.hovered = node; this.draw(); }
    this.tip.hidden = node < 0;
    if (node < 0) return;
    this.tip.textContent = this.words(node).join("\n");
    this.tip.style.left = `${Math.max(4, Math.min(x + 14, this.width - this.tip.offsetWidth - 6))}px`;
    this.tip.style.top = `${y + 18 + this.tip.offsetHeight > this.height ? y - this.tip.offsetHeight - 10 : y + 18}px`;
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.release(event));
    canvas.addEventListener("pointerleave", () => this.hover(-1));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    document.getElementById("zoom-in").addEventListener("click", () => this.zoom(1.5));
    document.getElementById("zoom-out").addEventListener("click", () => this.zoom(1 / 1.5));
    document.getElementById("zoom-reset").addEventListener("click", () => this.reset());
    document.getElementById("only-suspects").addEventListener("input", (event) => { this.onlySuspects = event.target.checked; this.draw(); });
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    this.moved = 0;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) { this.hover(this.nodeAt(event.offsetX, event.offsetY), event.offsetX, event.offsetY); return; }
    const now = [event.offsetX, event.offsetY];
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const length = ([x, y]) => Math.hypot(x - other[0], y - other[1]);
      this.zoom(length(now) / Math.max(1, length(before)), other);
    } else this.pan(now[0] - before[0], now[1] - before[1]);
    this.moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    this.pointers.set(event.pointerId, now);
  }

  release(event) {
    if (!this.pointers.delete(event.pointerId) || event.type === "pointercancel" || this.moved > 5) return;
    const node = this.nodeAt(event.offsetX, event.offsetY);
    this.hover(node, event.offsetX, event.offsetY);
    if (node >= 0) this.onPick(node, this.words(node).join(", "));
  }

  /** The page scrolls over the map as anywhere; the wheel zooms once the map has the focus. */
  wheel(event) {
    if (document.activeElement !== this.canvas && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY / 400), [event.offsetX, event.offsetY]);
  }

  key(event) {
    const steps = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) this.pan(...steps[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.3);
    else if (event.key === "-") this.zoom(1 / 1.3);
    else if (event.key === "0") this.reset();
    else if (event.key === "Enter" && this.current >= 0) this.onPick(this.current, this.words(this.current).join(", "));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  pan(dx, dy) {
    const [wide, high] = this.extent();
    this.view.x -= dx / wide;
    this.view.y -= dy / high;
    this.hover(-1);
    this.draw();
  }

  zoom(factor, [x, y] = [this.width / 2, this.height / 2]) {
    const scale = Math.max(0.6, Math.min(60, this.view.scale * factor));
    const real = scale / this.view.scale;
    const dx = (x - this.width / 2) * (1 - real);
    const dy = (y - this.height / 2) * (1 - real);
    this.view.scale = scale;
    this.pan(dx, dy);
  }

  reset() {
    this.view = { scale: 1, x: 0.5, y: 0.5 };
    this.draw();
  }

  /** Mark the suspect that the table is at, and bring it into sight. */
  select(node) {
    this.current = node;
    this.sides = this.extent();
    const [x, y] = this.place(node);
    if (x < 20 || y < 20 || x > this.width - 20 || y > this.height - 20) {
      this.view.x = this.data.points.x[node] / GRID;
      this.view.y = this.data.points.y[node] / GRID;
    }
    this.draw();
  }
}
