#!/usr/bin/env bash
# bench-overhead.sh AUDIO MODEL [ROUNDS] runs the same files through gpupipeline alone and under
# vramsoak soak, in turn, and prints the ratio of the medians. It compares the wall time of the
# pipeline alone with the run's seconds in run.json. So the judging and plotting after the
# pipeline's end do not count.
set -euo pipefail
audio=$1 model=$2 rounds=${3:-5}

if [ ! -x bin/gpupipeline ]; then
  echo "bench-overhead: not run: whisper.cpp is not available here"
  exit 0
fi
dir=$(mktemp -d .build/overhead.XXXXXX)
trap 'rm -rf "$dir"' EXIT
find "$audio" -name '*.wav' | sort >"$dir/list.txt"

for ((i = 1; i <= rounds; i++)); do
  start=$(date +%s.%N)
  bin/gpupipeline --model "$model" --out "$dir/out" --stdin <"$dir/list.txt" >"$dir/alone.log"
  end=$(date +%s.%N)
  alone=$(awk "BEGIN { print $end - $start }")

  bin/vramsoak soak --files "$dir/list.txt" --feed stdin --runs "$dir/runs" -- \
    bin/gpupipeline --model "$model" --out "$dir/out" --stdin >"$dir/soak.txt" 2>&1
  run=$(find "$dir/runs" -name run.json)
  soaked=$(sed -n 's/^  "seconds": \([0-9.]*\),$/\1/p' "$run")
  rm -rf "$dir/runs"

  echo "round $i: alone $alone s, under soak $soaked s"
  echo "$alone" >>"$dir/alone"
  echo "$soaked" >>"$dir/soaked"
done

median() {
  sort -n "$1" |
    awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}
a=$(median "$dir/alone") s=$(median "$dir/soaked")
awk -v a="$a" -v s="$s" 'BEGIN {
  printf "median: alone %.3f s, under soak %.3f s, ", a, s
  printf "ratio %.4f (overhead %+.2f %%)\n", s / a, 100 * (s / a - 1)
}'
