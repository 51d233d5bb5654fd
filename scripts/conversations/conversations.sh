#!/usr/bin/env bash
# Tells what the turns before a question are worth to a metric: the same rows with their history and without it, and by
# Spearman's correlation with the raters' means which of the two people agree with more (docs/claims.md).
#
#   scripts/conversations/conversations.sh MTRAG.jsonl OUT METRICS LABELS [ROWS]
#
#   MTRAG    rows with history and human.LABEL, a list with one rating a rater
#   OUT      a folder for datasets and runs; what is done there is not done again
#   METRICS  such as answer_relevance/encoder,context_relevance/encoder
#   LABELS   such as appropriateness,completeness
#   ROWS     the most rows, spread over the file (all); rows without a history are left out, as they are the same in both
#
# It needs python3 and a built assay; JUDGE is the judge's name, FLAGS more for assay run. The encoder that comes with
# Assay needs neither: all of mtRAG's 177 rows of later turns in a few minutes on two cores.
set -euo pipefail

data=$1 out=$2 metrics=$3 labels=$4 rows=${5:-0}
here=$(cd "$(dirname "$0")" && pwd)
assay=${ASSAY:-$here/../../assay}

mkdir -p "$out"
python3 "$here/table.py" rows "$data" "$out" "$rows"
for kind in with without; do
	"$assay" run --data "$out/$kind.jsonl" --metrics "$metrics" ${JUDGE:+--model "$JUDGE"} ${FLAGS:-} -o "$out/run-$kind"
done
python3 "$here/table.py" table "$out" "$metrics" "$labels"
