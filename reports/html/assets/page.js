// The page: it decodes the data and fills the sections that the Go program left empty.

const byId = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/**
 * load returns the data of the page.
 * @returns {Promise<any>}
 */
async function load() {
  const text = byId("data").textContent;
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return decode(JSON.parse(await new Response(stream).text()));
}

/** @type {any} */
let doc = null;
/** state is what the reader chose. */
const state = { track: 0, file: -1 };
/** @type {any} */
let timeChart = null;
/** @type {any} */
let filesChart = null;

// The names and colours of quantities, in the order of the buttons.
const quantities = [
  ["allocated", "allocated", "blue", true],
  ["reserved", "reserved", "orange", true],
  ["used", "device used", "green", true],
  ["buffer", "buffers", "purple", true],
  ["peak", "peak allocated", "sky", false],
  ["peak_reserved", "peak reserved", "yellow", false],
  ["active", "active", "purple", false],
  ["inactive_split", "inactive split", "grey", false],
  ["pinned", "pinned host memory", "red", false],
];
const stageColors = ["sky", "orange", "green", "purple", "yellow", "red", "blue", "grey"];
const eventKinds = /** @type {Record<string, [string, string, string]>} */ ({
  oom: ["✗", "out of memory", "red"],
  fallback: ["▽", "out of memory, went on with less", "yellow"],
  failed: ["✗", "file did not end ok", "fail"],
  crash: ["✗", "crash", "fail"],
  exit: ["■", "process ended", "purple"],
  restart: ["↻", "process restarted", "purple"],
  resume: ["▶", "run resumed", "blue"],
});

/** xText returns a place on the time axis as text. @param {any} log @param {number} x */
function xText(log, x) {
  return log.timed ? clockText(x) : grouped(x / 1000);
}

/** moment returns the time of a place on the axis: since the start, and the date. @param {any} log @param {number} x */
function moment(log, x) {
  if (!log.timed) return "checkpoint " + grouped(x / 1000);
  const since = "after " + formatDuration(x);
  if (!log.origin || log.cut) return since;
  return since + ", " + new Date(log.origin + x).toISOString().replace("T", " ").slice(0, 19) + " UTC";
}

/** fileName names a file: "file 12: a.wav". @param {number} f index in doc.files */
function fileName(f) {
  const n = doc.files.number[f];
  const path = doc.files.path[f];
  const base = path.slice(path.lastIndexOf("/") + 1);
  if (!n) return path || "outside of files";
  return "file " + grouped(n) + (base ? ": " + base : "");
}

/** row makes a line of a tip. @param {string} name @param {string} value */
const tipRow = (name, value) => el("div", {}, name + " ", el("b", {}, value));

/** exact returns a reading with its bytes and how exact it is. @param {any} t @param {string} q @param {number} v */
function exact(t, q, v) {
  const digits = t.digits[q];
  return exactBytes(v) + (digits ? " ± " + formatBytes(digits) : "");
}

/**
 * drawTime draws memory over time.
 * @param {any} t a track
 */
