#!/usr/bin/env bash
# gpu-soak.sh soaks both pipelines on this machine's GPU: the Python one if torch finds CUDA, the
# native one if its whisper.cpp finds a GPU. It checks the verdicts of a clean run (pass) and of
# planted faults (fail, for that reason). It compares the memory in the log's checkpoints with the
# memory that the driver counts. Logs, samples and a memory snapshot stay in .build/gpu-soak, to be
# judged again or to become fixtures.
#
#     ci/gpu-soak.sh             PYTHON names the interpreter (python3), MODEL its Whisper (base)
#     DEVICE=cpu ci/gpu-soak.sh  tries the Python part on the CPU, without the driver's numbers
#
# Without a GPU it says so in one line and exits with 0. It also says so if one of the two pipelines
# cannot run.
set -euo pipefail
cd "$(dirname "$0")/.."

out=.build/gpu-soak
python=${PYTHON:-python3}
device=${DEVICE:-cuda}
if [ "$device" = cuda ] && ! nvidia-smi -L >/dev/null 2>&1; then
  echo "GPU soak: not run: no NVIDIA driver on this machine"
  exit 0
fi
rm -rf "$out"
mkdir -p "$out"
[ "$device" = cpu ] || nvidia-smi -L | tee "$out/gpus.txt"
bin/vramsoak fixtures audio "$out/audio" --count 10 --seconds 4-12 --seed 7 >/dev/null

fail() {
  echo "GPU soak: $1" >&2
  exit 1
}

# soak NAME EXIT PATTERN COMMAND... checks the exit code and that verdict.json contains PATTERN.
soak() {
  local name=$1 want=$2 pattern=$3 code=0
  shift 3
  bin/vramsoak soak --files "$out/audio" --feed stdin --timeout 5m --policy ci/vramsoak.yaml \
    --runs "$out/$name" -- "$@" \
    >"$out/$name.txt" 2>&1 || code=$?
  if [ "$code" -ne "$want" ]; then
    cat "$out/$name.txt"
    fail "$name: expected exit $want, found $code"
  fi
  if ! grep -q "$pattern" "$out/$name"/*/verdict.json; then
    cat "$out/$name.txt"
    fail "$name: expected $pattern in the verdict"
  fi
  echo "GPU soak: $name: exit $want as it should"
}

# ledgers NAME checks that at each checkpoint the driver counts at least as much memory as the
# allocator has reserved, in the sample before or after it. A tenth of the checkpoints may fail,
# because memory changes within a tenth of a second. The driver also counts the CUDA context, which
# the allocator does not.
ledgers() {
  bin/vramsoak parse --format jsonl "$out/$1"/*/soak.log | "$python" -c '
import bisect, json, sys
records = [json.loads(line) for line in sys.stdin]
samples = [(r["time"], r["used"]) for r in records if r["kind"] == "sample" and "used" in r]
above = []
for r in records:
    if r["kind"] == "checkpoint" and "reserved" in r:
        i = bisect.bisect(samples, (r["time"],))
        near = [used for _, used in samples[max(0, i - 1):i + 1]]
        if near:
            above.append((max(near) - r["reserved"]) / 2**20)
if len(above) < 100:
    sys.exit("expected checkpoints with samples of the device around them, found %d" % len(above))
above.sort()
print("GPU soak: device used - reserved at %d checkpoints: median %.0f MiB, %.0f to %.0f MiB" % (
    len(above), above[len(above) // 2], above[0], above[-1]))
if above[len(above) // 10] < 0 or above[len(above) // 2] > 4096:
    sys.exit("the memory of the allocator and of the driver do not agree")
' || fail "$1: the log and the driver"
}

if "$python" -c 'import sys, torch
sys.exit(sys.argv[1] == "cuda" and not torch.cuda.is_available())' "$device" 2>/dev/null; then
  pipeline=("$python" pipeline/python/transcribe.py --model "${MODEL:-base}" --tokens 16
    --device "$device" --stdin)
  soak python-clean 0 '"verdict": "pass"' "${pipeline[@]}"
  [ "$device" = cpu ] || ledgers python-clean
  soak python-leak 1 'grows by 4\.0[0-9] MiB a file' "${pipeline[@]}" --fault leak:4MiB
  soak python-keep 1 'freed .* under 95.0 % in' "${pipeline[@]}" --fault keep:Whisper
  soak python-oom 1 'file 3 .* ran out of memory' "${pipeline[@]}" --fault oom:3
  soak python-crash 1 'file 3 .* crashed' "${pipeline[@]}" --fault crash:3
  if [ "$device" = cuda ]; then
    printf '%s\n' "$out"/audio/*.wav | head -n 2 |
      "${pipeline[@]}" --fault leak:4MiB --snapshot "$out/snapshot.pickle" \
      >"$out/snapshot.log" 2>&1 || { cat "$out/snapshot.log"; fail "the memory snapshot"; }
    [ -s "$out/snapshot.pickle" ] || fail "expected a memory snapshot, found none"
  fi
else
  echo "GPU soak: Python: not run: $python finds no torch with CUDA (PYTHON names another)"
fi

[ "$device" = cuda ] || exit 0
if [ ! -x bin/gpupipeline ]; then
  echo "GPU soak: native: not run: whisper.cpp is not available here"
  exit 0
fi
bin/vramsoak fixtures model .build/model >/dev/null
native=(bin/gpupipeline --model .build/model/ggml-soak.bin
  --segmentation .build/model/segmentation.onnx
  --embedding .build/model/embedding.onnx --text-model .build/model/text.onnx --device nvml
  --out "$out/transcripts" --stdin)
if ! printf '%s\n' "$out"/audio/*.wav | head -n 1 | "${native[@]}" >"$out/native.txt" 2>&1; then
  if ! grep -q 'expected a GPU that whisper.cpp computes on' "$out/native.txt"; then
    cat "$out/native.txt"
    fail "native: one file"
  fi
  reason=$(tail -n 1 "$out/native.txt")
  echo "GPU soak: native: not run: whisper.cpp has no CUDA backend here ($reason)"
  exit 0
fi
soak native-clean 0 '"verdict": "pass"' "${native[@]}"
soak native-keep 1 'freed .* under 95.0 % in' "${native[@]}" --fault keep:Whisper
soak native-leak 1 '"verdict": "fail"' "${native[@]}" --fault leak:4MiB
