#!/usr/bin/env bash
# ci/test-times.sh FILE runs make unit without cached results and prints the seconds of each
# package, longest first: the wall time, and the processor time of all cores together, with child
# processes. FILE keeps the raw numbers. go test runs each test binary through this script (-exec),
# which measures it.
set -euo pipefail

if [ "${1-}" = --measure ]; then
  file=$2
  shift 2
  TIMEFORMAT='%R %U %S'
  code=0
  { time "$@" 2>&3 >&4; } 3>&2 4>&1 2>"$file.$$" || code=$?
  echo "$(cat "$file.$$") ${PWD#"$(git rev-parse --show-toplevel)/"}" >>"$file"
  rm -f "$file.$$"
  exit "$code"
fi

file=$(realpath -m "$1")
: >"$file"
start=$(date +%s)
code=0
make unit TESTFLAGS="-count=1 -exec '$(realpath "$0") --measure $file'" || code=$?
echo
echo "clock, s  processors, s  package"
sort -rn "$file" | awk '
  { printf "%8.1f  %13.1f  %s\n", $1, $2 + $3, $4; cpu += $2 + $3 }
  END { printf "%8s  %13.1f  all test binaries\n", "", cpu }'
echo "$(($(date +%s) - start)) s by the clock for all, building the test binaries included"
exit "$code"