function drawTime(t) {
  const log = doc.logs[t.log];
  const p = t.points;
  const px = spreadEqual(p.x, log.timed ? 1000 : 1);
  const merged = mergeAxes([px, ...t.samples.map((/** @type {any} */ s) => s.x)]);
  const n = merged.x.length;
  const pointAt = spreadOn(p.x.map((/** @type {number} */ _, /** @type {number} */ i) => i), merged.at[0], n);
  const lines = [];
  for (const [key, name, ink, shown] of quantities) {
    if (p.values[/** @type {string} */ (key)]) {
      lines.push({ name, color: ink, shown, values: spreadOn(p.values[/** @type {string} */ (key)], merged.at[0], n), key });
    }
  }
  t.samples.forEach((/** @type {any} */ s, /** @type {number} */ i) => {
    const host = s.name.startsWith("host");
    lines.push({ name: s.name, color: host ? "purple" : "green", dashed: true, shown: !host || !lines.length,
      values: spreadOn(s.value, merged.at[i + 1], n), key: "" });
  });
  if (lines.length && !lines.some((l) => l.shown)) lines[0].shown = true;
  const bands = stageBands(px, p.number, p.stage);
  const bandStart = bands.map((b) => b.from);
  const events = doc.events.filter((/** @type {any} */ e) => e.log === t.log);
  const inLog = fileSpans(t);
  const main = p.values.allocated || p.values.used || p.values.reserved || p.values.buffer || [];

  /** @param {any} u */
  const under = (u) => {
    const { min, max } = u.scales.x;
    const c = u.ctx;
    const x = (/** @type {number} */ v) => u.valToPos(v, "x", true);
    const { left, top, height, width } = u.bbox;
    const from = firstAtLeast(inLog.end, min);
    const to = firstAtLeast(inLog.begin, max);
    if (to - from < width / 3) {
      c.fillStyle = color("file");
      for (let i = from; i < to; i++) {
        if (i % 2) c.fillRect(x(inLog.begin[i]), top, x(inLog.end[i]) - x(inLog.begin[i]), height);
      }
    }
    const strip = 9 * devicePixelRatio;
    let drawnTo = -1;
    for (let i = Math.max(0, firstAtLeast(bandStart, min) - 1); i < bands.length && bands[i].from <= max; i++) {
      const a = x(bands[i].from);
      const b = x(bands[i].to);
      if (b - drawnTo < 0.5) continue;
      drawnTo = b;
      c.fillStyle = color(stageColor(bands[i].stage));
      c.fillRect(a, top + height - strip, Math.max(0.5, b - a), strip);
      if (b - a > 3) {
        c.globalAlpha = 0.08;
        c.fillRect(a, top, b - a, height - strip);
        c.globalAlpha = 1;
      }
    }
    const chosen = inLog.file.indexOf(state.file);
    if (chosen >= 0) drawChosen(u, x(inLog.begin[chosen]), x(inLog.end[chosen]));
  };
  /** @param {any} u */
  const over = (u) => {
    const { min, max } = u.scales.x;
    const c = u.ctx;
    const r = devicePixelRatio;
    const x = (/** @type {number} */ v) => u.valToPos(v, "x", true);
    c.font = 11 * r + "px system-ui";
    c.textAlign = "left";
    c.textBaseline = "bottom";
    c.fillStyle = color("soft");
    let free = u.bbox.left;
    const from = firstAtLeast(inLog.end, min);
    for (let i = from; i < inLog.begin.length && inLog.begin[i] < max; i++) {
      const a = Math.max(x(inLog.begin[i]), u.bbox.left);
      const text = (free === u.bbox.left ? "file " : "") + grouped(doc.files.number[inLog.file[i]]);
      if (a >= free && doc.files.number[inLog.file[i]]) {
        c.fillText(text, a + 2 * r, u.bbox.top - r);
        free = a + c.measureText(text).width + 14 * r;
      }
    }
    for (const i of p.failed) {
      if (px[i] < min || px[i] > max || main[i] == null) continue;
      c.strokeStyle = color("fail");
      c.lineWidth = 2 * r;
      c.beginPath();
      c.arc(x(px[i]), u.valToPos(main[i], "y", true), 4 * r, 0, 2 * Math.PI);
      c.stroke();
    }
    c.textAlign = "center";
    c.textBaseline = "top";
    c.font = "bold " + 14 * r + "px system-ui";
    const visible = events.filter((/** @type {any} */ e) => e.x >= min && e.x <= max);
    const taken = /** @type {Record<string, number>} */ ({});
    for (const e of visible) {
      const [sign, , ink] = eventKinds[e.kind];
      const at = x(e.x);
      c.strokeStyle = c.fillStyle = color(ink);
      if (visible.length < 40) {
        c.lineWidth = r;
        c.setLineDash([3 * r, 3 * r]);
        c.beginPath();
        c.moveTo(at, u.bbox.top + 16 * r);
        c.lineTo(at, u.bbox.top + u.bbox.height);
        c.stroke();
        c.setLineDash([]);
      }
      if (at < (taken[sign] ?? -1e9)) continue;
      c.fillText(sign, at, u.bbox.top + r);
      taken[sign] = at + 11 * r;
    }
  };
  if (timeChart) timeChart.remove();
  timeChart = makeChart(byId("over-time"), {
    label: "Memory over time, " + t.label, x: merged.x, lines, height: 360, zero: true, limit: t.total,
    xName: log.timed ? "time since the start of the log" : "checkpoint", yText: formatBytes, ySteps: byteSteps(),
    xSteps: log.timed ? timeSteps() : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5].map((v) => v * 1000),
    xText: (v) => xText(log, v), under, over,
    tip: (i) => {
      const at = pointAt[i];
      const out = [];
      if (at != null) {
        const stage = p.stage[at];
        out.push(el("div", {}, el("b", {}, doc.names[p.name[at]])), el("div", {}, fileName(p.file[at]) + (stage == null ? "" : ", in " + doc.names[stage])));
        for (const [key, name] of quantities) {
          const v = p.values[/** @type {string} */ (key)];
          if (v && v[at] != null) out.push(tipRow(/** @type {string} */ (name), exact(t, /** @type {string} */ (key), v[at])));
        }
        if (p.freed[at] != null) out.push(tipRow("freed here", (p.freed[at] / 10).toFixed(1) + " % of what was held"));
        out.push(el("div", { className: "soft" }, moment(log, p.x[at]) + ", line " + grouped(p.line[at])));
      } else {
        for (const l of lines) {
          if (l.key === "" && l.values[i] != null) out.push(tipRow(l.name, exactBytes(/** @type {number} */ (l.values[i]))));
        }
        out.push(el("div", { className: "soft" }, moment(log, merged.x[i])));
      }
      const u = timeChart.u;
      for (const e of events) {
        if (Math.abs(u.valToPos(e.x, "x") - u.valToPos(merged.x[i], "x")) < 5) out.push(el("div", {}, el("b", {}, eventKinds[e.kind][0] + " line " + grouped(e.line)), " " + e.text));
      }
      return out;
    },
    pick: (i) => {
      const at = pointAt[i];
      selectFile(at != null ? p.file[at] : inLog.file[Math.min(firstAtLeast(inLog.end, merged.x[i]), inLog.file.length - 1)]);
    },
    stops: (i) => pointAt[i] != null || !p.x.length,
  });
  timeChart.indexOfPoint = (/** @type {number} */ i) => merged.at[0][i];
  byId("over-time").append(key(bands, events, p.failed.length), eventList(events));
  if (log.cut) byId("over-time").append(el("p", { className: "soft" }, "The axis leaves out " + formatDuration(log.cut) + " between the parts of the run."));
}

