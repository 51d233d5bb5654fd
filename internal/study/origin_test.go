package study

import (
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A map holds for the models and prompts that its metric asks, whatever others the runs have.
func TestOrigin(t *testing.T) {
	config := func() *runs.Config {
		return &runs.Config{
			IdentityFields: backend.IdentityFields{
				Judge:    &backend.Identity{Name: "small", Digest: "sha256:1"},
				Embedder: &backend.Identity{Name: "mini", Digest: "sha256:2"},
			},
			Prompts: []prompts.Identity{{Name: "faithfulness_statements", Digest: "sha256:3"},
				{Name: "other", Digest: "sha256:4"}},
			Criteria: "sha256:5",
		}
	}
	check := func(metric, want string, change func(c *runs.Config)) {
		t.Helper()
		run := config()
		c := &runs.Calibration{Metric: metric, Origin: OriginOf(run, metric)}
		change(run)
		err := CheckOrigin(c, run)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", metric, err, want)
		}
	}
	judge := func(c *runs.Config) { c.Judge = &backend.Identity{Name: "large", Digest: "sha256:9"} }
	check("faithfulness/claims", "", func(*runs.Config) {})
	check("faithfulness/claims", "is for another judge, small", judge)
	check("faithfulness/claims", "is for another judge, small", func(c *runs.Config) { c.Judge = nil })
	check("faithfulness/claims", "", func(c *runs.Config) {
		c.Judge = &backend.Identity{Name: "another name",
			Digest: "sha256:1"}
	})
	check("faithfulness/claims", "", func(c *runs.Config) { c.Embedder, c.Criteria = nil, "" })
	check("faithfulness/claims", "another text of the prompt faithfulness_statements",
		func(c *runs.Config) { c.Prompts[0].Digest = "sha256:9" })
	check("faithfulness/claims", "", func(c *runs.Config) { c.Prompts[1].Digest = "sha256:9" })
	check("answer_relevance/questions", "another embedding model, mini", func(c *runs.Config) { c.Embedder = nil })
	check("answer_correctness/contains", "", judge)
	all := func(c *runs.Config) { c.Reasons = metrics.AllReasons }
	check("faithfulness/claims_short", "--reasons doubtful", all)
	check("faithfulness/claims", "", all) // it heeds none
	// Of the user's own metrics it is not known what they ask.
	check("tone/polite", "another judge, small", judge)
	check("tone/polite", "other criteria", func(c *runs.Config) { c.Criteria = "sha256:9" })
}
