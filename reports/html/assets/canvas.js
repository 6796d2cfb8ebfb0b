// A canvas with a tip at the pointer and keys.

/**
 * @typedef {object} Canvas
 * @property {() => void} redraw
 * @property {(width: number) => void} fit
 * @property {(height: number) => void} resize
 * @property {(text: Node[], x: number, y: number) => void} tip
 * @property {(text: string) => void} say
 */

/**
 * What to call before a new canvas takes the place of another.
 * @type {Map<HTMLElement, () => void>}
 */
const removeCanvas = new Map();

/**
 * makeCanvas puts a canvas into an element, in place of what was there.
 * @param {HTMLElement} where
 * @param {object} spec
 * @param {string} spec.label
 * @param {number} spec.height
 * @param {(c: CanvasRenderingContext2D, width: number, height: number) => void} spec.draw
 * @param {(x: number, y: number) => Node[]} spec.point what is known of a place
 * @param {(x: number, y: number) => void} [spec.click]
 * @param {(key: string) => boolean} [spec.key] reports whether it knows the key
 * @returns {Canvas}
 */
function makeCanvas(where, spec) {
  removeCanvas.get(where)?.();
  where.replaceChildren();
  const canvas = el("canvas", { "aria-hidden": "true" });
  const tip = el("div", { className: "tip", hidden: true });
  const spoken = el("div", { className: "off", role: "status" });
  const box = el(
    "div",
    { className: "plot", tabIndex: 0, role: "group", "aria-label": spec.label },
    canvas,
    tip,
  );
  where.append(box, spoken);
  let height = spec.height;
  let width = 0;
  let forced = 0;
  const redraw = () => {
    width = forced || Math.max(280, box.clientWidth);
    canvas.width = width * devicePixelRatio;
    canvas.height = height * devicePixelRatio;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    c.scale(devicePixelRatio, devicePixelRatio);
    c.fillStyle = color("panel");
    c.fillRect(0, 0, width, height);
    spec.draw(c, width, height);
  };
  /** @param {Node[]} nodes @param {number} x @param {number} y */
  const show = (nodes, x, y) => {
    tip.hidden = !nodes.length;
    tip.replaceChildren(...nodes);
    tip.style.left = tip.style.right = "";
    if (x > width / 2) tip.style.right = width - x + 14 + "px";
    else tip.style.left = x + 14 + "px";
    tip.style.top = Math.min(y + 16, Math.max(0, height - 60)) + "px";
  };
  canvas.addEventListener("mousemove", (ev) =>
    show(spec.point(ev.offsetX, ev.offsetY), ev.offsetX, ev.offsetY),
  );
  canvas.addEventListener("mouseleave", () => {
    tip.hidden = true;
  });
  canvas.addEventListener("click", (ev) => spec.click && spec.click(ev.offsetX, ev.offsetY));
  box.addEventListener("keydown", (ev) => {
    if (spec.key && !ev.ctrlKey && !ev.metaKey && !ev.altKey && spec.key(ev.key))
      ev.preventDefault();
  });
  const made = {
    redraw,
    fit: (/** @type {number} */ w) => {
      forced = w;
      redraw();
    },
    resize: (/** @type {number} */ h) => {
      height = h;
      redraw();
    },
    tip: show,
    say: (/** @type {string} */ text) => {
      spoken.textContent = text;
    },
  };
  let seen = 0;
  const resized = new ResizeObserver(() => {
    if (box.clientWidth === seen) return;
    seen = box.clientWidth;
    redraw();
  });
  resized.observe(box);
  charts.add(made);
  removeCanvas.set(where, () => {
    resized.disconnect();
    charts.delete(made);
  });
  return made;
}

/**
 * fitText returns a text that fits into a width, shortened at its end, or "".
 * @param {CanvasRenderingContext2D} c
 * @param {string} text
 * @param {number} width
 */
function fitText(c, text, width) {
  if (width < 24) return "";
  if (c.measureText(text).width <= width) return text;
  let keep = Math.floor((text.length * width) / c.measureText(text).width) - 1;
  while (keep > 1 && c.measureText(text.slice(0, keep) + "…").width > width) keep--;
  return keep > 2 ? text.slice(0, keep) + "…" : "";
}