/** drawChosen marks the chosen file with a bar at the top and lines at its ends. @param {any} u @param {number} from @param {number} to */
function drawChosen(u, from, to) {
  const c = u.ctx;
  const r = devicePixelRatio;
  c.fillStyle = color("ink");
  const wide = Math.max(2 * r, to - from);
  c.fillRect(from, u.bbox.top - 3 * r, wide, 3 * r);
  c.globalAlpha = 0.35;
  c.fillRect(from, u.bbox.top, r, u.bbox.height);
  c.fillRect(from + wide - r, u.bbox.top, r, u.bbox.height);
  c.globalAlpha = 1;
}

/** fileSpans returns where the files of a track lie on the x axis, in order. @param {any} t */
function fileSpans(t) {
  const out = { begin: /** @type {number[]} */ ([]), end: /** @type {number[]} */ ([]), file: /** @type {number[]} */ ([]) };
  for (const f of t.rows.file) {
    out.begin.push(doc.files.begin[f]);
    out.end.push(Math.max(doc.files.end[f], doc.files.begin[f]));
    out.file.push(f);
  }
  return out;
}

/** stageColor returns the colour of a stage. @param {number} name */
function stageColor(name) {
  if (!doc.stageColors.has(name)) doc.stageColors.set(name, stageColors[doc.stageColors.size % stageColors.length]);
  return doc.stageColors.get(name);
}

/** key explains bands and marks. @param {any[]} bands @param {any[]} events @param {number} failed */
function key(bands, events, failed) {
  const list = el("ul", { className: "key" });
  const stages = new Set(bands.map((b) => b.stage));
  for (const s of [...stages].slice(0, 12)) {
    const swatch = el("span", { className: "swatch", "aria-hidden": "true" });
    swatch.style.background = "var(--" + stageColor(s) + ")";
    list.append(el("li", {}, swatch, "stage " + doc.names[s]));
  }
  if (stages.size > 12) list.append(el("li", {}, "and " + (stages.size - 12) + " more stages"));
  if (failed) list.append(el("li", {}, "○ cleanup or stage that freed too little: " + grouped(failed)));
  for (const [kind, [sign, name]] of Object.entries(eventKinds)) {
    const n = events.filter((e) => e.kind === kind).length;
    if (n) list.append(el("li", {}, sign + " " + name + ": " + grouped(n)));
  }
  return list;
}

