// query.mjs DIR TRACE... opens one trace after the other in Perfetto's trace processor, which
// fetch.sh put into DIR. It runs the SQL queries on standard input, which end with ';', on each. It
// prints one line for each query: its rows as a JSON array of objects.
//
// The engine expects to run in a browser's worker, so this script first makes what it uses of one.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import {pathToFileURL} from 'node:url';

const dir = path.resolve(process.argv[2]);
const traces = process.argv.slice(3);

globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.location = {href: pathToFileURL(dir).href + '/'};
globalThis.XMLHttpRequest = class {
  open(_method, url) { this.url = url; }
  send() { this.response = fs.readFileSync(path.join(dir, path.basename(this.url))); }
};

// The engine compiles a small module to learn whether 64-bit memory works. DIR has the 32-bit engine
// only.
const Module = WebAssembly.Module;
WebAssembly.Module = class {
  constructor() {
    WebAssembly.Module = Module;
    throw new Error('no 64-bit memory');
  }
};
console.warn = () => {}; // system calls that the engine can do without
vm.runInThisContext(fs.readFileSync(path.join(dir, 'engine_bundle.node.js'), 'utf8'));
await new Promise(resolve => setTimeout(resolve, 0)); // the engine initializes itself

const {port1, port2} = new MessageChannel();
self.onmessage({data: port1});
const {EngineBase} = await import(pathToFileURL(path.join(dir, 'engine.mjs')).href);
class Engine extends EngineBase {
  constructor() {
    super();
    port2.onmessage = m => this.onRpcResponseBytes(m.data);
  }
  rpcSendRequestBytes(data) { port2.postMessage(data); }
}

const engine = new Engine();
const queries = fs.readFileSync(0, 'utf8').split(';').filter(sql => sql.trim() !== '');
const number = (_key, value) => typeof value === 'bigint' ? Number(value) : value;
const chunk = 16 << 20; // the engine takes at most 32 MiB at a time
for (const trace of traces) {
  await engine.resetTraceProcessor({});
  const bytes = new Uint8Array(fs.readFileSync(trace));
  for (let at = 0; at < bytes.length; at += chunk) {
    await engine.parse(bytes.subarray(at, at + chunk));
  }
  await engine.notifyEof();
  for (const sql of queries) {
    const result = await engine.query(sql);
    if (result.error()) throw new Error(result.error());
    const columns = result.columns();
    const rows = [];
    for (const row = result.iter({}); row.valid(); row.next()) {
      rows.push(Object.fromEntries(columns.map(name => [name, row.get(name)])));
    }
    fs.writeSync(1, JSON.stringify(rows, number) + '\n');
  }
}
process.exit(0);
