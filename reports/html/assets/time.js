// Memory over time.

/**
 * drawTime draws memory over time.
 * @param {Track} t a track
 */
function drawTime(t) {
  const log = doc.logs[t.log];
  const p = t.points;
  const px = spreadEqual(p.x, log.timed ? 1000 : 1);
  const merged = mergeAxes([px, ...t.samples.map((s) => s.x)]);
  const n = merged.x.length;
  const pointAt = spreadOn(
    p.x.map((_, i) => i),
    merged.at[0],
    n,
  );
  /** @type {(Line & {key: string})[]} */
  const lines = [];
  for (const [key, name, ink, shown] of quantities) {
    if (p.values[key]) {
      lines.push({
        name,
        color: ink,
        shown,
        values: spreadOn(p.values[key], merged.at[0], n),
        key,
      });
    }
  }
  t.samples.forEach((s, i) => {
    const host = s.name.startsWith("host");
    lines.push({
      name: s.name,
      color: host ? "purple" : "green",
      dashed: true,
      shown: !host || !lines.length,
      values: spreadOn(s.value, merged.at[i + 1], n),
      key: "",
    });
  });
  if (lines.length && !lines.some((l) => l.shown)) lines[0].shown = true;
  const bands = stageBands(px, p.number, p.stage);
  const bandStart = bands.map((b) => b.from);
  const events = doc.events.filter((e) => e.log === t.log);
  const requests = events.filter((e) => e.request && e.track === doc.tracks.indexOf(t));
  const inLog = fileSpans(t);
  const main =
    p.values.allocated ||
    p.values.used ||
    p.values.reserved ||
    p.values.buffer ||
    p.values.free ||
    [];

  /** @param {uPlot} u */
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
    for (
      let i = Math.max(0, firstAtLeast(bandStart, min) - 1);
      i < bands.length && bands[i].from <= max;
      i++
    ) {
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
  /** @param {uPlot} u */
  const over = (u) => {
    drawFileNumbers(u, inLog);
    drawFailed(u, failedPlaces(u, p, px, main));
    drawRequests(u, requests);
    drawEvents(u, events);
  };
  if (timeChart) timeChart.remove();
  const chart = new Chart(byId("over-time"), {
    label: "Memory over time, " + t.label,
    x: merged.x,
    lines,
    height: 360,
    zero: true,
    limit: t.total,
    reach: requests.reduce((most, e) => Math.max(most, e.level + e.request), 0),
    xName: log.timed ? "time since the start of the log" : "checkpoint",
    yText: formatBytes,
    ySteps: byteSteps(),
    xSteps: log.timed
      ? timeSteps()
      : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5].map(
          (v) => v * 1000,
        ),
    xText: (v) => xText(log, v),
    under,
    over,
    tip: (i) => {
      const at = pointAt[i];
      const out = [];
      if (at != null) {
        const stage = p.stage[at];
        out.push(
          el("div", {}, el("b", {}, doc.names[p.name[at]])),
          el("div", {}, fileName(p.file[at]) + (stage == null ? "" : ", in " + doc.names[stage])),
        );
        for (const [key, name] of quantities) {
          const v = p.values[key];
          if (v && v[at] != null) out.push(tipRow(name, exact(t, key, v[at])));
        }
        if (p.freed[at] != null)
          out.push(tipRow("freed here", (p.freed[at] / 10).toFixed(1) + " % of what was held"));
        out.push(
          el("div", { className: "soft" }, moment(log, p.x[at]) + ", line " + grouped(p.line[at])),
        );
      } else {
        for (const l of lines) {
          if (l.key === "" && l.values[i] != null)
            out.push(tipRow(l.name, exactBytes(/** @type {number} */ (l.values[i]))));
        }
        out.push(el("div", { className: "soft" }, moment(log, merged.x[i])));
      }
      const u = chart.u;
      for (const e of events) {
        if (Math.abs(u.valToPos(e.x, "x") - u.valToPos(merged.x[i], "x")) < 5)
          out.push(
            el(
              "div",
              {},
              el("b", {}, eventKinds[e.kind][0] + " line " + grouped(e.line)),
              " " + e.text,
            ),
          );
      }
      return out;
    },
    pick: (i) => {
      const at = pointAt[i];
      selectFile(
        at != null
          ? p.file[at]
          : inLog.file[Math.min(firstAtLeast(inLog.end, merged.x[i]), inLog.file.length - 1)],
      );
    },
    stops: (i) => pointAt[i] != null || !p.x.length,
  });
  timeChart = Object.assign(chart, { indexOfPoint: (/** @type {number} */ i) => merged.at[0][i] });
  byId("over-time").append(key(bands, events, p.failed.length), eventList(events));
  if (log.cut)
    byId("over-time").append(
      el(
        "p",
        { className: "soft" },
        "The axis leaves out " + formatDuration(log.cut) + " between the parts of the run.",
      ),
    );
}

