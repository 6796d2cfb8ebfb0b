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

/**
 * makeChart draws a chart into an element, in place of what was there.
 * @param {HTMLElement} where
 * @param {Spec} spec
 */
function makeChart(where, spec) {
  where.replaceChildren();
  let zero = spec.zero;
  const first = spec.x[0];
  const last = spec.x[spec.x.length - 1];
  const pad = spec.x.length > 1 ? 0.01 * (last - first) || 0.5 : 1;
  const whole = /** @type {[number, number]} */ ([first - pad, last + pad]);

  const buttons = el("div", {
    className: "tools plot-tools",
    role: "group",
    "aria-label": "Lines of the chart",
  });
  const plot = el("div", {
    className: "plot",
    tabIndex: 0,
    role: "group",
    "aria-label":
      spec.label +
      ". Arrow keys move from value to value, plus and minus zoom, 0 shows everything, " +
      "Enter opens the file.",
  });
  const tip = el("div", { className: "tip", hidden: true });
  const spoken = el("div", { className: "off", role: "status" });
  const legend = el("ul", { className: "key on-paper", "aria-hidden": "true" });
  where.append(buttons, plot, legend, spoken);

  const stroke = (/** @type {Line} */ l) => () => color(l.color);
  const wide = Math.max(280, plot.clientWidth || where.clientWidth || 800);
  // Where several values share a pixel, a line covers its whole range. A line of one pixel shows
  // that too, and Chromium draws it several times faster (make bench-page).
  const thickness = spec.x.length > 2 * wide ? 1 : 1.6;
  const options = {
    width: wide,
    height: spec.height,
    legend: { show: false },
    padding: [14, 30, 0, 0],
    cursor: { drag: { x: true, y: false, dist: 6 }, points: { size: 7 } },
    scales: {
      x: { time: false, min: whole[0], max: whole[1] },
      y: { range: yRange },
    },
    axes: [
      {
        stroke: () => color("soft"),
        grid: { stroke: () => color("grid"), width: 1 },
        ticks: { stroke: () => color("grid") },
        incrs: spec.xSteps,
        space: 80,
        label: spec.xName,
        labelSize: 22,
        labelFont: "12px system-ui",
        size: 34,
        values: xTexts,
      },
      {
        stroke: () => color("soft"),
        grid: { stroke: () => color("grid"), width: 1 },
        ticks: { stroke: () => color("grid") },
        incrs: spec.ySteps,
        size: yWidth,
        values: yTexts,
      },
    ],
    series: [
      {},
      ...spec.lines.map((l) => ({
        label: l.name,
        show: l.shown,
        stroke: stroke(l),
        width: l.dots ? 0 : thickness,
        dash: l.dashed ? [6, 4] : undefined,
        paths: l.dots ? () => null : undefined,
        points: l.dots
          ? { show: true, size: 5, fill: stroke(l), stroke: stroke(l) }
          : { size: 4, fill: stroke(l) },
        spanGaps: true,
      })),
    ],
    hooks: {
      drawClear: [drawUnder],
      draw: [drawOver],
      setCursor: [showCursor],
    },
  };

  /** @param {uPlot} u @param {number[]} marks */
  function xTexts(u, marks) {
    return marks.map((v) => (v < 0 ? "" : spec.xText(v)));
  }
  /** @param {uPlot} u @param {number[]} marks */
  function yTexts(u, marks) {
    return distinct(marks, spec.yText);
  }
  /** @param {uPlot} u @param {string[] | null} texts */
  function yWidth(u, texts) {
    return 18 + 7.2 * Math.max(6, ...(texts || []).map((t) => t.length));
  }
  /** @param {uPlot} u */
  function drawUnder(u) {
    clipped(u, spec.under);
  }
  /** @param {uPlot} u */
  function drawOver(u) {
    clipped(u, drawLimit);
    clipped(u, spec.over);
  }
  /** @param {uPlot} u */
  function showCursor(u) {
    showTip(u.cursor.idx);
  }

  /**
   * yRange returns the ends of the y axis.
   * @param {uPlot} _
   * @param {number} min
   * @param {number} max
   * @returns {[number, number]}
   */
  function yRange(_, min, max) {
    if (min === null || max === null || !isFinite(min) || !isFinite(max)) return [0, 1];
    // A request may be absurdly large; the axis grows to twice the device at most.
    if (spec.reach && zero) max = Math.max(max, Math.min(spec.reach, 2 * (spec.limit || max)));
    if (spec.limit && zero && max > 0.6 * spec.limit) max = Math.max(max, spec.limit);
    if (!zero) [min, max] = widened(min, max);
    const low = zero ? Math.min(0, min) : min;
    const room = 0.06 * (max - low) || 0.05 * Math.abs(max) || 1;
    return [zero && low === 0 ? 0 : low - room, max + room];
  }

  /** drawLimit draws the size of the device. @param {uPlot} u */
  function drawLimit(u) {
    if (!spec.limit || spec.limit > u.scales.y.max) return;
    const y = u.valToPos(spec.limit, "y", true);
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
    const text = "device: " + spec.yText(spec.limit);
    c.fillText(text, u.bbox.left + 6 * devicePixelRatio, y - 2 * devicePixelRatio);
  }

  const u = new uPlot(options, [spec.x, ...spec.lines.map((l) => l.values)], plot);
  u.root.setAttribute("aria-hidden", "true");
  u.over.append(tip);

  /** showTip shows what is known of a value. @param {number | null | undefined} index */
  function showTip(index) {
    if (index === null || index === undefined) {
      tip.hidden = true;
      return;
    }
    const nodes = spec.tip(index);
    if (!nodes.length) {
      tip.hidden = true;
      return;
    }
    tip.replaceChildren(...nodes);
    tip.hidden = false;
    const x = u.valToPos(spec.x[index], "x");
    const wide = u.over.clientWidth;
    tip.style.left = tip.style.right = "";
    if (x > wide / 2) tip.style.right = wide - x + 14 + "px";
    else tip.style.left = x + 14 + "px";
    tip.style.top = "8px";
  }

  /** zoom shows a part of the x axis. @param {number} min @param {number} max */
  function zoom(min, max) {
    const least = (whole[1] - whole[0]) / 1e7 || 1e-6;
    if (max - min < least) return;
    u.setScale("x", { min: Math.max(min, whole[0]), max: Math.min(max, whole[1]) });
  }
  /** zoomBy zooms in (below 1) or out around the cursor. @param {number} by */
  function zoomBy(by) {
    const { min, max } = u.scales.x;
    const at = u.cursor.idx == null ? (min + max) / 2 : spec.x[u.cursor.idx];
    const middle = Math.min(Math.max(at, min), max);
    zoom(middle - (middle - min) * by, middle + (max - middle) * by);
  }
  /** go moves the cursor to a value. @param {number} index */
  function go(index) {
    const { min, max } = u.scales.x;
    const v = spec.x[index];
    if (v < min || v > max) zoom(v - (max - min) / 2, v + (max - min) / 2);
    let top = 0;
    for (const l of spec.lines) {
      const y = l.values[index];
      if (l.shown && y !== null && y !== undefined) {
        top = u.valToPos(y, "y");
        break;
      }
    }
    u.setCursor({ left: u.valToPos(v, "x"), top }, false);
    u.cursor.idx = index;
    showTip(index);
    spoken.textContent = tip.innerText;
  }
  /** step moves the cursor by some values. @param {number} by */
  function step(by) {
    const { min, max } = u.scales.x;
    let i =
      u.cursor.idx == null || u.cursor.left < 0
        ? by > 0
          ? firstAtLeast(spec.x, min) - 1
          : firstAtLeast(spec.x, max)
        : u.cursor.idx;
    const end = by > 0 ? spec.x.length - 1 : 0;
    for (let n = Math.abs(by); n > 0 && i !== end; ) {
      i += Math.sign(by);
      if (!spec.stops || spec.stops(i)) n--;
    }
    if (i >= 0 && i < spec.x.length) go(i);
  }

  const swatchOf = (/** @type {Line} */ l) => {
    const swatch = el("span", { className: "swatch", "aria-hidden": "true" });
    swatch.style.background = "var(--" + l.color + ")";
    return swatch;
  };
  // Paper has no buttons, so it needs the names of the lines in another place.
  const fillLegend = () =>
    legend.replaceChildren(
      ...spec.lines.filter((l) => l.shown).map((l) => el("li", {}, swatchOf(l), l.name)),
    );
  fillLegend();
  for (let i = 0; i < spec.lines.length; i++) {
    const l = spec.lines[i];
    const b = el(
      "button",
      { type: "button", "aria-pressed": String(l.shown) },
      swatchOf(l),
      l.name,
    );
    b.addEventListener("click", () => {
      l.shown = !l.shown;
      b.setAttribute("aria-pressed", String(l.shown));
      u.setSeries(i + 1, { show: l.shown });
      fillLegend();
    });
    buttons.append(b);
  }
  const button = (/** @type {string} */ text, /** @type {() => void} */ act) => {
    const b = el("button", { type: "button" }, text);
    b.addEventListener("click", act);
    buttons.append(b);
    return b;
  };
  const fromZero = button("y axis from 0", () => {
    zero = !zero;
    fromZero.setAttribute("aria-pressed", String(zero));
    u.setScale("x", { min: u.scales.x.min, max: u.scales.x.max });
    u.redraw(false, true);
  });
  fromZero.setAttribute("aria-pressed", String(zero));
  button("Zoom in", () => zoomBy(0.5));
  button("Zoom out", () => zoomBy(2));
  button("Show all", () => zoom(whole[0], whole[1]));

  plot.addEventListener("keydown", (ev) => {
    const far = ev.shiftKey ? 10 : 1;
    const acts = /** @type {Record<string, () => void>} */ ({
      ArrowRight: () => step(far),
      ArrowLeft: () => step(-far),
      "+": () => zoomBy(0.5),
      "=": () => zoomBy(0.5),
      "-": () => zoomBy(2),
      0: () => zoom(whole[0], whole[1]),
      Home: () => go(0),
      End: () => go(spec.x.length - 1),
      Enter: () => u.cursor.idx != null && spec.pick && spec.pick(u.cursor.idx),
      Escape: () => {
        u.setCursor({ left: -10, top: -10 });
      },
    });
    if (acts[ev.key] && !ev.ctrlKey && !ev.metaKey && !ev.altKey) {
      acts[ev.key]();
      ev.preventDefault();
    }
  });
  let down = 0;
  u.over.addEventListener("mousedown", (ev) => {
    down = ev.clientX;
  });
  u.over.addEventListener("click", (ev) => {
    if (Math.abs(ev.clientX - down) < 5 && u.cursor.idx != null && spec.pick)
      spec.pick(u.cursor.idx);
  });
  u.over.addEventListener("dblclick", () => zoom(whole[0], whole[1]));
  u.over.addEventListener(
    "wheel",
    (ev) => {
      if (!ev.ctrlKey && !ev.metaKey) return; // the page scrolls
      ev.preventDefault();
      zoomBy(ev.deltaY < 0 ? 0.7 : 1 / 0.7);
    },
    { passive: false },
  );

  const resized = new ResizeObserver(() => {
    const width = Math.max(280, plot.clientWidth);
    if (width !== u.width) u.setSize({ width, height: spec.height });
  });
  resized.observe(plot);
  const chart = {
    u,
    zoom,
    go,
    x: spec.x,
    small: Boolean(where.closest(".grid")),
    // fit makes the chart as wide as its place, or as a number of pixels.
    fit: (/** @type {number} */ width) =>
      u.setSize({ width: width || Math.max(280, plot.clientWidth), height: spec.height }),
    redraw: () => u.redraw(false, true),
    remove: () => {
      resized.disconnect();
      u.destroy();
      charts.delete(chart);
    },
  };
  charts.add(chart);
  return chart;
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
