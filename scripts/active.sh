#!/usr/bin/env bash
# Tells on labelled sets how many calls of an expensive metric asking about chosen rows saves (docs/statistics.md): people's
# labels stand for its scores, and a cheap metric for itself.
#
#   scripts/active.sh DATA OUT
#
#   DATA   the folder of labelled sets, as in scripts/train-judge
#   OUT    a folder for datasets and runs; what is done there is not done again
#
# It needs python3 and a built assay. All rows that the sets have are taken, at most 1,500 of each but EVOUNA.
set -euo pipefail

data=$1 out=$2
root=$(cd "$(dirname "$0")/.." && pwd)
assay=${ASSAY:-$root/assay}

[ -d "$out/sets" ] || python3 "$root/scripts/agreement/rows.py" "$data" "$out/sets" 1500
# evouna NAME writes all rows of a set of EVOUNA, since no judge is asked.
evouna() {
	python3 - "$data/evouna-$1.dev.jsonl" >"$out/sets/answer_correctness.evouna-$1.jsonl" <<'EOF'
import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    row = json.loads(line)
    if row["answer"].strip():
        print(json.dumps({"id": row["id"], "question": row["question"], "answer": row["answer"],
                          "reference_answers": row["reference_answers"], "human": {"label": float(row["human"]["correct"])}}))
EOF
}
evouna nq
evouna tq

list=
run() { # run SET METRIC
	[ -s "$out/runs/$1/results.jsonl" ] || "$assay" run --data "$out/sets/$1.jsonl" --metrics "$2" -o "$out/runs/$1" >/dev/null
	list+=" $out/runs/$1=$2"
}
mkdir -p "$out/runs"
out=$(cd "$out" && pwd)
run answer_correctness.evouna-tq answer_correctness/token_recall
run answer_correctness.evouna-nq answer_correctness/token_recall
run faithfulness.begin-cmu-tc faithfulness/k_precision_bigrams
run faithfulness.mtrag faithfulness/k_precision_bigrams
run faithfulness.faithdial-audit faithfulness/k_precision_bigrams
cd "$root"
echo "| set | cheap metric | correlation | rows | asked | width, these rows | alike | share | held | width, all such rows | alike | share | held |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
ASSAY_TEST_ACTIVE=$list go test ./internal/budget -run TestLabelledSets -count 1 -timeout 1h | grep '^|' | sed 's/^| [a-z_]*\./| /'
