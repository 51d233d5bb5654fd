#!/usr/bin/env bash
# Measures how many rows a minute Assay scores by the three metrics of the RAGAS paper, and promptfoo by its own three
# (context-faithfulness, answer-relevance, context-relevance) through an Ollama server with four slots: the same rows,
# the same weights, one after the other. It prints Markdown.
#
#	scripts/bench/promptfoo.sh [ROWS] [DATASET]
#
# Linux on x86-64. The first ROWS (4) of the DATASET (examples/qa.jsonl) that have contexts are scored, without a cache.
# Both are given the same: question, contexts and answer, without the turns before, which promptfoo's three do not read.
# promptfoo is asked with replies of 1,024 tokens at most, as one that repeats itself would else never end. It is fetched
# with npm the first time, into tools/ in Assay's data folder. It wants the machine for itself, and takes ten minutes and
# more for four long rows.
#
#   WAYS  what Assay scores by, each a preset or a list of metrics (default: the presets ragas-paper and ragas-short, and
#         the three dimensions by first-token scoring)
set -euo pipefail

rows=${1:-4}
data=$(realpath "${2:-$(dirname "$0")/../../examples/qa.jsonl}")
cd "$(dirname "$0")/../.."
ways=${WAYS:-ragas-paper ragas-short faithfulness/logit,answer_relevance/logit,context_relevance/logit}

say() { printf 'bench: %s\n' "$*" >&2; }

make -s setup
home=$(scripts/setup.sh --home)
ollama=$(scripts/ollama.sh)
version=$(awk '$1 == "promptfoo" { print $2 }' scripts/bench/pins.txt)
node=$(awk '$1 == "node" { print $2 }' scripts/bench/pins.txt) # it wants a newer one than most machines have
libsql=$(awk '$1 == "libsql" { print $2 }' scripts/bench/pins.txt)
tool=$home/tools/promptfoo-$version
if [ ! -x "$tool/node_modules/.bin/promptfoo" ]; then
	say "fetching promptfoo $version, once"
	mkdir -p "$tool"
	npm install --prefix "$tool" --no-audit --no-fund --omit=optional --omit=dev "promptfoo@$version" "$node" "$libsql" >"$tool/log" 2>&1 ||
		{ tail -n 20 "$tool/log" >&2 && exit 1; }
fi
work=$(mktemp -d)
server=
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT

port=$((20000 + RANDOM % 20000))
export OLLAMA_HOST=http://127.0.0.1:$port
OLLAMA_NUM_PARALLEL=4 OLLAMA_CONTEXT_LENGTH=2048 OLLAMA_MODELS="$work/models" HOME="$work" "$ollama" serve >"$work/server.log" 2>&1 &
server=$!
for _ in $(seq 50); do
	"$ollama" list >/dev/null 2>&1 && break
	sleep 0.2
done
echo "FROM $home/models/tinyllama-q4_0.gguf" >"$work/judge"
echo "FROM $home/models/minilm.gguf" >"$work/embed"
"$ollama" create judge -f "$work/judge" >/dev/null 2>&1
"$ollama" create embedder -f "$work/embed" >/dev/null 2>&1

# The rows, and promptfoo's tests of them: an echo of the answer, and three assertions.
node - "$data" "$rows" "$work" <<'END'
const fs = require("fs"), [, , data, most, work] = process.argv
const rows = fs.readFileSync(data, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line))
  .filter((row) => row.contexts?.length && row.answer).slice(0, Number(most))
  .map(({ id, question, contexts, answer }) => ({ id, question, contexts, answer }))
fs.writeFileSync(`${work}/rows.jsonl`, rows.map((row) => JSON.stringify(row) + "\n").join(""))
const text = (row) => row.contexts.map((c) => typeof c === "string" ? c : c.text).join("\n\n")
fs.writeFileSync(`${work}/promptfooconfig.json`, JSON.stringify({
  prompts: ["{{answer}}"],
  providers: ["echo"],
  defaultTest: {
    options: {
      disableVarExpansion: true,
      provider: {
        text: { id: "ollama:chat:judge", config: { temperature: 0, num_ctx: 2048, num_predict: 1024 } },
        embedding: { id: "ollama:embeddings:embedder" },
      },
    },
    assert: ["context-faithfulness", "answer-relevance", "context-relevance"].map((type) => ({ type, threshold: 0 })),
  },
  tests: rows.map((row) => ({ vars: { query: row.question, context: text(row), answer: row.answer } })),
}))
END
n=$(wc -l <"$work/rows.jsonl")

# seconds COMMAND... runs a command and prints how long it took.
seconds() {
	local start end
	start=$(date +%s.%N)
	"$@" >"$work/said" 2>&1 || true
	end=$(date +%s.%N)
	awk -v a="$start" -v b="$end" 'BEGIN { printf "%.1f", b - a }'
}

# The first call loads the model, in both.
curl -sf "$OLLAMA_HOST/api/generate" -d '{"model": "judge", "prompt": "Hello", "stream": false, "options": {"num_predict": 1, "num_ctx": 2048}}' >/dev/null
say "promptfoo"
took=$(PATH=$tool/node_modules/${node%@*}/bin:$PATH HOME="$work" OLLAMA_BASE_URL="$OLLAMA_HOST" PROMPTFOO_DISABLE_TELEMETRY=1 PROMPTFOO_DISABLE_UPDATE=1 \
	PROMPTFOO_DISABLE_REMOTE_GENERATION=1 seconds "$tool/node_modules/.bin/promptfoo" eval -c "$work/promptfooconfig.json" \
	--no-cache --no-table -j 4 -o "$work/promptfoo.json")
[ -s "$work/promptfoo.json" ] || { cat "$work/said" >&2 && exit 1; }
scored=$(node -e 'const r = JSON.parse(require("fs").readFileSync(process.argv[1])).results.results
console.log(r.flatMap((x) => x.gradingResult?.componentResults ?? []).filter((c) => !/error|fail/i.test(c.reason ?? "") || c.score > 0).length)' "$work/promptfoo.json")
kill "$server" && wait "$server" 2>/dev/null || true
server=

name=$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' || true)
echo "$n rows, $(awk -v b="$(wc -c <"$work/rows.jsonl")" 'BEGIN { printf "%.0f", b / 1000 }') kB. Processor: ${name:-$(uname -m)}, $(getconf _NPROCESSORS_ONLN) cores."
echo
echo "| | seconds | rows a minute | times promptfoo | scores |"
echo "| --- | ---: | ---: | ---: | ---: |"
line() { awk -v name="$1" -v s="$2" -v n="$n" -v base="$took" -v scores="$3" 'BEGIN { printf "| %s | %.1f | %.2f | %.1f | %s |\n", name, s, 60 * n / s, base / s, scores }'; }
line "promptfoo $version, Ollama with four slots" "$took" "$scored of $((3 * n))"
for way in $ways; do
	say "Assay, $way"
	case $way in */*) by=--metrics name="the three by \`logit\`" ;; *) by=--preset name="\`$way\`" ;; esac
	out=$work/${way//\//-}
	s=$(seconds ./assay run --data "$work/rows.jsonl" "$by" "$way" --model tinyllama-q4_0 --embed-model minilm --cache off -o "$out")
	[ -s "$out/results.jsonl" ] || { cat "$work/said" >&2 && exit 1; }
	line "Assay, $name" "$s" "$(grep -c '"score"' "$out/results.jsonl") of $(wc -l <"$out/results.jsonl")"
done
