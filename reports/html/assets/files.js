// Memory over files.

/**
 * minus returns the difference of two columns, or null if the page lacks one of them.
 * @param {Column | undefined} a
 * @param {Column | undefined} b
 * @returns {Column | null}
 */
function minus(a, b) {
  if (!a || !b) return null;
  return a.map((v, i) => {
    const w = b[i];
    return v === null || w === null ? null : v - w;
  });
}

/**
 * drawFiles draws memory over files.
 * @param {Track} t a track
 */
function drawFiles(t) {
  const rows = t.rows;
  if (filesChart) filesChart.remove();
  filesChart = null;
  if (rows.file.length < 2) {
    byId("over-files").replaceChildren(
      el("p", { className: "soft" }, "The log has fewer than two files."),
    );
    return;
  }
  let x = rows.file.map((f) => doc.files.number[f]);
  const rising = x.every((v, i) => i === 0 || v > x[i - 1]);
  if (!rising) x = x.map((_, i) => i + 1);
  /** @type {(Line & {key: string, of: string})[]} */
  const lines = [];
  for (const [key, name, ink, shown] of [
    ...quantities.slice(0, 4),
    quantities[quantities.length - 1],
  ]) {
    if (rows.idle[key])
      lines.push({
        key,
        name: name + " at a file's end",
        color: ink,
        shown,
        values: rows.idle[key],
        of: key,
      });
  }
  const unused = minus(rows.idle.reserved, rows.idle.allocated);
  if (unused)
    lines.push({
      key: "unused",
      name: "reserved - allocated at a file's end",
      color: "yellow",
      shown: false,
      values: unused,
      of: "reserved",
    });
  const dark = minus(rows.idle.used, rows.idle.reserved);
  if (dark)
    lines.push({
      key: "dark",
      name: "dark memory at a file's end",
      color: "grey",
      shown: false,
      values: dark,
      of: "used",
    });
  for (const [key, name, ink] of [...quantities.slice(0, 4), quantities[quantities.length - 1]]) {
    if (rows.highest[key])
      lines.push({
        key: "highest " + key,
        name: "highest " + name,
        color: key === "allocated" ? "sky" : ink,
        dashed: true,
        shown: key === "allocated",
        values: rows.highest[key],
        of: key,
      });
  }
  const ledgers = /** @type {Record<string, string>} */ ({
    leak: rows.idle.allocated ? "allocated" : "used",
    fragmentation: "unused",
    "device-used": "used",
    "dark-memory": "dark",
  });
  const track = doc.tracks.indexOf(t);
  const judged = rising
    ? doc.trends.filter(
        (r) => r.track === track && r.unit === "bytes" && r.each === "file" && ledgers[r.check],
      )
    : [];
  for (const r of judged) {
    const l = lines.find((m) => m.key === ledgers[r.check]);
    if (l && r.verdict === "fail") l.shown = true;
  }
  const requests = doc.events
    .filter((e) => e.request && e.track === track && rows.file.includes(e.file))
    .map((e) => ({ ...e, x: x[rows.file.indexOf(e.file)] }));
  const under = (/** @type {uPlot} */ u) => {
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
  const over = (/** @type {uPlot} */ u) => {
    for (const r of judged) {
      const l = lines.find((m) => m.key === ledgers[r.check]);
      if (l && l.shown) drawFit(u, r);
    }
    drawRequests(u, requests);
    const c = u.ctx;
    c.font = "bold " + 14 * devicePixelRatio + "px system-ui";
    c.textAlign = "center";
    c.textBaseline = "top";
    c.fillStyle = color("fail");
    let taken = -Infinity; // marks that would lie on each other are drawn once
    for (let i = firstAtLeast(x, u.scales.x.min); i < x.length && x[i] <= u.scales.x.max; i++) {
      const at = u.valToPos(x[i], "x", true);
      if (!bad(rows.file[i]) || at < taken) continue;
      c.fillText("✗", at, u.bbox.top);
      taken = at + 11 * devicePixelRatio;
    }
  };
  filesChart = new Chart(byId("over-files"), {
    label: "Memory over files, " + t.label,
    x,
    lines,
    height: 320,
    zero: true,
    limit: t.total,
    reach: requests.reduce((most, e) => Math.max(most, e.level + e.request), 0),
    xName: rising ? "file" : "file, in the order of the log",
    xSteps: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5],
    xText: (v) => grouped(v),
    yText: formatBytes,
    ySteps: byteSteps(),
    under,
    over,
    tip: (i) => {
      const f = rows.file[i];
      const out = [el("div", {}, el("b", {}, fileName(f)))];
      const status = doc.files.status[f];
      if (status) out.push(el("div", {}, "ended " + status));
      for (const e of requests) if (e.file === f) out.push(el("div", {}, e.text));
      for (const l of lines) {
        if (l.shown && l.values[i] != null) out.push(tipRow(l.name, exact(t, l.of, l.values[i])));
      }
      return out;
    },
    pick: (i) => selectFile(rows.file[i]),
  });
  const drawn = judged.filter((r) => lines.some((l) => l.key === ledgers[r.check] && l.shown));
  const notes = drawn.map((r) =>
    el(
      "li",
      {},
      swatchOf(fitColor(r)),
      "line that the " + r.check + " check fitted, with its 95 % interval: " + r.rate,
    ),
  );
  if (rows.file.some(bad)) notes.push(el("li", {}, "✗ file did not end ok"));
  if (requests.length) notes.push(el("li", {}, requestKey));
  byId("over-files").append(el("ul", { className: "key" }, ...notes));
}
