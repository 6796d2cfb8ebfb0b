#!/usr/bin/env bash
# ci/race.sh [-v] [GO BUILD FLAG...] prints the packages that are tested with the race detector; with -v, those that are tested
# without it: the others, and those that have tests for that in files with the line //go:build !race.
#
# The rule: a package whose own code, tests left out, starts goroutines or guards data against them. It has a go statement, or
# imports sync, sync/atomic or golang.org/x/sync. The race detector also watches everything that such a package imports. In the
# other packages it can find nothing, and makes arithmetic several times slower.
set -euo pipefail

others=
if [ "${1-}" = -v ]; then
  others=yes
  shift
fi
go list "$@" -f '{{.ImportPath}} {{.Dir}} {{join .GoFiles " "}} {{join .CgoFiles " "}}' ./... |
  while read -r package dir files; do
    found=
    for file in $files; do
      if grep -qE '^\s*go [[:alpha:]]|"sync"|"sync/atomic"|"golang.org/x/sync/' "$dir/$file"; then found=yes; fi
    done
    if [ "$others" ] && grep -qs '^//go:build !race$' "$dir"/*_test.go; then found=; fi
    if [ "$found" != "$others" ]; then echo "$package"; fi
  done
