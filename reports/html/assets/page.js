// The page: it decodes the data and fills the sections that the Go program left empty.

const byId = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/**
 * load returns the data of the page.
 * @returns {Promise<any>}
 */
async function load() {
  const text = atob(byId("data").textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
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