/**
 * drawFileNumbers writes the numbers of files above the chart, as far as they have room.
 * @param {uPlot} u
 * @param {ReturnType<typeof fileSpans>} spans
 */
function drawFileNumbers(u, spans) {
  const c = u.ctx;
  const r = devicePixelRatio;
  c.font = 11 * r + "px system-ui";
  c.textAlign = "left";
  c.textBaseline = "bottom";
  c.fillStyle = color("soft");
  const { min, max } = u.scales.x;
  let free = u.bbox.left;
  const from = firstAtLeast(spans.end, min);
  for (let i = from; i < spans.begin.length && spans.begin[i] < max; i++) {
    const at = Math.max(u.valToPos(spans.begin[i], "x", true), u.bbox.left);
    const number = doc.files.number[spans.file[i]];
    if (at < free || !number) continue;
    const text = (free === u.bbox.left ? "file " : "") + grouped(number);
    const end = at + 2 * r + c.measureText(text).width;
    if (end > u.bbox.left + u.bbox.width) break; // it would be cut off
    c.fillText(text, at + 2 * r, u.bbox.top - r);
    free = end + 12 * r;
  }
}

/**
 * failedPlaces returns where the cleanups that freed too little are on the canvas.
 * @param {uPlot} u
 * @param {PointTable} p
 * @param {number[]} x of the points
 * @param {Column} y of the points
 * @returns {[number, number][]}
 */
function failedPlaces(u, p, x, y) {
  const { min, max } = u.scales.x;
  const out = /** @type {[number, number][]} */ ([]);
  for (const i of p.failed) {
    const level = y[i];
    if (x[i] < min || x[i] > max || level == null) continue;
    out.push([u.valToPos(x[i], "x", true), u.valToPos(level, "y", true)]);
  }
  return out;
}

const requestKey = "red bar: a request that failed, on top of what was in use";

/**
 * drawRequests draws failed requests as bars on top of what was in use.
 * @param {uPlot} u
 * @param {LogEvent[]} requests
 */
function drawRequests(u, requests) {
  const { min, max } = u.scales.x;
  const c = u.ctx;
  const r = devicePixelRatio;
  c.font = 12 * r + "px system-ui";
  c.textBaseline = "top";
  c.fillStyle = color("fail");
  for (const e of requests) {
    if (e.x < min || e.x > max) continue;
    const x = u.valToPos(e.x, "x", true);
    const from = u.valToPos(e.level, "y", true);
    const to = Math.max(u.bbox.top, u.valToPos(e.level + e.request, "y", true));
    c.globalAlpha = 0.35;
    c.fillRect(x - 4 * r, to, 8 * r, from - to);
    c.globalAlpha = 1;
    c.fillRect(x - 6 * r, to, 12 * r, 2 * r);
    if (requests.length > 20) continue;
    const right = x < u.bbox.left + u.bbox.width / 2;
    c.textAlign = right ? "left" : "right";
    c.fillText("asked for " + formatBytes(e.request), x + (right ? 9 : -9) * r, to + 2 * r);
  }
}

/**
 * drawEvents marks failures, restarts and resumes. Of signs that would lie on each other, one is
 * drawn.
 * @param {uPlot} u
 * @param {LogEvent[]} events
 */
function drawEvents(u, events) {
  const { min, max } = u.scales.x;
  const c = u.ctx;
  const r = devicePixelRatio;
  c.textAlign = "center";
  c.textBaseline = "top";
  c.font = "bold " + 14 * r + "px system-ui";
  c.lineWidth = r;
  const visible = events.filter((e) => e.x >= min && e.x <= max);
  const taken = /** @type {Record<string, number>} */ ({});
  for (const e of visible) {
    const [sign, , ink] = eventKinds[e.kind];
    const at = u.valToPos(e.x, "x", true);
    c.strokeStyle = c.fillStyle = color(ink);
    if (visible.length < 40) drawEventLine(u, at);
    if (at < (taken[sign] ?? -Infinity)) continue;
    c.fillText(sign, at, u.bbox.top + r);
    taken[sign] = at + 11 * r;
  }
}

/**
 * drawEventLine draws a dashed line over the height of the chart.
 * @param {uPlot} u
 * @param {number} x
 */
