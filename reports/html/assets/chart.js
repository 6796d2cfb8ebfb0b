// A chart: uPlot with buttons for its lines, a tip at the pointer, and keys.

/**
 * el makes an element with text or children. Text from logs is only ever written as text.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} properties
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function el(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [k, v] of Object.entries(properties)) {
    const isAttribute = k.includes("-") || k === "for" || k === "role" || k === "scope";
    if (isAttribute) made.setAttribute(k, String(v));
    else Object.assign(made, { [k]: v });
  }
  made.append(...children);
  return made;
}

/**
 * nameCells writes the name of its column to each cell of a table. On a phone, where a row is a
 * card, the style sheet shows it.
 * @param {HTMLElement} where the table
 */
function nameCells(where) {
  const table = where.closest("table");
  const names = [...(table?.tHead?.rows[0].cells || [])].map((c) => c.textContent || "");
  for (const body of table?.tBodies || []) {
    for (const row of body.rows) {
      for (const cell of row.cells) {
        if (cell.tagName === "TD" && !cell.classList.contains("wide"))
          cell.dataset.head = names[cell.cellIndex];
      }
    }
  }
}

/** The colours of the theme that is shown, by name. @type {Map<string, string>} */
const palette = new Map();

/**
 * color returns the value of a colour of the style sheet. setTheme empties the palette.
 * @param {string} name
 * @returns {string}
 */
function color(name) {
  if (!palette.has(name)) {
    palette.set(
      name,
      getComputedStyle(document.documentElement)
        .getPropertyValue("--" + name)
        .trim(),
    );
  }
  return palette.get(name) || "";
}

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {string} color a colour of the style sheet
 * @property {(number | null)[]} values
 * @property {boolean} shown
 * @property {boolean} [dashed]
 * @property {boolean} [dots] points without a line
 */

/**
 * @typedef {object} Spec
 * @property {string} label what the chart shows, for screen readers
 * @property {number[]} x
 * @property {Line[]} lines
 * @property {number} height
 * @property {boolean} zero the y axis begins at 0
 * @property {number} [limit] a line at the size of the device
 * @property {number} [reach] a value that the y axis shows, if it begins at 0
 * @property {string} xName
 * @property {number[]} xSteps
 * @property {(v: number) => string} xText
 * @property {(v: number, more?: number) => string} yText with more digits, if they are asked for
 * @property {number[]} ySteps
 * @property {(index: number) => Node[]} tip what is known of a value
 * @property {(u: uPlot) => void} [under] draws below the lines
 * @property {(u: uPlot) => void} [over] draws above the lines
 * @property {(index: number) => void} [pick] opens the file of a value
 * @property {(index: number) => boolean} [stops] whether the arrow keys stop at a value
 */

/** The charts and canvases of the page. @type {Set<Drawing>} */
const charts = new Set();

/** The width below which no chart is drawn, in CSS pixels. */
const narrowest = 280;

const axisColors = {
  stroke: () => color("soft"),
  grid: { stroke: () => color("grid"), width: 1 },
  ticks: { stroke: () => color("grid") },
};

/** swatchOf returns a sample of a colour, for the name of a line. @param {string} name */
function swatchOf(name) {
  const swatch = el("span", { className: "swatch", "aria-hidden": "true" });
  swatch.style.background = "var(--" + name + ")";
  return swatch;
}

