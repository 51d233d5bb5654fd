#!/usr/bin/env bash
# Compares the short forms of the RAGAS paper's methods with the long ones: what the judge writes for a row, and how far
# verdicts and values agree.
#
#   scripts/short/short.sh DATA ROWS OUT [FLAG...]
#
#   DATA   a dataset, of which the first ROWS rows are scored
#   OUT    the run folder; a run that was interrupted goes on there
#   FLAG   more for assay run: --model, --layout, --reasons
#
# What counts is tokens and verdicts, not time, so the machine may be busy. It needs python3 and a built assay.
set -euo pipefail

data=$1 rows=$2 out=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
long=faithfulness/claims,answer_relevance/questions,context_relevance/sentences
"${ASSAY:-$here/../../assay}" run --data "$data" --limit "$rows" -o "$out" "$@" \
	--metrics "$long,faithfulness/claims_logit,${long//,/_short,}_short" >&2
python3 "$here/table.py" "$out"
