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
    const several = doc.logs.length > 1;
    doc.tracks.forEach((/** @type {any} */ t, /** @type {number} */ k) => {
      byId("track").append(el("option", { value: String(k) }, (several ? doc.logs[t.log].name + ", " : "") + t.label + (t.all ? "" : " (samples only)")));
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
