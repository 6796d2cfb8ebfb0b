// @ts-check
// Functions that compute and touch no page. node tests them: see data.test.js.
"use strict";

/**
 * undelta returns the values of a column of differences from one value to the next, which is how a
 * page stores columns.
 * @param {Column} column
 * @returns {Column}
 */
function undelta(column) {
  let last = 0;
  return column.map((v) => (v === null ? null : (last += v)));
}

/**
 * undeltaAll replaces columns of a table by their values.
 * @param {object} table
 * @param {string[]} [keys] of the columns; all keys of the table if it is left out
 */
function undeltaAll(table, keys = Object.keys(table)) {
  const columns = /** @type {Columns} */ (table);
  for (const k of keys) columns[k] = undelta(columns[k] || []);
}

/**
 * decode replaces all columns of a run by their values. Columns are arrays of numbers under the
 * keys that the Go program writes as columns.
 * @param {PageData} data
 * @returns {PageData}
 */
function decode(data) {
  if (data.shards) {
    undeltaAll(data.shards, [
      ...["number", "node", "state", "cut", "files", "failed"],
      ...["peak", "total", "seconds", "title"],
    ]);
    for (const g of data.growth) undeltaAll(g, ["state"]);
  }
  if (!data.files) return data; // not the page of one run
  undeltaAll(data.files, ["number", "seconds", "audio", "log", "line", "begin", "end"]);
  for (const t of data.tracks) {
    undeltaAll(t.points, ["x", "number", "file", "line", "name", "stage", "freed"]);
    undeltaAll(t.points.values);
    undeltaAll(t.rows, ["file"]);
    undeltaAll(t.rows.idle);
    undeltaAll(t.rows.highest);
    for (const s of t.samples) undeltaAll(s, ["x", "value"]);
  }
  for (const e of data.events) {
    // The program leaves out what is 0.
    e.track ||= 0;
    e.level ||= 0;
    e.request ||= 0;
  }
  for (const t of data.trends) {
    undeltaAll(t, ["x", "file", "values", "fitted", "low", "high", "out"]);
    const scaled = (/** @type {Column} */ c) => c.map((v) => (v === null ? null : v * t.scale));
    t.values = scaled(t.values);
    t.fitted = scaled(t.fitted);
    t.low = scaled(t.low);
    t.high = scaled(t.high);
    t.out = scaled(t.out);
  }
  return data;
}

/**
 * formatBytes returns bytes in IEC units, with about three digits or with more: "7.23 GiB".
 * @param {number} n
 * @param {number} [more]
 * @returns {string}
 */
function formatBytes(n, more = 0) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let f = Math.abs(n);
  let i = 0;
  while (f >= 1023.5 && i < units.length - 1) {
    f /= 1024;
    i++;
  }
  const digits = i === 0 ? 0 : (f >= 99.95 ? 0 : f < 9.995 ? 2 : 1) + more;
  return (n < 0 ? "-" : "") + f.toFixed(digits) + " " + units[i];
}

/**
 * exactBytes returns bytes in IEC units and as a number: "7.23 GiB (7,763,155,025 bytes)".
 * @param {number} n
 * @returns {string}
 */
function exactBytes(n) {
  return formatBytes(n) + " (" + grouped(n) + " bytes)";
}

/**
 * grouped returns a whole number with commas between its thousands.
 * @param {number} n
 * @returns {string}
 */
