#!/usr/bin/env bash
# Builds the Ollama server that the tests run against, once, and prints the path of its binary.
#
#	scripts/ollama.sh [FOLDER]
#
# FOLDER is where the binary goes: by default tools/ollama-VERSION in Assay's data folder. The version is go.mod's.
# The build takes some minutes, a C++ compiler and the headers of nlohmann-json and stb. Nothing is installed.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
malgo=github.com/gen2brain/malgo@v0.11.24
malgo_sum=h1:hHcIJVfzWcEDHFdPl5Dl/CUSOjzOleY0zzAV8Kx+imE=

fail() {
	printf 'scripts/ollama.sh: %s\n' "$*" >&2
	exit 1
}

# data_folder prints Assay's data folder, as the program itself chooses it.
data_folder() {
	if [ -n "${ASSAY_HOME:-}" ]; then
		printf '%s\n' "$ASSAY_HOME"
	elif [ -n "${XDG_DATA_HOME:-}" ]; then
		printf '%s/assay\n' "$XDG_DATA_HOME"
	elif [ "$(uname -s)" = Darwin ]; then
		printf '%s/Library/Application Support/assay\n' "$HOME"
	else
		printf '%s/.local/share/assay\n' "$HOME"
	fi
}

# field NAME prints a field of what "go mod download -json" printed.
field() {
	sed -n 's/^.*"'"$1"'": "\(.*\)",*$/\1/p'
}

# compiles HEADER reports whether the C++ compiler finds a header.
compiles() {
	printf '#include <%s>\n' "$1" | "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1
}

# machine_flags prints the flags for this machine's instruction set, where the compiler's default lags far behind.
machine_flags() {
	case $(go env GOARCH) in
	amd64)
		local flags
		flags=$(cat /proc/cpuinfo 2>/dev/null || sysctl -n machdep.cpu 2>/dev/null || true)
		if grep -qiw avx2 <<<"$flags" && grep -qiw fma <<<"$flags" && grep -qiw bmi2 <<<"$flags"; then
			printf '%s' -march=x86-64-v3
		fi
		;;
	esac
}

# include FOLDER sees that every header is there, and puts into the folder the one that no package of a system has.
include() {
	local json
	command -v "${CXX:-c++}" >/dev/null || fail "no C++ compiler: install one (Debian: apt-get install g++)"
	compiles nlohmann/json.hpp && compiles stb/stb_image.h ||
		fail "headers are missing: install them (Debian: apt-get install nlohmann-json3-dev libstb-dev)"
	json=$(cd "$1" && GOFLAGS= GOWORK=off go mod download -json "$malgo")
	[ "$(field Sum <<<"$json")" = "$malgo_sum" ] || fail "$malgo is not what it was: its checksum differs"
	mkdir -p "$1/miniaudio"
	cp -f "$(field Dir <<<"$json")/miniaudio.h" "$1/miniaudio/miniaudio.h"
}

# build SOURCE INCLUDE FILE builds the server. What was compiled stays in Go's build cache, so that a build that was
# interrupted goes on from there.
build() {
	local flags
	flags="-O3 $(machine_flags)"
	cd "$1" && GOWORK=off CGO_ENABLED=1 CGO_CPPFLAGS="-I$2" CGO_CFLAGS="$flags" CGO_CXXFLAGS="$flags" \
		go build -mod=mod -trimpath -ldflags "-s -w -X github.com/ollama/ollama/version.Version=$version" -o "$3" .
}

command -v go >/dev/null || fail "go is not installed: see https://go.dev/dl"
version=$(cd "$root" && go list -m -f '{{.Version}}' github.com/ollama/ollama)
version=${version#v}
folder=${1:-$(data_folder)/tools/ollama-$version}
binary=$folder/ollama
if [ -x "$binary" ]; then
	printf '%s\n' "$binary"
	exit
fi

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
binary=$folder/ollama
lock=$folder/building

# One build at a time: another one that runs is waited for, one that died is taken over. (Should two take over
# at once, both build, and the result is as good.)
until ln -s $$ "$lock" 2>/dev/null; do
	if kill -0 "$(readlink "$lock")" 2>/dev/null; then
		sleep 1
	else
		rm -f "$lock"
	fi
done
work=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$work" "$lock"' EXIT
trap 'exit 130' INT TERM

if [ ! -x "$binary" ]; then
	echo "scripts/ollama.sh: building Ollama $version, once (some minutes)" >&2
	mkdir -p "$folder/include" # always the same, for the build cache goes by it
	include "$folder/include"
	source=$(cd "$root" && go mod download -json github.com/ollama/ollama | field Dir)
	if ! (build "$source" "$folder/include" "$work/ollama") >"$work/log" 2>&1; then
		tail -n 40 "$work/log" >&2
		fail "the build failed"
	fi
	OLLAMA_HOST=127.0.0.1:1 "$work/ollama" --version 2>&1 | grep -qF "$version" ||
		fail "the server that was built does not run"
	mv "$work/ollama" "$binary"
fi
printf '%s\n' "$binary"
