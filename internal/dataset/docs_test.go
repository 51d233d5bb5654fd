package dataset

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The page on formats must name every field and column that is recognised, and no other, and its examples must be
// of the formats that they show.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	_, table, ok := strings.Cut(page, "| field | columns |\n|---|---|\n")
	if !ok {
		t.Fatal("the page has no table of columns")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	name := regexp.MustCompile("`([^`]+)`")
	var got []fieldNames
	for row := range strings.Lines(table) {
		var names []string
		for _, m := range name.FindAllStringSubmatch(row, -1) {
			names = append(names, m[1])
		}
		got = append(got, fieldNames{names[0], names[1:]})
	}
	want := fieldColumns
	if !slices.EqualFunc(got, want, func(a, b fieldNames) bool {
		return a.field == b.field && slices.Equal(a.columns, b.columns)
	}) {
		t.Errorf("the page has\n%v\nand recognised is\n%v", got, want)
	}

	for _, ending := range []string{"jsonl", "ndjson", "json", "csv", "tsv", "parquet", "pq", "xlsx", "xlsm", "eval", "trec", "run"} {
		if _, err := formatOf("d."+ending, "", []byte("[")); err != nil || !strings.Contains(page, "`."+ending+"`") {
			t.Errorf(".%s: %v, or not on the page", ending, err)
		}
	}
	for _, key := range []string{"results", "data", "samples", "examples", "rows", "test_cases", "testCases"} {
		if !holdsRows(key) || !strings.Contains(page, "`"+key+"`") {
			t.Errorf("rows in %q: not read, or not on the page", key)
		}
	}

	example := func(format string) string {
		t.Helper()
		_, text, ok := strings.Cut(page, "```"+format+"\n")
		if !ok {
			t.Fatalf("the page shows no %s", format)
		}
		text, _, _ = strings.Cut(text, "```")
		return text
	}
	if !looksTREC([]byte(example("trec"))) {
		t.Error("the run on the page is not recognised as one")
	}
	run := write(t, "page.run", example("trec"))
	for _, format := range []string{"qrels", "beir"} {
		samples, bad, s, err := load(t, run, Options{Qrels: write(t, "qrels", example(format))})
		if err != nil || len(bad) > 0 || len(samples) != 2 || samples[0].Relevance["doc3"] != 1 || s.Rows != 2 {
			t.Errorf("%s: %v, bad %q, %d samples", format, err, bad, len(samples))
		}
	}
}
