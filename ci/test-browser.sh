#!/bin/sh
# test-browser.sh tests the HTML report: its script with node and tsc, the page in Chromium with
# axe-core. It says which parts it does not run because a program is missing.
set -eu
cd "$(dirname "$0")/.."
cache=.build/browser
mkdir -p "$cache"

if command -v node >/dev/null; then
	node --test reports/html/assets/
else
	echo "browser tests: the script's functions: not run: node is missing"
fi

# fetch PACKAGE VERSION unpacks a package of npm into the cache. A failure to reach npm is no failure
# of the test.
fetch() {
	[ -e "$cache/$1-$2/package/package.json" ] && return
	command -v npm >/dev/null || { echo "browser tests: $1: not run: npm is missing"; return 1; }
	dir="$cache/$1-$2.part"
	rm -rf "$dir"
	mkdir -p "$dir"
	(cd "$dir" && npm pack --silent "$1@$2" >/dev/null && tar xzf ./*.tgz) ||
		{ echo "browser tests: $1: not run: npm cannot fetch it"; return 1; }
	mv "$dir" "$cache/$1-$2"
}

if command -v node >/dev/null && fetch typescript 5.8.3; then
	node "$cache/typescript-5.8.3/package/bin/tsc" -p reports/html/assets
	echo "browser tests: tsc: ok"
fi

if ! chromium=$(ci/chromium.sh); then
	echo "browser tests: the page: not run"
	exit 0
fi
AXE=
if fetch axe-core 4.10.2; then
	AXE=$(pwd)/$cache/axe-core-4.10.2/package/axe.min.js
fi
cd ci/browser
AXE=$AXE CHROMIUM=$chromium go test -count=1 ./...
