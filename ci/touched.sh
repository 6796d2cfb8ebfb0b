#!/usr/bin/env bash
# ci/touched.sh BASE [GO BUILD FLAG...] prints the packages whose tests a change since BASE can break. Commits since BASE and
# uncommitted changes count. The packages are:
#   - those with a changed file, in testdata too;
#   - those that import a package whose own code changed, in their tests too, directly or not;
#   - those whose tests name a changed file or its folder: a golden in fixtures/, a page of docs/.
# A change of go.mod or go.sum touches every package.
set -euo pipefail

base=$1
shift
changed=$( (git diff --name-only "$(git merge-base "$base" HEAD)"; git ls-files --others --exclude-standard) | sort -u)
if grep -qxE 'go\.(mod|sum)' <<<"$changed"; then exec go list "$@" ./...; fi

folders=$(go list "$@" -f '{{.Dir}}' ./... | sed "s|^$PWD/||")
code= # packages whose own code changed
self= # packages whose tests, or what those read, changed
while read -r file; do
  if [ ! "$file" ]; then continue; fi
  package=$(dirname "$file")
  while [ "$package" != . ] && ! grep -qxF "$package" <<<"$folders"; do package=$(dirname "$package"); done
  case $file in
  *_test.go | */testdata/*) self+=" vramsoak/$package" && continue ;;
  *.go) code+=" vramsoak/$package" && continue ;;
  esac
  if [ "$package" != . ]; then self+=" vramsoak/$package"; fi
  name=$(cut -d/ -f1-2 <<<"$file")
  for folder in $folders; do
    if grep -qsF "../$name" "$folder"/*_test.go || grep -qsF "$name" "$folder"/testdata/*/*.txtar; then self+=" vramsoak/$folder"; fi
  done
done <<<"$changed"

# Deps has all that a package imports, directly or not; what its tests import has Deps of its own.
go list "$@" -f '{{.ImportPath}}|{{join .Deps " "}}|{{join .TestImports " "}} {{join .XTestImports " "}}' ./... |
  awk -F'|' -v code="$code" -v self="$self" '
    BEGIN {
      n = split(code, list, " "); for (i = 1; i <= n; i++) hit[list[i]]
      n = split(self, list, " "); for (i = 1; i <= n; i++) run[list[i]]
    }
    {
      order[NR] = $1; tests[$1] = $3
      if ($1 in hit) uses[$1]
      n = split($2, list, " "); for (i = 1; i <= n; i++) if (list[i] in hit) uses[$1]
    }
    END {
      for (k = 1; k <= NR; k++) {
        p = order[k]; found = p in run || p in uses
        n = split(tests[p], list, " "); for (i = 1; i <= n; i++) if (list[i] in uses) found = 1
        if (found) print p
      }
    }'
