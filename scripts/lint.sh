#!/usr/bin/env bash
# Usage: scripts/lint.sh STATICCHECK GOVULNCHECK, each a command's package with its version. Called by make lint.
set -uo pipefail

cd "$(dirname "$0")/.."
failed=0

unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	printf 'lint: gofmt would change:\n%s\n' "$unformatted" >&2
	failed=1
fi

# vulnerabilities runs govulncheck, which asks a database on the network. Where that cannot be reached it has found
# nothing out, and says so; that alone is let pass.
vulnerabilities() {
	local report
	report=$(go run "$1" ./... 2>&1) && return
	if grep -q 'fetching vulnerabilities' <<<"$report"; then
		echo "lint: govulncheck was skipped: $(grep -m1 'fetching vulnerabilities' <<<"$report")" >&2
	else
		printf '%s\n' "$report" >&2
		return 1
	fi
}

for module in . backend/gollama; do # the second builds on the first, so its go.mod can fall behind
	pushd "$module" >/dev/null || exit 1
	go mod tidy -diff || failed=1
	go vet ./... || failed=1
	for os in darwin windows; do
		CGO_ENABLED=0 GOOS=$os go vet ./... || failed=1
	done
	go run "$1" ./... || failed=1
	vulnerabilities "$2" || failed=1
	popd >/dev/null || exit 1
done
exit $failed
