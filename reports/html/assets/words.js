// The words and colours that the charts share.

/**
 * byId returns an element of the page. Its type has what the elements of the page have: a value, if
 * the element is an input or a selection.
 * @param {string} id
 */
const byId = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));

/** The data of the page. */
let doc = /** @type {PageData} */ ({});

/** drawers draw the parts of the page, after the data are loaded. @type {(() => void)[]} */
const drawers = [];

// The names and colours of quantities, in the order of the buttons.
const quantities = /** @type {[string, string, string, boolean][]} */ ([
  ["allocated", "allocated", "blue", true],
  ["reserved", "reserved", "orange", true],
  ["used", "device used", "green", true],
  ["buffer", "buffers", "purple", true],
  ["peak", "peak allocated", "sky", false],
  ["peak_reserved", "peak reserved", "yellow", false],
  ["active", "active", "purple", false],
  ["inactive_split", "inactive split", "grey", false],
  ["pinned", "pinned host memory", "red", false],
  ["free", "free on the device", "grey", true],
]);
const stageColors = ["sky", "orange", "green", "purple", "yellow", "red", "blue", "grey"];
const eventKinds = /** @type {Record<string, [string, string, string]>} */ ({
  oom: ["✗", "out of memory", "red"],
  fallback: ["▽", "out of memory, went on with less", "yellow"],
  failed: ["✗", "file did not end ok", "fail"],
  crash: ["✗", "crash", "fail"],
  exit: ["■", "process ended", "purple"],
  restart: ["↻", "process restarted", "purple"],
  resume: ["▶", "run resumed", "blue"],
});

/** xText returns a place on the time axis as text. @param {LogData} log @param {number} x */
function xText(log, x) {
  return log.timed ? clockText(x) : grouped(x / 1000);
}

/**
 * moment returns the time of a place on the axis: since the start, and the date.
 * @param {LogData} log
 * @param {number} x
 */
function moment(log, x) {
  if (!log.timed) return "checkpoint " + grouped(x / 1000);
  const since = "after " + formatDuration(x);
  if (!log.origin || log.cut) return since;
  return (
    since + ", " + new Date(log.origin + x).toISOString().replace("T", " ").slice(0, 19) + " UTC"
  );
}

/** fileName names a file: "file 12: a.wav". @param {number} f index in doc.files */
function fileName(f) {
  const n = doc.files.number[f];
  const path = doc.files.path[f];
  const base = path.slice(path.lastIndexOf("/") + 1);
  if (!n) return path || "outside of files";
  return "file " + grouped(n) + (base ? ": " + base : "");
}

/** row makes a line of a tip. @param {string} name @param {string} value */
const tipRow = (name, value) => el("div", {}, name + " ", el("b", {}, value));

/**
 * exact returns a reading with its bytes and how exact it is.
 * @param {Track} t
 * @param {string} q
 * @param {number} v
 */
function exact(t, q, v) {
  const digits = t.digits[q];
  return exactBytes(v) + (digits ? " ± " + formatBytes(digits) : "");
}
