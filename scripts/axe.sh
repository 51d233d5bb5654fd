#!/usr/bin/env bash
# Prints the path of axe-core's script (MPL-2.0), which the browser tests hold pages to; fetches it once. Prints nothing
# where there is no browser to run it in.
set -euo pipefail

cd "$(dirname "$0")/.."
version=4.14.1
[ -n "${ASSAY_TEST_BROWSER:-}" ] || command -v chromium chromium-browser google-chrome >/dev/null || exit 0
tools=$(scripts/setup.sh --home)/tools/axe-core-$version
if [ ! -e "$tools/axe.min.js" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	(cd "$work" && npm pack --silent "axe-core@$version" >/dev/null && tar xzf axe-core-*.tgz)
	mkdir -p "$tools"
	cp "$work/package/axe.min.js" "$work/package/LICENSE" "$tools/"
fi
echo "$tools/axe.min.js"
