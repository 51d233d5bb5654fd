#!/usr/bin/env bash
# Measures the engine beside llama.cpp's own llama-batched-bench, prompts (prefill) and replies (decode) apart, with the
# kernels that llama.cpp chooses for this processor and with those for AVX2 alone. Then it measures what each of the
# engine's savings gives alone. It prints Markdown.
#
#	scripts/bench/engine.sh [ROUNDS] [SEQUENCES]
#
# SEQUENCES (1,4,16,32) are computed at once, each of 128 tokens of prompt and 32 of reply. For each, llama-batched-bench
# is measured ROUNDS (1) times, then Assay, then Assay with --fast; the best round of each counts. It takes twelve minutes
# on two cores, and wants the machine for itself. Needs Go.
#
#   ASSAY  the assay to measure (default: ./assay, built anew)
set -euo pipefail

cd "$(dirname "$0")/../.."
rounds=${1:-1} sequences=${2:-1,4,16,32}
[ -n "${ASSAY:-}" ] || make -s setup
export ASSAY=${ASSAY:-$PWD/assay}
judge=$(scripts/setup.sh --home)/models/tinyllama-q4_0.gguf
lib=$("$ASSAY" models engine 2>/dev/null | cut -f3)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# only KIND puts the libraries in a folder with the kernels for one kind of processor, and names it.
only() {
	mkdir "$work/$1"
	ln -s "$lib"/libggml.* "$lib"/libggml-base.* "$lib"/libllama* "$lib/libggml-cpu-$1.so" "$work/$1"
	printf '%s\n' "$work/$1"
}

# row N prints a table's row for N sequences, with the libraries in ASSAY_LLAMA_LIB.
row() {
	local times
	times=$(for _ in $(seq "$rounds"); do echo "$1"; done | paste -sd,)
	scripts/bench/batched.sh "$judge" 128 32 "$times" >"$work/batched"
	for fast in '' --fast; do
		"$ASSAY" bench --model "$judge" --prompt 128 --reply 32 --sequences "$1" --rounds "$rounds" \
			--batched "$work/batched" $fast --format md 2>"$work/log" >"$work/table$fast" || {
			cat "$work/log" >&2
			exit 1
		}
	done
	awk -F '|' -v kind="$2" -v n="$1" '$2 + 0 == n {
		if (FNR == NR) { row = $4 "|" $5 "|" $6; reply = $7 "|" $8 "|" $9; next }
		printf "| %s |%s|%s|%s|%s|%s|%s|\n", kind, $2, row, $6, reply, $9, ""
	}' "$work/table" "$work/table--fast" | sed 's/||$/|/'
}

name=$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' || true)
echo "Processor: ${name:-$(uname -m)}, $(getconf _NPROCESSORS_ONLN) cores. Model: TinyLlama 1.1B, Q4_0."
echo
echo "| kernels | sequences | prompt tok/s | batched-bench | ratio | with --fast | reply tok/s | batched-bench | ratio | with --fast |"
echo "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
own=$("$ASSAY" doctor 2>/dev/null | sed -n 's/^.* llama\.cpp v[^ ]* cpu-\([^ ]*\) .*$/\1/p' || true)
for n in ${sequences//,/ }; do
	row "$n" "${own:-the only ones}"
done
if [ -n "$own" ] && [ "$own" != haswell ] && [ -e "$lib/libggml-cpu-haswell.so" ]; then
	ASSAY_LLAMA_LIB=$(only haswell)
	export ASSAY_LLAMA_LIB
	for n in ${sequences//,/ }; do
		row "$n" haswell
	done
fi

ASSAY_TEST_LIB=$lib ASSAY_TEST_JUDGE=$judge go test ./backend/llama -run '^$' -bench Savings -benchtime 1x -timeout 60m >"$work/savings"
echo
echo "What each saving gives alone, by the kernels for this processor: the time of the same work without it, for each second with it."
echo
echo "| saving | work | gives |"
echo "| --- | --- | ---: |"
awk '/^BenchmarkSavings/ {
	for (i = 3; i < NF; i += 2) value[$(i + 1)] = $i
	printf "| attention in tiles | a prompt of 900 tokens | %.1f |\n", value["tiles"]
	printf "| prefix cache | 4 prompts of 640 tokens that share 600 | %.1f |\n", value["prefix-cache"]
	printf "| batching | 8 prompts of 100 tokens, each with a reply of 24 | %.1f |\n", value["batching"]
	printf "| draft tokens | a lone reply of 60 tokens that copies | %.1f |\n", value["drafts"]
}' "$work/savings"
