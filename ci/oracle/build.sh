#!/usr/bin/env bash
# build.sh DIR builds DIR/replay, which runs PyTorch's own CUDACachingAllocator on a fake CUDA
# driver. It needs no GPU and no root, and takes about 30 s.
#
#     ci/oracle/build.sh .build/oracle && echo "a 1 30000000" | FAKE_CUDA_TOTAL=100M .build/oracle/replay -
#
# The allocator is the unmodified libc10_cuda.so of Debian's PyTorch 2.6.0. The machine's own apt
# fetches its headers and the libraries that it needs from the same suite, and they are unpacked
# below DIR. Two of the packages have about a gigabyte; only their beginning is read. The driver
# (driver.cpp), the runtime (runtime.cpp) and NVML (nvml.cpp) are fakes of this folder, and
# replay.cpp reads the traces. DIR/replay is kept until one of these files changes.
#
# EXIT STATUS: 0 DIR/replay exists; 2 wrong usage; 3 it cannot be built here (one line says why).
set -euo pipefail
export LC_ALL=C

[ $# -eq 1 ] || { echo "usage: ci/oracle/build.sh DIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=ci/apt.sh
. "$here/../apt.sh"
mkdir -p "$1"
dir=$(cd "$1" && pwd -P)
tmp=$dir/tmp
log=$dir/log

cannot() {
	rm -rf "$dir/replay" "$dir/stamp" "$tmp"
	echo "build.sh: the oracle cannot be built here: $1" >&2
	exit 3
}

case $dir in *[\'\",:\ ]*) cannot "the linker's options cannot hold the path $dir (quotes, commas, colons, blanks); put the repository elsewhere" ;; esac
for tool in g++ python3 apt-get dpkg sha256sum; do
	command -v "$tool" >/dev/null || cannot "there is no $tool"
done
[ "$(dpkg --print-architecture)" = amd64 ] || cannot "the library that it is made of is for amd64, this is $(dpkg --print-architecture)"
[ -r /etc/os-release ] || cannot "there is no /etc/os-release to tell the release by"
# shellcheck disable=SC1091
. /etc/os-release
[ "${ID-}" = debian ] || cannot "PyTorch 2.6.0 comes from Debian's packages, this is ${PRETTY_NAME:-another system}"
# If two makes run at once, the second waits and finds the work done.
if command -v flock >/dev/null; then
	exec 9>"$dir/lock"
	flock 9
fi

# The stamp names the files that replay was made from. It also names the folder, because replay
# finds its libraries by path.
key="$(find "$here" -maxdepth 1 -type f ! -name '*_test.py' | sort | xargs cat | cksum) dir=$dir"
if [ -x "$dir/replay" ] && [ "$(cat "$dir/stamp" 2>/dev/null)" = "$key" ]; then
	exit 0
fi
rm -rf "$dir/replay" "$dir/stamp" "$tmp"
mkdir -p "$tmp" "$dir/fake"
: >"$log"
root=$dir/root
lib=$root/usr/lib/x86_64-linux-gnu

# as_known reports whether the files in root have the known SHA-256 sums, those of the packages
# 2.6.0+dfsg-7+b1 and 12.4.131~12.4.1-2. apt cannot verify files of packages that are not fetched
# whole. Another build may have another allocator or other structures.
as_known() {
	[ -d "$root" ] && (cd "$root" && cat "$here"/*.sha256 | sha256sum --quiet -c - >>"$log" 2>&1)
}

fetch() {
	read -r uri keyring < <(mirror "${VERSION_CODENAME-}") || true
	[ -n "${uri-}" ] || cannot "apt's sources name no mirror of ${VERSION_CODENAME:-this release} main"
	configure_apt "$tmp/apt" amd64 "$uri" "$keyring" trixie "main contrib non-free"
	echo "build.sh: fetching PyTorch's allocator and what it needs (about 10 MB)" >&2
	private_apt update || { sleep 3; private_apt update; } || cannot "the suite trixie cannot be fetched: $(grep -E '^(E|W):' "$log" | head -n 1)"

	mkdir -p "$tmp/packages" "$root"
	(cd "$tmp/packages" && private_apt download libtorch-cuda-dev libnvidia-ml-dev libc6 libstdc++6 libgcc-s1 libnuma1 libcpuinfo0) ||
		cannot "the packages of trixie cannot be fetched: $(grep -E '^(E|W):' "$log" | head -n 1)"
	local package
	for package in "$tmp"/packages/*.deb; do
		dpkg -x "$package" "$root" >>"$log" 2>&1 || cannot "$(basename "$package") could not be unpacked (see $log)"
	done
	head_of libtorch-cuda-2.6
	head_of nvidia-cuda-dev
	ln -sf libc10.so.2.6.0 "$lib/libc10.so.2.6"
	ln -sf libc10_cuda.so.2.6.0 "$lib/libc10_cuda.so.2.6"
}

# head_of PACKAGE unpacks the files that PACKAGE.sha256 lists. They are at the beginning of a large
# package. apt tells the package's address and the proxy.
head_of() {
	local url proxy=""
	url=$(apt-get -c "$tmp/apt/conf" download --print-uris "$1" 2>>"$log" | sed -n "s/^'\([^']*\)'.*/\1/p")
	[ -n "$url" ] || cannot "apt knows no address of $1"
	eval "$(apt-config shell proxy Acquire::http::Proxy)"
	if [ -n "$proxy" ] && [ "$proxy" != DIRECT ]; then export http_proxy=$proxy; fi
	python3 "$here/fetch.py" "$url" "$root" "$here/$1.sha256" >>"$log" 2>&1 ||
		cannot "the beginning of $1 is not as it should be: $(tail -n 1 "$log")"
}

if ! as_known; then
	rm -rf "$root"
	fetch
	as_known || cannot "trixie has another build of PyTorch or of CUDA's headers than the one that is known (see $log)"
fi

compile() { g++ -std=c++17 -O2 -Wall -isystem "$root/usr/include" "$@" >>"$log" 2>&1 || cannot "g++ does not build it (see $log)"; }
library() { compile -fPIC -shared -fvisibility=hidden -o "$dir/fake/$1" "-Wl,-soname,$1" "${@:2}"; }

echo 'libcudart.so.12 { global: cuda*; local: *; };' >"$tmp/versions" # c10 needs functions of this version
library libcuda.so.1 "$here/driver.cpp"
library libcudart.so.12 "$here/runtime.cpp" "$dir/fake/libcuda.so.1" "-Wl,--version-script,$tmp/versions"
library libnvidia-ml.so.1 "$here/nvml.cpp"
# The libraries need a newer libc than the system's, so replay runs with the loader and the libc
# that are unpacked here. RPATH (--disable-new-dtags) also applies to the libraries that these need.
compile -o "$dir/replay" "$here/replay.cpp" "$lib/libc10_cuda.so.2.6" "$lib/libc10.so.2.6" "$dir/fake/libcudart.so.12" \
	"-Wl,--disable-new-dtags,-rpath,$dir/fake:$lib,--dynamic-linker,$lib/ld-linux-x86-64.so.2,--allow-shlib-undefined"
echo 'a 1 1' | "$dir/replay" -q - >>"$log" 2>&1 || cannot "what was built does not run (see $log)"
echo "$key" >"$dir/stamp"
rm -rf "$tmp"
