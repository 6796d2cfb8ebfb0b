// One file, and the table of files.

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
  byId("file-number").value = String(doc.files.number[f] || "");
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

const checkpointsShown = 500;

/** The kinds of events that are failed allocations. */
const failedRequests = ["oom", "fallback"];

/**
 * nameAndRound identifies a checkpoint in its file: its name, and how often the name came before.
 * @param {PointTable} p @param {number} i @param {Map<number, number>} seen
 */
function nameAndRound(p, i, seen) {
  const round = seen.get(p.name[i]) || 0;
  seen.set(p.name[i], round + 1);
  return p.name[i] + " " + round;
}

/**
 * levelsByName returns the levels of a file's checkpoints.
 * @param {PointTable} p
 * @param {number} f
 * @param {string} quantity
 */
function levelsByName(p, f, quantity) {
  const out = new Map();
  const seen = new Map();
  for (let i = 0; i < p.file.length && out.size < checkpointsShown; i++) {
    if (p.file[i] === f) out.set(nameAndRound(p, i, seen), p.values[quantity][i]);
  }
  return out;
}

/** freedText says which part a cleanup freed. @param {PointTable} p @param {number} i */
function freedText(p, i) {
  if (p.freed[i] == null) return "";
  return (p.failed.includes(i) ? "✗ " : "") + (p.freed[i] / 10).toFixed(1) + " %";
}

/** filePattern returns the table of a file's checkpoints. @param {Track} t @param {number} f */
function filePattern(t, f) {
  const p = t.points;
  /** @type {number[]} */
  const at = [];
  let all = 0;
  for (let i = 0; i < p.file.length; i++) {
    if (p.file[i] === f && ++all <= checkpointsShown) at.push(i);
  }
  if (!at.length)
    return el(
      "p",
      { className: "soft" },
      "The page has no checkpoint of this file on " + t.label + ".",
    );
  const shown = quantities.filter(
    ([key]) => p.values[key] && at.some((i) => p.values[key][i] != null),
  );
  if (!shown.length)
    return el(
      "p",
      { className: "soft" },
      "The checkpoints of this file have no reading of memory.",
    );
  const first = shown[0][0];
  const most = Math.max(t.total ? 0 : 1, ...at.map((i) => p.values[first][i] || 0));
  const log = doc.logs[t.log];
  const begun = t.rows.file[0];
  const inFirst = begun === f ? new Map() : levelsByName(p, begun, first);
  const seen = new Map();
  /** @type {[string, string][]} the name of a column and its class */
  const head = [
    ["Line", "n"],
    [log.timed ? "Time in the file" : "Checkpoint no.", "n"],
    ["Checkpoint", ""],
    ["Stage", ""],
    [shown[0][1] + ", as a bar", ""],
    ...shown.map(([, name]) => /** @type {[string, string]} */ ([name, "n"])),
    ["change", "n"],
  ];
  if (inFirst.size) head.push(["against file " + grouped(doc.files.number[begun]), "n"]);
  const freed = at.some((i) => p.freed[i] != null);
  if (freed) head.push(["freed", "n"]);
  const rowLines = at.map((i) => p.line[i]);
  let last = /** @type {number | null} */ (null);
  const lines = at.map((i) => {
    const v = p.values[first][i];
    const bar = el("span", { className: "level", "aria-hidden": "true" });
    bar.style.width = (100 * Math.max(0, v || 0)) / most + "%";
    const change = v == null || last == null ? "" : (v >= last ? "+" : "") + formatBytes(v - last);
    if (v != null) last = v;
    const was = inFirst.get(nameAndRound(p, i, seen));
    const against = v == null || was == null ? "" : (v >= was ? "+" : "") + formatBytes(v - was);
    return el(
      "tr",
      {},
      el("td", { className: "n" }, grouped(p.line[i])),
      el(
        "td",
        { className: "n" },
        log.timed ? formatDuration(p.x[i] - p.x[at[0]]) : grouped(p.number[i]),
      ),
      el("th", { scope: "row" }, doc.names[p.name[i]]),
      el("td", {}, p.stage[i] == null ? "" : doc.names[p.stage[i]]),
      el("td", { className: "wide" }, bar),
      ...shown.map(([key]) => {
        const b = p.values[key][i];
        return el(
          "td",
          { className: "n", title: b == null ? "" : exact(t, key, b) },
          b == null ? "" : formatBytes(b),
        );
      }),
      el("td", { className: "n" }, change),
      ...(inFirst.size ? [el("td", { className: "n" }, against)] : []),
      ...(freed ? [el("td", { className: "n" }, freedText(p, i))] : []),
    );
  });
  // The allocations that failed are between the checkpoints.
  for (const e of doc.events) {
    if (e.file !== f || !failedRequests.includes(e.kind)) continue;
    if (e.request && e.track !== doc.tracks.indexOf(t)) continue;
    const row = el(
      "tr",
      { className: "request" },
      el("td", { className: "n" }, grouped(e.line)),
      el("td", {}),
      el("th", { scope: "row", colSpan: head.length - 2 }, eventKinds[e.kind][0] + " " + e.text),
    );
    lines.splice(firstAtLeast(rowLines, e.line), 0, row);
    rowLines.splice(firstAtLeast(rowLines, e.line), 0, e.line);
  }
  const table = el(
    "table",
    {},
    el(
      "thead",
      {},
      el("tr", {}, ...head.map(([name, className]) => el("th", { scope: "col", className }, name))),
    ),
    el("tbody", {}, ...lines),
  );
  nameCells(table);
  const box = el(
    "div",
    {
      className: "scroll",
      tabIndex: 0,
      role: "region",
      "aria-label": "Checkpoints of " + fileName(f),
    },
    table,
  );
  const notes = [];
  if (t.points.x.length < t.all)
    notes.push(
      "The page is thinned: it holds " +
        grouped(all) +
        " checkpoints of this file, perhaps not all.",
    );
  if (all > at.length)
    notes.push(
      "The table lists the first " +
        grouped(at.length) +
        " of " +
        grouped(all) +
        " checkpoints; zoom the chart to see the others.",
    );
  return el("div", {}, ...notes.map((n) => el("p", { className: "soft" }, n)), box);
}

