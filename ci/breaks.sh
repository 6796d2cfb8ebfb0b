#!/usr/bin/env bash
# ci/breaks.sh [PACKAGE...] makes each break of ci/breaks.txt, one at a time, and runs the tests
# that must catch it, at the sizes of make test. It changes no file in the tree: go test reads the
# broken file through -overlay. It prints which test caught each break, and exits with 1 if no test
# caught one of them. With PACKAGEs, such as harness/compare, it makes only the breaks in these
# packages.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
caught=0 missed=0
while IFS= read -r line; do
  case $line in '' | '#'*) continue ;; esac
  package=${line%% | *} rest=${line#* | }
  tests=${rest%% | *} rest=${rest#* | }
  file=${rest%% | *} rest=${rest#* | }
  script=${rest%% | *} what=${rest#* | }
  if [ $# -gt 0 ] && ! grep -qxF "$package" <<<"$(printf '%s\n' "$@")"; then continue; fi
  sed "$script" "$file" >"$dir/broken.go"
  if cmp -s "$file" "$dir/broken.go"; then
    echo "ci/breaks.txt: the break changes nothing in $file: $what" >&2
    exit 2
  fi
  echo "{\"Replace\": {\"$PWD/$file\": \"$dir/broken.go\"}}" >"$dir/overlay.json"
  if go test -overlay="$dir/overlay.json" -vet=off -count=1 -timeout 5m -run "$tests" \
    "./$package" >"$dir/out" 2>&1; then
    echo "MISSED  $package: $what"
    missed=$((missed + 1))
  elif grep -qaE '^ *--- FAIL|^panic: ' "$dir/out"; then
    by=$(grep -aoE '^--- FAIL: [A-Za-z0-9_]+|^panic: .*' "$dir/out" | sed 's/--- FAIL: //')
    echo "caught  $package: $what: $(paste -sd ' ' <<<"$by")"
    caught=$((caught + 1))
  else
    cat "$dir/out" >&2
    echo "ci/breaks.txt: the break does not compile: $what" >&2
    exit 2
  fi
done <ci/breaks.txt
echo "$caught of $((caught + missed)) breaks caught"
[ "$missed" -eq 0 ]