/** A Chart is drawn into an element, in place of what was there. */
class Chart {
  /** @param {HTMLElement} where @param {Spec} spec */
  constructor(where, spec) {
    this.spec = spec;
    this.x = spec.x;
    this.zero = spec.zero;
    this.small = Boolean(where.closest(".grid"));
    const [first, last] = [spec.x[0], spec.x[spec.x.length - 1]];
    const pad = spec.x.length > 1 ? 0.01 * (last - first) || 0.5 : 1;
    this.whole = { min: first - pad, max: last + pad };
    this.buttons = el("div", {
      className: "tools plot-tools",
      role: "group",
      "aria-label": "Lines of the chart",
    });
    this.plot = el("div", {
      className: "plot",
      tabIndex: 0,
      role: "group",
      "aria-label":
        spec.label +
        ". Arrow keys move from value to value, plus and minus zoom, 0 shows everything, " +
        "Enter opens the file.",
    });
    this.tip = el("div", { className: "tip", hidden: true });
    this.spoken = el("div", { className: "off", role: "status" });
    // Paper has no buttons, so it needs the names of the lines in another place.
    this.legend = el("ul", { className: "key on-paper", "aria-hidden": "true" });
    where.replaceChildren(this.buttons, this.plot, this.legend, this.spoken);
    const width = Math.max(narrowest, this.plot.clientWidth || where.clientWidth || 800);
    const values = spec.lines.map((l) => l.values);
    this.u = new uPlot(this.options(width), [spec.x, ...values], this.plot);
    this.u.root.setAttribute("aria-hidden", "true");
    this.u.over.append(this.tip);
    this.fillLegend();
    spec.lines.forEach((l, i) => this.addLineButton(l, i));
    this.addZoomButtons();
    this.listen();
    this.resized = new ResizeObserver(() => {
      if (this.plotWidth() !== this.u.width) this.fit(0);
    });
    this.resized.observe(this.plot);
    charts.add(this);
  }

  /** options returns what uPlot needs to know. @param {number} width */
  options(width) {
    return {
      width,
      height: this.spec.height,
      legend: { show: false },
      padding: [14, 30, 0, 0],
      cursor: { drag: { x: true, y: false, dist: 6 }, points: { size: 7 } },
      scales: {
        x: { time: false, ...this.whole },
        y: {
          range: (/** @type {uPlot} */ _, /** @type {number} */ min, /** @type {number} */ max) =>
            this.yRange(min, max),
        },
      },
      axes: [this.xAxis(), this.yAxis()],
      series: [{}, ...this.spec.lines.map((l) => this.lineOptions(l, width))],
      hooks: {
        drawClear: [(/** @type {uPlot} */ u) => clipped(u, this.spec.under)],
        draw: [
          (/** @type {uPlot} */ u) => {
            clipped(u, () => this.drawLimit(u));
            clipped(u, this.spec.over);
          },
        ],
        setCursor: [(/** @type {uPlot} */ u) => this.showTip(u, u.cursor.idx)],
      },
    };
  }

  xAxis() {
    return {
      ...axisColors,
      incrs: this.spec.xSteps,
      space: 80,
      label: this.spec.xName,
      labelSize: 22,
      labelFont: "12px system-ui",
      size: 34,
      values: (/** @type {uPlot} */ _, /** @type {number[]} */ marks) =>
        marks.map((v) => (v < 0 ? "" : this.spec.xText(v))),
    };
  }

  yAxis() {
    return {
      ...axisColors,
      incrs: this.spec.ySteps,
      size: (/** @type {uPlot} */ _, /** @type {string[] | null} */ texts) =>
        18 + 7.2 * Math.max(6, ...(texts || []).map((t) => t.length)),
      values: (/** @type {uPlot} */ _, /** @type {number[]} */ marks) =>
        distinct(marks, this.spec.yText),
    };
  }

  /**
   * lineOptions returns what uPlot needs to know of a line.
   * @param {Line} l
   * @param {number} width
   */
  lineOptions(l, width) {
    const stroke = () => color(l.color);
    // Where several values share a pixel, a line covers its whole range. A line of one pixel shows
    // that too, and Chromium draws it several times faster (make bench-page).
    const thickness = this.x.length > 2 * width ? 1 : 1.6;
    return {
      label: l.name,
      show: l.shown,
      stroke,
      width: l.dots ? 0 : thickness,
      dash: l.dashed ? [6, 4] : undefined,
      paths: l.dots ? () => null : undefined,
      points: l.dots ? { show: true, size: 5, fill: stroke, stroke } : { size: 4, fill: stroke },
      spanGaps: true,
    };
  }

  /**
   * yRange returns the ends of the y axis for values between min and max.
   * @param {number} min
   * @param {number} max
   * @returns {[number, number]}
   */
  yRange(min, max) {
    if (min === null || max === null || !isFinite(min) || !isFinite(max)) return [0, 1];
    // A request may be absurdly large; the axis grows to twice the device at most.
    if (this.spec.reach && this.zero)
      max = Math.max(max, Math.min(this.spec.reach, 2 * (this.spec.limit || max)));
    if (this.spec.limit && this.zero && max > 0.6 * this.spec.limit)
      max = Math.max(max, this.spec.limit);
    if (!this.zero) [min, max] = widened(min, max);
    const low = this.zero ? Math.min(0, min) : min;
    const room = 0.06 * (max - low) || 0.05 * Math.abs(max) || 1;
    return [this.zero && low === 0 ? 0 : low - room, max + room];
  }

