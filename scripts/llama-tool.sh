# How llama.cpp's own tools are compiled, once, to be compared with and tested against: from the source in an npm package,
# and on the very libraries that Assay runs on. A script that reads this file (source) has set me, its name in messages,
# and root, the repository. It needs a C++ compiler, git and, the first time, npm.

pins=$root/scripts/bench/pins.txt
version=$(awk '$1 == "source" { print $2 }' "$pins")

fail() {
	printf '%s: %s\n' "$me" "$*" >&2
	exit 1
}

# engine prints the folder of the libraries that Assay uses.
engine() {
	local assay=${ASSAY:-$root/assay}
	if [ -n "${ASSAY_LLAMA_LIB:-}" ]; then
		printf '%s\n' "$ASSAY_LLAMA_LIB"
	else
		[ -x "$assay" ] || fail "there is no $assay: run make build first"
		"$assay" models engine | cut -f3
	fi
}

sum512() {
	if command -v sha512sum >/dev/null; then sha512sum "$1"; else shasum -a 512 "$1"; fi | cut -d' ' -f1
}

# fetch PACKAGE SUM FILE fetches a package's archive. The archive takes its name only when it has the sum.
fetch() {
	if [ -f "$3" ] && [ "$(sum512 "$3")" = "$2" ]; then
		return
	fi
	command -v npm >/dev/null || fail "npm is not there: it comes with Node.js"
	echo "$me: fetching $1" >&2
	mkdir "$work/fetch"
	(cd "$work/fetch" && npm pack --loglevel=error --ignore-scripts "$1" >/dev/null) ||
		fail "npm could not fetch $1: see its message above, then run this again"
	set -- "$1" "$2" "$3" "$work"/fetch/*.tgz
	[ "$(sum512 "$4")" = "$2" ] ||
		fail "the archive of $1 is not the one that $pins names: it was changed on the way or at its source"
	mv -f "$4" "$3"
}

# source_code fetches the source and unpacks it to $work/source.
source_code() {
	local package sum archive
	command -v git >/dev/null || fail "git is not there (Debian: apt-get install git)"
	command -v "${CXX:-c++}" >/dev/null || fail "no C++ compiler: install one (Debian: apt-get install g++)"
	read -r package sum <<<"$(awk '$1 == "source" { print $3, $4 }' "$pins")"
	mkdir -p "$home/downloads"
	archive=$home/downloads/$(printf '%s' "${package#@}" | tr '/@' '--').tgz
	fetch "$package" "$sum" "$archive"
	tar -xzf "$archive" -C "$work" package/llama/gitRelease.bundle
	git -c advice.detachedHead=false clone --quiet "$work/package/llama/gitRelease.bundle" "$work/source" >&2
}

# prepare TOOL sets lib, the folder of the libraries; folder, where the tool is to lie; and work, a folder for building that
# is removed in the end.
prepare() {
	lib=$(engine)
	lib=$(cd "$lib" && pwd) || fail "no llama.cpp libraries are installed: run make setup"
	set -- "$1" "$lib"/libllama-common.*
	[ -f "$2" ] || fail "$lib has no libllama-common, which llama.cpp's own tools need: use the libraries that make setup installs"
	home=$("$root/scripts/setup.sh" --home)
	folder=$home/tools/$1-$version
	mkdir -p "$folder"
	work=$(mktemp -d "$folder/build.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
}
