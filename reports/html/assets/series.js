// Small multiples: the series of a history over runs, or of a comparison over files.

/** drawSeries draws a chart for each series. */
function drawSeries() {
  const where = byId("series-body");
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];
  doc.series.forEach((s, k) => {
    const chart = el("div", { className: "chart" });
    const badge = s.verdict
      ? el("span", { className: "badge " + s.verdict }, s.sign + " " + s.verdict)
      : "";
    where.append(
      el(
        "article",
        { id: "series-" + k, "aria-labelledby": "series-" + k + "-title" },
        el("h3", { id: "series-" + k + "-title" }, badge, " " + s.title),
        el("p", { className: "soft" }, s.note),
        chart,
      ),
    );
    new Chart(chart, {
      label: s.title,
      x: s.x,
      lines: s.lines.map((l) => ({ ...l, shown: true })),
      height: 220,
      zero: false,
      xName: s.xName,
      xSteps: steps,
      xText: (v) => grouped(v),
      yText: (v, more) => formatAmount(v, s.unit, more),
      ySteps: s.unit.startsWith("bytes") ? byteSteps() : steps10(),
      over: (u) => {
        for (const m of s.marks) drawMark(u, m);
      },
      tip: (i) => {
        const out = [el("div", {}, el("b", {}, doc.labels[s.at[i]]))];
        for (const l of s.lines) {
          const v = l.values[i];
          if (v != null)
            out.push(tipRow(l.name, s.unit === "bytes" ? exactBytes(v) : formatAmount(v, s.unit)));
        }
        return out;
      },
    });
  });
}

/**
 * drawMark draws a line at a place of the x axis, with its text.
 * @param {uPlot} u
 * @param {SeriesMark} mark
 */
function drawMark(u, mark) {
  const c = u.ctx;
  const x = u.valToPos(mark.x, "x", true);
  const r = devicePixelRatio;
  c.strokeStyle = c.fillStyle = color(mark.bad ? "fail" : "pass");
  c.lineWidth = 1.5 * r;
  c.setLineDash([5 * r, 4 * r]);
  c.beginPath();
  c.moveTo(x, u.bbox.top);
  c.lineTo(x, u.bbox.top + u.bbox.height);
  c.stroke();
  c.setLineDash([]);
  c.font = 12 * r + "px system-ui";
  c.textBaseline = "bottom";
  const right = x < u.bbox.left + u.bbox.width / 2;
  c.textAlign = right ? "left" : "right";
  c.fillText(mark.text, x + (right ? 2 : -2) * r, u.bbox.top - r);
}

drawers.push(drawSeries);