/** eventList lists the marked lines. @param {any[]} events */
function eventList(events) {
  if (!events.length) return "";
  const shown = events.slice(0, 200);
  const body = el("tbody", {}, ...shown.map((e) => el("tr", {}, el("td", { className: "n" }, grouped(e.line)),
    el("td", {}, eventKinds[e.kind][0] + " " + eventKinds[e.kind][1]), el("td", {}, e.file >= 0 ? fileButton(e.file) : ""), el("td", {}, e.text))));
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...["Line", "What", "File", "In words"].map((h) => el("th", { scope: "col" }, h)))), body);
  return el("details", {}, el("summary", {}, "Failures, restarts and resumes: " + grouped(events.length) + (shown.length < events.length ? ", the first 200" : "")),
    el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Failures, restarts and resumes" }, table));
}

/** fileButton opens a file. @param {number} f */
function fileButton(f) {
  const b = el("button", { type: "button", className: "linklike" }, fileName(f));
  b.addEventListener("click", () => { selectFile(f); byId("file").scrollIntoView(); });
  return b;
}

/** minus returns the difference of two columns. @param {any} a @param {any} b */
const minus = (a, b) => a && b && a.map((/** @type {any} */ v, /** @type {number} */ i) => (v == null || b[i] == null ? null : v - b[i]));

/**
 * drawFiles draws memory over files.
 * @param {any} t a track
 */
function drawFiles(t) {
  const rows = t.rows;
  if (filesChart) filesChart.remove();
  filesChart = null;
  if (rows.file.length < 2) {
    byId("over-files").replaceChildren(el("p", { className: "soft" }, "The log has fewer than two files."));
    return;
  }
  let x = rows.file.map((/** @type {number} */ f) => doc.files.number[f]);
  const rising = x.every((/** @type {number} */ v, /** @type {number} */ i) => i === 0 || v > x[i - 1]);
  if (!rising) x = x.map((/** @type {number} */ _, /** @type {number} */ i) => i + 1);
  const lines = [];
  for (const [key, name, ink, shown] of quantities.slice(0, 4)) {
    const k = /** @type {string} */ (key);
    if (rows.idle[k]) lines.push({ key: k, name: name + " at a file's end", color: ink, shown, values: rows.idle[k], of: k });
  }
  const unused = minus(rows.idle.reserved, rows.idle.allocated);
  if (unused) lines.push({ key: "unused", name: "reserved - allocated at a file's end", color: "yellow", shown: false, values: unused, of: "reserved" });
  const dark = minus(rows.idle.used, rows.idle.reserved);
  if (dark) lines.push({ key: "dark", name: "dark memory at a file's end", color: "grey", shown: false, values: dark, of: "used" });
  for (const [key, name, ink] of quantities.slice(0, 4)) {
    const k = /** @type {string} */ (key);
    if (rows.highest[k]) lines.push({ key: "highest " + k, name: "highest " + name, color: k === "allocated" ? "sky" : ink, dashed: true, shown: k === "allocated", values: rows.highest[k], of: k });
  }
  const ledgers = /** @type {Record<string, string>} */ ({ leak: rows.idle.allocated ? "allocated" : "used", fragmentation: "unused", "device-used": "used", "dark-memory": "dark" });
  const track = doc.tracks.indexOf(t);
  const judged = rising ? doc.trends.filter((/** @type {any} */ r) => r.track === track && r.unit === "bytes" && r.each === "file" && ledgers[r.check]) : [];
  for (const r of judged) {
    const l = lines.find((m) => m.key === ledgers[r.check]);
    if (l && r.verdict === "fail") l.shown = true;
  }
  const under = (/** @type {any} */ u) => {
    const at = rows.file.indexOf(state.file);
    if (at >= 0) {
      const px = u.valToPos(x[at], "x", true);
      drawChosen(u, px - 4 * devicePixelRatio, px + 4 * devicePixelRatio);
    }
    for (const r of judged) {
      const l = lines.find((m) => m.key === ledgers[r.check]);
      if (l && l.shown) drawBand(u, r);
    }
  };
  const over = (/** @type {any} */ u) => {
    for (const r of judged) {
      const l = lines.find((m) => m.key === ledgers[r.check]);
      if (l && l.shown) drawFit(u, r);
    }
    const c = u.ctx;
    c.font = "bold " + 14 * devicePixelRatio + "px system-ui";
    c.textAlign = "center";
    c.textBaseline = "top";
    c.fillStyle = color("fail");
    for (let i = firstAtLeast(x, u.scales.x.min); i < x.length && x[i] <= u.scales.x.max; i++) {
      if (bad(rows.file[i])) c.fillText("✗", u.valToPos(x[i], "x", true), u.bbox.top);
    }
  };
  filesChart = makeChart(byId("over-files"), {
    label: "Memory over files, " + t.label, x, lines, height: 320, zero: true, limit: t.total,
    xName: rising ? "file" : "file, in the order of the log", xSteps: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5],
    xText: (v) => grouped(v), yText: formatBytes, ySteps: byteSteps(), under, over,
    tip: (i) => {
      const f = rows.file[i];
      const out = [el("div", {}, el("b", {}, fileName(f)))];
      const status = doc.files.status[f];
      if (status) out.push(el("div", {}, "ended " + status));
      for (const l of lines) {
        if (l.shown && l.values[i] != null) out.push(tipRow(l.name, exact(t, l.of, l.values[i])));
      }
      return out;
    },
    pick: (i) => selectFile(rows.file[i]),
  });
  const notes = judged.map((/** @type {any} */ r) => el("li", {}, fitSwatch(r), "line that the " + r.check + " check fitted, with its 95 % interval: " + r.rate));
  if (rows.file.some(bad)) notes.push(el("li", {}, "✗ file did not end ok"));
  byId("over-files").append(el("ul", { className: "key" }, ...notes));
}

