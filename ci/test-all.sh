#!/usr/bin/env bash
# ci/test-all.sh runs every test that this machine can run, one part after the other. If a part
# fails the others still run. The last lines name each part with "ok", "FAILED", or "not run" and
# the reason. The exit code is 1 if a part failed.
set -uo pipefail

summary=()
failed=0

# part NAME: runs make NAME.
part() {
  local start=$SECONDS result=ok
  echo "test-all: make $1"
  if ! make "$1"; then
    result=FAILED
    failed=1
  fi
  summary+=("$(printf '%-16s %s (%d s)' "$1" "$result" $((SECONDS - start)))")
}

# without NAME REASON: names a part that this machine cannot run.
without() { summary+=("$(printf '%-16s not run: %s' "$1" "$2")"); }

part test
if [ ! -x bin/gpupipeline ]; then without short-soak "no whisper.cpp here; make native says why"; fi
part test-race
part test-breaks
part test-mutated
part test-kill
part test-browser
if ! ci/chromium.sh >/dev/null; then without browser-page "no Chromium here; only its script was tested"; fi
if ci/s3/build.sh .build/versitygw; then part test-s3; else without test-s3 "see above"; fi
if ci/slurm/install.sh; then part test-slurm; else without test-slurm "see above"; fi
why=$(ci/kubernetes/run.sh missing)
if [ ! "$why" ]; then part test-kubernetes; else without test-kubernetes "$why"; fi
part bench-verdicts
part bench-history
if ci/oracle/build.sh .build/oracle; then
  part oracle
else
  without oracle "PyTorch's allocator cannot be built here; see above"
fi
if command -v prometheus >/dev/null; then part test-prometheus; else without test-prometheus "no prometheus here"; fi
if ci/perfetto/fetch.sh .build/perfetto; then part test-perfetto; else without test-perfetto "see above"; fi
if nvidia-smi -L >/dev/null 2>&1; then part test-gpu; else without test-gpu "no GPU here"; fi

echo
printf 'test-all: %s\n' "${summary[@]}"
exit "$failed"
