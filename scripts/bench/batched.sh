#!/usr/bin/env bash
# Measures llama.cpp alone, with its own llama-batched-bench, to compare Assay with.
#
#	scripts/bench/batched.sh MODEL.gguf PP TG PL[,PL...] [THREADS]
#
# For each PL, so many sequences of PP prompt tokens are computed, then TG tokens of each are written, side by side.
# Standard output is the tool's JSON, a line for each PL. THREADS is the tool's own choice if not given.
#
# The tool is compiled once, from the source in an npm package, into tools/ in Assay's data folder. It runs on the
# very libraries that Assay runs on, so that what differs is what is done with them. It needs a C++ compiler, git and,
# the first time, npm.
#
#   ASSAY            the assay that names the libraries' folder (default: ./assay, see make build)
#   ASSAY_LLAMA_LIB  the folder itself
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
pins=$root/scripts/bench/pins.txt

fail() {
	printf 'scripts/bench/batched.sh: %s\n' "$*" >&2
	exit 1
}

usage() {
	echo 'usage: scripts/bench/batched.sh MODEL.gguf PP TG PL[,PL...] [THREADS]' >&2
	exit 2
}

# number TEXT... checks that each is a positive number of at most six digits.
number() {
	local n
	for n; do
		[[ $n =~ ^[1-9][0-9]{0,5}$ ]] || usage
	done
}

# largest NUMBER,NUMBER,... prints the largest.
largest() {
	local n most=0
	for n in ${1//,/ }; do
		[ "$n" -le "$most" ] || most=$n
	done
	echo "$most"
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
	echo "scripts/bench/batched.sh: fetching $1" >&2
	mkdir "$work/fetch"
	(cd "$work/fetch" && npm pack --loglevel=error --ignore-scripts "$1" >/dev/null) ||
		fail "npm could not fetch $1: see its message above, then run this again"
	set -- "$1" "$2" "$3" "$work"/fetch/*.tgz
	[ "$(sum512 "$4")" = "$2" ] ||
		fail "the archive of $1 is not the one that $pins names: it was changed on the way or at its source"
	mv -f "$4" "$3"
}

# build LIB TOOL compiles the tool. Only its own two files are: the rest of llama.cpp is in the libraries.
build() {
	local version package sum source tool lib=$1 flags=()
	command -v git >/dev/null || fail "git is not there (Debian: apt-get install git)"
	command -v "${CXX:-c++}" >/dev/null || fail "no C++ compiler: install one (Debian: apt-get install g++)"
	read -r version package sum <<<"$(awk '$1 == "source" { print $2, $3, $4 }' "$pins")"
	mkdir -p "$home/downloads"
	local archive=$home/downloads/$(printf '%s' "${package#@}" | tr '/@' '--').tgz
	fetch "$package" "$sum" "$archive"

	echo "scripts/bench/batched.sh: compiling llama-batched-bench of llama.cpp $version, once" >&2
	tar -xzf "$archive" -C "$work" package/llama/gitRelease.bundle
	git -c advice.detachedHead=false clone --quiet "$work/package/llama/gitRelease.bundle" "$work/source" >&2
	source=$work/source
	tool=$source/tools/batched-bench
	[ "$(uname -s)" = Darwin ] || flags=(-Wl,--allow-shlib-undefined)
	nice "${CXX:-c++}" -std=c++17 -O2 -I"$source/common" -I"$source/include" -I"$source/ggml/include" -I"$source/vendor" \
		"$tool/main.cpp" "$tool/batched-bench.cpp" -o "$work/tool" \
		-L"$lib" ${flags[@]+"${flags[@]}"} -lllama-common -lllama -lggml -lggml-base >&2 || fail "the build failed"
	mv -f "$work/tool" "$2"
}

[ $# -eq 4 ] || [ $# -eq 5 ] || usage
model=$1 pp=$2 tg=$3 pl=$4 threads=${5:-}
[[ $pl =~ ^[0-9]+(,[0-9]+)*$ ]] || usage
number "$pp" "$tg" ${pl//,/ } ${threads:+"$threads"}
[ -f "$model" ] || fail "there is no file $model"
model=$(cd "$(dirname "$model")" && pwd)/$(basename "$model")

lib=$(engine)
lib=$(cd "$lib" && pwd) || fail "no llama.cpp libraries are installed: run make setup"
set -- "$lib"/libllama-common.*
[ -f "$1" ] || fail "$lib has no libllama-common, which llama.cpp's own tools need: use the libraries that make setup installs"

home=$("$root/scripts/setup.sh" --home)
folder=$home/tools/batched-bench-$(awk '$1 == "source" { print $2 }' "$pins")
binary=$folder/llama-batched-bench
mkdir -p "$folder"
work=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
[ -x "$binary" ] || build "$lib" "$binary"

# Every sequence has a stream of its own, in steps of 256 tokens, as in Assay.
context=$((($pp + $tg + 255) / 256 * 256 * $(largest "$pl")))

# ggml looks for its CPU libraries in the folder it is started in.
cd "$lib"
LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} DYLD_LIBRARY_PATH=$lib \
	"$binary" -m "$model" -c "$context" -npp "$pp" -ntg "$tg" -npl "$pl" ${threads:+-t "$threads" -tb "$threads"} \
	--output-format jsonl >"$work/out" 2>"$work/log" || {
	tail -n 40 "$work/log" "$work/out" >&2
	fail "llama-batched-bench failed"
}
grep '^{' "$work/out" || {
	tail -n 40 "$work/log" "$work/out" >&2
	fail "llama-batched-bench measured nothing"
}