const fitColor = (/** @type {any} */ r) => (r.verdict === "fail" ? "fail" : "soft");

/** @param {any} r */
function fitSwatch(r) {
  const swatch = el("span", { className: "swatch", "aria-hidden": "true" });
  swatch.style.background = "var(--" + fitColor(r) + ")";
  return swatch;
}

/** bad reports whether a file did not end ok. @param {number} f */
const bad = (f) => doc.files.status[f] !== "" && doc.files.status[f] !== "ok";

/** drawBand draws the 95 % interval of a growth. @param {any} u @param {any} r */
function drawBand(u, r) {
  const c = u.ctx;
  const known = r.x.map((/** @type {number} */ _, /** @type {number} */ i) => i).filter((/** @type {number} */ i) => r.low[i] != null);
  if (!known.length) return;
  c.fillStyle = color(fitColor(r));
  c.globalAlpha = 0.2;
  c.beginPath();
  for (const i of known) c.lineTo(u.valToPos(r.x[i], "x", true), u.valToPos(r.high[i], "y", true));
  for (const i of known.reverse()) c.lineTo(u.valToPos(r.x[i], "x", true), u.valToPos(r.low[i], "y", true));
  c.fill();
  c.globalAlpha = 1;
}

/** drawFit draws the line that was fitted, and where the growth begins. @param {any} u @param {any} r */
function drawFit(u, r) {
  const c = u.ctx;
  c.strokeStyle = c.fillStyle = color(fitColor(r));
  c.lineWidth = 2 * devicePixelRatio;
  c.beginPath();
  for (let i = 0; i < r.x.length; i++) {
    if (r.fitted[i] != null) c.lineTo(u.valToPos(r.x[i], "x", true), u.valToPos(r.fitted[i], "y", true));
  }
  c.stroke();
  if (!r.mark) return;
  const x = u.valToPos(r.from, "x", true);
  c.lineWidth = devicePixelRatio;
  c.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  c.beginPath();
  c.moveTo(x, u.bbox.top);
  c.lineTo(x, u.bbox.top + u.bbox.height);
  c.stroke();
  c.setLineDash([]);
  c.font = 12 * devicePixelRatio + "px system-ui";
  c.textBaseline = "top";
  const right = x < u.bbox.left + u.bbox.width / 2;
  c.textAlign = right ? "left" : "right";
  c.fillText(r.mark, x + (right ? 5 : -5) * devicePixelRatio, u.bbox.top + 2 * devicePixelRatio);
}

const trendsShown = 8;

