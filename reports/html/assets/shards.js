// The page of a run of many shards: a map of the shards by node, and what is known of one shard.

/** The rows of the shard table by the number of the shard. @type {Map<number, number>} */
const rowOfShard = new Map();

/** The shard that is chosen: a row of doc.shards. */
let chosenShard = 0;

/** What redraws the map. @type {(() => void) | null} */
let redrawMap = null;

/** stateColors are the fills of cells by state, from the most to the least remarkable. */
const stateFills = /** @type {Record<string, string>} */ ({
  fail: "red",
  "cut short": "orange",
  undecided: "undecided-cell",
  waived: "other-bg",
  pass: "pass-cell",
});

/** A measure colours the cells of the map. */
/**
 * @typedef {object} Measure
 * @property {string} name
 * @property {Column} values of each row; empty for the verdict
 * @property {(v: number) => string} text
 * @property {string} [note] what is known of all shards together
 */

/** measures returns what the map can be coloured by. @returns {Measure[]} */
function measures() {
  const s = doc.shards;
  const all = [
    { name: "verdict", values: /** @type {Column} */ ([]), text: String },
    ...doc.growth.map((g) => ({
      name: "growth: " + g.title,
      values: g.slope,
      text: (/** @type {number} */ v) => formatAmount(v, g.unit),
      note: g.together && "all shards together: " + g.together,
    })),
    {
      name: "highest memory",
      values: s.peak,
      text: (/** @type {number} */ v) => formatBytes(v),
    },
    {
      name: "time a file",
      values: s.seconds,
      text: formatDuration,
    },
    {
      name: "files",
      values: /** @type {Column} */ (s.files),
      text: grouped,
    },
    {
      name: "files that did not end ok",
      values: /** @type {Column} */ (s.failed),
      text: grouped,
    },
  ];
  return all.filter((m, i) => i === 0 || m.values.some((v) => v !== null));
}

/** onNode returns " on node n2", or "" if the node is not known. @param {number} row */
function onNode(row) {
  const node = doc.nodes[doc.shards.node[row]];
  return node ? " on node " + node : "";
}

/** stateOf returns the name of a shard's state. @param {number} row */
const stateOf = (row) => doc.states[doc.shards.state[row]];

/** badgeOf makes the badge of a shard's state. @param {number} row */
const badgeOf = (row) => badge(stateOf(row));

/** badge makes the badge of a state. @param {{name: string, sign: string}} s */
function badge(s) {
  const kind = s.name === "cut short" || s.name === "missing" ? "fail" : s.name;
  return el(
    "span",
    { className: "badge " + kind },
    el("span", { "aria-hidden": "true" }, s.sign),
    " " + s.name,
  );
}

/**
 * growthText returns the growth of a series in a shard: "4.00 MiB/file (95 %: 3.86 to 4.12 MiB)".
 * @param {GrowthData} g
 * @param {number} row
 */
function growthText(g, row) {
  const slope = g.slope[row];
  if (slope == null) return "";
  const unit = g.unit.replace("/file", "");
  const text = formatAmount(slope, g.unit);
  const half = g.error[row];
  if (half == null) return text + " (no interval: it follows the audio's length)";
  return (
    text +
    " (95 %: " +
    formatAmount(slope - half, unit) +
    " to " +
    formatAmount(slope + half, unit) +
    ")"
  );
}

/** peakText returns the highest memory of a shard. @param {number} row */
function peakText(row) {
  const { peak, total } = doc.shards;
  const p = peak[row];
  if (p == null) return "";
  const of = total[row];
  return formatBytes(p) + (of ? " of " + formatBytes(of) : "");
}

/** filesText returns the files of a shard in words. @param {number} row */
function filesText(row) {
  const bad = doc.shards.failed[row];
  return grouped(doc.shards.files[row]) + (bad ? ", " + grouped(bad) + " not ok" : "");
}

/** missing reports whether a shard has no log. @param {number} row */
const isMissing = (row) => stateOf(row).name === "missing";

