#!/usr/bin/env bash
# Soaks the native pipeline over 8 files three times and asserts the exit code and the verdict: clean (pass), leaking and
# crashing (fail, and for the reason that was planted). It also judges the log again, which must give the same verdict.
set -euo pipefail

dir=$(mktemp -d .build/short-soak.XXXXXX)
trap 'rm -rf "$dir"' EXIT
bin/vramsoak fixtures audio "$dir/audio" --count 8 --seconds 2-6 --seed 7 >/dev/null
bin/vramsoak fixtures model .build/model >/dev/null

fail() {
  echo "short soak: $1" >&2
  exit 1
}

# soak NAME EXIT PATTERN [FAULT]: the exit code, and what verdict.json must contain.
soak() {
  local name=$1 want=$2 pattern=$3 fault=${4:-} code=0
  local runs=$dir/$name
  bin/vramsoak soak --files "$dir/audio" --feed stdin --timeout 60s --policy ci/vramsoak.yaml --runs "$runs" -- \
    bin/gpupipeline --model .build/model/ggml-soak.bin --out "$dir/out" --stdin ${fault:+--fault "$fault"} \
    >"$dir/$name.txt" 2>&1 || code=$?
  [ "$code" -eq "$want" ] || { cat "$dir/$name.txt"; fail "$name: expected exit $want, found $code"; }
  grep -q "$pattern" "$runs"/*/verdict.json || { cat "$dir/$name.txt"; fail "$name: expected $pattern in the verdict"; }

  code=0
  bin/vramsoak check --format json "$runs"/*/soak.log >"$dir/again.json" || code=$?
  [ "$code" -eq "$want" ] || fail "$name: check gave exit $code for a log that soak gave $want"
  cmp "$dir/again.json" "$runs"/*/verdict.json || fail "$name: check's verdict differs from soak's"
  echo "short soak: $name: exit $want as it should"
}

soak clean 0 '"verdict": "pass"'
soak leak 1 'grows by 4.00 MiB a file' leak:4MiB
soak crash 1 'file 5 .* crashed' crash:5
