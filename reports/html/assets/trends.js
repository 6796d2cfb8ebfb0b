// The series that were judged, and the lines that were fitted.

const fitColor = (/** @type {Trend} */ r) => (r.verdict === "fail" ? "fail" : "soft");

/** bad reports whether a file did not end ok. @param {number} f */
const bad = (f) => doc.files.status[f] !== "" && doc.files.status[f] !== "ok";

/** drawBand draws the 95 % interval of a growth. @param {uPlot} u @param {Trend} r */
function drawBand(u, r) {
  const c = u.ctx;
  const x = (/** @type {number} */ i) => u.valToPos(r.x[i], "x", true);
  const known = r.x.map((_, i) => i).filter((i) => r.low[i] != null);
  if (!known.length) return;
  c.fillStyle = color(fitColor(r));
  c.globalAlpha = 0.2;
  c.beginPath();
  for (const i of known) c.lineTo(x(i), u.valToPos(r.high[i] ?? 0, "y", true));
  for (const i of known.reverse()) c.lineTo(x(i), u.valToPos(r.low[i] ?? 0, "y", true));
  c.fill();
  c.globalAlpha = 1;
}

/**
 * drawFit draws the line that was fitted, and where the growth begins.
 * @param {uPlot} u
 * @param {Trend} r
 */
function drawFit(u, r) {
  const c = u.ctx;
  c.strokeStyle = c.fillStyle = color(fitColor(r));
  c.lineWidth = 2 * devicePixelRatio;
  c.beginPath();
  for (let i = 0; i < r.x.length; i++) {
    const y = r.fitted[i];
    if (y !== null) c.lineTo(u.valToPos(r.x[i], "x", true), u.valToPos(y, "y", true));
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
  // The marks of files that failed are above the text.
  c.fillText(r.mark, x + (right ? 5 : -5) * devicePixelRatio, u.bbox.top + 18 * devicePixelRatio);
}

const trendsShown = 8;

/** drawTrends draws the judged series. @param {number} upTo how many */
function drawTrends(upTo) {
  const where = byId("trends");
  for (
    let k = where.querySelectorAll("article").length;
    k < Math.min(upTo, doc.trends.length);
    k++
  ) {
    const r = doc.trends[k];
    const chart = el("div", { className: "chart" });
    const sign =
      /** @type {Record<string, string>} */ ({
        fail: "✗",
        undecided: "?",
        pass: "✓",
        noted: "!",
        waived: "~",
      })[r.verdict] || "";
    const title = el(
      "h3",
      { id: "trend-" + k },
      el("span", { className: "badge " + r.verdict }, sign + " " + r.verdict),
      " " + r.check + ": " + r.title,
    );
    where.append(
      el(
        "article",
        { "aria-labelledby": "trend-" + k },
        title,
        el("p", { className: "soft" }, r.rate || "too few values to judge"),
        chart,
      ),
    );
    const x = spreadEqual(r.x, 1);
    const lines = [
      { name: "a " + r.each, color: "blue", dots: r.x.length < 400, shown: true, values: r.values },
    ];
    if (r.out.some((v) => v != null))
      lines.push({
        name: "outlier, left out",
        color: "orange",
        dots: true,
        shown: true,
        values: r.out,
      });
    new Chart(chart, {
      label: r.check + ", " + r.title + ": values over " + r.each + "s",
      x,
      lines,
      height: 230,
      zero: false,
      xName: r.each,
      xSteps: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5],
      xText: (v) => grouped(v),
      yText: (v, more) => formatAmount(v, r.unit, more),
      ySteps: r.unit === "bytes" ? byteSteps() : steps10(),
      under: (u) => drawBand(u, r),
      over: (u) => drawFit(u, r),
      tip: (i) => {
        const v = r.values[i] == null ? r.out[i] : r.values[i];
        const out = [el("div", {}, el("b", {}, fileName(r.file[i])))];
        if (r.each === "reading") out.push(el("div", {}, "reading " + grouped(r.x[i])));
        if (v != null)
          out.push(tipRow(r.title, r.unit === "bytes" ? exactBytes(v) : formatAmount(v, r.unit)));
        if (r.fitted[i] != null) out.push(tipRow("fitted", formatAmount(r.fitted[i], r.unit)));
        return out;
      },
      pick: (i) => selectFile(r.file[i]),
    });
    if (r.x.length < r.all)
      chart.after(
        el(
          "p",
          { className: "soft" },
          "Shown: " +
            grouped(r.x.length) +
            " of " +
            grouped(r.all) +
            " values, with the extremes of each stretch.",
        ),
      );
  }
  const more = byId("trends-more");
  if (more) more.remove();
  const left = doc.trends.length - upTo;
  if (left > 0) {
    const b = el("button", { type: "button" }, "Show " + left + " more series");
    b.addEventListener("click", () => drawTrends(doc.trends.length));
    where.after(
      el(
        "div",
        { id: "trends-more" },
        b,
        el(
          "p",
          { className: "soft on-paper" },
          "Not printed: " + left + " more series. The page on a screen shows them.",
        ),
      ),
    );
  }
}
