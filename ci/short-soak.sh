#!/usr/bin/env bash
# short-soak.sh soaks the native pipeline over 8 files with two voices and checks exit code and
# verdict. It does so several times: clean (pass, with all nineteen checkpoints in every file and
# the right speakers), with text embeddings (pass, with four checkpoints more), leaking and crashing
# (fail, for the planted reason), and crashing in an isolated stage (the file fails, the batch goes
# on). It also judges each log again, which must give the same verdict.
set -euo pipefail

mkdir -p .build
dir=$(mktemp -d .build/short-soak.XXXXXX)
trap 'rm -rf "$dir"' EXIT
bin/vramsoak fixtures audio "$dir/audio" --count 8 --seconds 2-6 --seed 7 >/dev/null
bin/vramsoak fixtures model "$dir/model" >/dev/null

fail() {
  echo "short soak: $1" >&2
  exit 1
}

# soak NAME EXIT PATTERN [FLAG...] checks the exit code and that verdict.json contains PATTERN.
soak() {
  local name=$1 want=$2 pattern=$3 code=0
  local runs=$dir/$name
  shift 3
  bin/vramsoak soak --files "$dir/audio" --feed stdin --timeout 60s --policy ci/vramsoak.yaml \
    --runs "$runs" -- bin/gpupipeline --model "$dir/model/ggml-soak.bin" \
    --segmentation "$dir/model/segmentation.onnx" --embedding "$dir/model/embedding.onnx" \
    --truth "$dir/audio/manifest.json" --out "$dir/out" --stdin "$@" \
    >"$dir/$name.txt" 2>&1 || code=$?
  if [ "$code" -ne "$want" ]; then
    cat "$dir/$name.txt"
    fail "$name: expected exit $want, found $code"
  fi
  if ! grep -q "$pattern" "$runs"/*/verdict.json; then
    cat "$dir/$name.txt"
    fail "$name: expected $pattern in the verdict"
  fi

  code=0
  bin/vramsoak check --format json "$runs"/*/soak.log >"$dir/again.json" || code=$?
  [ "$code" -eq "$want" ] || fail "$name: check gave exit $code for a log that soak gave $want"
  cmp "$dir/again.json" "$runs"/*/verdict.json || fail "$name: check's verdict differs from soak's"
  echo "short soak: $name: exit $want as it should"
}

# speakers NAME checks that the diarization error rate over all files is 5 % at most.
speakers() {
  local rate
  rate=$(sed -n 's/.*gpupipeline: 8 files: diarization error rate \([0-9.]*\) %.*/\1/p' \
    "$dir/$1"/*/soak.log)
  awk -v rate="$rate" 'BEGIN { exit !(rate != "" && rate <= 5) }' ||
    fail "$1: expected a diarization error rate of 5 % at most, found ${rate:-none}"
  echo "short soak: $1: diarization error rate $rate %"
}

soak clean 0 '"checkpoints": 152' # 8 x 19
speakers clean
soak text 0 '"checkpoints": 184' --text-model "$dir/model/text.onnx" # 8 x 23
soak text-kept 1 'freed .* under 95.0 % in' --text-model "$dir/model/text.onnx" \
  --fault 'keep:Text Embedder'
# The allocator's own few KiB come on top.
soak leak 1 'grows by 4.0[0-9] MiB a file' --fault leak:4MiB
soak crash 1 'file 5 .* crashed' --fault crash:5
soak isolated 1 'file 5 .*stage whisper ended.*7 of 8 files ended ok' \
  --isolate whisper,diarization,text --text-model "$dir/model/text.onnx" --fault crash:5
