#!/usr/bin/env bash
# bench-harness.sh [FILES] [LINES] measures the harness itself. It soaks a pipeline that prints
# LINES lines for each of FILES files, and prints the harness's largest resident memory: while the
# pipeline runs, and with the verdict and the plots at the end. It also prints the harness's share
# of a core while it samples an idle pipeline with 200 threads ten times per second.
set -euo pipefail
files=${1:-10000} lines=${2:-100}
dir=$(mktemp -d .build/bench-harness.XXXXXX)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/audio"
seq -f "$dir/audio/%05g.wav" "$files" >"$dir/list.txt"
xargs touch <"$dir/list.txt"

bin/vramsoak soak --files "$dir/list.txt" --feed stdin --runs "$dir/runs" -- \
  awk -v lines="$lines" -f fixtures/pipelines/chatty.awk >"$dir/out.txt" 2>"$dir/err.txt" &
pid=$!
running=0 most=0
while rss=$(awk '/^VmHWM:/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$rss" ]; do
  most=$rss
  # The log's last line says that the pipeline has ended.
  tail -n 1 "$dir"/runs/*/soak.log 2>/dev/null | grep -q '^\[vramsoak\] run-end' || running=$rss
  sleep 0.02
done
wait "$pid" || { cat "$dir/err.txt" >&2; head -n 1 "$dir/out.txt"; }
printf '%d files, a log of %d MiB: ' "$files" "$(du -m "$dir"/runs/*/soak.log | cut -f1)"
printf 'resident memory %.0f MiB while they run, %.0f MiB with the reports\n' \
  "$((running / 1024))" "$((most / 1024))"

# The pipeline with 200 threads is a Python program: awk and the shell have no threads.
if ! python3 -c '' 2>/dev/null; then
  echo "share of a core: not measured: no python3 for a pipeline with 200 threads; install it"
  exit
fi
seconds=15
bin/vramsoak soak --runs "$dir/idle" -- python3 -c '
import threading, time
for _ in range(200):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
time.sleep(600)' >/dev/null 2>&1 &
pid=$!
sleep 3
ticks() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
before=$(ticks)
sleep "$seconds"
after=$(ticks)
kill "$pid"
wait "$pid" || true
awk -v ticks="$((after - before))" -v second="$(getconf CLK_TCK)" -v seconds="$seconds" 'BEGIN {
  printf "200 threads, 10 samples a second: %.2f %% of a core\n", ticks / second / seconds * 100
}'
