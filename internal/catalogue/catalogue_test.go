package catalogue

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
)

// two are metrics of one dimension.
func two() []metrics.Metric {
	return []metrics.Metric{
		{Name: "worth/first", Doc: "how | good", Formula: "a/b", Source: "here", Max: 1, Default: true, Needs: metrics.Answer,
			Calls: "1", Asks: metrics.Asks{backend.Judge: backend.CanGenerate}, Settings: []string{"recall"}},
		{Name: "worth/second", Doc: "how bad", Formula: "c", Source: "there", Max: 5, LowerIsBetter: true, Searches: true,
			Calls: "none", Aliases: []string{"later"}},
	}
}

// Each way of saying what a metric is says the same.
func TestSaid(t *testing.T) {
	check := func(what, got string, want ...string) {
		t.Helper()
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("%s: no %q in\n%s", what, text, got)
			}
		}
	}
	var b bytes.Buffer
	Overview(&b, two())
	check("overview", b.String(), "worth      first*, second", "2 methods", "--preset lexical")
	b.Reset()
	Explain(&b, two()[0], prompts.Set{})
	check("first", b.String(), "worth/first*\n  how | good\n", "set by  @recall", "range   0 to 1 (best)", "needs   answer",
		"models  a judge that can")
	b.Reset()
	Describe(&b, two()[1])
	check("second", b.String(), "also    later", "range   0 (best) to 5", "documents (--corpus)", "models  none")
	b.Reset()
	if err := Page(t.Context(), &b, two(), ""); err != nil {
		t.Fatal(err)
	}
	check("page", b.String(), "## worth\n", "| `first`* `@recall` | how \\| good | a/b | 0 to 1 | answer | judge: 1 | here |",
		"| `second` also `later` | how bad | c | 5 to 0 |")
	rows, err := json.Marshal(Rows(two()))
	if err != nil {
		t.Fatal(err)
	}
	check("rows", string(rows), `"name":"worth/first"`, `"lower_is_better":true`, `"aliases":["later"]`)
	if err := Page(t.Context(), &b, two(), "catalogue.go"); err == nil {
		t.Error("what is no report is taken for one")
	}
}

// The methods of a dimension are all that begin with it, and nothing that only looks alike.
func TestMethods(t *testing.T) {
	list := all.All()
	found := Methods(list, "faithfulness")
	if len(found) < 5 || len(Methods(list, "faith")) != 0 || len(list) != len(all.All()) {
		t.Errorf("%d methods", len(found))
	}
}
