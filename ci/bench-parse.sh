#!/usr/bin/env bash
# bench-parse.sh [SIZE [ROUNDS]] compares the time of vramsoak check on large logs with that of
# ripgrep, and of grep with awk.
#
# It makes one log of each kind (vramsoak fixtures log) below .build/bench. Before each round it
# reads the log, so that it is in the page cache. It prints the medians of ROUNDS rounds, their
# ratios, and check's memory, as the table in docs/explanation/reading-speed.md.
set -euo pipefail
export LC_ALL=C
size=${1:-1GB} rounds=${2:-5}
dir=.build/bench
mkdir -p "$dir"

# The installed ripgrep, or else Debian's package, unpacked here.
rg=$(command -v rg || true)
if [ -z "$rg" ]; then
	rg=$dir/ripgrep/usr/bin/rg
	if [ ! -x "$rg" ] && command -v apt-get >/dev/null; then
		(cd "$dir" && apt-get -q download ripgrep >apt.log 2>&1 && dpkg -x ripgrep_*.deb ripgrep) || true
	fi
fi
if [ ! -x "$rg" ]; then
	echo "bench-parse: ripgrep is not available here (see $dir/apt.log); install it" >&2
	exit 2
fi

# seconds COMMAND... LOG prints the command's wall time and ignores its output and exit code.
seconds() {
	local start end
	cat "${!#}" >/dev/null
	start=$(date +%s.%N)
	"$@" >/dev/null 2>&1 || true
	end=$(date +%s.%N)
	awk "BEGIN { printf \"%.3f\n\", $end - $start }"
}
# search LOG finds the peak with grep and awk. A log of one long line is split first.
search() {
	local peak='$2 + 0 > max { max = $2 + 0 } END { print max }'
	case $1 in
	*/progress-*) tr '\r' '\n' <"$1" | grep 'GPU Memory' | awk -F'Allocated: ' "$peak" ;;
	*) grep 'GPU Memory' "$1" | awk -F'Allocated: ' "$peak" ;;
	esac
}
median() {
	sort -n "$1" |
		awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

model=$(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo)
echo "$(nproc) processors, $model, $("$rg" --version | sed -n 1p), $(date +%F)"
echo
echo "| log | checkpoints | rg -c | grep, awk | check | check/rg | check/grep, awk | MB/s |" \
	"memory MiB | allowed MiB |"
echo "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
for kind in mixed none only progress; do
	log=$dir/$kind-$size.log
	[ -f "$log" ] || bin/vramsoak fixtures log "$log" --kind "$kind" --size "$size"
	tmp=$(mktemp -d "$dir/times.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	for ((i = 0; i < rounds; i++)); do
		seconds "$rg" -c 'GPU Memory' "$log" >>"$tmp/rg"
		seconds search "$log" >>"$tmp/grep"
		seconds bin/vramsoak check "$log" >>"$tmp/check"
	done
	checkpoints=$({ bin/vramsoak check --format json "$log" 2>/dev/null || true; } |
		sed -n 's/^  "checkpoints": \([0-9]*\),$/\1/p')
	memory=$({ /usr/bin/time -f 'KiB %M' bin/vramsoak check "$log" >/dev/null || true; } 2>&1 |
		sed -n 's/^KiB //p')
	awk -v kind="$kind" -v n="${checkpoints:-0}" -v r="$(median "$tmp/rg")" \
		-v g="$(median "$tmp/grep")" -v c="$(median "$tmp/check")" \
		-v size="$(stat -c %s "$log")" -v kib="${memory:-0}" 'BEGIN {
		printf "| %s | %d | %.2f s | %.2f s | %.2f s | %.2f | %.2f | %.0f | %.0f | %.0f |\n",
			kind, n, r, g, c, c / r, c / g, size / 1e6 / c, kib / 1024, 32 + 64 * n / 1048576 }'
	rm -rf "$tmp"
done
