#!/usr/bin/env bash
# Measures how fast the encoder judge that comes with Assay reads pairs on llama.cpp and on ONNX Runtime, from the same
# file, and how many of its verdicts each kind of numbers turns. It prints Markdown.
#
#	scripts/bench/encoder.sh [ROUNDS] [DATASET...]
#
# In each of ROUNDS (10) all engines read the same pairs, one after the other; the best round of each counts. Tokens a
# second of processor time are the better measure where the machine is busy with something else. The verdicts are of
# pairs of the DATASETS (examples/qa.jsonl), rows with question, answer and contexts. ASSAY_BENCH_ENCODER names another
# GGUF file than the one that comes with Assay.
set -euo pipefail

rounds=${1:-10}
shift || true
data=
for file in "$@"; do data+=" $(realpath "$file")"; done
cd "$(dirname "$0")/../.."
make -s setup
ASSAY_TEST_LIB=$(./assay models engine | cut -f3)
ASSAY_TEST_ORT=$(./assay models engine --onnx | cut -f3)
export ASSAY_TEST_LIB ASSAY_TEST_ORT ASSAY_BENCH_DATA=$data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

bench() { go test ./backend/onnx -run '^$' -bench "$1" -benchtime "$2" -timeout 60m >"$work/$1"; }
bench BenchmarkEncoders "${rounds}x"
bench BenchmarkVerdicts 1x

name=$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' || true)
echo "Processor: ${name:-$(uname -m)}, $(getconf _NPROCESSORS_ONLN) cores."
echo
echo "| tokens, threads | engine | tokens/s | of llama.cpp's | tokens a second of processor time | of llama.cpp's |"
echo "| --- | --- | ---: | ---: | ---: | ---: |"
awk '/^BenchmarkEncoders\// {
	sub(/-[0-9]+$/, "", $1); split($1, name, "/"); sub(/tokens/, " tokens", name[2]); sub(/threads/, " threads", name[3])
	for (i = 3; i < NF; i += 2) value[$(i + 1)] = $i
	n = split("llama onnx-fp32 onnx-int8", engines, " ")
	for (k = 1; k <= n; k++) {
		e = engines[k]; clock = value[e "-tok/s"]; used = value[e "-tok/cpu-s"]
		printf "| %s, %s | %s | %.0f | %.2f | %.0f | %.2f |\n", name[2], name[3], e, clock, clock / value["llama-tok/s"], used, used / value["llama-tok/cpu-s"]
	}
}' "$work/BenchmarkEncoders"
echo
echo "| engine | verdicts other than in fp32 | mean difference of probabilities |"
echo "| --- | ---: | ---: |"
awk '/^BenchmarkVerdicts/ {
	for (i = 3; i < NF; i += 2) value[$(i + 1)] = $i
	n = split("llama onnx-int8", engines, " ")
	for (k = 1; k <= n; k++) {
		e = engines[k]
		printf "| %s | %d of %d (%.2f%%) | %.4f |\n", e, value[e "-flips"], value["verdicts"], 100 * value[e "-flips"] / value["verdicts"], value[e "-mean-difference"]
	}
}' "$work/BenchmarkVerdicts"
