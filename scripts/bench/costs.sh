#!/usr/bin/env bash
# Measures what each metric that asks a judge costs, and writes docs/costs.json and docs/metrics.md from it.
#
#	scripts/bench/costs.sh [ROWS]
#
# The metrics score the first ROWS (3) rows of the example datasets with the small judge that setup fetches.
# What counts is calls and tokens, not time, so the machine may be busy.
set -euo pipefail

cd "$(dirname "$0")/../.."
rows=${1:-3}
make -s setup
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Metrics that need a column which the examples lack, a reranker, a corpus or the answering model are left out.
names=$(./assay metrics --format json | node -e '
	const have = ["question", "answer", "contexts", "reference_answers"]
	const fits = m => m.judge && !m.judge.includes("rerank") && !/corpus|sampl/.test(m.calls) && m.needs.every(n => have.includes(n))
	console.log(JSON.parse(require("fs").readFileSync(0)).metrics.filter(fits).map(m => m.name).join(","))')
./assay run --data examples/qa.jsonl --limit "$rows" --model tinyllama-q4_0 --embed-model minilm --metrics "$names" -o "$work/run" >&2
(cd "$work" && "$OLDPWD/assay" report run --format json >costs.json)
mv "$work/costs.json" docs/costs.json
./assay metrics --format md --costs docs/costs.json >docs/metrics.md
