#!/usr/bin/env bash
# Measures everything that docs/performance.md states, on this machine, and writes that page.
#
#	scripts/bench/run.sh [ROWS] [DATASET]
#
# ROWS of the DATASET (6 of examples/qa.jsonl) are scored by the three metrics of the RAGAS paper, in this process
# and through an Ollama server with its default settings, which is started for it; those figures are left in
# docs/performance.json. The engine is measured beside llama.cpp alone by scripts/bench/engine.sh. It takes half an
# hour on two cores, and wants the machine for itself.
set -euo pipefail

cd "$(dirname "$0")/../.."
rows=${1:-6}
data=${2:-examples/qa.jsonl}

say() { printf 'bench: %s\n' "$*" >&2; }

make -s setup
home=$(scripts/setup.sh --home)
judge=$home/models/tinyllama-q4_0.gguf
embed=$home/models/minilm.gguf
ollama=$(scripts/ollama.sh)
work=$(mktemp -d)
server=
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT

say "the engine, and llama.cpp alone"
ASSAY=$PWD/assay scripts/bench/engine.sh >"$work/engine.md"

say "an Ollama server"
port=$((20000 + RANDOM % 20000))
export OLLAMA_HOST=http://127.0.0.1:$port
env -u OLLAMA_NUM_PARALLEL OLLAMA_MODELS="$work/models" HOME="$work" "$ollama" serve >"$work/server.log" 2>&1 &
server=$!
for _ in $(seq 50); do
	"$ollama" list >/dev/null 2>&1 && break
	sleep 0.2
done
echo "FROM $judge" >"$work/judge"
echo "FROM $embed" >"$work/embed"
"$ollama" create judge -f "$work/judge" >/dev/null 2>&1
"$ollama" create embedder -f "$work/embed" >/dev/null 2>&1

say "Assay"
./assay bench --model tinyllama-q4_0 --embed-model minilm --preset ragas-paper --data "$data" --limit "$rows" \
	--ollama judge --ollama-embed embedder --address "$OLLAMA_HOST" --format json >"$work/performance.json"

say "our own overhead"
go test ./cmd/assay -run '^$' -bench 'CachedRun|MillionRows' -benchtime 1x -timeout 60m | tee /dev/stderr >"$work/overhead.txt"

mv "$work/performance.json" docs/performance.json
{
	cat <<END
# Performance

Measured by \`scripts/bench/run.sh $rows $data\`, which writes this page and docs/performance.json. Speeds depend on the
machine; ratios, measured in one run, travel better.

- **batched-bench** is llama.cpp's own llama-batched-bench, on the same libraries at the same shapes (prompts of 128 tokens,
  replies of 32). Assay's replies are batch-invariant, which a lone reply pays for with padding tokens, unless draft tokens
  take their place; \`--fast\` gives that up. Figures are by \`scripts/bench/engine.sh\`.
- **Ollama** is a server with its default settings and the same weights, asked by Assay for the same rows.
- **Prefix efficiency** is prompt tokens computed in prefill, for each node of the trie of all prompts: 1 is the least.
- **Packing** is sequences in a decode step, for each that could have been: 1 is the most.

END
	cat "$work/engine.md"
	echo
	./assay bench --from docs/performance.json --format md
	echo "Assay's own overhead, with an engine that takes no time: 10,000 rows by three metrics from the cache, and the most"
	echo "memory in use while a million rows are scored without one."
	echo
	awk '/^Benchmark/ { sub(/-[0-9]+$/, "", $1); printf "- %s:", substr($1, 10); for (i = 3; i < NF; i += 2) if ($(i+1) != "ns/op") printf " %s %s", $i, $(i+1); print "" }' "$work/overhead.txt"
} >docs/performance.md
say "wrote docs/performance.md"