  /** drawLimit draws the size of the device. @param {uPlot} u */
  drawLimit(u) {
    if (!this.spec.limit || this.spec.limit > u.scales.y.max) return;
    const y = u.valToPos(this.spec.limit, "y", true);
    const c = u.ctx;
    c.strokeStyle = c.fillStyle = color("soft");
    c.setLineDash([8 * devicePixelRatio, 5 * devicePixelRatio]);
    c.lineWidth = devicePixelRatio;
    c.beginPath();
    c.moveTo(u.bbox.left, y);
    c.lineTo(u.bbox.left + u.bbox.width, y);
    c.stroke();
    c.setLineDash([]);
    c.font = 12 * devicePixelRatio + "px system-ui";
    c.textAlign = "left";
    c.textBaseline = "bottom";
    // No line is above the size of the device, so the text is.
    const text = "device: " + this.spec.yText(this.spec.limit);
    c.fillText(text, u.bbox.left + 6 * devicePixelRatio, y - 2 * devicePixelRatio);
  }

  /**
   * showTip shows what is known of a value.
   * @param {uPlot} u
   * @param {number | null | undefined} index
   */
  showTip(u, index) {
    const nodes = index == null ? [] : this.spec.tip(index);
    this.tip.hidden = !nodes.length;
    if (index == null || !nodes.length) return;
    this.tip.replaceChildren(...nodes);
    const x = u.valToPos(this.x[index], "x");
    const wide = u.over.clientWidth;
    this.tip.style.left = this.tip.style.right = "";
    if (x > wide / 2) this.tip.style.right = wide - x + 14 + "px";
    else this.tip.style.left = x + 14 + "px";
    this.tip.style.top = "8px";
  }

  /** zoom shows a part of the x axis. @param {number} min @param {number} max */
  zoom(min, max) {
    const least = (this.whole.max - this.whole.min) / 1e7 || 1e-6;
    if (max - min < least) return;
    const [from, to] = [Math.max(min, this.whole.min), Math.min(max, this.whole.max)];
    this.u.setScale("x", { min: from, max: to });
  }

  /** zoomBy zooms in (below 1) or out around the cursor. @param {number} by */
  zoomBy(by) {
    const { min, max } = this.u.scales.x;
    const { idx } = this.u.cursor;
    const at = idx == null ? (min + max) / 2 : this.x[idx];
    const middle = Math.min(Math.max(at, min), max);
    this.zoom(middle - (middle - min) * by, middle + (max - middle) * by);
  }

  /** showAll shows the whole x axis. */
  showAll() {
    this.zoom(this.whole.min, this.whole.max);
  }

  /** go moves the cursor to a value, and says what is known of it. @param {number} index */
  go(index) {
    const { min, max } = this.u.scales.x;
    const v = this.x[index];
    if (v < min || v > max) this.zoom(v - (max - min) / 2, v + (max - min) / 2);
    const line = this.spec.lines.find((l) => l.shown && l.values[index] != null);
    const top = line ? this.u.valToPos(line.values[index] ?? 0, "y") : 0;
    this.u.setCursor({ left: this.u.valToPos(v, "x"), top }, false);
    this.u.cursor.idx = index;
    this.showTip(this.u, index);
    this.spoken.textContent = this.tip.innerText;
  }

  /** start returns where the arrow keys begin. @param {number} by */
  start(by) {
    const { idx, left } = this.u.cursor;
    if (idx != null && left >= 0) return idx;
    const { min, max } = this.u.scales.x;
    return by > 0 ? firstAtLeast(this.x, min) - 1 : firstAtLeast(this.x, max);
  }

  /** step moves the cursor by some values. @param {number} by */
  step(by) {
    let i = this.start(by);
    const end = by > 0 ? this.x.length - 1 : 0;
    for (let n = Math.abs(by); n > 0 && i !== end; ) {
      i += Math.sign(by);
      if (!this.spec.stops || this.spec.stops(i)) n--;
    }
    if (i >= 0 && i < this.x.length) this.go(i);
  }

