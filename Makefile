# make            build assay
# make demo       set everything up and score the first 16 example rows with two small local models
# make test       set up what the tests need, then run them all: real models and a real Ollama server included
# make lint       gofmt, go vet, staticcheck, govulncheck
# make race       the tests that need no model, under the race detector (needs a C compiler)
# make cross      build for Linux, macOS and Windows, amd64 and arm64
# make setup      fetch the llama.cpp libraries and the models, once
# make clean      remove what was built here; models and caches stay in $ASSAY_HOME or your data folder

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.8.0
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
BUILD = CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)"
RESULTS = demo-results

.PHONY: build setup demo test lint race cross clean help

build:
	$(BUILD) -o assay ./cmd/assay

setup: build
	@scripts/setup.sh

demo: setup
	./assay run --data examples/qa.jsonl --limit 16 --metrics faithfulness,answer_relevance,context_relevance \
		--model tinyllama-q4_0 --embed-model minilm -o $(RESULTS)
	@echo
	@echo "The results lie in $(RESULTS). What to try next:"
	@echo "  ./assay report $(RESULTS)                 the table again, or --format md, csv, json"
	@echo "  ./assay metrics                           what else can be scored"
	@echo "  ./assay run --data YOURS.jsonl -o DIR     your own data"
	@echo "  ./assay models                            the models there are, and how to add a better judge"

test: setup
	@scripts/test.sh

lint:
	@scripts/lint.sh "$(STATICCHECK)" "$(GOVULNCHECK)"

race:
	env -u ASSAY_TEST_LIB -u ASSAY_TEST_OLLAMA CGO_ENABLED=1 go test -race ./...

cross:
	@for os in linux darwin windows; do for arch in amd64 arm64; do \
		echo "build $$os/$$arch"; \
		GOOS=$$os GOARCH=$$arch $(BUILD) -o /dev/null ./cmd/assay || exit 1; \
	done; done

clean:
	rm -rf assay assay.exe $(RESULTS)

help:
	@sed -n 's/^# //p' Makefile
