// The page of a run: its charts, its files and its findings.

/** state is what the reader chose. */
const state = { track: 0, file: -1 };
/** @type {(Chart & {indexOfPoint: (i: number) => number}) | null} */
let timeChart = null;
/** @type {Chart | null} */
let filesChart = null;

/** showTrack draws a device. @param {number} k */
function showTrack(k) {
  state.track = k;
  const t = doc.tracks[k];
  byId("track").value = String(k);
  byId("devices")
    .querySelectorAll("button")
    .forEach((/** @type {HTMLButtonElement} */ b) =>
      b.setAttribute("aria-pressed", String(b.value === String(k))),
    );
  drawTime(t);
  drawFiles(t);
  const parts = [];
  if (doc.devices > doc.tracks.length)
    parts.push(grouped(doc.tracks.length) + " of " + grouped(doc.devices) + " devices");
  if (t.points.x.length < t.all)
    parts.push(grouped(t.points.x.length) + " of " + grouped(t.all) + " checkpoints");
  if (t.rows.file.length < t.allFiles)
    parts.push(grouped(t.rows.file.length) + " of " + grouped(t.allFiles) + " files");
  for (const s of t.samples)
    if (s.x.length < s.all)
      parts.push(grouped(s.x.length) + " of " + grouped(s.all) + " samples (" + s.name + ")");
  byId("thinned").hidden = !parts.length;
  byId("thinned").textContent =
    "The log is long, so this page is thinned: it holds " +
    parts.join(", ") +
    ". Each stretch keeps its first, last, lowest and highest reading, so no peak is lost. " +
    "The verdict was made from all of them.";
  listFiles();
}

const devicesShown = 64;

/** mainQuantity returns the quantity that stands for a track. @param {Track} t */
const mainQuantity = (t) =>
  ["allocated", "used", "reserved", "buffer", "free"].find((q) => t.rows.idle[q]);

/** trackName names a track, with its log if there are several. @param {Track} t */
const trackName = (t) => (doc.logs.length > 1 ? doc.logs[t.log].name + ", " : "") + t.label;

/** drawDevices draws the level at the files' ends of each device, small and at one scale. */
function drawDevices() {
  const where = byId("devices");
  const levels = doc.tracks.map((t) => {
    const q = mainQuantity(t);
    return q ? t.rows.idle[q].filter((v) => v !== null) : [];
  });
  const most = Math.max(1, ...levels.map((v) => v.reduce((a, b) => Math.max(a, b), 0)));
  where.hidden = doc.tracks.length < 2;
  const failing = new Set(doc.trends.filter((r) => r.verdict === "fail").map((r) => r.track));
  const order = doc.tracks.map((_, k) => k);
  if (order.length > devicesShown)
    order.sort((a, b) => Number(failing.has(b)) - Number(failing.has(a)));
  order.slice(0, devicesShown).forEach((k) => {
    const t = doc.tracks[k];
    const v = levels[k];
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 120 32");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    const step = Math.max(1, Math.floor(v.length / 120));
    line.setAttribute(
      "points",
      v
        .filter((_, i) => i % step === 0)
        .map(
          (y, i, all) =>
            (all.length < 2 ? 60 : (120 * i) / (all.length - 1)).toFixed(1) +
            "," +
            (30 - (28 * y) / most).toFixed(1),
        )
        .join(" "),
    );
    svg.append(line);
    const fails = failing.has(k);
    const b = el(
      "button",
      {
        value: String(k),
        type: "button",
        className: fails ? "device fails" : "device",
        "aria-pressed": "false",
      },
      el("span", {}, (fails ? "✗ " : "") + trackName(t)),
      svg,
      el(
        "span",
        { className: "soft" },
        v.length
          ? mainQuantity(t) +
              " at a file's end: " +
              formatBytes(v[0]) +
              " to " +
              formatBytes(v[v.length - 1])
          : "no reading at a file's end",
      ),
    );
    b.addEventListener("click", () => {
      showTrack(k);
      if (state.file >= 0) selectFile(state.file);
    });
    where.append(b);
  });
}

/** focusChart moves the focus to the chart in an element. @param {HTMLElement | null} where */
function focusChart(where) {
  const plot = /** @type {HTMLElement | null | undefined} */ (where?.querySelector(".plot"));
  plot?.focus({ preventScroll: true });
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
    focusChart(where.parentElement);
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
  focusChart(byId("over-time"));
  timeChart.go(timeChart.indexOfPoint(i));
}

/**
 * leadWithJudged moves the charts of what was judged above those of memory over time, in which a
 * small growth hides among the peaks of the files.
 */
function leadWithJudged() {
  byId("charts").before(byId("judged"));
  const link = (/** @type {string} */ id) =>
    document.querySelector('.bar nav a[href="#' + id + '"]')?.parentElement;
  const judged = link("judged");
  if (judged) link("charts")?.before(judged);
}

/** drawRun fills the sections of a run. */
function drawRun() {
  byId("files").hidden = !doc.files.path.length;
  if (doc.trends.length) {
    byId("judged").hidden = false;
    if (doc.findings[doc.lead]?.trend >= 0) leadWithJudged();
    drawTrends(trendsShown);
  }
  if (doc.tracks.length) {
    byId("charts").hidden = false;
    drawDevices();
    doc.tracks.forEach((t, k) => {
      byId("track").append(
        el("option", { value: String(k) }, trackName(t) + (t.all ? "" : " (samples only)")),
      );
    });
    byId("track-label").hidden = doc.tracks.length < 2;
    byId("track").addEventListener("change", () => {
      showTrack(Number(byId("track").value));
      if (state.file >= 0) selectFile(state.file);
    });
    const lead = doc.findings[doc.lead] || { track: -1, file: -1 };
    showTrack(Math.max(0, lead.track));
    selectFile(lead.file >= 0 ? lead.file : doc.tracks[state.track].rows.file[0]);
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
    a.addEventListener("click", (ev) => {
      ev.preventDefault();
      showFinding(Number(/** @type {HTMLElement} */ (a).dataset.finding));
    });
  }
}

drawers.push(drawRun);
