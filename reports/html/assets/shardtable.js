// The table of the shards.

/** The number of rows that the table shows at first, and adds with its button. */
const rowsAtOnce = 100;

/** @typedef {{name: string, key: (row: number) => number | string, falls?: boolean}} Order */

/**
 * orders returns the ways to sort the table.
 * @param {GrowthData | undefined} g the growth that the table shows
 * @returns {Order[]}
 */
function orders(g) {
  const s = doc.shards;
  const least = (/** @type {number | null | undefined} */ v) => v ?? -Infinity;
  return [
    { name: "worst first", key: (row) => row },
    { name: "number", key: (row) => s.number[row] },
    { name: "node", key: (row) => s.node[row] },
    { name: "growth, the most first", key: (row) => least(g?.slope[row]), falls: true },
    { name: "highest memory, the most first", key: (row) => least(s.peak[row]), falls: true },
    { name: "time a file, the most first", key: (row) => least(s.seconds[row]), falls: true },
    { name: "files, the most first", key: (row) => s.files[row], falls: true },
  ];
}

/**
 * barOf draws a growth with its 95 % interval, on the scale of all shards.
 * @param {GrowthData} g
 * @param {number} row
 * @param {{low: number, high: number}} scale
 */
function barOf(g, row, scale) {
  const slope = g.slope[row];
  if (slope == null) return "";
  const width = 110;
  const at = (/** @type {number} */ v) =>
    4 +
    ((width - 8) * (Math.min(Math.max(v, scale.low), scale.high) - scale.low)) /
      (scale.high - scale.low || 1);
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const add = (/** @type {string} */ tag, /** @type {Record<string, string | number>} */ with_) => {
    const made = document.createElementNS(space, tag);
    for (const [k, v] of Object.entries(with_)) made.setAttribute(k, String(v));
    svg.append(made);
  };
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", "14");
  svg.setAttribute("class", "forest");
  svg.setAttribute("aria-hidden", "true");
  add("line", { x1: at(0), x2: at(0), y1: 0, y2: 14, class: "zero" });
  if (g.limit <= scale.high)
    add("line", { x1: at(g.limit), x2: at(g.limit), y1: 0, y2: 14, class: "limit" });
  const half = g.error[row];
  if (half != null) add("line", { x1: at(slope - half), x2: at(slope + half), y1: 7, y2: 7 });
  add("circle", { cx: at(slope), cy: 7, r: 3 });
  return svg;
}

/**
 * grownCell returns the growth of a series in a shard, in words and as a bar.
 * @param {GrowthData} g
 * @param {number} row
 * @param {{low: number, high: number}} scale
 */
const grownCell = (g, row, scale) => [growthText(g, row), barOf(g, row, scale)];

/** scaleOf returns the ends of the scale for growths. @param {GrowthData} g */
function scaleOf(g) {
  let [low, high] = [Math.min(0, -g.limit / 2), g.limit];
  const ends = g.slope.map((v, i) => (v == null ? 0 : Math.abs(v) + (g.error[i] ?? 0)));
  const sorted = ends.slice().sort((a, b) => a - b);
  const most = sorted[Math.floor(0.95 * (sorted.length - 1))] || 0; // a few are cut off
  const [least, largest] = minMax(g.slope);
  high = Math.max(high, Math.min(most, 2 * Math.abs(largest) + g.limit));
  low = Math.max(Math.min(low, least), -most || low);
  return { low: Math.min(low, 0), high };
}

/** matches returns the rows that the filters leave, sorted. */
function matches() {
  const which = byId("table-which").value;
  const words = byId("table-search").value.toLowerCase();
  const g = doc.growth[Number(byId("table-growth").value)];
  const order = orders(g)[Number(byId("table-by").value) || 0];
  const rows = [...doc.shards.number.keys()].filter((row) => {
    const name = stateOf(row).name;
    if (which === "open" ? name === "pass" : which !== "all" && name !== which) return false;
    const text = doc.nodes[doc.shards.node[row]] + " " + titleOf(row);
    return !words || text.toLowerCase().includes(words);
  });
  const sign = order.falls ? -1 : 1;
  return rows.sort((a, b) => {
    const [x, y] = [order.key(a), order.key(b)];
    return x < y ? -sign : x > y ? sign : a - b;
  });
}

/** How many rows the table shows. */
let tableRows = rowsAtOnce;

/** fillShards fills the table. */
function fillShards() {
  const s = doc.shards;
  const rows = matches();
  const shown = rows.slice(0, tableRows);
  const g = doc.growth[Number(byId("table-growth").value)];
  const scale = g && scaleOf(g);
  const names = [
    ["Shard", "n"],
    ["Node", ""],
    ["Verdict", ""],
    ["Worst finding", ""],
    ["Files", "n"],
    ["Highest memory", "n"],
    ["Time a file", "n"],
    ["Growth", ""],
  ];
  const head = el(
    "tr",
    {},
    ...names.map(([name, kind]) => el("th", { scope: "col", className: kind }, name)),
  );
  const body = el("tbody", {});
  for (const row of shown) {
    const pick = el("button", { type: "button", className: "linklike" }, grouped(s.number[row]));
    pick.setAttribute("aria-label", "Show shard " + s.number[row]);
    pick.addEventListener("click", () => {
      chooseShard(row);
      byId("shard").scrollIntoView();
    });
    const link = s.page[row] ? el("a", { href: s.page[row] }, "report") : "";
    const each = s.seconds[row];
    body.append(
      el(
        "tr",
        {},
        el("td", { className: "n" }, pick, link ? " " : "", link),
        el("td", {}, doc.nodes[s.node[row]]),
        el("td", {}, badgeOf(row)),
        el("td", {}, titleOf(row)),
        el("td", { className: "n" }, isMissing(row) ? "" : filesText(row)),
        el("td", { className: "n" }, peakText(row)),
        el("td", { className: "n" }, each == null ? "" : formatDuration(each)),
        el("td", { className: "growth" }, ...(g && scale ? grownCell(g, row, scale) : [])),
      ),
    );
  }
  byId("table-body").replaceChildren(el("thead", {}, head), body);
  nameCells(body);
  byId("table-count").textContent =
    shown.length < rows.length
      ? grouped(shown.length) + " of " + grouped(rows.length) + " shown"
      : grouped(rows.length) + (rows.length === 1 ? " shard" : " shards");
  byId("table-more").hidden = shown.length === rows.length;
}

/** drawTable prepares the table and its tools. */
function drawTable() {
  const used = new Set(doc.shards.state);
  const option = (/** @type {string} */ value, /** @type {string} */ text) =>
    el("option", { value }, text);
  byId("table-which").replaceChildren(
    option("all", "all shards"),
    option("open", "shards that did not pass"),
    ...doc.states.filter((_, i) => used.has(i)).map((s) => option(s.name, s.name)),
  );
  byId("table-by").replaceChildren(
    ...orders(undefined).map((o, i) => option(String(i), o.name)),
  );
  byId("table-growth").replaceChildren(
    ...doc.growth.map((g, i) => option(String(i), g.title)),
  );
  /** @type {HTMLElement} */ (byId("table-growth").parentElement).hidden = !doc.growth.length;
  const again = () => {
    tableRows = rowsAtOnce;
    fillShards();
  };
  for (const id of ["table-which", "table-by", "table-growth"])
    byId(id).addEventListener("change", again);
  byId("table-search").addEventListener("input", again);
  byId("table-more").addEventListener("click", () => {
    tableRows += rowsAtOnce;
    fillShards();
  });
  fillShards();
}

drawers.push(drawTable);
