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
me=scripts/bench/batched.sh
. "$root/scripts/llama-tool.sh"

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

# build FILE compiles the tool. Only its own two files are: the rest of llama.cpp is in the libraries.
build() {
	local source=$work/source flags=()
	source_code
	echo "$me: compiling llama-batched-bench of llama.cpp $version, once" >&2
	[ "$(uname -s)" = Darwin ] || flags=(-Wl,--allow-shlib-undefined)
	nice "${CXX:-c++}" -std=c++17 -O2 -I"$source/common" -I"$source/include" -I"$source/ggml/include" -I"$source/vendor" \
		"$source/tools/batched-bench/main.cpp" "$source/tools/batched-bench/batched-bench.cpp" -o "$work/tool" \
		-L"$lib" ${flags[@]+"${flags[@]}"} -lllama-common -lllama -lggml -lggml-base >&2 || fail "the build failed"
	mv -f "$work/tool" "$1"
}

[ $# -eq 4 ] || [ $# -eq 5 ] || usage
model=$1 pp=$2 tg=$3 pl=$4 threads=${5:-}
[[ $pl =~ ^[0-9]+(,[0-9]+)*$ ]] || usage
number "$pp" "$tg" ${pl//,/ } ${threads:+"$threads"}
[ -f "$model" ] || fail "there is no file $model"
model=$(cd "$(dirname "$model")" && pwd)/$(basename "$model")

prepare batched-bench
binary=$folder/llama-batched-bench
[ -x "$binary" ] || build "$binary"

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
