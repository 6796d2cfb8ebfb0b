#!/usr/bin/env bash
# sherpa.sh DIR copies the libraries of sherpa-onnx and ONNX Runtime into DIR: bin/lib for
# bin/gpupipeline.
#
# A program that uses pipeline/onnx looks for them first in lib next to itself, then in the module
# cache of the machine that built it. With DIR next to it the program can be moved to other machines.
#
# The libraries come from the Go module and compute on the CPU. If SHERPA_PREFIX is set they come
# from there; that may be a GPU build of the module's version (cmake -DSHERPA_ONNX_ENABLE_GPU=ON
# -DBUILD_SHARED_LIBS=ON). Files that are already there are not copied again. `go mod vendor` leaves
# libraries out. To build from a vendor folder, let the linker find them with
# CGO_LDFLAGS=-L$PWD/bin/lib.
#
# EXIT STATUS: 0 DIR has the libraries; 1 none exist for this machine; 2 usage.
set -euo pipefail
export LC_ALL=C

[ $# -eq 1 ] || { echo "usage: ci/sherpa.sh DIR" >&2; exit 2; }
dir=$1
module=github.com/k2-fsa/sherpa-onnx-go-linux

fail() {
	echo "sherpa.sh: $1" >&2
	exit 1
}

if [ -n "${SHERPA_PREFIX-}" ]; then
	# The folder of a build or an installation; the runtime may be in a folder of its own below.
	[ -d "$SHERPA_PREFIX" ] ||
		fail "expected SHERPA_PREFIX to be a folder, found none at $SHERPA_PREFIX"
	from=$SHERPA_PREFIX
	find_library() { find -L "$from" -maxdepth 3 -name "$1" -type f 2>/dev/null | sort | head -n 1; }
	what="a shared build of sherpa-onnx in SHERPA_PREFIX=$SHERPA_PREFIX"
else
	case $(go env GOARCH) in
	amd64) machine=x86_64-unknown-linux-gnu ;;
	arm64) machine=aarch64-unknown-linux-gnu ;;
	arm) machine=arm-unknown-linux-gnueabihf ;;
	*)
		fail "sherpa-onnx comes for amd64, arm64 and arm, not for $(go env GOARCH);\
 set SHERPA_PREFIX to a build of it"
		;;
	esac
	cd "$(dirname "$0")/.." || exit 1
	from=$(go list -mod=readonly -m -f '{{.Dir}}' $module 2>/dev/null) || from=
	if [ -z "$from" ]; then
		go mod download $module || fail "module $module could not be downloaded"
		from=$(go list -mod=readonly -m -f '{{.Dir}}' $module)
	fi
	from=$from/lib/$machine
	cd - >/dev/null
	find_library() { [ ! -f "$from/$1" ] || echo "$from/$1"; }
	what="the libraries of $module in $from"
fi

mkdir -p "$dir"

# put FILE copies by rename, so that a running process keeps its library.
put() {
	local to=$dir/${1##*/}
	cmp -s "$1" "$to" && return
	cp -L "$1" "$to.new"
	chmod 644 "$to.new"
	mv "$to.new" "$to"
}

for name in libsherpa-onnx-c-api.so libonnxruntime.so; do
	library=$(find_library "$name")
	[ -n "$library" ] || fail "expected $what, found no $name there"
	put "$library"
done
# ONNX Runtime comes with its kernels for CUDA, and with links that have version numbers. Remove
# those of an earlier build, so that they are not mixed with this one.
for old in "$dir"/libonnxruntime?*; do
	[ -e "${library%/*}/${old##*/}" ] || rm -f "$old"
done
for file in "${library%/*}"/libonnxruntime.so.* "${library%/*}"/libonnxruntime_providers_*.so; do
	if [ -e "$file" ]; then put "$file"; fi
done
