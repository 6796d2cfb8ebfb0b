// What a memory snapshot holds: a flame graph by call stack, and a treemap by line of the program.

const rowHeight = 20;
const tints = ["blue", "orange", "green", "purple", "sky", "yellow", "red"];

/** tintOf chooses a colour by the file of a call, so that a file has one colour. @param {string} name */
function tintOf(name) {
  const file = name.split(":")[0];
  let sum = 0;
  for (let i = 0; i < file.length; i++) sum = (sum * 31 + file.charCodeAt(i)) >>> 0;
  return tints[sum % tints.length];
}

/** shortCall leaves the folders out of a call: "train.py:40 main". @param {string} name */
const shortCall = (name) => name.replace(/^\S*\//, "");

/**
 * layOut returns the calls of a tree with their parents, and where they begin in bytes.
 * @param {any} tree
 * @returns {{depth: number[], name: number[], bytes: number[], blocks: number[], parent: number[], from: number[]}}
 */
function layOut(tree) {
  const parent = /** @type {number[]} */ ([]);
  const from = /** @type {number[]} */ ([]);
  const last = /** @type {number[]} */ ([]); // the last call of each depth
  const filled = /** @type {number[]} */ ([]); // where the next call of each depth begins
  for (let i = 0; i < tree.depth.length; i++) {
    const d = tree.depth[i];
    parent.push(d > 0 ? last[d - 1] : -1);
    from.push(d === 0 ? filled[0] || 0 : Math.max(from[last[d - 1]], filled[d] || 0));
    filled[d] = from[i] + tree.bytes[i];
    filled.length = d + 1;
    last[d] = i;
  }
  return { ...tree, parent, from };
}

/** drawHolding draws what was held at one moment. @param {number} k */
function drawHolding(k) {
  const h = doc.holdings[k];
  const t = layOut(h.tree);
  let root = -1; // the call that is shown at full width
  let chosen = -1; // the call that the keys have reached
  const depths = Math.max(1, ...t.depth.map((d) => d + 1));
  const span = () => (root < 0 ? { from: 0, bytes: h.bytes } : { from: t.from[root], bytes: t.bytes[root] });
  const find = () => byId("flame-find").value.toLowerCase();
  /** inRoot reports whether a call is shown: in the root, or around it. @param {number} i */
  const inRoot = (i) => root < 0 || (t.from[i] < t.from[root] + t.bytes[root] && t.from[i] + t.bytes[i] > t.from[root]);
  /** @param {number} i @param {number} width */
  const place = (i, width) => {
    const s = span();
    const a = Math.max(0, ((t.from[i] - s.from) / s.bytes) * width);
    const b = Math.min(width, ((t.from[i] + t.bytes[i] - s.from) / s.bytes) * width);
    return { x: a, y: t.depth[i] * rowHeight, w: b - a };
  };
  let wide = 0;
  /** @param {number} x @param {number} y */
  const at = (x, y) => {
    const d = Math.floor(y / rowHeight);
    for (let i = 0; i < t.depth.length; i++) {
      if (t.depth[i] !== d || !inRoot(i)) continue;
      const p = place(i, wide);
      if (x >= p.x && x < p.x + p.w) return i;
    }
    return -1;
  };
  /** @param {number} i */
  const about = (i) => i < 0 ? [] : [el("div", {}, el("b", {}, doc.names[t.name[i]])),
    el("div", {}, exactBytes(t.bytes[i]) + ", " + ((100 * t.bytes[i]) / h.bytes).toFixed(1) + " % of " + formatBytes(h.bytes)),
    el("div", {}, grouped(t.blocks[i]) + (t.blocks[i] === 1 ? " block" : " blocks"))];
  /** @param {number} i */
  const choose = (i) => {
    if (i < 0 || i >= t.depth.length) return;
    chosen = i;
    canvas.redraw();
    const p = place(i, wide);
    canvas.tip(about(i), p.x + p.w / 2, p.y);
    canvas.say(about(i).map((n) => n.textContent).join(", "));
  };
  /** sibling returns the next call with the same parent. @param {number} i @param {number} by */
  const sibling = (i, by) => {
    for (let k = i + by; k >= 0 && k < t.depth.length; k += by) {
      if (t.depth[k] < t.depth[i]) return i;
      if (t.depth[k] === t.depth[i]) return k;
    }
    return i;
  };
  const canvas = makeCanvas(byId("flame-body"), {
    label: "Flame graph, " + h.title + ". Down and up arrows go into a call and out of it, left and right to its neighbours, Enter shows it at full width, Escape shows everything.",
    height: depths * rowHeight + 4,
    draw: (c, width) => {
      wide = width;
      const text = find();
      let found = 0;
      c.font = "12px system-ui";
      c.textBaseline = "middle";
      for (let i = 0; i < t.depth.length; i++) {
        const name = doc.names[t.name[i]];
        const hit = text !== "" && name.toLowerCase().includes(text);
        if (hit) found++;
        if (!inRoot(i)) continue;
        const p = place(i, width);
        if (p.w < 0.4) continue;
        c.globalAlpha = text === "" ? 0.32 : hit ? 0.75 : 0.1;
        c.fillStyle = color(tintOf(name));
        c.fillRect(p.x, p.y, Math.max(0.5, p.w - 1), rowHeight - 1);
        c.globalAlpha = 1;
        if (i === chosen) {
          c.strokeStyle = color("ink");
          c.lineWidth = 2;
          c.strokeRect(p.x + 1, p.y + 1, p.w - 3, rowHeight - 3);
        }
        c.fillStyle = color("ink");
        const label = fitText(c, shortCall(name), p.w - 8);
        if (label) c.fillText(label, p.x + 4, p.y + rowHeight / 2);
      }
      byId("flame-found").textContent = text === "" ? "" : grouped(found) + " of " + grouped(t.depth.length) + " calls";
    },
    point: (x, y) => about(at(x, y)),
    click: (x, y) => {
      const i = at(x, y);
      root = i === root || (i >= 0 && t.depth[i] === 0 && t.bytes[i] === h.bytes) ? -1 : i;
      canvas.redraw();
    },
    key: (key) => {
      const moves = /** @type {Record<string, () => void>} */ ({
        ArrowDown: () => choose(chosen < 0 ? 0 : t.parent[chosen + 1] === chosen ? chosen + 1 : chosen),
        ArrowUp: () => choose(chosen < 0 ? 0 : t.parent[chosen]),
        ArrowRight: () => choose(chosen < 0 ? 0 : sibling(chosen, 1)),
        ArrowLeft: () => choose(chosen < 0 ? 0 : sibling(chosen, -1)),
        Enter: () => { root = chosen; canvas.redraw(); },
        Escape: () => { root = -1; canvas.redraw(); },
      });
      if (!moves[key]) return false;
      moves[key]();
      return true;
    },
  });
  byId("flame-find").oninput = canvas.redraw;
  drawTreemap(h);
}

/**
 * squarify places sizes in a rectangle, in tiles that are as square as possible (Bruls, Huizing and
 * van Wijk 2000).
 * @param {number[]} sizes the largest first
 * @param {number} width
 * @param {number} height
 * @returns {{x: number, y: number, w: number, h: number}[]}
 */
function squarify(sizes, width, height) {
  const sum = sizes.reduce((a, b) => a + b, 0) || 1;
  const areas = sizes.map((s) => (s / sum) * width * height);
  const out = [];
  let [x, y, w, h] = [0, 0, width, height];
  for (let from = 0, to = 0; from < areas.length; from = to) {
    const side = Math.max(1e-9, Math.min(w, h));
    let row = 0;
    let worst = Infinity;
    for (to = from; to < areas.length; to++) {
      const more = row + areas[to];
      const thick = more / side;
      const ratio = Math.max(areas[from] / thick / thick, (thick * thick) / Math.max(areas[to], 1e-9));
      if (ratio > worst) break;
      worst = ratio;
      row = more;
    }
    const thick = row / side;
    let at = 0;
    for (let i = from; i < to; i++) {
      const long = thick > 0 ? areas[i] / thick : 0;
      out.push(w <= h ? { x: x + at, y, w: long, h: thick } : { x, y: y + at, w: thick, h: long });
      at += long;
    }
    if (w <= h) [y, h] = [y + thick, h - thick];
    else [x, w] = [x + thick, w - thick];
  }
  return out;
}

/** drawTreemap draws a tile for each line of the program. @param {any} h */
function drawTreemap(h) {
  /** @type {{x: number, y: number, w: number, h: number}[]} */
  let tiles = [];
  let chosen = -1;
  const about = (/** @type {number} */ i) => {
    const s = h.sites[i];
    return s ? [el("div", {}, el("b", {}, doc.names[s.name])), el("div", {}, exactBytes(s.bytes) + ", " + ((100 * s.bytes) / h.bytes).toFixed(1) + " %"),
      el("div", {}, grouped(s.blocks) + (s.blocks === 1 ? " block" : " blocks") + ", the largest " + formatBytes(s.largest))] : [];
  };
  const canvas = makeCanvas(byId("treemap-body"), {
    label: "Treemap, " + h.title + ". Left and right arrows go from line to line, the largest first.",
    height: 360,
    draw: (c, width, height) => {
      tiles = squarify(h.sites.map((/** @type {any} */ s) => s.bytes), width, height);
      c.font = "12px system-ui";
      c.textBaseline = "top";
      tiles.forEach((t, i) => {
        const name = doc.names[h.sites[i].name];
        c.globalAlpha = 0.32;
        c.fillStyle = color(tintOf(name));
        c.fillRect(t.x, t.y, Math.max(0.5, t.w - 1), Math.max(0.5, t.h - 1));
        c.globalAlpha = 1;
        if (i === chosen) {
          c.strokeStyle = color("ink");
          c.lineWidth = 2;
          c.strokeRect(t.x + 1, t.y + 1, t.w - 3, t.h - 3);
        }
        c.fillStyle = color("ink");
        if (t.h > 18) c.fillText(fitText(c, shortCall(name), t.w - 8), t.x + 4, t.y + 4);
        if (t.h > 36) c.fillText(fitText(c, formatBytes(h.sites[i].bytes), t.w - 8), t.x + 4, t.y + 20);
      });
    },
    point: (x, y) => about(tiles.findIndex((t) => x >= t.x && x < t.x + t.w && y >= t.y && y < t.y + t.h)),
    key: (key) => {
      const by = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 })[key];
      if (!by) return false;
      chosen = Math.min(Math.max(0, chosen + by), h.sites.length - 1);
      canvas.redraw();
      canvas.tip(about(chosen), tiles[chosen].x + tiles[chosen].w / 2, tiles[chosen].y);
      canvas.say(about(chosen).map((n) => n.textContent).join(", "));
      return true;
    },
  });
}

drawers.push(() => {
  const which = byId("flame-which");
  for (const h of doc.holdings) {
    for (const k of ["depth", "name", "bytes", "blocks"]) h.tree[k] = undelta(h.tree[k] || []);
  }
  doc.holdings.forEach((/** @type {any} */ h, /** @type {number} */ k) => which.append(el("option", { value: String(k) }, h.title)));
  which.addEventListener("change", () => drawHolding(Number(which.value)));
  if (doc.holdings.length) drawHolding(0);
});