  /** pick opens the file at the cursor. */
  pick() {
    const { idx } = this.u.cursor;
    if (idx != null && this.spec.pick) this.spec.pick(idx);
  }

  fillLegend() {
    const shown = this.spec.lines.filter((l) => l.shown);
    this.legend.replaceChildren(...shown.map((l) => el("li", {}, swatchOf(l.color), l.name)));
  }

  /**
   * addLineButton adds the button that shows and hides a line.
   * @param {Line} l
   * @param {number} i
   */
  addLineButton(l, i) {
    const b = this.addButton("", () => {
      l.shown = !l.shown;
      b.setAttribute("aria-pressed", String(l.shown));
      this.u.setSeries(i + 1, { show: l.shown });
      this.fillLegend();
    });
    b.append(swatchOf(l.color), l.name);
    b.setAttribute("aria-pressed", String(l.shown));
  }

  /** @param {string} text @param {() => void} act */
  addButton(text, act) {
    const b = el("button", { type: "button" }, text);
    b.addEventListener("click", act);
    this.buttons.append(b);
    return b;
  }

  addZoomButtons() {
    const fromZero = this.addButton("y axis from 0", () => {
      this.zero = !this.zero;
      fromZero.setAttribute("aria-pressed", String(this.zero));
      this.u.setScale("x", { ...this.u.scales.x });
      this.redraw();
    });
    fromZero.setAttribute("aria-pressed", String(this.zero));
    this.addButton("Zoom in", () => this.zoomBy(0.5));
    this.addButton("Zoom out", () => this.zoomBy(2));
    this.addButton("Show all", () => this.showAll());
  }

  /** listen acts on keys and on the mouse. */
  listen() {
    this.plot.addEventListener("keydown", (ev) => {
      if (ev.ctrlKey || ev.metaKey || ev.altKey) return;
      if (this.key(ev.key, ev.shiftKey ? 10 : 1)) ev.preventDefault();
    });
    let down = 0;
    const { over } = this.u;
    over.addEventListener("mousedown", (ev) => {
      down = ev.clientX;
    });
    over.addEventListener("click", (ev) => {
      if (Math.abs(ev.clientX - down) < 5) this.pick();
    });
    over.addEventListener("dblclick", () => this.showAll());
    const turn = (/** @type {WheelEvent} */ ev) => {
      if (!ev.ctrlKey && !ev.metaKey) return; // the page scrolls
      ev.preventDefault();
      this.zoomBy(ev.deltaY < 0 ? 0.7 : 1 / 0.7);
    };
    over.addEventListener("wheel", turn, { passive: false });
  }

  /** key acts on a key, and reports whether it knows it. @param {string} key @param {number} far */
  key(key, far) {
    const acts = /** @type {Record<string, () => void>} */ ({
      ArrowRight: () => this.step(far),
      ArrowLeft: () => this.step(-far),
      "+": () => this.zoomBy(0.5),
      "=": () => this.zoomBy(0.5),
      "-": () => this.zoomBy(2),
      0: () => this.showAll(),
      Home: () => this.go(0),
      End: () => this.go(this.x.length - 1),
      Enter: () => this.pick(),
      Escape: () => this.u.setCursor({ left: -10, top: -10 }),
    });
    if (!acts[key]) return false;
    acts[key]();
    return true;
  }

  plotWidth() {
    return Math.max(narrowest, this.plot.clientWidth);
  }

  /** fit makes the chart as wide as its place, or as a number of pixels. @param {number} width */
  fit(width) {
    this.u.setSize({ width: width || this.plotWidth(), height: this.spec.height });
  }

  redraw() {
    this.u.redraw(false, true);
  }

  remove() {
    this.resized.disconnect();
    this.u.destroy();
    charts.delete(this);
  }
}

/**
 * clipped calls a function that draws, and lets it draw only where the data are.
 * @param {uPlot} u
 * @param {((u: uPlot) => void) | undefined} draw
 */
function clipped(u, draw) {
  if (!draw) return;
  const c = u.ctx;
  c.save();
  c.beginPath();
  c.rect(
    u.bbox.left,
    u.bbox.top - 14 * devicePixelRatio,
    u.bbox.width,
    u.bbox.height + 14 * devicePixelRatio,
  );
  c.clip();
  draw(u);
  c.restore();
}
