#!/usr/bin/env bash
# Measures a run over many machines, with all of them on this one: processes of workers with the Fake engine, and a NATS
# server with file storage. Prints Markdown for docs/cluster.md.
#
#   scripts/cluster.sh [all | workers | overhead | traffic | memory | kills]
#
# ROWS sets how many rows each takes (workers 4800, overhead 50000, traffic 20000, memory 10000000), KILLS how many workers are killed
# (200, and a tenth as often the server).
set -euo pipefail

cd "$(dirname "$0")/.."
what=${1:-all}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go test -c -o "$work/queue.test" ./internal/queue

measure() { # WHAT ROWS [WAIT]
	ASSAY_TEST_SCALE=$1 ASSAY_TEST_SCALE_ROWS=${ROWS:-$2} ASSAY_TEST_SCALE_WAIT=${3:-} TMPDIR=$work \
		"$work/queue.test" -test.run '^TestScale$' -test.timeout 0 >"$work/log" || {
		cat "$work/log" >&2
		exit 1
	}
	grep '^|' "$work/log"
	echo
}

is() { [ "$what" = all ] || [ "$what" = "$1" ]; }

printf '%s, %s processors\n\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" "$(nproc)"
if is workers; then
	printf 'An engine that only waits; %s rows, 25 a unit:\n\n' "${ROWS:-4800}"
	measure workers 4800 100ms
fi
if is overhead; then
	printf 'A metric that takes no time; rows of 4,000 bytes, 1,000 a unit:\n\n'
	measure overhead 50000
fi
if is traffic; then
	printf 'Rows of 4,000 bytes that compress to about a third, 1,000 a unit:\n\n'
	measure traffic 20000
fi
if is memory; then
	printf 'Rows of 40 bytes, 1,000 a unit, two workers:\n\n'
	measure memory 10000000
fi
if is kills; then
	ASSAY_TEST_KILLS=${KILLS:-200} TMPDIR=$work "$work/queue.test" -test.run '^TestKills$' -test.timeout 0 -test.v 2>/dev/null |
		grep -E 'rows; killed|are not as one run|^--- '
fi