/** step selects the file before or after the selected one. @param {number} by */
function stepFile(by) {
  const files = doc.tracks[state.track].rows.file;
  const at = files.indexOf(state.file);
  const next = at < 0 ? 0 : at + by;
  if (next >= 0 && next < files.length) selectFile(files[next]);
}

const filesShown = 200;

/**
 * filePlaces returns, for each file, the tracks that have readings of it, with the file's row
 * there.
 * @returns {Map<number, {track: number, row: number}[]>}
 */
function filePlaces() {
  const out = new Map();
  doc.tracks.forEach((t, track) => {
    t.rows.file.forEach((f, row) => {
      const known = out.get(f);
      if (known) known.push({ track, row });
      else out.set(f, [{ track, row }]);
    });
  });
  return out;
}

/** The result of filePlaces, once it is needed. @type {ReturnType<typeof filePlaces> | null} */
let knownPlaces = null;

/**
 * placeOf returns the track and the row of a file: on the chosen device if it has readings of the
 * file, else on another one.
 * @param {number} f
 * @returns {{track: number, row: number} | undefined}
 */
function placeOf(f) {
  if (!knownPlaces) knownPlaces = filePlaces();
  const all = knownPlaces.get(f) || [];
  return all.find((p) => p.track === state.track) || all[0];
}

/** listFiles fills the table of files. */
function listFiles() {
  const only = byId("files-which").value === "bad";
  const text = byId("files-search").value.toLowerCase();
  const main = (doc.tracks.length && mainQuantity(doc.tracks[state.track])) || "";
  const several = doc.tracks.length > 1;
  const ended = doc.files.status.some((s) => s !== "");
  const found = [];
  for (let f = 0; f < doc.files.path.length; f++) {
    if (!doc.files.number[f] && !doc.files.path[f]) continue;
    if (only && !bad(f)) continue;
    if (text && !doc.files.path[f].toLowerCase().includes(text)) continue;
    found.push(f);
  }
  const bytes = (/** @type {"idle" | "highest"} */ table, /** @type {number} */ f) => {
    const at = placeOf(f);
    const level = at && doc.tracks[at.track].rows[table][main]?.[at.row];
    return level == null ? "" : formatBytes(level);
  };
  /**
   * The name of a column, whether it has numbers, and its cell for a file.
   * @type {[string, boolean, (f: number) => Node | string][]}
   */
  const columns = [
    ["No.", true, (f) => (doc.files.number[f] ? grouped(doc.files.number[f]) : "")],
    [
      "File",
      false,
      (f) => {
        const b = fileButton(f);
        b.textContent = doc.files.path[f].trim() ? doc.files.path[f] : fileName(f);
        return b;
      },
    ],
  ];
  if (several)
    columns.push([
      "Device",
      false,
      (f) => {
        const at = placeOf(f);
        return at ? trackName(doc.tracks[at.track]) : "";
      },
    ]);
  if (ended) columns.push(["Ended", false, (f) => (bad(f) ? "✗ " : "") + doc.files.status[f]]);
  if (doc.files.seconds.some((v) => v != null))
    columns.push([
      "Took",
      true,
      (f) => (doc.files.seconds[f] == null ? "" : formatDuration(doc.files.seconds[f])),
    ]);
  if (main)
    columns.push(
      [main + " at its end", true, (f) => bytes("idle", f)],
      ["highest " + main, true, (f) => bytes("highest", f)],
    );
  columns.push(["Line", true, (f) => grouped(doc.files.line[f])]);
  const head = columns.map(([name, number]) =>
    el("th", { scope: "col", className: number ? "n" : "" }, name),
  );
  const body = found
    .slice(0, filesShown)
    .map((f) =>
      el(
        "tr",
        {},
        ...columns.map(([name, number, cell]) =>
          name === "File"
            ? el("th", { scope: "row" }, cell(f))
            : el("td", { className: number ? "n" : "" }, cell(f)),
        ),
      ),
    );
  byId("files-table").replaceChildren(
    el("thead", {}, el("tr", {}, ...head)),
    el("tbody", {}, ...body),
  );
  nameCells(byId("files-table"));
  byId("files-count").textContent =
    grouped(found.length) +
    (found.length === 1 ? " file" : " files") +
    (found.length > filesShown ? ", the first " + filesShown + " are listed" : "") +
    (ended || !found.length ? "" : "; the log does not say how they ended");
}
