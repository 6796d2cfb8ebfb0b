#!/usr/bin/env bash
# native.sh DIR makes whisper.cpp's libraries available below DIR. It needs no root and changes
# nothing outside DIR.
#
# It writes DIR/env, a file of `export KEY='value'` lines for the shell that builds with -tags
# whisper:
#
#     ci/native.sh .build/native && . .build/native/env && go build -tags whisper ./cmd/gpupipeline
#
# If WHISPER_PREFIX is set, it takes the libraries from there. Otherwise it takes those installed on
# the system. If none work, it unpacks packages of the newest suite of Debian or Ubuntu below DIR,
# with the libc that they need. Before it writes DIR/env, it links a small program with the
# libraries and runs it.
#
# EXIT STATUS: 0 DIR/env exists; 2 wrong usage; 3 whisper.cpp is not available here (one line says
# why and what to do).
set -euo pipefail
export LC_ALL=C

[ $# -eq 1 ] || { echo "usage: ci/native.sh DIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=ci/apt.sh
. "$here/apt.sh"
mkdir -p "$1"
dir=$(cd "$1" && pwd -P)
tmp=$dir/tmp
log=$dir/log

cannot() {
	rm -rf "$dir/env" "$dir/stamp" "$tmp"
	echo "native.sh: whisper.cpp is not available here: $1; to build the native pipeline install" \
		"libwhisper-dev, or set WHISPER_PREFIX to a whisper.cpp installation" >&2
	exit 3
}

case $dir in *[\'\",:\ ]*) cannot "the linker's options cannot hold the path $dir (quotes, commas, colons, blanks); put the repository elsewhere" ;; esac
for tool in gcc ar; do
	command -v "$tool" >/dev/null || cannot "there is no $tool (install gcc)"
done
# If two makes run at once, the second waits and finds the work done.
if command -v flock >/dev/null; then
	exec 9>"$dir/lock"
	flock 9
fi

# The stamp holds the key of the scripts, the folder and the prefix that env was made from. If the
# key differs, a script has changed, the folder was moved, or a run was interrupted: make env again.
key="$(cat "$0" "$here/apt.sh" | cksum) dir=$dir prefix=${WHISPER_PREFIX-}"
if [ -f "$dir/env" ] && [ "$(head -n 1 "$dir/stamp" 2>/dev/null)" = "$key" ] && "$dir/smoke" >/dev/null 2>&1; then
	exit 0
fi
rm -rf "$dir/env" "$dir/stamp" "$dir/root" "$dir/include" "$dir/stub" "$dir/smoke" "$tmp"
mkdir -p "$tmp" "$dir/include" "$dir/stub"
export TMPDIR=$tmp
: >"$log"

# smoke INCLUDE LDFLAGS... links a program with the libraries that cgo will link, and runs it. It
# sets version to the version of whisper.cpp. It fails if ggml finds no backend that can compute.
smoke() {
	local include=$1
	shift
	cat >"$tmp/smoke.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <whisper.h>
		#include <ggml-backend.h>
		#include "backends.h"
		static void quiet(enum ggml_log_level level, const char *text, void *data) { (void)level, (void)text, (void)data; }
		int main(void) {
			whisper_log_set(quiet, NULL);
			if (ggml_backend_dev_count() == 0 && BACKENDS[0]) ggml_backend_load_all_from_path(BACKENDS);
			if (ggml_backend_dev_count() == 0) return fprintf(stderr, "no ggml backend in \"%s\"\n", BACKENDS), 1;
			struct whisper_full_params p = whisper_full_default_params(WHISPER_SAMPLING_GREEDY);
			if (p.n_threads < 1) return fprintf(stderr, "whisper.h is not of this libwhisper\n"), 1;
			return puts(whisper_version()), 0;
		}
	C
	echo "#define BACKENDS \"$backends\"" >"$tmp/backends.h"
	local search=()
	[ -z "$include" ] || search=(-I "$include")
	gcc -o "$dir/smoke" -I "$tmp" "${search[@]}" "$tmp/smoke.c" "$@" \
		-lwhisper -lggml -lggml-base -lggml-cpu -lm -lstdc++ -fopenmp >>"$log" 2>&1 || return 1
	version=$("$dir/smoke" 2>>"$log") || return 1
}

# backends_of LIB prints the folder of ggml's backend plugins: LIB/ggml/backends*, or else LIB.
backends_of() {
	local found
	found=$(find "$1/ggml" -maxdepth 1 -type d -name 'backends*' 2>/dev/null | sort | tail -n 1)
	echo "${found:-$1}"
}

# stubs LIB makes libraries that the bindings name and LIB lacks. If the CPU backend is a plugin,
# there is no libggml-cpu to link, so an empty one is made. gcc without g++ has no libstdc++.so, so
# that name becomes a link to the libstdc++.so.6 that came with whisper.cpp.
stubs() {
	if [ -z "$(find "$1" -maxdepth 1 -name 'libggml-cpu.*' -print -quit)" ]; then
		ar rcs "$dir/stub/libggml-cpu.a"
	fi
	local lib
	for lib in "$1/libstdc++.so.6" "$(gcc -print-file-name=libstdc++.so.6)"; do
		if [ -e "$lib" ]; then
			ln -sf "$lib" "$dir/stub/libstdc++.so"
			break
		fi
	done
}

running="" # one -Wl with the linker options by which the program finds the libraries when it runs

# finish FROM INCLUDE LDFLAGS... writes env and the stamp, and exits. It writes env under another
# name and renames it, so that no build reads half of it.
finish() {
	local from=$1 include=$2 flags="" flag
	shift 2
	for flag in "$@"; do flags="$flags${flags:+ }$flag"; done
	{
		echo "# whisper.cpp $version, $from; written by ci/native.sh"
		[ -z "$include" ] || echo "export C_INCLUDE_PATH='$include'"
		# CGO_CFLAGS replaces Go's default, -O2 -g, so repeat it. go-nvml's headers mark functions
		# that its bindings use as deprecated.
		echo "export CGO_CFLAGS='-O2 -g -Wno-deprecated-declarations'"
		# Keep the user's own options. If env is read twice, do not add these options twice: Go
		# would build everything again.
		echo "case \" \${CGO_LDFLAGS-} \" in *' $flags '*) ;; *) export CGO_LDFLAGS=\"$flags\${CGO_LDFLAGS:+ \$CGO_LDFLAGS}\" ;; esac"
		# These options are for programs that gcc links. In CGO_LDFLAGS, some of them would get into
		# programs that Go links itself, which would then mix the loader of one libc with another
		# libc.
		[ -z "$running" ] || echo "export GOFLAGS=\"\${GOFLAGS:-} -ldflags=-extldflags=$running\""
		echo "export WHISPER_BACKENDS='$backends'"
	} >"$dir/env.new"
	mv "$dir/env.new" "$dir/env"
	printf '%s\n' "$key" "whisper.cpp $version ($from)" "${packages:-}" >"$dir/stamp"
	rm -rf "$tmp"
	exit 0
}

# An installation that the user names.
if [ -n "${WHISPER_PREFIX-}" ]; then
	prefix=$(cd "$WHISPER_PREFIX" 2>/dev/null && pwd -P) || cannot "WHISPER_PREFIX=$WHISPER_PREFIX is no folder"
	[ -f "$prefix/include/whisper.h" ] || cannot "$prefix/include has no whisper.h"
	library=$(find "$prefix" -maxdepth 3 -name 'libwhisper.*' \( -name '*.so' -o -name '*.a' \) 2>/dev/null | sort | tail -n 1)
	[ -n "$library" ] || cannot "$prefix has no libwhisper.so or libwhisper.a"
	lib=$(dirname "$library")
	backends=$(backends_of "$lib")
	stubs "$lib"
	# RPATH (--disable-new-dtags) also applies to the libraries that these libraries need. RUNPATH
	# does not.
	running="-Wl,--disable-new-dtags,-rpath,$lib"
	flags=("-L$lib" "-L$dir/stub")
	smoke "$prefix/include" "${flags[@]}" "$running" || cannot "what is in $prefix does not link or run (see $log)"
	finish "from WHISPER_PREFIX" "$prefix/include" "${flags[@]}"
fi

# The libraries of the system.
if echo '#include <whisper.h>' | gcc -E - >/dev/null 2>&1; then
	lib=$(dirname "$(gcc -print-file-name=libwhisper.so)")
	backends=$(backends_of "$lib")
	stubs "$lib"
	if smoke "" "-L$dir/stub"; then
		finish "installed on the system" "" "-L$dir/stub"
	fi
	echo "native.sh: the system's libwhisper-dev does not link or run (see $log); trying packages" >&2
	rm -rf "$dir/stub" && mkdir "$dir/stub"
fi

# Packages of the newest suite, unpacked here.
for tool in apt-get dpkg; do
	command -v "$tool" >/dev/null || cannot "libwhisper-dev is not installed and there is no $tool to fetch it with"
done
[ -r /etc/os-release ] || cannot "there is no /etc/os-release to tell the release by"
# shellcheck disable=SC1091
. /etc/os-release
case " ${ID-} ${ID_LIKE-} " in
*" ubuntu "*) suite=devel components="main universe" codename=${UBUNTU_CODENAME:-${VERSION_CODENAME-}} ;;
*" debian "*) suite=sid components=main codename=${VERSION_CODENAME-} ;;
*) cannot "no packages are known for ${PRETTY_NAME:-this system}" ;;
esac

