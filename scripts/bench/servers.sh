#!/usr/bin/env bash
# Compares the calls a second through two servers with those through one, in one run. Prints the ratio.
#
#	scripts/bench/servers.sh [CALLS]
#
# The servers are scripted: four slots each, 20 ms a call, no computing, so that what is compared is how well the pool
# keeps both busy. CALLS (4000) are asked of each.
set -euo pipefail
cd "$(dirname "$0")/../.."
go test ./backend/pool -run '^$' -bench Servers -benchtime "${1:-4000}x" |
	awk '/^BenchmarkServers/ { split($1, name, "[/-]"); rate[name[2]] = $(NF - 1) }
		END { if (!rate[1] || !rate[2]) exit 1
			printf "one server %.1f calls/s, two %.1f: %.2f times\n", rate[1], rate[2], rate[2] / rate[1] }'
