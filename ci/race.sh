#!/usr/bin/env bash
# ci/race.sh [-v] [GO BUILD FLAG...] prints the packages to test with the race detector. With -v it
# prints those to test without it: all others, and those with tests in files that begin with
# //go:build !race.
#
# A package is tested with the race detector if its code, without tests, starts goroutines or guards
# data against them: it has a go statement, or imports sync, sync/atomic or golang.org/x/sync. The
# race detector also watches everything that such a package imports. In other packages it cannot
# find anything, and it makes arithmetic several times slower.
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
      if grep -qE '^\s*go [[:alpha:]]|"sync"|"sync/atomic"|"golang.org/x/sync/' "$dir/$file"; then
        found=yes
      fi
    done
    if [ "$others" ] && grep -qs '^//go:build !race$' "$dir"/*_test.go; then found=; fi
    if [ "$found" != "$others" ]; then echo "$package"; fi
  done