/** titleOf returns the worst of a shard in a few words. @param {number} row */
function titleOf(row) {
  const s = doc.shards;
  if (isMissing(row)) return "never started, or its log is not here";
  const title = s.title[row];
  const parts = title == null ? [] : [doc.texts[title]];
  if (s.cut[row]) parts.push("cut short");
  if (!parts.length && s.failed[row]) parts.push(grouped(s.failed[row]) + " files did not end ok");
  return parts.join("; ");
}

/** tipOf returns what the map says of a shard. @param {number} row @param {Measure} by */
function tipOf(row, by) {
  const s = doc.shards;
  const out = [
    el("div", {}, el("b", {}, "shard " + grouped(s.number[row])), onNode(row)),
    el("div", {}, stateOf(row).sign + " " + stateOf(row).name),
  ];
  const title = titleOf(row);
  if (title) out.push(el("div", {}, title));
  if (isMissing(row)) return out;
  out.push(tipRow("files", filesText(row)));
  if (peakText(row)) out.push(tipRow("highest memory", peakText(row)));
  const v = by.values[row];
  if (v != null && by.name !== "files" && by.name !== "highest memory")
    out.push(tipRow(by.name, by.text(v)));
  return out;
}

/** groupsByNode returns the rows of each node, by the number of the shard. */
function groupsByNode() {
  const groups = doc.nodes.map(() => /** @type {number[]} */ ([]));
  for (let row = 0; row < doc.shards.number.length; row++) groups[doc.shards.node[row]].push(row);
  const { number } = doc.shards;
  for (const g of groups) g.sort((a, b) => number[a] - number[b]);
  return groups;
}

/**
 * mix returns a colour between the two ends of the scale.
 * @param {number} share from 0 to 1
 */
function mix(share) {
  const parts = ["scale-low", "scale-high"].map((name) =>
    [1, 3, 5].map((at) => parseInt(color(name).slice(at, at + 2), 16)),
  );
  const at = parts[0].map((low, i) => Math.round(low + (parts[1][i] - low) * share));
  return "rgb(" + at.join(",") + ")";
}

/** A ShardMap has a cell for each shard, in groups by node. */
class ShardMap {
  /** @param {Measure} by */
  constructor(by) {
    this.by = by;
    this.groups = groupsByNode();
    /** The cells in the order of the map. @type {{row: number, x: number, y: number}[]} */
    this.cells = [];
    /** The names of nodes, where there is room for them. */
    this.labels = /** @type {{text: string, x: number, y: number, w: number}[]} */ ([]);
    this.size = 12;
    const values = by.values.filter((v) => v !== null);
    this.low = Math.min(...minMax(values));
    this.high = Math.max(...minMax(values));
    const where = byId("map-body");
    this.height = this.place(Math.max(280, where.clientWidth));
    this.canvas = makeCanvas(where, {
      label:
        "Map of the shards by node, coloured by " +
        by.name +
        ". Arrow keys go from shard to shard, Enter opens the page of the shard.",
      height: this.height,
      draw: (c, width) => this.draw(c, width),
      point: (x, y) => {
        const at = this.cellAt(x, y);
        return at ? tipOf(at.row, by) : [];
      },
      click: (x, y) => {
        const at = this.cellAt(x, y);
        if (!at) return;
        if (at.row === chosenShard && doc.shards.page[at.row]) openShard(at.row);
        else chooseShard(at.row);
      },
      key: (key) => this.key(key),
    });
  }

  /**
   * place places the cells, and returns the height that they need.
   * @param {number} width
   */
  place(width) {
    const count = doc.shards.number.length;
    const sizes = width < 500 ? [26, 17, 11, 7] : [28, 20, 13, 9];
    this.size = sizes[count <= 100 ? 0 : count <= 600 ? 1 : count <= 3000 ? 2 : 3];
    this.cells = [];
    this.labels = [];
    const named = this.groups.length <= 64 && doc.nodes.some((n) => n);
    return named ? this.placeRows(width) : this.placeFlow(width);
  }

