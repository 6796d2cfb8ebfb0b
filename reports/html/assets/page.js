// The page: it decodes the data and fills the sections that the Go program left empty.

/**
 * load returns the data of the page.
 * @returns {Promise<PageData>}
 */
async function load() {
  const text = atob(byId("data").textContent || "");
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return decode(JSON.parse(await new Response(stream).text()));
}

/** setTheme sets light or dark. @param {string} theme */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  palette.clear();
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
  byId("theme").setAttribute(
    "aria-label",
    theme === "dark" ? "Use light colours" : "Use dark colours",
  );
  for (const c of charts) c.redraw();
}

/** paperWidth is the width of a chart on paper, in CSS pixels: A4 and Letter have room for it. */
const paperWidth = 640;
const smallPaperWidth = 305; // two charts beside each other

/** prepareForPaper prints in light colours and at the width of the paper. */
function prepareForPaper() {
  let chosen = "light";
  addEventListener("beforeprint", () => {
    chosen = document.documentElement.dataset.theme || "light";
    setTheme("light");
    for (const c of charts) c.fit(c.small ? smallPaperWidth : paperWidth);
  });
  addEventListener("afterprint", () => {
    setTheme(chosen);
    for (const c of charts) c.fit(0);
  });
}

/** begin builds the page. */
async function begin() {
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(prefersDark.matches ? "dark" : "light");
  prefersDark.addEventListener("change", (e) => setTheme(e.matches ? "dark" : "light"));
  byId("theme").hidden = false;
  byId("theme").addEventListener("click", () =>
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
  );
  prepareForPaper();
  doc = await load();
  for (const draw of drawers) draw();
  document.documentElement.dataset.ready = "yes";
  // The second frame begins when the first one, with all charts in it, has been drawn.
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("drawn")));
}

begin().catch((err) => {
  byId("trouble").hidden = false;
  byId("trouble").textContent =
    "The charts cannot be drawn: " + err + ". The verdict and the findings above are complete.";
});
