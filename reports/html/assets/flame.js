// A flame graph of what a device held at one moment, by call stack.

const rowHeight = 20;

/**
 * layOut returns the calls of a tree with their parents, and where they begin in bytes.
 * @param {CallTree} tree
 * @returns {CallLayout}
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

/** A FlameGraph shows one holding. It knows which call is shown at full width. */
class FlameGraph {
  /** @param {Holding} holding @param {string} title */
  constructor(holding, title) {
    this.holding = holding;
    this.calls = layOut(holding.tree);
    this.root = -1; // the call at full width, or -1 for all calls
    this.chosen = -1; // the call that the keys have reached, or -1
    this.width = 0;
    const depths = this.calls.depth.reduce((most, d) => Math.max(most, d + 1), 1);
    this.canvas = makeCanvas(byId("flame-body"), {
      label:
        "Flame graph, " +
        title +
        ". Down and up arrows go into a call and out of it, left " +
        "and right to its neighbours, Enter shows it at full width, Escape shows everything.",
      height: depths * rowHeight + 4,
      draw: (c, width) => this.draw(c, width),
      point: (x, y) => this.about(this.callAt(x, y)),
      click: (x, y) => this.click(this.callAt(x, y)),
      key: (key) => this.key(key),
    });
    byId("flame-find").oninput = this.canvas.redraw;
  }

  /** span returns the bytes that the whole width stands for. */
  span() {
    if (this.root < 0) return { from: 0, bytes: this.holding.bytes };
    return { from: this.calls.from[this.root], bytes: this.calls.bytes[this.root] };
  }

  /**
   * isShown reports whether a call is in the call at full width, or around it.
   * @param {number} i
   */
  isShown(i) {
    const { from, bytes } = this.span();
    const begin = this.calls.from[i];
    return begin < from + bytes && begin + this.calls.bytes[i] > from;
  }

  /** place returns where a call is drawn. @param {number} i @returns {Rectangle} */
  place(i) {
    const { from, bytes } = this.span();
    const begin = this.calls.from[i] - from;
    const left = Math.max(0, (begin / bytes) * this.width);
    const right = Math.min(this.width, ((begin + this.calls.bytes[i]) / bytes) * this.width);
    return { x: left, y: this.calls.depth[i] * rowHeight, w: right - left, h: rowHeight };
  }

  /** callAt returns the call at a place, or -1. @param {number} x @param {number} y */
  callAt(x, y) {
    const depth = Math.floor(y / rowHeight);
    return this.calls.depth.findIndex((d, i) => {
      if (d !== depth || !this.isShown(i)) return false;
      const p = this.place(i);
      return x >= p.x && x < p.x + p.w;
    });
  }

  /** about returns what is known of a call. @param {number} i @returns {HTMLElement[]} */
  about(i) {
    if (i < 0) return [];
    const bytes = this.calls.bytes[i];
    const share = ((100 * bytes) / this.holding.bytes).toFixed(1);
    return [
      el("div", {}, el("b", {}, doc.names[this.calls.name[i]])),
      el("div", {}, exactBytes(bytes) + ", " + share + " % of " + formatBytes(this.holding.bytes)),
      el("div", {}, blockCount(this.calls.blocks[i])),
    ];
  }

  /** draw draws all calls. @param {CanvasRenderingContext2D} c @param {number} width */
  draw(c, width) {
    this.width = width;
    const wanted = byId("flame-find").value.toLowerCase();
    let found = 0;
    c.font = "12px system-ui";
    c.textBaseline = "middle";
    for (let i = 0; i < this.calls.depth.length; i++) {
      const hit = doc.names[this.calls.name[i]].toLowerCase().includes(wanted);
      if (hit) found++;
      if (this.isShown(i)) this.drawCall(c, i, wanted === "" ? 0.32 : hit ? 0.75 : 0.1);
    }
    const calls = grouped(this.calls.depth.length);
    byId("flame-found").textContent =
      wanted === "" ? "" : grouped(found) + " of " + calls + " calls";
  }

  /** @param {CanvasRenderingContext2D} c @param {number} i @param {number} alpha */
  drawCall(c, i, alpha) {
    const p = this.place(i);
    if (p.w < 0.4) return; // pixels
    const name = doc.names[this.calls.name[i]];
    fillTile(c, p, name, alpha);
    if (i === this.chosen) frameTile(c, p);
    c.fillStyle = color("ink");
    const label = fitText(c, shortCall(name), p.w - 8);
    if (label) c.fillText(label, p.x + 4, p.y + rowHeight / 2);
  }

  /** click shows a call at full width, or everything again. @param {number} i */
  click(i) {
    const isWhole =
      i >= 0 && this.calls.depth[i] === 0 && this.calls.bytes[i] === this.holding.bytes;
    this.show(i === this.root || isWhole ? -1 : i);
  }

  /** show shows a call at full width, or everything for -1. @param {number} i */
  show(i) {
    this.root = i;
    this.canvas.redraw();
  }

  /** choose marks a call and says what is known of it. @param {number} i */
  choose(i) {
    if (i < 0 || i >= this.calls.depth.length) return;
    this.chosen = i;
    this.canvas.redraw();
    const p = this.place(i);
    const about = this.about(i);
    this.canvas.tip(about, p.x + p.w / 2, p.y);
    this.canvas.say(about.map((n) => n.textContent).join(", "));
  }

  /** key moves from call to call, and reports whether it knows the key. @param {string} key */
  key(key) {
    const at = this.chosen;
    switch (key) {
      case "ArrowDown":
        this.choose(at < 0 ? 0 : this.calls.parent[at + 1] === at ? at + 1 : at);
        return true;
      case "ArrowUp":
        this.choose(at < 0 ? 0 : this.calls.parent[at]);
        return true;
      case "ArrowRight":
      case "ArrowLeft":
        this.choose(at < 0 ? 0 : this.sibling(at, key === "ArrowRight" ? 1 : -1));
        return true;
      case "Enter":
      case "Escape":
        this.show(key === "Enter" ? at : -1);
        return true;
    }
    return false;
  }

  /**
   * sibling returns the next call with the same parent, or the call itself.
   * @param {number} i
   * @param {1 | -1} by
   */
  sibling(i, by) {
    const { depth } = this.calls;
    for (let k = i + by; k >= 0 && k < depth.length && depth[k] >= depth[i]; k += by) {
      if (depth[k] === depth[i]) return k;
    }
    return i;
  }
}