/** drawTrends draws the judged series. @param {number} upTo how many */
function drawTrends(upTo) {
  const where = byId("trends");
  for (let k = where.querySelectorAll("article").length; k < Math.min(upTo, doc.trends.length); k++) {
    const r = doc.trends[k];
    const chart = el("div", { className: "chart" });
    const sign = /** @type {any} */ ({ fail: "✗", undecided: "?", pass: "✓", noted: "!", waived: "~" })[r.verdict] || "";
    const title = el("h3", { id: "trend-" + k }, el("span", { className: "badge " + r.verdict }, sign + " " + r.verdict), " " + r.check + ": " + r.title);
    where.append(el("article", { "aria-labelledby": "trend-" + k }, title, el("p", { className: "soft" }, r.rate || "too few values to judge"), chart));
    const x = spreadEqual(r.x, 1);
    const lines = [{ name: "a " + r.each, color: "blue", dots: r.x.length < 400, shown: true, values: r.values }];
    if (r.out.some((/** @type {any} */ v) => v != null)) lines.push({ name: "outlier, left out", color: "orange", dots: true, shown: true, values: r.out });
    makeChart(chart, {
      label: r.check + ", " + r.title + ": values over " + r.each + "s", x, lines, height: 230, zero: false,
      xName: r.each, xSteps: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5], xText: (v) => grouped(v),
      yText: (v) => formatAmount(v, r.unit), ySteps: r.unit === "bytes" ? byteSteps() : steps10(),
      under: (u) => drawBand(u, r), over: (u) => drawFit(u, r),
      tip: (i) => {
        const v = r.values[i] == null ? r.out[i] : r.values[i];
        const out = [el("div", {}, el("b", {}, fileName(r.file[i])))];
        if (r.each === "reading") out.push(el("div", {}, "reading " + grouped(r.x[i])));
        if (v != null) out.push(tipRow(r.title, r.unit === "bytes" ? exactBytes(v) : formatAmount(v, r.unit)));
        if (r.fitted[i] != null) out.push(tipRow("fitted", formatAmount(r.fitted[i], r.unit)));
        return out;
      },
      pick: (i) => selectFile(r.file[i]),
    });
    if (r.x.length < r.all) where.lastChild.append(el("p", { className: "soft" }, "Shown: " + grouped(r.x.length) + " of " + grouped(r.all) + " values, with the extremes of each stretch."));
  }
  const more = byId("trends-more");
  if (more) more.remove();
  if (upTo < doc.trends.length) {
    const b = el("button", { type: "button", id: "trends-more" }, "Show " + (doc.trends.length - upTo) + " more series");
    b.addEventListener("click", () => drawTrends(doc.trends.length));
    where.after(b);
  }
}

/** steps10 are the distances between the marks of an axis of decimal numbers. */
function steps10() {
  const out = [];
  for (let e = -6; e < 12; e++) for (const n of [1, 2, 5]) out.push(n * 10 ** e);
  return out;
}

/**
 * selectFile shows one file.
 * @param {number} f index in doc.files
 */
function selectFile(f) {
  if (f == null || f < 0) return;
  state.file = f;
  const t = doc.tracks[state.track];
  const body = byId("file-body");
  byId("file").hidden = false;
  byId("file-title").textContent = "One file: " + fileName(f);
  byId("file-number").value = doc.files.number[f] || "";
  const facts = [];
  const path = doc.files.path[f];
  if (path) facts.push(path);
  if (doc.files.status[f]) facts.push("ended " + doc.files.status[f]);
  if (doc.files.seconds[f] != null) facts.push("took " + formatDuration(doc.files.seconds[f]));
  if (doc.files.audio[f] != null) facts.push("audio of " + formatDuration(doc.files.audio[f]));
  facts.push(doc.logs[doc.files.log[f]].name + ", line " + grouped(doc.files.line[f]));
  const out = [el("p", { className: "soft" }, facts.join("; "))];
  if (doc.files.error[f]) out.push(el("p", { className: "note" }, doc.files.error[f]));
  out.push(filePattern(t, f));
  body.replaceChildren(...out);
  for (const c of [timeChart, filesChart]) if (c) c.redraw();
}

