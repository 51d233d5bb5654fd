# make            build assay
# make demo       score the example dataset with the small judges that come with Assay
# make demo-llm   the same with a small language model: the first 16 rows by the metrics of the RAGAS paper, in minutes
# make test       set up what the tests need, then run them all: real models, a real Ollama server and a real llama-server included
# make lint       gofmt, go mod tidy, go vet, staticcheck, govulncheck, in both modules
# make race       the tests that need no model, under the race detector (needs a C compiler)
# make cross      build for Linux, macOS and Windows, amd64 and arm64
# make setup      fetch the llama.cpp libraries and the models, once
# make clean      remove what was built here; models and caches stay in $ASSAY_HOME or your data folder

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.8.0
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
BUILD = CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)"
RESULTS = demo-results

.PHONY: build setup demo demo-llm test lint race cross clean help

build:
	$(BUILD) -o assay ./cmd/assay

setup: build
	@scripts/setup.sh

demo: build
	@scripts/setup.sh --demo
	./assay run --data examples/qa.jsonl --preset local --encoder-model encoder-judge --embed-model minilm -o $(RESULTS)
	@echo
	@echo "The results lie in $(RESULTS). What to try next:"
	@echo "  ./assay show $(RESULTS) kettle-b          a row's scores, and what they rest on"
	@echo "  ./assay report $(RESULTS)                 the table again, or --format html, md, csv, json"
	@echo "  ./assay metrics                             what else can be scored"
	@echo "  ./assay run --data YOURS.jsonl --preset local -o DIR"
	@echo "  make demo-llm                               a language model as the judge, with its reasons"

demo-llm: setup
	./assay run --data examples/qa.jsonl --limit 16 --metrics faithfulness,answer_relevance,context_relevance \
		--model tinyllama-q4_0 --embed-model minilm -o $(RESULTS)-llm

test: setup
	@scripts/test.sh

lint:
	@scripts/lint.sh "$(STATICCHECK)" "$(GOVULNCHECK)"

race:
	env -u ASSAY_TEST_LIB -u ASSAY_TEST_OLLAMA -u ASSAY_TEST_LLAMA_SERVER CGO_ENABLED=1 go test -race -timeout 30m ./...
	cd backend/gollama && CGO_ENABLED=1 go test -race ./...

cross:
	@for os in linux darwin windows; do for arch in amd64 arm64; do \
		echo "build $$os/$$arch"; \
		GOOS=$$os GOARCH=$$arch $(BUILD) -o /dev/null ./cmd/assay || exit 1; \
	done; done

clean:
	rm -rf assay assay.exe $(RESULTS) $(RESULTS)-llm

help:
	@sed -n 's/^# //p' Makefile
