// The page of memory snapshots: one device of one snapshot at a time.

/** drawHolding draws what a device held at one moment. @param {number} device @param {number} k */
function drawHolding(device, k) {
  const of = doc.held[device];
  const title = of.title + ", " + of.holdings[k].title;
  new FlameGraph(of.holdings[k], title);
  new Treemap(of.holdings[k], title);
}

/** showDevice draws a device, and shows its tables. @param {number} device */
function showDevice(device) {
  const of = doc.held[device];
  const moments = of.holdings.map((h, k) => el("option", { value: String(k) }, h.title));
  byId("flame-which").replaceChildren(...moments);
  drawHolding(device, 0);
  byId("segments").hidden = of.segments < 0;
  if (of.segments >= 0) drawSegments(of.segments);
  for (const tables of document.querySelectorAll(".of-device")) {
    const shown = /** @type {HTMLElement} */ (tables);
    shown.hidden = shown.dataset.device !== String(device);
  }
  const devices = byId("device-which");
  if (devices) devices.value = String(device);
}

drawers.push(() => {
  const all = doc.held;
  if (!all.length) return;
  for (const tree of all.flatMap((d) => d.holdings.map((h) => h.tree))) {
    undeltaAll(tree, ["depth", "name", "bytes", "blocks"]);
  }
  const devices = byId("device-which");
  if (devices) {
    byId("device-switcher").hidden = false;
    devices.append(...all.map((d, k) => el("option", { value: String(k) }, d.title)));
    devices.addEventListener("change", () => showDevice(Number(devices.value)));
  }
  const chosen = () => (devices ? Number(devices.value) : 0);
  byId("flame-which").addEventListener("change", () => {
    drawHolding(chosen(), Number(byId("flame-which").value));
  });
  // A link of the summary may lead into a table of a device that is not shown.
  for (const a of document.querySelectorAll('#verdict a[href^="#"]')) {
    a.addEventListener("click", () => {
      const to = document.querySelector(String(a.getAttribute("href")));
      const tables = /** @type {HTMLElement | null | undefined} */ (to?.closest(".of-device"));
      if (tables?.hidden) showDevice(Number(tables.dataset.device));
    });
  }
  showDevice(doc.lead);
});