  /** placeRows gives each node a row, with its name before it. @param {number} width */
  placeRows(width) {
    const longest = Math.max(...doc.nodes.map((n) => (n || "no node").length));
    const room = Math.min(width < 500 ? 90 : 220, Math.max(40, 14 + 7.5 * longest));
    let y = 2;
    this.groups.forEach((rows, node) => {
      this.labels.push({ text: doc.nodes[node] || "no node", x: 2, y, w: room - 10 });
      let x = room;
      for (const row of rows) {
        if (x + this.size > width) [x, y] = [room, y + this.size];
        this.cells.push({ row, x, y });
        x += this.size;
      }
      y += Math.max(this.size, 17) + 5;
    });
    return y;
  }

  /**
   * placeFlow puts the nodes one after the other, with a gap between them.
   * @param {number} width
   */
  placeFlow(width) {
    const gap = Math.max(3, this.size / 2);
    let [x, y] = [2, 2];
    for (const rows of this.groups) {
      const needs = rows.length * this.size;
      if (x > 2 && x + Math.min(needs, width - 4) > width) [x, y] = [2, y + this.size + gap];
      for (const row of rows) {
        if (x + this.size > width) [x, y] = [2, y + this.size];
        this.cells.push({ row, x, y });
        x += this.size;
      }
      x += gap;
    }
    return y + this.size + 4;
  }

  /** cellAt returns the cell at a place. @param {number} x @param {number} y */
  cellAt(x, y) {
    const size = this.size;
    return this.cells.find((c) => x >= c.x && x < c.x + size && y >= c.y && y < c.y + size);
  }

  /** draw draws all cells. @param {CanvasRenderingContext2D} c @param {number} width */
  draw(c, width) {
    const height = this.place(width);
    if (height !== this.height && this.canvas) {
      this.height = height;
      this.canvas.resize(height); // draws again
      return;
    }
    c.textBaseline = "middle";
    c.textAlign = "left";
    c.font = "13px system-ui";
    c.fillStyle = color("ink");
    for (const l of this.labels)
      c.fillText(fitText(c, l.text, l.w), l.x, l.y + Math.max(this.size, 17) / 2);
    c.textAlign = "center";
    for (const cell of this.cells) this.drawCell(c, cell);
    const chosen = this.cells.find((cell) => cell.row === chosenShard);
    if (!chosen) return;
    c.strokeStyle = color("ink");
    c.lineWidth = 2.5;
    c.strokeRect(chosen.x - 0.5, chosen.y - 0.5, this.size, this.size);
  }

  /**
   * drawCell draws one cell. In the map of verdicts it has the sign of its state. In other maps a
   * shard that fails has a frame, and one without a value is empty.
   * @param {CanvasRenderingContext2D} c
   * @param {{row: number, x: number, y: number}} cell
   */
  drawCell(c, cell) {
    const inner = this.size - (this.size > 12 ? 2 : 1);
    const state = stateOf(cell.row);
    const verdicts = !this.by.values.length;
    const v = verdicts ? null : this.by.values[cell.row];
    const fill = verdicts ? stateFills[state.name] : v == null ? "" : "scale";
    if (fill) {
      c.fillStyle = fill === "scale" ? mix(this.share(/** @type {number} */ (v))) : color(fill);
      c.fillRect(cell.x, cell.y, inner, inner);
    } else {
      c.strokeStyle = color("grey");
      c.lineWidth = 1;
      c.strokeRect(cell.x + 0.5, cell.y + 0.5, inner - 1, inner - 1);
    }
    if (verdicts && this.size >= 11 && state.name !== "pass") {
      c.fillStyle = state.name === "fail" ? color("panel") : color("ink");
      c.font = "bold " + Math.min(15, this.size - 2) + "px system-ui";
      c.fillText(state.sign, cell.x + inner / 2, cell.y + inner / 2 + 1);
    } else if (!verdicts && state.name === "fail") {
      c.strokeStyle = color("red");
      c.lineWidth = this.size > 12 ? 2 : 1;
      c.strokeRect(cell.x + 1, cell.y + 1, inner - 2, inner - 2);
    }
  }

