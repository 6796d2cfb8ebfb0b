// The segments of an allocator over time.

const blockStates = /** @type {Record<string, [string, string]>} */ ({
  a: ["allocated", "blue"],
  p: ["freed, waits for a stream", "purple"],
  f: ["free", "orange"],
  F: ["free, in an unused segment", "green"],
});

/**
 * stackMap returns the blocks of a map in the order in which they are drawn, with their heights in
 * bytes. Segments stay in the order in which they were first seen.
 * @param {MapData} m
 * @param {Map<number, number>} order of the addresses of segments
 */
function stackMap(m, order) {
  const segments = m.address.map((a, i) => ({
    a,
    size: m.size[i],
    count: m.count[i],
    first: 0,
  }));
  let first = 0;
  for (const s of segments) {
    s.first = first;
    first += s.count;
    if (!order.has(s.a)) order.set(s.a, order.size);
  }
  segments.sort((p, q) => Number(order.get(p.a)) - Number(order.get(q.a)));
  const blocks = [];
  let at = 0;
  for (const s of segments) {
    let offset = 0;
    let used = false;
    for (let i = s.first; i < s.first + s.count; i++) used = used || m.state[i] !== "f";
    for (let i = s.first; i < s.first + s.count; i++) {
      const state = m.state[i] === "f" && !used ? "F" : m.state[i];
      blocks.push({ at: at + offset, size: m.block[i], state, segment: s, offset });
      offset += m.block[i];
    }
    at += s.size;
  }
  return { blocks, height: at };
}

