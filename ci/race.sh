#!/usr/bin/env bash
# ci/race.sh [-v] [GO BUILD FLAG...] prints the packages to test with the race detector. With -v it
# prints those to test without it: all others, and those with tests in files that begin with
# //go:build !race.
#
# A package is tested with the race detector if its code, without tests, starts goroutines or guards
# data against them: it has a go statement, imports sync/atomic or golang.org/x/sync, or uses sync
# for more than values that are computed once (sync.OnceValue). The race detector also watches
# everything that such a package imports. In other packages it cannot find anything, and it makes
# arithmetic several times slower.
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
      uses=$(grep -vE '^\s*//' "$dir/$file" | sed -E 's/sync\.Once(Func|Values?)\b//g' |
        grep -cE '^\s*go [[:alpha:]]|\bsync\.[A-Z]|"sync/atomic"|"golang.org/x/sync/' || true)
      if [ "$uses" != 0 ]; then
        found=yes
      fi
    done
    if [ "$others" ] && grep -qs '^//go:build !race$' "$dir"/*_test.go; then found=; fi
    if [ "$found" != "$others" ]; then echo "$package"; fi
  done