  /** share returns where a value lies between the lowest and the highest. @param {number} v */
  share(v) {
    return this.high > this.low ? (v - this.low) / (this.high - this.low) : 0;
  }

  /** key acts on a key, and reports whether it knows it. @param {string} key */
  key(key) {
    const at = this.cells.findIndex((cell) => cell.row === chosenShard);
    const to = this.neighbour(at, key);
    if (to >= 0) {
      this.go(to);
      return true;
    }
    if (key === "Enter" && doc.shards.page[chosenShard]) {
      openShard(chosenShard);
      return true;
    }
    return key.startsWith("Arrow");
  }

  /**
   * neighbour returns the index of the cell to which a key leads, or -1.
   * @param {number} at
   * @param {string} key
   */
  neighbour(at, key) {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -at, End: this.cells.length - 1 - at }[key];
    if (step !== undefined) return this.cells[at + step] ? at + step : -1;
    const by = { ArrowDown: 1, ArrowUp: -1 }[key];
    const from = this.cells[at];
    if (!by || !from) return -1;
    let best = -1;
    let least = Infinity;
    this.cells.forEach((cell, i) => {
      const down = by * (cell.y - from.y);
      const far = 1000 * down + Math.abs(cell.x - from.x);
      if (down > 0 && far < least) [best, least] = [i, far];
    });
    return best;
  }

  /** go chooses a cell, and says what is known of its shard. @param {number} i */
  go(i) {
    const cell = this.cells[i];
    chooseShard(cell.row);
    const tip = tipOf(cell.row, this.by);
    this.canvas.tip(tip, cell.x + this.size, cell.y);
    this.canvas.say(tip.map((n) => n.textContent).join(". "));
  }
}

/** minMax returns the lowest and the highest of numbers. @param {Column} values */
function minMax(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const v of values) {
    if (v == null) continue;
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  return [low, high];
}

/** drawMap draws the map in the colours that are chosen. */
function drawMap() {
  const all = measures();
  const by = all[Number(byId("map-by").value) || 0];
  const map = new ShardMap(by);
  redrawMap = () => map.canvas.redraw();
  byId("map-key").replaceChildren(...mapKey(by, map));
}

/** mapKey explains the colours. @param {Measure} by @param {ShardMap} map */
function mapKey(by, map) {
  const used = new Set(doc.shards.state);
  const box = (/** @type {string} */ fill, /** @type {string} */ frame) => {
    const made = el("span", { className: "cell", "aria-hidden": "true" });
    made.style.background = fill ? "var(--" + fill + ")" : "none";
    made.style.borderColor = "var(--" + (frame || fill || "grey") + ")";
    return made;
  };
  if (!by.values.length)
    return doc.states
      .filter((_, i) => used.has(i))
      .map((s) => el("li", {}, box(stateFills[s.name] || "", ""), s.sign + " " + s.name));
  const scale = el("span", { className: "scale", "aria-hidden": "true" });
  const out = [el("li", {}, by.text(map.low) + " ", scale, " " + by.text(map.high))];
  if (map.high === map.low)
    out[0].replaceChildren(box("scale-low", ""), by.text(map.low) + " in all shards");
  if (doc.shards.number.some((_, row) => stateOf(row).name === "fail"))
    out.push(el("li", {}, box("", "red"), "framed: the shard fails"));
  if (by.values.some((v) => v == null)) out.push(el("li", {}, box("", ""), "empty: no value"));
  return out;
}

/** openShard opens the page of a shard. @param {number} row */
function openShard(row) {
  location.href = doc.shards.page[row];
}

