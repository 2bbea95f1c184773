// The embedding on a canvas: a dot per node, a ring around each suspect.
const GRID = 4095;
const COLOURS = 8;

class NodeMap {
  constructor(data, review, onPick) {
    Object.assign(this, { data, review, onPick });
    this.count = data.suspects.p_wrong.length;
    this.canvas = document.getElementById("map");
    this.context = this.canvas.getContext("2d");
    this.tip = document.getElementById("tip");
    this.current = -1;
    this.reset();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.recolour();
  }

  recolour() {
    const legend = document.getElementById("legend");
    legend.replaceChildren();
    this.palette = Array.from({ length: COLOURS }, (_, place) => {
      const probe = put(legend, "li", "");
      probe.style.color = `var(--class-${place})`;
      return getComputedStyle(probe).color;
    });
    this.ink = getComputedStyle(document.body).color;
    legend.replaceChildren();
    const shown = new Map();
    for (const code of this.data.points.predicted) shown.set(code, (shown.get(code) ?? 0) + 1);
    this.data.classes.forEach((name, code) => {
      if (!shown.has(code)) return;
      const item = put(legend, "li", "");
      put(item, "i", "").style.background = this.palette[code % COLOURS];
      item.append(`${name} `);
      put(item, "small", shown.get(code).toLocaleString("en"));
    });
    this.draw();
  }

  reset() { this.view = { scale: 1, x: 0.5, y: 0.5 }; }

  /** Pixels that the whole map is wide and high; neither axis means anything by itself. */
  sides() {
    const [wide, high] = [this.canvas.clientWidth - 40, this.canvas.clientHeight - 40];
    const longest = 1.6 * Math.min(wide, high);
    return [Math.min(wide, longest) * this.view.scale, Math.min(high, longest) * this.view.scale];
  }

  place(node, [wide, high] = this.sides()) {
    const { x, y } = this.data.points;
    return [this.canvas.clientWidth / 2 + (x[node] / GRID - this.view.x) * wide, this.canvas.clientHeight / 2 + (y[node] / GRID - this.view.y) * high];
  }

  draw() {
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(() => { this.planned = false; this.paint(); });
  }

  paint() {
    const { canvas, context } = this;
    const [ratio, many, sides] = [devicePixelRatio || 1, this.data.points.id.length, this.sides()];
    [canvas.width, canvas.height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio];
    context.scale(ratio, ratio);
    const radius = Math.min(6, Math.max(1.5, 130 / Math.sqrt(many)) * Math.sqrt(this.view.scale));
    const paths = Array.from({ length: COLOURS }, () => new Path2D());
    const circle = (path, node, more) => {
      const [x, y] = this.place(node, sides);
      path.moveTo(x + radius + more, y);
      path.arc(x, y, radius + more, 0, 7);
    };
    this.data.points.predicted.forEach((code, node) => circle(paths[code % COLOURS], node, 0));
    context.globalAlpha = 0.75;
    paths.forEach((path, place) => { context.fillStyle = this.palette[place]; context.fill(path); });
    const [open, done] = [new Path2D(), new Path2D()];
    for (let row = 0; row < this.count; row += 1) {
      if (this.data.suspects.flagged[row] || !this.data.trusted) circle(this.review.together(row) ? done : open, row, 2);
    }
    context.strokeStyle = this.ink;
    context.lineWidth = this.count > 600 ? 0.7 : 1.4;
    context.stroke(open);
    context.globalAlpha = 0.35;
    context.setLineDash([2, 2]);
    context.stroke(done);
    if (this.current < 0) return;
    const target = new Path2D();
    circle(target, this.current, 8);
    context.setLineDash([]);
    context.globalAlpha = 1;
    context.lineWidth = 3;
    context.stroke(target);
  }

  nodeAt(x, y) {
    let [best, least] = [-1, 14 ** 2];
    const sides = this.sides();
    for (let node = 0; node < this.data.points.id.length; node += 1) {
      const [px, py] = this.place(node, sides);
      const far = (px - x) ** 2 + (py - y) ** 2 - (node < this.count ? 4 : 0);
      if (far < least) [best, least] = [node, far];
    }
    return best;
  }

  words(node) {
    const { points, suspects, classes } = this.data;
    const lines = [`node ${points.id[node]}`, `predicted ${classes[points.predicted[node]]} (${points.percent[node]} %)`, points.given[node] < 0 ? "no label" : `label ${classes[points.given[node]]}`];
    if (node < this.count && this.data.trusted) lines.push(`wrong with probability ${estimate(suspects.p_wrong[node])}`);
    return lines;
  }

  hover(x, y) {
    const node = this.nodeAt(x, y);
    this.tip.hidden = node < 0;
    if (node < 0) return;
    this.tip.textContent = this.words(node).join("\n");
    this.tip.style.left = `${Math.max(4, Math.min(x + 14, this.canvas.clientWidth - this.tip.offsetWidth - 6))}px`;
    this.tip.style.top = `${y + 18 + this.tip.offsetHeight > this.canvas.clientHeight ? y - this.tip.offsetHeight - 10 : y + 18}px`;
  }

  listen() {
    const { canvas } = this;
    let from = null;
    let moved = 0;
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); from = [event.offsetX, event.offsetY]; moved = 0; });
    canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
      if (!from) { this.hover(offsetX, offsetY); return; }
      this.pan(offsetX - from[0], offsetY - from[1]);
      moved += Math.abs(offsetX - from[0]) + Math.abs(offsetY - from[1]);
      from = [offsetX, offsetY];
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, ({ offsetX, offsetY, type }) => {
      from = null;
      if (moved > 5 || type === "pointercancel") return;
      this.hover(offsetX, offsetY);
      const node = this.nodeAt(offsetX, offsetY);
      if (node >= 0) this.onPick(node, this.words(node).join(", "));
    });
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    // The page scrolls over the map as anywhere; the wheel zooms once the map has the focus.
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    }, { passive: false });
    const keys = {
      ArrowLeft: () => this.pan(60, 0), ArrowRight: () => this.pan(-60, 0), ArrowUp: () => this.pan(0, 60), ArrowDown: () => this.pan(0, -60),
      "+": () => this.zoom(1.3), "-": () => this.zoom(1 / 1.3), 0: () => { this.reset(); this.draw(); },
    };
    canvas.addEventListener("keydown", (event) => {
      if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  pan(dx, dy) {
    const [wide, high] = this.sides();
    this.view.x -= dx / wide;
    this.view.y -= dy / high;
    this.draw();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.max(0.6, Math.min(60, this.view.scale * factor));
    const real = scale / this.view.scale;
    this.view.scale = scale;
    this.pan((x - this.canvas.clientWidth / 2) * (1 - real), (y - this.canvas.clientHeight / 2) * (1 - real));
  }

  /** Mark the suspect that the table is at, and bring it into sight. */
  select(node) {
    this.current = node;
    const [x, y] = this.place(node);
    if (x < 20 || y < 20 || x > this.canvas.clientWidth - 20 || y > this.canvas.clientHeight - 20) {
      [this.view.x, this.view.y] = [this.data.points.x[node] / GRID, this.data.points.y[node] / GRID];
    }
    this.draw();
  }
}
