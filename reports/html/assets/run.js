// The page of a run: its charts, its files and its findings.

/** state is what the reader chose. */
const state = { track: 0, file: -1 };
/** @type {any} */
let timeChart = null;
/** @type {any} */
let filesChart = null;

/** showTrack draws a device. @param {number} k */
function showTrack(k) {
  state.track = k;
  const t = doc.tracks[k];
  byId("track").value = String(k);
  byId("devices").querySelectorAll("button").forEach((/** @type {HTMLButtonElement} */ b) => b.setAttribute("aria-pressed", String(b.value === String(k))));
  drawTime(t);
  drawFiles(t);
  const parts = [];
  if (doc.devices > doc.tracks.length) parts.push(grouped(doc.tracks.length) + " of " + grouped(doc.devices) + " devices");
  if (t.points.x.length < t.all) parts.push(grouped(t.points.x.length) + " of " + grouped(t.all) + " checkpoints");
  if (t.rows.file.length < t.allFiles) parts.push(grouped(t.rows.file.length) + " of " + grouped(t.allFiles) + " files");
  for (const s of t.samples) if (s.x.length < s.all) parts.push(grouped(s.x.length) + " of " + grouped(s.all) + " samples (" + s.name + ")");
  byId("thinned").hidden = !parts.length;
  byId("thinned").textContent = "The log is long, so this page is thinned: it holds " + parts.join(", ") +
    ". Each stretch keeps its first, last, lowest and highest reading, so no peak is lost. The verdict was made from all of them.";
  listFiles();
}

const devicesShown = 64;

/** mainQuantity returns the quantity that stands for a track. @param {any} t */
const mainQuantity = (t) => ["allocated", "used", "reserved", "buffer", "free"].find((q) => t.rows.idle[q]);

/** trackName names a track, with its log if there are several. @param {any} t */
const trackName = (t) => (doc.logs.length > 1 ? doc.logs[t.log].name + ", " : "") + t.label;

/** drawDevices draws the level at the files' ends of each device, small and at one scale. */
function drawDevices() {
  const where = byId("devices");
  const levels = doc.tracks.map((/** @type {any} */ t) => {
    const q = mainQuantity(t);
    return q ? t.rows.idle[q].filter((/** @type {any} */ v) => v != null) : [];
  });
  const most = Math.max(1, ...levels.map((/** @type {number[]} */ v) => v.reduce((a, b) => Math.max(a, b), 0)));
  where.hidden = doc.tracks.length < 2;
  const failing = new Set(doc.trends.filter((/** @type {any} */ r) => r.verdict === "fail").map((/** @type {any} */ r) => r.track));
  const order = doc.tracks.map((/** @type {any} */ _, /** @type {number} */ k) => k);
  if (order.length > devicesShown) order.sort((/** @type {number} */ a, /** @type {number} */ b) => Number(failing.has(b)) - Number(failing.has(a)));
  order.slice(0, devicesShown).forEach((/** @type {number} */ k) => {
    const t = doc.tracks[k];
    const v = levels[k];
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 120 32");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    const step = Math.max(1, Math.floor(v.length / 120));
    line.setAttribute("points", v.filter((/** @type {number} */ _, /** @type {number} */ i) => i % step === 0)
      .map((/** @type {number} */ y, /** @type {number} */ i, /** @type {number[]} */ all) => (all.length < 2 ? 60 : (120 * i) / (all.length - 1)).toFixed(1) + "," + (30 - (28 * y) / most).toFixed(1)).join(" "));
    svg.append(line);
    const fails = failing.has(k);
    const b = el("button", { value: String(k), type: "button", className: fails ? "device fails" : "device", "aria-pressed": "false" },
      el("span", {}, (fails ? "✗ " : "") + trackName(t)), svg,
      el("span", { className: "soft" }, v.length ? mainQuantity(t) + " at a file's end: " + formatBytes(v[0]) + " to " + formatBytes(v[v.length - 1]) : "no reading at a file's end"));
    b.addEventListener("click", () => { showTrack(k); if (state.file >= 0) selectFile(state.file); });
    where.append(b);
  });
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

/** drawRun fills the sections of a run. */
function drawRun() {
  doc.stageColors = new Map();
  byId("files").hidden = !doc.files.path.length;
  if (doc.trends.length) {
    byId("judged").hidden = false;
    drawTrends(trendsShown);
  }
  if (doc.tracks.length) {
    byId("charts").hidden = false;
    drawDevices();
    doc.tracks.forEach((/** @type {any} */ t, /** @type {number} */ k) => {
      byId("track").append(el("option", { value: String(k) }, trackName(t) + (t.all ? "" : " (samples only)")));
    });
    byId("track-label").hidden = doc.tracks.length < 2;
    byId("track").addEventListener("change", () => { showTrack(Number(byId("track").value)); if (state.file >= 0) selectFile(state.file); });
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
    a.addEventListener("click", (ev) => { ev.preventDefault(); showFinding(Number(/** @type {any} */ (a).dataset.finding)); });
  }
}

drawers.push(drawRun);