function grouped(n) {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * formatDuration returns ms as "850 ms", "12.3 s", "4 min 05 s" or "2 h 03 min".
 * @param {number} ms
 * @returns {string}
 */
function formatDuration(ms) {
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  if (ms < 1000) return Math.round(ms) + " ms";
  if (ms < 60_000) return (ms / 1000).toFixed(1) + " s";
  const s = Math.round(ms / 1000);
  if (s < 3600) return Math.floor(s / 60) + " min " + two(s % 60) + " s";
  return grouped(Math.floor(s / 3600)) + " h " + two(Math.floor((s % 3600) / 60)) + " min";
}

/**
 * clockText returns ms for the marks of an axis: "250 ms", "2.5 s", "1:30 min", "2:03:00 h".
 * @param {number} ms
 * @returns {string}
 */
function clockText(ms) {
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  if (ms === 0) return "0 s";
  if (ms < 1000) return ms + " ms";
  if (ms < 60_000) return ms / 1000 + " s";
  const s = Math.round(ms / 1000);
  const min = Math.floor(s / 60);
  if (min < 60) return min + ":" + two(s % 60) + " min";
  return (
    grouped(Math.floor(min / 60)) + ":" + two(min % 60) + (s % 60 ? ":" + two(s % 60) : "") + " h"
  );
}

/**
 * distinct returns the marks of an axis as text, with as many digits as they need to differ.
 * @param {number[]} marks
 * @param {(v: number, more: number) => string} text
 * @returns {string[]}
 */
function distinct(marks, text) {
  for (let more = 0; ; more++) {
    const out = marks.map((v) => text(v, more));
    if (more === 6 || new Set(out).size === out.length) return out;
  }
}

/**
 * formatAmount returns a value of a judged series with its unit.
 * @param {number} v
 * @param {string} unit
 * @param {number} [more] digits more than usual
 * @returns {string}
 */
function formatAmount(v, unit, more = 0) {
  if (unit.endsWith("/file"))
    return formatAmount(v, unit.slice(0, -"/file".length), more) + "/file";
  switch (unit) {
    case "bytes":
      return formatBytes(v, more);
    case "ratio":
      return (100 * v).toFixed(1 + more) + " %";
    case "seconds":
      return formatDuration(1000 * v);
    case "count":
      return v.toFixed(v === Math.round(v) ? 0 : 2);
    case "x real time":
      if (v !== 0 && Math.abs(v) < 0.01) return Number(v.toPrecision(2)) + " x";
      return v.toPrecision(3 + more) + " x";
  }
  return v.toPrecision(4 + more) + " " + unit;
}

/**
 * spreadEqual returns rising numbers in which equal ones are spread over at most `room`, up to the
 * next one. Logs whose times have no fractions of a second print several checkpoints at one time.
 * @param {number[]} x in rising order
 * @param {number} room
 * @returns {number[]}
 */
function spreadEqual(x, room) {
  const out = x.slice();
  for (let from = 0, to = 0; from < x.length; from = to) {
    for (to = from + 1; to < x.length && x[to] === x[from]; ) to++;
    const gap = to < x.length ? Math.min(room, x[to] - x[from]) : room;
    for (let i = from + 1; i < to; i++) out[i] = x[from] + (gap * (i - from)) / (to - from);
  }
  return out;
}

/**
 * mergeAxes returns the values of several rising axes in one rising array and, for each axis, the
 * index there of each of its values.
 * @param {number[][]} axes
 * @returns {{x: number[], at: number[][]}}
 */
function mergeAxes(axes) {
  const x = [];
  const at = axes.map(() => /** @type {number[]} */ ([]));
  const next = axes.map(() => 0);
  for (;;) {
    let first = -1;
    for (let a = 0; a < axes.length; a++) {
      if (next[a] < axes[a].length && (first < 0 || axes[a][next[a]] < axes[first][next[first]]))
        first = a;
    }
    if (first < 0) return { x, at };
    at[first].push(x.length);
    x.push(axes[first][next[first]++]);
  }
}

/**
 * spreadOn returns the values at their places on a merged axis, and null elsewhere.
 * @param {Column} values
 * @param {number[]} at
 * @param {number} length
 * @returns {Column}
 */
function spreadOn(values, at, length) {
  const out = /** @type {Column} */ (new Array(length).fill(null));
  for (let i = 0; i < values.length; i++) out[at[i]] = values[i];
  return out;
}

/**
 * stageBands returns the stretches of the x axis that a stage takes. It leaves out stretches in
 * which the page lacks checkpoints.
 * @param {number[]} x
 * @param {Column} number
 * @param {Column} stage
 * @returns {{from: number, to: number, stage: number}[]}
 */
function stageBands(x, number, stage) {
  const out = [];
  let last = null;
  for (let i = 0; i + 1 < x.length; i++) {
    const s = stage[i];
    if (s === null || number[i + 1] !== /** @type {number} */ (number[i]) + 1) {
      last = null;
      continue;
    }
    if (last && last.stage === s) last.to = x[i + 1];
    else out.push((last = { from: x[i], to: x[i + 1], stage: s }));
  }
  return out;
}

/**
 * firstAtLeast returns the index of the first value that is at least v, or the length.
 * @param {ArrayLike<number>} sorted
 * @param {number} v
 * @returns {number}
 */
function firstAtLeast(sorted, v) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (sorted[mid] < v) low = mid + 1;
    else high = mid;
  }
  return low;
}

/**
 * byteSteps are the distances between the marks of an axis in bytes.
 * @returns {number[]}
 */
function byteSteps() {
  const out = [];
  for (let unit = 1; unit < 2 ** 60; unit *= 1024) {
    for (const n of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]) out.push(unit * n);
  }
  return out;
}

/**
 * timeSteps are the distances between the marks of an axis in ms.
 * @returns {number[]}
 */
function timeSteps() {
  const s = 1000;
  const min = 60 * s;
  const h = 60 * min;
  return [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    s,
    2 * s,
    5 * s,
    10 * s,
    15 * s,
    30 * s,
    min,
    2 * min,
    5 * min,
    10 * min,
    15 * min,
    30 * min,
    h,
    2 * h,
    3 * h,
    6 * h,
    12 * h,
    24 * h,
    48 * h,
    168 * h,
    1000 * h,
  ];
}

/** steps10 are the distances between the marks of an axis of decimal numbers. */
function steps10() {
  const out = [];
  for (let e = -6; e < 12; e++) for (const n of [1, 2, 5]) out.push(n * 10 ** e);
  return out;
}

/**
 * widened returns a range of the y axis that is at least 1 % of its values high. Without it, a
 * difference in the last printed digit would look like a cliff.
 * @param {number} min
 * @param {number} max
 * @returns {[number, number]}
 */
function widened(min, max) {
  const lacks = 0.01 * Math.max(Math.abs(min), Math.abs(max)) - (max - min);
  return lacks > 0 ? [min - lacks / 2, max + lacks / 2] : [min, max];
}