function drawEventLine(u, x) {
  const c = u.ctx;
  const r = devicePixelRatio;
  c.setLineDash([3 * r, 3 * r]);
  c.beginPath();
  c.moveTo(x, u.bbox.top + 16 * r);
  c.lineTo(x, u.bbox.top + u.bbox.height);
  c.stroke();
  c.setLineDash([]);
}

/**
 * drawFailed rings the cleanups that freed too little. Of rings that would lie on each other, one
 * is drawn: a log may have thousands of them.
 * @param {uPlot} u @param {[number, number][]} places
 */
function drawFailed(u, places) {
  const c = u.ctx;
  const radius = 4 * devicePixelRatio;
  const drawn = new Set();
  c.strokeStyle = color("fail");
  c.lineWidth = radius / 2;
  c.beginPath();
  for (const [x, y] of places) {
    const cell = Math.floor(x / radius) + " " + Math.floor(y / radius);
    if (drawn.has(cell)) continue;
    drawn.add(cell);
    c.moveTo(x + radius, y);
    c.arc(x, y, radius, 0, 2 * Math.PI);
  }
  c.stroke();
}

/**
 * drawChosen marks the chosen file with a bar at the top and lines at its ends.
 * @param {uPlot} u
 * @param {number} from
 * @param {number} to
 */
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

/** fileSpans returns where the files of a track lie on the x axis, in order. @param {Track} t */
function fileSpans(t) {
  const out = {
    begin: /** @type {number[]} */ ([]),
    end: /** @type {number[]} */ ([]),
    file: /** @type {number[]} */ ([]),
  };
  for (const f of t.rows.file) {
    out.begin.push(doc.files.begin[f]);
    out.end.push(Math.max(doc.files.end[f], doc.files.begin[f]));
    out.file.push(f);
  }
  return out;
}

/** The colours of the stages that were drawn. @type {Map<number, string>} */
const stageInks = new Map();

/** stageColor returns the colour of a stage. @param {number} name */
function stageColor(name) {
  const known = stageInks.get(name);
  if (known) return known;
  const ink = stageColors[stageInks.size % stageColors.length];
  stageInks.set(name, ink);
  return ink;
}

/**
 * key explains bands and marks.
 * @param {ReturnType<typeof stageBands>} bands
 * @param {LogEvent[]} events
 * @param {number} failed
 */
function key(bands, events, failed) {
  const list = el("ul", { className: "key" });
  const stages = new Set(bands.map((b) => b.stage));
  for (const s of [...stages].slice(0, 12)) {
    list.append(el("li", {}, swatchOf(stageColor(s)), "stage " + doc.names[s]));
  }
  if (stages.size > 12) list.append(el("li", {}, "and " + (stages.size - 12) + " more stages"));
  if (failed)
    list.append(el("li", {}, "○ cleanup or stage that freed too little: " + grouped(failed)));
  for (const [kind, [sign, name]] of Object.entries(eventKinds)) {
    const n = events.filter((e) => e.kind === kind).length;
    if (n) list.append(el("li", {}, sign + " " + name + ": " + grouped(n)));
  }
  if (events.some((e) => e.request))
    list.append(el("li", {}, requestKey));
  return list;
}

/** eventList lists the marked lines. @param {LogEvent[]} events */
function eventList(events) {
  if (!events.length) return "";
  const shown = events.slice(0, 200);
  const body = el(
    "tbody",
    {},
    ...shown.map((e) =>
      el(
        "tr",
        {},
        el("td", { className: "n" }, grouped(e.line)),
        el("td", {}, eventKinds[e.kind][0] + " " + eventKinds[e.kind][1]),
        el("td", {}, e.file >= 0 ? fileButton(e.file) : ""),
        el("td", {}, e.text),
      ),
    ),
  );
  const table = el(
    "table",
    {},
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ...["Line", "What", "File", "In words"].map((h) => el("th", { scope: "col" }, h)),
      ),
    ),
    body,
  );
  nameCells(table);
  return el(
    "details",
    {},
    el(
      "summary",
      {},
      "Failures, restarts and resumes: " +
        grouped(events.length) +
        (shown.length < events.length ? ", the first 200" : ""),
    ),
    el(
      "div",
      {
        className: "scroll",
        tabIndex: 0,
        role: "region",
        "aria-label": "Failures, restarts and resumes",
      },
      table,
    ),
  );
}

/** fileButton opens a file, on a device that has readings of it. @param {number} f */
function fileButton(f) {
  const b = el("button", { type: "button", className: "linklike" }, fileName(f));
  b.addEventListener("click", () => {
    const at = placeOf(f);
    if (at && at.track !== state.track) showTrack(at.track);
    selectFile(f);
    byId("file").scrollIntoView();
  });
  return b;
}