/** filePattern returns the table of a file's checkpoints. @param {any} t @param {number} f */
function filePattern(t, f) {
  const p = t.points;
  const at = [];
  for (let i = 0; i < p.file.length; i++) if (p.file[i] === f) at.push(i);
  if (!at.length) return el("p", { className: "soft" }, "The page has no checkpoint of this file on " + t.label + ".");
  const shown = quantities.filter(([key]) => p.values[/** @type {string} */ (key)] && at.some((i) => p.values[/** @type {string} */ (key)][i] != null));
  const first = /** @type {string} */ (shown[0][0]);
  const most = Math.max(t.total ? 0 : 1, ...at.map((i) => p.values[first][i] || 0));
  const log = doc.logs[t.log];
  const head = ["Line", log.timed ? "Time in the file" : "Checkpoint no.", "Checkpoint", "Stage", shown[0][1] + ", as a bar", ...shown.map(([, name]) => name), "change of " + shown[0][1], "freed"];
  let last = /** @type {number | null} */ (null);
  const lines = at.map((i) => {
    const v = p.values[first][i];
    const bar = el("span", { className: "level", "aria-hidden": "true" });
    bar.style.width = (100 * Math.max(0, v || 0)) / most + "%";
    const change = v == null || last == null ? "" : (v >= last ? "+" : "") + formatBytes(v - last);
    if (v != null) last = v;
    return el("tr", {}, el("td", { className: "n" }, grouped(p.line[i])),
      el("td", { className: "n" }, log.timed ? formatDuration(p.x[i] - p.x[at[0]]) : grouped(p.number[i])),
      el("th", { scope: "row" }, doc.names[p.name[i]]), el("td", {}, p.stage[i] == null ? "" : doc.names[p.stage[i]]), el("td", { className: "wide" }, bar),
      ...shown.map(([key]) => {
        const b = p.values[/** @type {string} */ (key)][i];
        return el("td", { className: "n", title: b == null ? "" : exact(t, /** @type {string} */ (key), b) }, b == null ? "" : formatBytes(b));
      }),
      el("td", { className: "n" }, change),
      el("td", { className: "n" }, p.freed[i] == null ? "" : (p.failed.includes(i) ? "✗ " : "") + (p.freed[i] / 10).toFixed(1) + " %"));
  });
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...head.map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, ...lines));
  const box = el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Checkpoints of " + fileName(f) }, table);
  if (t.points.x.length === t.all) return box;
  return el("div", {}, el("p", { className: "soft" }, "The page holds " + at.length + " checkpoints of this file, perhaps not all."), box);
}

/** step selects the file before or after the selected one. @param {number} by */
function stepFile(by) {
  const files = doc.tracks[state.track].rows.file;
  const at = files.indexOf(state.file);
  const next = at < 0 ? 0 : at + by;
  if (next >= 0 && next < files.length) selectFile(files[next]);
}

const filesShown = 200;

/** listFiles fills the table of files. */
function listFiles() {
  const only = byId("files-which").value === "bad";
  const text = byId("files-search").value.toLowerCase();
  const t = doc.tracks[state.track];
  const rowOf = new Map(t ? t.rows.file.map((/** @type {number} */ f, /** @type {number} */ i) => [f, i]) : []);
  const main = t && ["allocated", "used", "reserved", "buffer"].find((q) => t.rows.idle[q]);
  const found = [];
  for (let f = 0; f < doc.files.path.length; f++) {
    if (!doc.files.number[f] && !doc.files.path[f]) continue;
    if (only && !bad(f)) continue;
    if (text && !doc.files.path[f].toLowerCase().includes(text)) continue;
    found.push(f);
  }
  const head = ["No.", "File", "Ended", "Took", ...(main ? [main + " at its end", "highest " + main] : []), "Line"];
  const bytes = (/** @type {any} */ table, /** @type {number} */ f) => {
    const i = rowOf.get(f);
    const v = i === undefined || !main || !table[main] ? null : table[main][i];
    return el("td", { className: "n" }, v == null ? "" : formatBytes(v));
  };
  const body = found.slice(0, filesShown).map((f) => {
    const b = fileButton(f);
    b.textContent = doc.files.path[f] || fileName(f);
    const took = doc.files.seconds[f];
    return el("tr", {}, el("td", { className: "n" }, doc.files.number[f] ? grouped(doc.files.number[f]) : ""), el("th", { scope: "row" }, b), el("td", {}, (bad(f) ? "✗ " : "") + doc.files.status[f]),
      el("td", { className: "n" }, took == null ? "" : formatDuration(took)),
      ...(main ? [bytes(t.rows.idle, f), bytes(t.rows.highest, f)] : []), el("td", { className: "n" }, grouped(doc.files.line[f])));
  });
  byId("files-table").replaceChildren(el("thead", {}, el("tr", {}, ...head.map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, ...body));
  byId("files-count").textContent = grouped(found.length) + (found.length === 1 ? " file" : " files") + (found.length > filesShown ? ", the first " + filesShown + " are listed" : "");
}

/** showTrack draws a device. @param {number} k */
function showTrack(k) {
  state.track = k;
  const t = doc.tracks[k];
  byId("track").value = String(k);
  drawTime(t);
  drawFiles(t);
  const parts = [];
  if (t.points.x.length < t.all) parts.push(grouped(t.points.x.length) + " of " + grouped(t.all) + " checkpoints");
  if (t.rows.file.length < t.allFiles) parts.push(grouped(t.rows.file.length) + " of " + grouped(t.allFiles) + " files");
  for (const s of t.samples) if (s.x.length < s.all) parts.push(grouped(s.x.length) + " of " + grouped(s.all) + " samples (" + s.name + ")");
  byId("thinned").hidden = !parts.length;
  byId("thinned").textContent = "The log is long, so this page is thinned: it holds " + parts.join(", ") +
    ". Each stretch keeps its first, last, lowest and highest reading, so no peak is lost. The verdict was made from all of them.";
  listFiles();
}

/** showFinding goes to the chart of a finding. @param {number} n */
function showFinding(n) {
  const at = doc.findings[n];
  if (!at) return;
  if (at.track >= 0 && at.track !== state.track) showTrack(at.track);
  if (at.file >= 0) selectFile(at.file);
  if (at.trend >= 0) {
    drawTrends(Math.max(trendsShown, at.trend + 1));
    const where = byId("trend-" + at.trend);
    where.scrollIntoView();
    where.parentElement.querySelector(".plot").focus({ preventScroll: true });
    return;
  }
  byId("charts").scrollIntoView();
  const t = doc.tracks[state.track];
  if (at.file >= 0 && timeChart) {
    const begin = doc.files.begin[at.file];
    const wide = Math.max(doc.files.end[at.file] - begin, 1);
    timeChart.zoom(begin - 2 * wide, begin + 3 * wide);
  }
  if (!timeChart || !t.points.x.length) return;
  const i = Math.max(0, firstAtLeast(t.points.line, at.line + 1) - 1);
  byId("over-time").querySelector(".plot").focus({ preventScroll: true });
  timeChart.go(timeChart.indexOfPoint(i));
}

/** setTheme sets light or dark. @param {string} theme */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", theme === "dark" ? "Use light colours" : "Use dark colours");
  for (const c of charts) c.redraw();
}

