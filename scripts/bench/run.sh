#!/usr/bin/env bash
# Measures what docs/performance.md states, on this machine, and writes that page.
#
#	scripts/bench/run.sh [PART...]
#
# A part is one of the page's sections, left in docs/performance/PART.md; those that are not named stay as they are:
#
#   promptfoo  rows a minute beside promptfoo through Ollama (scripts/bench/promptfoo.sh)
#   reading    how often a row is read, by preset and layout; depends on no machine
#   engine     prefill and decode beside llama-batched-bench, and what each saving gives (scripts/bench/engine.sh)
#   overhead   Assay's own time and memory, with an engine that takes no time
#
# It wants the machine for itself: all parts take an hour on two cores.
#
#   DATA     the dataset of promptfoo and reading (examples/qa.jsonl), whose first ROWS (4) are scored
#   PRESETS  those of reading (logit ragas-paper ragas-short). Of logit, which writes nothing, only the tokenizer counts:
#            it is counted with the model's first layer, for two context lengths
set -euo pipefail

cd "$(dirname "$0")/../.."
data=${DATA:-examples/qa.jsonl} rows=${ROWS:-4}
[ $# -gt 0 ] || set -- promptfoo reading engine overhead
make -s setup
export ASSAY=$PWD/assay
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

promptfoo() { scripts/bench/promptfoo.sh "$rows" "$data"; }

engine() { scripts/bench/engine.sh; }

# read_rows PRESET LAYOUT MODEL CONTEXT prints a line of the table of reading.
read_rows() {
	"$ASSAY" bench --data "$work/rows.jsonl" --model "$3" --embed-model minilm --preset "$1" --layout "$2" --context "$4" \
		--format json >"$work/reading.json"
	node -e 'const [, file, preset, layout] = process.argv, r = JSON.parse(require("fs").readFileSync(file))
		const n = (x) => x.toLocaleString("en-US")
		console.log(`| \`${preset}\` | \`${layout}\` | ${n(Number(process.argv[4]))} | ${n(r.row_tokens)} | ${n(r.prompt_tokens)} | ` +
			`${n(r.prompt_tokens_computed)} | ${r.reading_efficiency.toFixed(2)} | ${n(Math.round(r.output_tokens / r.rows))} |`)' \
		"$work/reading.json" "$1" "$2" "$4"
}

reading() {
	local whole
	whole=$(scripts/setup.sh --home)/models/tinyllama-q4_0.gguf
	head -n "$rows" "$data" >"$work/rows.jsonl"
	echo "$rows rows of $(basename "$data"), TinyLlama's tokenizer."
	echo
	echo "| preset | layout | context length | tokens of the rows | of their prompts | computed | reading efficiency | tokens written a row |"
	echo "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
	for preset in ${PRESETS:-logit ragas-paper ragas-short}; do
		for layout in row classic; do
			if [ "$preset" != logit ]; then
				read_rows "$preset" "$layout" tinyllama-q4_0 2048
				continue
			fi
			for context in 2048 8192; do
				go run ./scripts/bench/cut "$whole" "$work/cut.gguf" 1 "$context"
				read_rows "$preset" "$layout" "$work/cut.gguf" "$context"
			done
		done
	done
}

overhead() {
	go test ./cmd/assay -run '^$' -bench 'CachedRun|MillionRows' -benchtime 1x -timeout 60m >"$work/overhead"
	echo "10,000 rows by three metrics from the cache, and the most memory in use while a million rows are scored without one."
	echo
	awk '/^Benchmark/ { sub(/-[0-9]+$/, "", $1); printf "- %s:", substr($1, 10); for (i = 3; i < NF; i += 2) if ($(i+1) != "ns/op") printf " %s %s", $i, $(i+1); print "" }' "$work/overhead"
}

for part; do
	case $part in promptfoo | reading | engine | overhead) ;; *) echo "bench: unknown part $part: there are promptfoo, reading, engine and overhead" >&2 && exit 2 ;; esac
done
for part; do
	printf 'bench: %s\n' "$part" >&2
	"$part" >"$work/$part.md"
	mv "$work/$part.md" "docs/performance/$part.md"
done

# section PART TITLE prints a part of the page, its explanation from standard input first.
section() {
	[ -f "docs/performance/$1.md" ] || return 0
	printf '\n## %s\n\n' "$2"
	cat
	echo
	cat "docs/performance/$1.md"
}
{
	cat <<END
# Performance

Written by \`scripts/bench/run.sh\`, which measures again what it is asked to. Speeds depend on the machine; ratios,
measured in one run, travel better.
END
	section promptfoo "Rows a minute" <<END
The same rows and weights, one after the other: three metrics by promptfoo through an Ollama server with four slots, the
three of the RAGAS paper by Assay as they are (\`ragas-paper\`), in their [short forms](short.md) (\`ragas-short\`), and as
first-token probabilities (\`logit\`). Nothing comes from a cache.
END
	section reading "How often a row is read" <<END
*Reading efficiency* is tokens of prompts that were computed, for each token of the rows' own text: [layouts](layouts.md).
Rows that exceed the context length are read in windows.
END
	section engine "The engine beside llama.cpp" <<END
*batched-bench* is llama.cpp's own llama-batched-bench, on the same libraries at the same shapes (prompts of 128 tokens,
replies of 32). Assay's replies are batch-invariant, which a lone reply pays for with padding tokens, unless draft tokens
take their place; \`--fast\` gives that up.
END
	section overhead "Assay's own overhead" <<END
With an engine that takes no time.
END
} >docs/performance.md
echo "bench: wrote docs/performance.md" >&2
