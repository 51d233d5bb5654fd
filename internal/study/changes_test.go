package study

import (
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
)

// harmless are the fields of a configuration that change no sample's score, with the reason. All others are told of.
var harmless = map[string]string{
	"Dataset.Path":             "where the file is",
	"Dataset.Rows":             "follows from the content and the limit",
	"Dataset.BadRows":          "likewise",
	"Dataset.Limit":            "other samples, and the same scores of those in both",
	"Dataset.Where[0]":         "likewise",
	"Dataset.Sample":           "likewise",
	"Part.Shards[0]":           "likewise",
	"Part.Of":                  "likewise",
	"Part.Rows":                "likewise",
	"Metrics[0].Name":          "metrics are matched by their names",
	"Metrics[0].Doc":           "words",
	"Metrics[0].Source":        "words",
	"Metrics[0].Draws":         "stands in the name, by which metrics are paired",
	"Metrics[0].Min":           "another range is an error",
	"Metrics[0].Max":           "likewise",
	"Metrics[0].LowerIsBetter": "how scores are read",
	"Prompts[0].Name":          "belongs to a metric that only one run has",
	"Prompts[0].Version":       "the digest is that of the text",
}

// Two runs whose configurations differ in a field that can change a score are not compared without a word. A new field
// cannot be forgotten.
func TestEveryChangeIsTold(t *testing.T) {
	base, other := &runs.Run{Dir: "base"}, &runs.Run{Dir: "other"}
	now := runs.Now()
	base.Manifest.Finished, other.Manifest.Finished = &now, &now
	runstest.Fill(&base.Manifest.Config)
	c := &other.Manifest.Config
	runstest.Fill(c)
	if list := configChanges(base, other); list != nil {
		t.Fatalf("of equal runs: %q", list)
	}
	seen := map[string]bool{}
	runstest.EachField(c, func(path string, set func(n int)) {
		seen[path] = true
		set(2)
		defer set(1)
		list := configChanges(base, other)
		// another name of the same weights
		name := strings.HasSuffix(path, ".Name") && strings.HasPrefix(path, "IdentityFields.")
		if told := len(list) > 0; told == (harmless[path] != "" || name) {
			t.Errorf("%s was changed: %q", path, list)
		}
	})
	for path := range harmless {
		if !seen[path] {
			t.Errorf("there is no field %s", path)
		}
	}
}

// What is told names what differs.
func TestConfigChanges(t *testing.T) {
	check := func(want string, change func(c *runs.Config)) {
		t.Helper()
		config := func() runs.Config {
			m := runstest.Manifest("a/x")
			m.Config.Judge = &backend.Identity{Engine: "llama", Name: "small", Digest: "sha256:1", Context: 2048}
			m.Config.Embedder = &backend.Identity{Engine: "llama", Name: "mini", Digest: "sha256:2", Context: 512}
			m.Config.Encoder = &backend.Identity{Engine: "llama", Name: "nli", Digest: "sha256:3", Context: 512}
			m.Config.Judges, m.Config.Frequencies = "aa", "sha256:4"
			return m.Config
		}
		base, other := &runs.Run{Dir: "base"}, &runs.Run{Dir: "other"}
		now := runs.Now()
		base.Manifest = runs.Manifest{Config: config(), Finished: &now}
		other.Manifest = runs.Manifest{Config: config(), Finished: &now}
		change(&other.Manifest.Config)
		if got := strings.Join(configChanges(base, other), "; "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	scores := "; the difference is also one of the models that score"
	check("", func(*runs.Config) {})
	check("other: another judge: large, not small"+scores,
		func(c *runs.Config) { c.Judge.Name, c.Judge.Digest = "large", "sha256:9" })
	check("other: another embedding model: mini, not mini"+scores,
		func(c *runs.Config) { c.Embedder.Digest = "sha256:9" })
	check("other: another encoder: nli, not nli"+scores, func(c *runs.Config) { c.Encoder.Digest = "sha256:9" })
	check("other: only one of the runs has an encoder", func(c *runs.Config) { c.Encoder = nil })
	check("other: the encoder on another engine: onnx, not llama", func(c *runs.Config) { c.Encoder.Engine = "onnx" })
	check("other: the judge with another context size: 4096, not 2048", func(c *runs.Config) { c.Judge.Context = 4096 })
	check("other: another trained judge", func(c *runs.Config) { c.Judges = "bb" })
	check("other: other frequencies of tokens in the references, by which some metrics weigh",
		func(c *runs.Config) { c.Frequencies = "" })
	check("other: another corpus to find evidence in, or other passages of it",
		func(c *runs.Config) { c.Corpus = &runs.Corpus{Digest: "sha256:5"} })
	check("other: other columns of the dataset are read (--map)",
		func(c *runs.Config) { c.Dataset.Map = map[string]string{"answer": "output"} })
}
