#!/usr/bin/env bash
# The step of action.yml: builds assay, fetches what models it is told to, scores, and reports to GitHub. Its inputs are
# the variables INPUT_*, which action.yml describes; it exits with the status of assay report, 3 for a bound that was
# missed. With ASSAY it runs that binary and builds nothing.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
run=${INPUT_RUN:-assay-run}

if [ -z "${ASSAY:-}" ]; then
	ASSAY=${RUNNER_TEMP:-$(mktemp -d)}/assay
	(cd "$root" && CGO_ENABLED=0 go build -trimpath -o "$ASSAY" ./cmd/assay)
fi
export ASSAY
case ${INPUT_MODELS:-demo} in
demo) "$root/scripts/setup.sh" --demo ;;
all) "$root/scripts/setup.sh" ;;
none) ;;
*)
	echo "::error title=assay::models is ${INPUT_MODELS}: it is demo, all or none" | head -1
	exit 2
	;;
esac

# lines FLAG TEXT adds the flag with each line of the text to args, and without FLAG the lines themselves.
lines() {
	local line
	while IFS= read -r line; do
		line=${line#"${line%%[![:space:]]*}"}
		line=${line%"${line##*[![:space:]]}"}
		if [ -n "$line" ]; then args+=(${1:+"$1"} "$line"); fi
	done <<<"$2"
}

if [ -n "${INPUT_DATA:-}" ]; then
	args=(--data "$INPUT_DATA" -o "$run" --format md)
	if [ -n "${INPUT_METRICS:-}" ]; then args+=(--metrics "$INPUT_METRICS"); fi
	if [ -n "${INPUT_PRESET:-}" ]; then args+=(--preset "$INPUT_PRESET"); fi
	lines "" "${INPUT_ARGS:-}"
	"$ASSAY" run "${args[@]}" >/dev/null
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then printf 'run=%s\n' "${run//$'\n'/ }" >>"$GITHUB_OUTPUT"; fi

args=("$run" --format github --rows "${INPUT_ROWS:-10}")
if [ -n "${INPUT_BY:-}" ]; then args+=(--by "$INPUT_BY"); fi
if [ -n "${INPUT_BASELINE:-}" ]; then args+=(--baseline "$INPUT_BASELINE"); fi
lines --fail-under "${INPUT_FAIL_UNDER:-}"
lines --max-drop "${INPUT_MAX_DROP:-}"
exec "$ASSAY" report "${args[@]}"
