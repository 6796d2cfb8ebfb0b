#!/usr/bin/env bash
# ci/touched.sh BASE [GO BUILD FLAG...] prints the packages that a change since BASE touches.
# Commits since BASE and uncommitted changes count. The packages are:
#   - those with a changed file, in testdata too;
#   - those whose tests name a changed file or its folder: a golden in fixtures/, a page of docs/.
# Packages that only import a changed package are not printed: make check-fast builds and vets them,
# and make test tests them. A change of go.mod or go.sum touches every package.
set -euo pipefail

base=$1
shift
changed=$( (
  git diff --name-only "$(git merge-base "$base" HEAD)"
  git ls-files --others --exclude-standard
) | sort -u)
if grep -qxE 'go\.(mod|sum)' <<<"$changed"; then exec go list "$@" ./...; fi

folders=$(go list "$@" -f '{{.Dir}}' ./... | sed "s|^$PWD/||")
touched=
while read -r file; do
  if [ ! "$file" ]; then continue; fi
  package=$(dirname "$file")
  while [ "$package" != . ] && ! grep -qxF "$package" <<<"$folders"; do
    package=$(dirname "$package")
  done
  if [ "$package" != . ]; then touched+="./$package"$'\n'; fi
  case $file in *.go | */testdata/*) continue ;; esac
  name=$(cut -d/ -f1-2 <<<"$file")
  for folder in $folders; do
    if grep -qsF "../$name" "$folder"/*_test.go ||
      grep -qsF "$name" "$folder"/testdata/*/*.txtar; then
      touched+="./$folder"$'\n'
    fi
  done
done <<<"$changed"
sort -u <<<"$touched" | sed '/^$/d'