read -r uri keyring < <(mirror "$codename") || true
[ -n "${uri-}" ] || cannot "apt's sources name no mirror of $codename main"

arch=$(dpkg --print-architecture)
configure_apt "$tmp/apt" "$arch" "$uri" "$keyring" "$suite" "$components"
# A mirror that is being updated gives a hash mismatch. A second try then succeeds.
fetch() { private_apt update && private_apt install -y --no-install-recommends --download-only libwhisper-dev; }
echo "native.sh: fetching whisper.cpp's packages (about 20 MB) for $arch" >&2
fetch || { sleep 3; fetch; } || cannot "the packages of suite $suite could not be fetched: $(grep -E '^(E|W):' "$log" | head -n 1)"

for deb in "$apt"/cache/archives/*.deb; do
	dpkg -x "$deb" "$dir/root" >>"$log" 2>&1 || cannot "$(basename "$deb") could not be unpacked (see $log)"
	packages="${packages-}$(basename "$deb" .deb) "
done
library=$(find "$dir/root" -name libwhisper.so -print -quit)
[ -n "$library" ] || cannot "the packages hold no libwhisper.so"
lib=$(dirname "$library")
loader=$(find "$lib" -maxdepth 1 -name 'ld-linux*.so.*' -print -quit)
[ -n "$loader" ] || cannot "the packages hold no loader"
# Copy only these headers: with libc's headers beside them, gcc would mix two libcs.
cp "$dir"/root/usr/include/whisper.h "$dir"/root/usr/include/ggml*.h "$dir"/root/usr/include/gguf.h "$dir/include/" ||
	cannot "the packages hold no headers of whisper.cpp"
backends=$(backends_of "$lib")
stubs "$lib"
# The libraries need a newer libc than the system's. So the program runs with the loader and the
# libc that are unpacked here.
running="-Wl,--disable-new-dtags,-rpath,$lib,--dynamic-linker,$loader"
flags=("-L$lib" "-L$dir/stub" -lggml -lggml-base -Wl,--allow-shlib-undefined)
smoke "$dir/include" "${flags[@]}" "$running" || cannot "the packages of suite $suite do not link or run here (see $log)"
finish "packages of $suite" "$dir/include" "${flags[@]}"
