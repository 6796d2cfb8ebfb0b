// A treemap of what a device held at one moment, by line of the program.

const tints = ["blue", "orange", "green", "purple", "sky", "yellow", "red"];

/** tintOf returns the colour of a call. All calls of a file have the same. @param {string} name */
function tintOf(name) {
  const file = name.split(":")[0];
  let sum = 0;
  for (let i = 0; i < file.length; i++) sum = (sum * 31 + file.charCodeAt(i)) >>> 0;
  return tints[sum % tints.length];
}

/** shortCall leaves the folders out of a call: "train.py:40 main". @param {string} name */
function shortCall(name) {
  return name.replace(/^\S*\//, "");
}

/** blockCount returns a number of blocks in words: "3 blocks". @param {number} n */
function blockCount(n) {
  return grouped(n) + (n === 1 ? " block" : " blocks");
}

/**
 * fillTile fills a rectangle in the colour of a call.
 * @param {CanvasRenderingContext2D} c
 * @param {Rectangle} r
 * @param {string} name
 * @param {number} alpha
 */
function fillTile(c, r, name, alpha) {
  c.globalAlpha = alpha;
  c.fillStyle = color(tintOf(name));
  c.fillRect(r.x, r.y, Math.max(0.5, r.w - 1), Math.max(0.5, r.h - 1));
  c.globalAlpha = 1;
}

/**
 * frameTile marks the chosen rectangle.
 * @param {CanvasRenderingContext2D} c
 * @param {Rectangle} r
 */
function frameTile(c, r) {
  c.strokeStyle = color("ink");
  c.lineWidth = 2;
  c.strokeRect(r.x + 1, r.y + 1, r.w - 3, r.h - 3);
}

/**
 * squarify places sizes in a rectangle, in tiles that are as square as possible (Bruls, Huizing and
 * van Wijk 2000).
 * @param {number[]} sizes the largest first
 * @param {number} width
 * @param {number} height
 * @returns {Rectangle[]}
 */
function squarify(sizes, width, height) {
  const sum = sizes.reduce((a, b) => a + b, 0) || 1;
  const areas = sizes.map((s) => (s / sum) * width * height);
  const out = /** @type {Rectangle[]} */ ([]);
  let [x, y, w, h] = [0, 0, width, height];
  for (let from = 0; from < areas.length; ) {
    const side = Math.max(1e-9, Math.min(w, h));
    const to = endOfRow(areas, from, side);
    const thick = areas.slice(from, to).reduce((a, b) => a + b, 0) / side;
    let at = 0;
    for (; from < to; from++) {
      const long = thick > 0 ? areas[from] / thick : 0;
      out.push(w <= h ? { x: x + at, y, w: long, h: thick } : { x, y: y + at, w: thick, h: long });
      at += long;
    }
    if (w <= h) [y, h] = [y + thick, h - thick];
    else [x, w] = [x + thick, w - thick];
  }
  return out;
}

/**
 * endOfRow returns where a row of tiles ends: before the tile that would make the worst one longer.
 * @param {number[]} areas
 * @param {number} from
 * @param {number} side the length of the row
 */
function endOfRow(areas, from, side) {
  let row = 0;
  let worst = Infinity;
  for (let to = from; to < areas.length; to++) {
    row += areas[to];
    const thick = row / side;
    const first = areas[from] / thick / thick;
    const ratio = Math.max(first, (thick * thick) / Math.max(areas[to], 1e-9));
    if (ratio > worst) return to;
    worst = ratio;
  }
  return areas.length;
}

/** A Treemap shows one holding. */
class Treemap {
  /** @param {Holding} holding @param {string} title */
  constructor(holding, title) {
    this.holding = holding;
    this.tiles = /** @type {Rectangle[]} */ ([]);
    this.chosen = -1;
    this.canvas = makeCanvas(byId("treemap-body"), {
      label:
        "Treemap, " + title + ". Left and right arrows go from line to line, the largest first.",
      height: 360,
      draw: (c, width, height) => this.draw(c, width, height),
      point: (x, y) => this.about(this.tileAt(x, y)),
      key: (key) => this.key(key),
    });
  }

  /** tileAt returns the tile at a place, or -1. @param {number} x @param {number} y */
  tileAt(x, y) {
    return this.tiles.findIndex((t) => x >= t.x && x < t.x + t.w && y >= t.y && y < t.y + t.h);
  }

  /** about returns what is known of a line. @param {number} i @returns {HTMLElement[]} */
  about(i) {
    const s = this.holding.sites[i];
    if (!s) return [];
    const share = ((100 * s.bytes) / this.holding.bytes).toFixed(1);
    return [
      el("div", {}, el("b", {}, doc.names[s.name])),
      el("div", {}, exactBytes(s.bytes) + ", " + share + " %"),
      el("div", {}, blockCount(s.blocks) + ", the largest " + formatBytes(s.largest)),
    ];
  }

  /** @param {CanvasRenderingContext2D} c @param {number} width @param {number} height */
  draw(c, width, height) {
    this.tiles = squarify(
      this.holding.sites.map((s) => s.bytes),
      width,
      height,
    );
    c.font = "12px system-ui";
    c.textBaseline = "top";
    this.tiles.forEach((t, i) => this.drawTile(c, t, i));
  }

  /** @param {CanvasRenderingContext2D} c @param {Rectangle} t @param {number} i */
  drawTile(c, t, i) {
    const site = this.holding.sites[i];
    const name = doc.names[site.name];
    fillTile(c, t, name, 0.32);
    if (i === this.chosen) frameTile(c, t);
    c.fillStyle = color("ink");
    if (t.h > 18) c.fillText(fitText(c, shortCall(name), t.w - 8), t.x + 4, t.y + 4);
    if (t.h > 36) c.fillText(fitText(c, formatBytes(site.bytes), t.w - 8), t.x + 4, t.y + 20);
  }

  /** key moves from tile to tile, and reports whether it knows the key. @param {string} key */
  key(key) {
    const by = /** @type {Record<string, number>} */ ({
      ArrowRight: 1,
      ArrowDown: 1,
      ArrowLeft: -1,
      ArrowUp: -1,
    })[key];
    if (!by || !this.tiles.length) return false;
    this.chosen = Math.min(Math.max(0, this.chosen + by), this.tiles.length - 1);
    this.canvas.redraw();
    const tile = this.tiles[this.chosen];
    const about = this.about(this.chosen);
    this.canvas.tip(about, tile.x + tile.w / 2, tile.y);
    this.canvas.say(about.map((n) => n.textContent).join(", "));
    return true;
  }
}
