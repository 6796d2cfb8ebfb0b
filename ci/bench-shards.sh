#!/usr/bin/env bash
# bench-shards.sh [SHARDS] measures how long vramsoak check takes for runs of many shards of 1,000
# files each, and its memory.
#
# It simulates runs of SHARDS/100, SHARDS/10 and SHARDS shards below .build/bench and judges each.
# A run that is there already is used again. A run of 10,000 shards takes 9 GB.
set -euo pipefail
export LC_ALL=C
shards=${1:-10000}
dir=.build/bench
mkdir -p "$dir"

model=$(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo)
echo "$(nproc) processors, $model, load $(cut -d' ' -f1 /proc/loadavg), $(date +%F)"
echo
echo "| shards | files | log | wall | CPU | CPU a shard | memory | verdict |"
echo "|--:|--:|--:|--:|--:|--:|--:|---|"
for n in $((shards / 100)) $((shards / 10)) "$shards"; do
	[ "$n" -gt 1 ] || continue
	run=$dir/shards-$n
	if [ ! -d "$run" ]; then
		rm -rf "$run.new"
		bin/vramsoak simulate ci/bench-shards.yaml --files $((n * 1000)) --shards "$n" \
			--segments=false --out "$run.new" 2>/dev/null
		mv "$run.new" "$run"
	fi
	kib=$(du -sk "$run" | cut -f1)
	times=$({ /usr/bin/time -f '%e %U %S %M' bin/vramsoak check "$run" >"$run.txt" || true; } 2>&1 |
		grep -E '^[0-9.]+ [0-9.]+ [0-9.]+ [0-9]+$')
	read -r wall user sys rss <<<"$times"
	awk -v n="$n" -v kib="$kib" -v wall="$wall" -v user="$user" -v sys="$sys" -v rss="$rss" \
		-v verdict="$(sed -n '1s/:.*//p' "$run.txt")" 'BEGIN {
		printf "| %d | %d | %.0f MB | %.1f s | %.1f s | %.1f ms | %.0f MiB | %s |\n", n, n * 1000,
			kib * 1.024 / 1000, wall, user + sys, 1000 * (user + sys) / n, rss / 1024, verdict }'
done