/** begin builds the page. */
async function begin() {
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(prefersDark.matches ? "dark" : "light");
  prefersDark.addEventListener("change", (e) => setTheme(e.matches ? "dark" : "light"));
  byId("theme").hidden = false;
  byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  doc = await load();
  doc.stageColors = new Map();
  byId("files").hidden = !doc.files.path.length;
  if (doc.trends.length) {
    byId("judged").hidden = false;
    drawTrends(trendsShown);
  }
  if (doc.tracks.length) {
    byId("charts").hidden = false;
    const several = doc.logs.length > 1;
    doc.tracks.forEach((/** @type {any} */ t, /** @type {number} */ k) => {
      byId("track").append(el("option", { value: String(k) }, (several ? doc.logs[t.log].name + ", " : "") + t.label + (t.all ? "" : " (samples only)")));
    });
    byId("track-label").hidden = doc.tracks.length < 2;
    byId("track").addEventListener("change", () => { showTrack(Number(byId("track").value)); if (state.file >= 0) selectFile(state.file); });
    const lead = doc.findings.find((/** @type {any} */ f) => f.track >= 0);
    showTrack(lead ? lead.track : 0);
    const worst = doc.findings.find((/** @type {any} */ f) => f.file >= 0);
    selectFile(worst ? worst.file : doc.tracks[state.track].rows.file[0]);
  } else listFiles();
  byId("file-before").addEventListener("click", () => stepFile(-1));
  byId("file-after").addEventListener("click", () => stepFile(1));
  byId("file-number").addEventListener("change", () => {
    const f = doc.files.number.indexOf(Number(byId("file-number").value));
    if (f >= 0) selectFile(f);
  });
  byId("files-which").addEventListener("change", listFiles);
  byId("files-search").addEventListener("input", listFiles);
  for (const a of document.querySelectorAll("a.show")) {
    a.addEventListener("click", (ev) => { ev.preventDefault(); showFinding(Number(/** @type {any} */ (a).dataset.finding)); });
  }
  document.documentElement.dataset.ready = "yes";
}

begin().catch((err) => {
  byId("trouble").hidden = false;
  byId("trouble").textContent = "The charts cannot be drawn: " + err + ". The verdict and the findings above are complete.";
});
