#!/usr/bin/env bash
# Fits the judges that come with Assay (metrics/all/blends) to people's labels, and writes docs/agreement.md: how far each
# cheap metric agrees with people on each labelled set.
#
#   scripts/agreement/agreement.sh DATA OUT BASE [JUDGE]
#
#   DATA   the folder of labelled sets, as in scripts/train-judge
#   OUT    a folder for datasets and runs; what is done there is not done again
#   BASE   the encoder after the first stage of training, which has seen none of the sources that are fitted to
#   JUDGE  the encoder after its last stage (default: encoder-judge), with which the blends are used
#
# A blend is fitted to what BASE says, since JUDGE was trained on some of those rows and would be trusted too much.
# The sets that nothing was trained on or fitted to are then scored with JUDGE. It needs python3 and a built assay.
set -euo pipefail

data=$1 out=$2 base=$3 judge=${4:-encoder-judge}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
assay=${ASSAY:-$root/assay}
embed=${EMBED:-minilm}

features() {
	case $1 in
	faithfulness) echo faithfulness/{encoder,encoder_least,contradiction,k_precision,k_precision_bigrams,cosine,alignment} ;;
	context_relevance) echo context_relevance/{encoder,cosine,token_precision} ;;
	answer_relevance) echo answer_relevance/{encoder,cosine,token_recall} ;;
	answer_correctness) echo answer_correctness/{encoder,alignment,token_recall,token_f1} answer_similarity/cosine ;;
	completeness) echo faithfulness/{encoder,k_precision,k_precision_bigrams,cosine,alignment} answer_relevance/{encoder,cosine} ;;
	esac
}

# score SET ENCODER [METRIC] scores a set by the features of its dimension, and a metric more.
score() {
	local set=$1 encoder=$2 dimension=${1%%.*} list
	list=$(features "$dimension" | tr ' ' ',')${3:+,$3}
	"$assay" run --data "$out/sets/$set.jsonl" --metrics "$list" --encoder-model "$encoder" --embed-model "$embed" \
		-o "$out/runs/$set" >"$out/log/$set" 2>&1 || {
		cat "$out/log/$set" >&2
		exit 1
	}
}

agree() { "$assay" agree "$out/runs/$1" --human label --format json >"$out/log/$1.agree.json"; }

mkdir -p "$out/log" "$out/fits"
[ -d "$out/sets" ] || python3 "$here/rows.py" "$data" "$out/sets"
tests() { cd "$out/sets" && ls ./*.mtrag.jsonl ./*.ares-databricks.jsonl | sed 's/^..//; s/.jsonl$//'; }
within() { cd "$out/sets" && ls ./*-systems.jsonl ./*.llmbar.jsonl | sed 's/^..//; s/.jsonl$//'; }
sources() { cd "$out/sets" && ls "$1".*.jsonl | grep -v -e mtrag -e ares-databricks -e systems -e llmbar | sed 's/.jsonl$//'; }

for dimension in faithfulness context_relevance answer_relevance answer_correctness; do
	runs=()
	for set in $(sources "$dimension"); do
		score "$set" "$base"
		agree "$set"
		runs+=("$out/runs/$set")
	done
	"$assay" judge train "${runs[@]}" --dimension "$dimension" --human label --by-source \
		-o "$out/fits/$dimension.json" --format json >"$out/log/$dimension.fit.json"
done
path=$("$assay" models inspect "$judge" --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)["path"])')
python3 "$here/blends.py" "$out/fits" "sha256:$(sha256sum "$path" | cut -d' ' -f1)" "$root/metrics/all/blends"
(cd "$root" && make build >/dev/null)
for set in $(tests); do
	score "$set" "$judge" "$(case $set in completeness.*) echo faithfulness/blend,answer_relevance/blend ;; answer_relevance.ares*) echo answer_relevance/blend,answer_relevance/ares_encoder ;; *) echo "${set%%.*}/blend" ;; esac)"
	agree "$set"
done
for set in $(within); do
	score "$set" "$judge" "${set%%.*}/blend"
done
python3 "$here/table.py" "$out" >"$root/docs/agreement.md"
