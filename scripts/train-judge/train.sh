#!/usr/bin/env bash
# Trains the encoder judge: MiniLM fine-tuned as a cross-encoder with four outputs. Needs Debian's python3-torch,
# python3-numpy and libopenblas0-pthread (without the last it takes many times as long), and what scripts/setup.sh
# needs, whose package of MiniLM it uses. It can be killed and started again: it goes on from its last checkpoint.
#
#   scripts/train-judge/train.sh --out DIR [--data DIR] [--epochs N] [--pairs N] [--freeze N] [--threads N] ...
#   scripts/train-judge/train.sh --help        names all options
#
# DIR/encoder.gguf is the judge, DIR/MODEL.md says what was measured on held-out questions. To use it, and to see how
# far it agrees with people on data that it was not trained on:
#
#   assay models import --name encoder DIR/encoder.gguf
#   assay run --data FILE --metrics faithfulness/encoder -o RUN
#   assay agree RUN --human FIELD
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
python=${PYTHON:-/usr/bin/python3} # Debian's, which has Debian's PyTorch

"$python" -c 'import numpy, torch' 2>/dev/null || {
	echo "train.sh: $python has no PyTorch: apt-get install python3-torch python3-numpy libopenblas0-pthread" >&2
	exit 1
}
home=$("$root/scripts/setup.sh" --home)
package=$(awk '$1 == "model" && $2 == "minilm" { print $3 }' "$root/scripts/pins.txt")
sum=$(awk '$1 == "model" && $2 == "minilm" { print $4 }' "$root/scripts/pins.txt")
archive=$home/downloads/$(printf '%s' "${package#@}" | tr '/@' '--').tgz
[ -f "$archive" ] || "$root/scripts/setup.sh"
[ "$(sha512sum "$archive" | cut -d' ' -f1)" = "$sum" ] || {
	echo "train.sh: $archive is not the one that scripts/pins.txt names: remove it and run scripts/setup.sh" >&2
	exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xzf "$archive" -C "$work"
# PyTorch's waiting threads would spin and take the CPU from those of OpenBLAS: a fourth of a step and more.
export OMP_WAIT_POLICY=PASSIVE
"$python" "$here/train.py" --model "$work/package/model" --data "$root/../shared/data" "$@"
