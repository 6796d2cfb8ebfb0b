// Tests of data.js: node --test reports/html/assets
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");
const vm = require("node:vm");

const page = vm.createContext({});
vm.runInContext(fs.readFileSync(path.join(__dirname, "data.js"), "utf8"), page);
/** call runs a function of the page, and returns its result as plain data. */
const call = (name, ...args) => {
  page.args = args;
  return JSON.parse(JSON.stringify(vm.runInContext(`${name}(...args)`, page)));
};

test("undelta", () => {
  assert.deepStrictEqual(call("undelta", [5, 2, null, -1, 0, -7]), [5, 7, null, 6, 6, -1]);
  assert.deepStrictEqual(call("undelta", []), []);
});

test("formatBytes", () => {
  // The same words as record.FormatBytes.
  for (const [n, want] of [
    [0, "0 B"],
    [512, "512 B"],
    [1023, "1023 B"],
    [1024, "1.00 KiB"],
    [4194304, "4.00 MiB"],
    [7763155025, "7.23 GiB"],
    [10734197113, "10.0 GiB"],
    [104826143, "100 MiB"],
    [-3174, "-3.10 KiB"],
    [1047552, "1023 KiB"],
    [1048064, "1.00 MiB"],
    [25769803776, "24.0 GiB"],
  ]) {
    assert.strictEqual(call("formatBytes", n), want);
  }
  assert.strictEqual(call("exactBytes", 7763155025), "7.23 GiB (7,763,155,025 bytes)");
});

test("distinct adds digits until the marks of an axis differ", () => {
  page.text = vm.runInContext("formatBytes", page);
  assert.deepStrictEqual(
    JSON.parse(
      JSON.stringify(vm.runInContext("distinct([8589934592, 8590983168, 8592031744], text)", page)),
    ),
    ["8.000 GiB", "8.001 GiB", "8.002 GiB"],
  );
});

test("formatDuration and clockText", () => {
  for (const [ms, long, short] of [
    [0, "0 ms", "0 s"],
    [850, "850 ms", "850 ms"],
    [12300, "12.3 s", "12.3 s"],
    [245000, "4 min 05 s", "4:05 min"],
    [7380000, "2 h 03 min", "2:03 h"],
    [7381000, "2 h 03 min", "2:03:01 h"],
  ]) {
    assert.strictEqual(call("formatDuration", ms), long);
    assert.strictEqual(call("clockText", ms), short);
  }
});

test("spreadEqual", () => {
  assert.deepStrictEqual(call("spreadEqual", [0, 0, 0, 3000], 1500), [0, 500, 1000, 3000]);
  assert.deepStrictEqual(call("spreadEqual", [0, 0, 300], 1000), [0, 150, 300]);
  assert.deepStrictEqual(call("spreadEqual", [1, 2, 3], 1000), [1, 2, 3]);
});

test("mergeAxes", () => {
  assert.deepStrictEqual(call("mergeAxes", [[1, 4, 6], [2, 4], []]), {
    x: [1, 2, 4, 4, 6],
    at: [[0, 2, 4], [1, 3], []],
  });
  assert.deepStrictEqual(call("spreadOn", [7, null, 9], [0, 2, 4], 5), [7, null, null, null, 9]);
});

test("stageBands leaves out what the page does not hold", () => {
  const bands = call(
    "stageBands",
    [0, 1, 2, 3, 8, 9],
    [1, 2, 3, 4, 9, 10],
    [5, 5, null, 6, 6, null],
  );
  assert.deepStrictEqual(bands, [
    { from: 0, to: 2, stage: 5 },
    { from: 8, to: 9, stage: 6 },
  ]);
});

test("firstAtLeast", () => {
  for (const [v, want] of [
    [0, 0],
    [1, 0],
    [2, 1],
    [3, 1],
    [9, 3],
  ]) {
    assert.strictEqual(call("firstAtLeast", [1, 3, 5], v), want);
  }
});

test("widened makes a flat range 1 % of its values high", () => {
  assert.deepStrictEqual(call("widened", 100, 100), [99.5, 100.5]);
  assert.deepStrictEqual(call("widened", 999.5, 1000), [994.75, 1004.75]);
  assert.deepStrictEqual(call("widened", 50, 100), [50, 100]);
  assert.deepStrictEqual(call("widened", 0, 0), [0, 0]);
});

test("decode fills in what the program leaves out of events", () => {
  const data = { files: {}, tracks: [], trends: [], events: [{ kind: "oom", request: 512 }] };
  const [event] = page.decode(data).events;
  assert.deepEqual(event, { kind: "oom", track: 0, level: 0, request: 512 });
});