/** chooseShard shows what is known of a shard. @param {number} row */
function chooseShard(row) {
  chosenShard = row;
  const s = doc.shards;
  byId("shard-title").replaceChildren(
    badgeOf(row),
    " Shard " + grouped(s.number[row]) + onNode(row),
  );
  byId("shard-number").value = String(s.number[row]);
  const facts = el("dl", { className: "facts-of" });
  const add = (/** @type {string} */ name, /** @type {(Node | string)[]} */ ...what) => {
    if (!what[0]) return;
    facts.append(el("div", {}, el("dt", {}, name), el("dd", {}, ...what)));
  };
  const body = [];
  if (s.page[row])
    body.push(el("p", {}, el("a", { href: s.page[row] }, "The report of shard " + s.number[row])));
  if (isMissing(row)) add("State", titleOf(row));
  else {
    add("Files", filesText(row));
    add("Highest memory", peakText(row));
    const each = s.seconds[row];
    add("Time a file", each == null ? "" : formatDuration(each));
    if (s.cut[row]) add("End", "cut short: the log has no end of its run");
    add("Folder", s.folder[row]);
  }
  body.push(facts);
  if (s.open[row].length)
    body.push(
      el("h3", {}, "What decides"),
      el("ul", { className: "message" }, ...s.open[row].map((t) => el("li", {}, doc.texts[t]))),
    );
  const grown = doc.growth.filter((g) => g.slope[row] != null);
  if (grown.length) body.push(el("h3", {}, "Growth"), growthTable(grown, row));
  byId("shard-body").replaceChildren(...body);
  nameCells(byId("shard-body").querySelector("tbody") || facts);
  if (redrawMap) redrawMap();
}

/**
 * growthTable makes the table of how series grow in a shard.
 * @param {GrowthData[]} grown
 * @param {number} row
 */
function growthTable(grown, row) {
  const body = el("tbody", {});
  for (const g of grown) {
    const state = doc.states[g.state[row] ?? doc.states.length - 1];
    body.append(
      el(
        "tr",
        {},
        el("td", {}, badge(state)),
        el("td", {}, g.title),
        el("td", {}, growthText(g, row)),
        el("td", { className: "n" }, formatAmount(g.limit, g.unit)),
      ),
    );
  }
  const head = ["Verdict", "Series", "Growth", "Allowed"].map((name) =>
    el("th", { scope: "col", className: name === "Allowed" ? "n" : "" }, name),
  );
  return el(
    "div",
    { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Growth in the shard" },
    el("table", {}, el("thead", {}, el("tr", {}, ...head)), body),
  );
}

/** goToShard chooses the shard that lies some places further, by number. @param {number} by */
function goToShard(by) {
  const number = doc.shards.number[chosenShard];
  let best = -1;
  doc.shards.number.forEach((n, row) => {
    if (by * (n - number) > 0 && (best < 0 || by * (n - doc.shards.number[best]) < 0)) best = row;
  });
  if (best >= 0) chooseShard(best);
}

/** drawShards fills the parts of the page. */
function drawShards() {
  const s = doc.shards;
  s.number.forEach((n, row) => rowOfShard.set(n, row));
  const select = byId("map-by");
  select.replaceChildren(
    ...measures().map((m, i) => el("option", { value: String(i) }, m.name)),
  );
  select.addEventListener("change", drawMap);
  byId("map").hidden = byId("shard").hidden = byId("table").hidden = false;
  drawMap();
  byId("shard-before").addEventListener("click", () => goToShard(-1));
  byId("shard-after").addEventListener("click", () => goToShard(1));
  const worse = byId("shard-worse");
  const open = s.state.filter((_, row) => stateOf(row).name !== "pass").length;
  worse.hidden = open === 0;
  worse.addEventListener("click", () => chooseShard((chosenShard + 1) % open));
  const number = byId("shard-number");
  number.addEventListener("change", () => {
    const row = rowOfShard.get(Number(number.value));
    if (row !== undefined) chooseShard(row);
    else number.value = String(s.number[chosenShard]);
  });
  for (const link of document.querySelectorAll("a.choose")) {
    link.addEventListener("click", () => {
      const row = rowOfShard.get(Number(/** @type {HTMLElement} */ (link).dataset.shard));
      if (row !== undefined) chooseShard(row);
    });
  }
  chooseShard(0);
}

drawers.push(drawShards);