/** drawSegments draws the maps of one device. @param {number} k */
function drawSegments(k) {
  const d = doc.segments[k];
  const order = new Map();
  const columns = d.maps.map((m) => stackMap(m, order));
  const top = Math.max(d.total, ...columns.map((c) => c.height)) || 1;
  const left = 78;
  const below = 24;
  let [wide, high] = [0, 0];
  let chosen = -1;
  let cursor = 0;
  const columnWidth = () => Math.min(120, (wide - left) / columns.length);
  /**
   * since returns the first map in which a block was as it is now.
   * @param {number} i
   * @param {Block} b
   */
  const since = (i, b) => {
    let first = i;
    while (
      first > 0 &&
      columns[first - 1].blocks.some(
        (o) =>
          o.segment.a === b.segment.a &&
          o.offset === b.offset &&
          o.size === b.size &&
          o.state === b.state,
      )
    )
      first--;
    return first;
  };
  /** @param {number} i */
  const mapName = (i) => {
    const m = d.maps[i];
    return (
      "map " +
      grouped(m.number) +
      (m.name ? ", " + m.name : "") +
      (m.file >= 0 && doc.files ? ", " + fileName(m.file) : "")
    );
  };
  /** @param {number} i @param {Block | undefined} b */
  const about = (i, b) => {
    const m = d.maps[i];
    const out = [el("div", {}, el("b", {}, mapName(i)))];
    if (b) {
      const first = since(i, b);
      out.push(
        tipRow(blockStates[b.state][0] + ":", exactBytes(b.size)),
        el(
          "div",
          {},
          "at " + formatBytes(b.offset) + " in a segment of " + formatBytes(b.segment.size),
        ),
        el("div", {}, first === i ? "new in this map" : "since " + mapName(first)),
      );
    }
    const sums = { a: 0, p: 0, f: 0, F: 0 };
    for (const o of columns[i].blocks) sums[/** @type {"a"} */ (o.state)] += o.size;
    out.push(
      el(
        "div",
        { className: "soft" },
        formatBytes(columns[i].height) +
          " reserved, " +
          formatBytes(sums.a) +
          " allocated, " +
          formatBytes(sums.f + sums.F) +
          " free",
      ),
    );
    if (m.requested)
      out.push(
        el("div", {}, el("b", {}, "a request of " + formatBytes(m.requested) + " failed here")),
      );
    return out;
  };
  const column = (/** @type {number} */ x) => Math.floor((x - left) / columnWidth());
  /** @param {number} i @param {number} y */
  const blockAt = (i, y) => {
    const bytes = ((high - below - y) / (high - below - 16)) * top;
    return columns[i].blocks.find((b) => bytes >= b.at && bytes < b.at + b.size);
  };
  const canvas = makeCanvas(byId("segments-body"), {
    label:
      "Segments of the allocator, " +
      d.title +
      ". Left and right arrows go from map to map, up and down from block to block.",
    height: 420,
    draw: (c, width, height) => {
      [wide, high] = [width, height];
      const w = columnWidth();
      const y = (/** @type {number} */ bytes) =>
        height - below - (bytes / top) * (height - below - 16);
      c.font = "12px system-ui";
      c.textBaseline = "middle";
      c.textAlign = "right";
      const steps = byteSteps();
      const step = steps[firstAtLeast(steps, top / 8)];
      for (let v = 0; v <= top; v += step) {
        c.fillStyle = color("grid");
        c.fillRect(left, y(v), width - left, 1);
        c.fillStyle = color("soft");
        c.fillText(formatBytes(v), left - 6, y(v));
      }
      const inks = Object.fromEntries(
        Object.entries(blockStates).map(([s, [, ink]]) => [s, color(ink)]),
      );
      const line = color("panel");
      columns.forEach((col, i) => {
        const x = left + i * w;
        for (const b of col.blocks) {
          const a = y(b.at + b.size);
          const h = y(b.at) - a;
          c.fillStyle = inks[b.state];
          c.globalAlpha = b.state === "a" ? 1 : 0.45;
          c.fillRect(
            x,
            a,
            Math.max(0.6, w - (w > 4 ? 1 : 0)),
            Math.max(h - (h > 3 ? 0.5 : 0), b.state === "a" ? 0.7 : 0.2),
          );
          c.globalAlpha = 1;
          if (b.offset === 0 && h > 2) {
            c.fillStyle = line;
            c.fillRect(x, y(b.at) - 0.5, w, 1);
          }
        }
        if (d.maps[i].requested) {
          c.fillStyle = color("fail");
          c.textAlign = "center";
          c.fillText("✗", x + w / 2, 8);
        }
      });
      if (d.total) {
        c.strokeStyle = color("soft");
        c.setLineDash([8, 5]);
        c.strokeRect(left, y(d.total), width, 0);
        c.setLineDash([]);
      }
      if (chosen >= 0) {
        c.strokeStyle = color("ink");
        c.lineWidth = 2;
        const b = columns[chosen].blocks[cursor];
        c.strokeRect(left + chosen * w, 14, w, height - below - 14);
        if (b)
          c.strokeRect(
            left + chosen * w,
            y(b.at + b.size),
            w,
            Math.max(2, y(b.at) - y(b.at + b.size)),
          );
      }
      c.fillStyle = color("soft");
      c.textAlign = "left";
      c.fillText("segment maps, the first at the left", left, height - 10);
    },
    point: (x, y) => {
      const i = column(x);
      return i >= 0 && i < columns.length ? about(i, blockAt(i, y)) : [];
    },
    key: (key) => {
      const [across, up] = /** @type {Record<string, number[]>} */ ({
        ArrowRight: [1, 0],
        ArrowLeft: [-1, 0],
        ArrowUp: [0, 1],
        ArrowDown: [0, -1],
      })[key] || [0, 0];
      if (!across && !up) return false;
      chosen = Math.min(Math.max(0, chosen + across), columns.length - 1);
      cursor = Math.min(
        Math.max(0, across ? 0 : cursor + up),
        Math.max(0, columns[chosen].blocks.length - 1),
      );
      const nodes = about(chosen, columns[chosen].blocks[cursor]);
      canvas.redraw();
      canvas.tip(nodes, left + chosen * columnWidth(), 20);
      canvas.say(nodes.map((n) => n.textContent).join(", "));
      return true;
    },
  });
  const list = el(
    "ul",
    { className: "key" },
    ...Object.values(blockStates).map(([name, ink]) => {
      return el("li", {}, swatchOf(ink), name);
    }),
    el("li", {}, "✗ a request failed"),
  );
  if (d.total) list.append(el("li", {}, "dashed: the device, " + formatBytes(d.total)));
  if (d.maps.length < d.all)
    list.append(
      el("li", {}, "shown: " + grouped(d.maps.length) + " of " + grouped(d.all) + " maps"),
    );
  byId("segments-body").append(list);
}

drawers.push(() => {
  for (const d of doc.segments || []) {
    for (const m of d.maps) {
      undeltaAll(m, ["address", "size", "count", "block"]);
    }
  }
  if (doc.held || !doc.segments || !doc.segments.length) return; // showDevice draws a snapshot's
  byId("segments").hidden = false;
  const which = byId("segments-which");
  which.append(...doc.segments.map((d, k) => el("option", { value: String(k) }, d.title)));
  byId("segments-label").hidden = doc.segments.length < 2;
  which.addEventListener("change", () => drawSegments(Number(which.value)));
  drawSegments(0);
});
