#!/usr/bin/env bash
# Tells on labelled sets how far each layout of prompts agrees with people (docs/layouts.md): the same rows by the same
# first-token metric in both, and by Spearman's correlation which layout orders them as people did.
#
#   scripts/layouts/layouts.sh DATA OUT [ROWS]
#
#   DATA   the folder of labelled sets, as in scripts/train-judge
#   OUT    a folder for datasets, runs and the table, table.md; what is done there is not done again
#   ROWS   the most rows of a set (60)
#   SETS   the sets, at most twelve (all)
#
# Sets that are for testing only are left out. It needs python3 and a built assay; JUDGE is the judge's name, FLAGS more for assay run.
set -euo pipefail

data=$1 out=$2 rows=${3:-60}
root=$(cd "$(dirname "$0")/../.." && pwd)
assay=${ASSAY:-$root/assay}

[ -d "$out/sets" ] || python3 "$root/scripts/agreement/rows.py" "$data" "$out/sets" "$rows"
sets=(faithfulness.{factcheck-gpt,q2-wow,faithdial-audit} context_relevance.{selqa,qed,clapnq}
	answer_relevance.{haluquestqa,qa-feedback-relevance,truthfulqa-informative}
	answer_correctness.{truthfulqa,semeval2013-answers,evouna-tq})
for set in ${SETS:-${sets[*]}}; do
	for layout in row classic; do
		run=$out/$set.$layout
		[ -f "$run.json" ] && continue
		"$assay" run --data "$out/sets/$set.jsonl" --metrics "${set%%.*}/logit" --layout "$layout" ${JUDGE:+--model "$JUDGE"} ${FLAGS:-} -o "$run"
		"$assay" agree "$run" --human label --format json >"$run.part" && mv "$run.part" "$run.json"
	done
done
python3 "$root/scripts/layouts/table.py" "$out" | tee "$out/table.md"
