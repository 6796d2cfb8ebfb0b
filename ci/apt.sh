# shellcheck shell=bash
# apt.sh has functions that fetch packages of another suite than the machine's, with the machine's
# own apt. Scripts that set $log to the path of a log file source it.
#
#     read -r uri keyring < <(mirror bookworm)             the machine's own mirror of its release
#     configure_apt DIR ARCH "$uri" "$keyring" SUITE "COMPONENT..."
#     private_apt update

# mirror SUITE prints the URI and the keyring of the machine's apt source that has the component
# main of this suite. It reads both formats of sources, .list and .sources.
mirror() {
	{
		{ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } | awk '
			$1 == "deb" {
				key = ""
				if (match($0, /\[[^]]*\]/)) {
					options = substr($0, RSTART + 1, RLENGTH - 2)
					if (match(options, /signed-by=[^ ]+/)) key = substr(options, RSTART + 10, RLENGTH - 10)
					sub(/\[[^]]*\]/, "")
				}
				for (i = 4; i <= NF; i++) print $3, $i, $2, key
			}'
		for file in /etc/apt/sources.list.d/*.sources; do
			[ -f "$file" ] || continue
			grep -v '^#' "$file" | awk '
				function flush(   u, s, c, i, j, k) {
					if (type ~ /(^| )deb( |$)/ && enabled !~ /^(no|false|0)/)
						for (i = split(uris, u, " "); i > 0; i--)
							for (j = split(suites, s, " "); j > 0; j--)
								for (k = split(comps, c, " "); k > 0; k--) print s[j], c[k], u[i], key
					type = uris = suites = comps = key = enabled = ""
				}
				/^[ \t]*$/ { flush(); next }
				{ name = tolower($1); value = $0; sub(/^[^:]*:[ \t]*/, "", value) }
				name == "types:" { type = value }
				name == "uris:" { uris = value }
				name == "suites:" { suites = value }
				name == "components:" { comps = value }
				name == "enabled:" { enabled = tolower(value) }
				name == "signed-by:" && value ~ /^\// { key = value }
				END { flush() }'
		done
	} | awk -v suite="$1" '$1 == suite && $2 == "main" && $3 !~ /^cdrom:/ { print $3, $4; exit }'
}

# configure_apt DIR ARCH URI KEYRING SUITE COMPONENTS writes the configuration of a private apt to
# DIR. It has its own sources, lists and cache, and an empty status. So it fetches every dependency
# of a package, and it neither reads nor locks the machine's package state. The rest of the
# machine's configuration, such as proxies, stays in force, except the hooks that clean the
# machine's caches.
configure_apt() {
	apt=$1
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/preferences.d"
	: >"$apt/status"
	echo "deb [arch=$2 target=Packages lang=none${4:+ signed-by=$4}] $3 $5 $6" >"$apt/sources.list"
	cat >"$apt/conf" <<-CONF
		Dir::State "$apt";
		Dir::State::lists "$apt/lists";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt/cache";
		Dir::Log "$apt";
		Dir::Etc::sourcelist "$apt/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "$apt/preferences.d";
		Debug::NoLocking "true";
		APT::Update::Error-Mode "any";
		Acquire::Retries "2";
		Acquire::http::Timeout "20";
		Acquire::https::Timeout "20";
		#clear APT::Update::Pre-Invoke;
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
		#clear DPkg::Pre-Invoke;
		#clear DPkg::Pre-Install-Pkgs;
		#clear DPkg::Post-Invoke;
	CONF
	# By default root's apt downloads as the user _apt, who may not write here.
	if [ "$(id -u)" = 0 ]; then
		echo 'APT::Sandbox::User "root";' >>"$apt/conf"
	fi
}

private_apt() { apt-get -q -c "$apt/conf" "$@" >>"$log" 2>&1 9>&-; }
