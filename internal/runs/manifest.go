package runs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A Manifest says what a run was: everything that its results depend on, and how it went. It is the
// run.json of a run folder.
type Manifest struct {
	Tool     string   `json:"tool"` // "assay v0.1.0"
	Config   Config   `json:"config"`
	Started  Time     `json:"started"`
	Finished *Time    `json:"finished,omitempty"` // absent while the run is unfinished
	Seconds  float64  `json:"seconds"`            // of work, over all attempts
	Calls    Calls    `json:"calls"`
	Notes    []string `json:"notes,omitempty"` // what a reader of the numbers should know

	// Calibrations are no part of the Config: the scores are the same with and without them.
	Calibrations []GivenCalibration `json:"calibrations,omitempty"`
}

// A Config is the part of a [Manifest] that determines the results. Two runs with one Config are one run.
type Config struct {
	Dataset Dataset  `json:"dataset"`
	Metrics []Metric `json:"metrics"`
	backend.IdentityFields
	Prompts  []prompts.Identity `json:"prompts,omitempty"`
	Layout   prompts.Layout     `json:"layout,omitempty"`   // "row" if some of them have it, absent if all are classic
	Examples string             `json:"examples,omitempty"` // the SHA-256 of the file of few-shot examples
	Criteria string             `json:"criteria,omitempty"` // the digest of the user's own: "sha256:" and 64 hex digits
	Judges   string             `json:"judges,omitempty"`   // the SHA-256 of trained judges' files, joined by commas
	Seed     uint64             `json:"seed"`

	// which verdicts of short forms have a reason; absent where it is the default
	Reasons metrics.Reasons `json:"reasons,omitempty"`
	Budget  *Budget         `json:"budget,omitempty"`

	Corpus *Corpus `json:"corpus,omitempty"` // where metrics looked for evidence

	// the digest of the counts of tokens in the references, where a metric weighs by them
	Frequencies string `json:"frequencies,omitempty"`

	Part *Part `json:"part,omitempty"` // nil: the results are of all rows
}

// A Dataset is where the samples came from.
type Dataset struct {
	Path     string            `json:"path"`   // as it was given; not part of the identity
	SHA256   string            `json:"sha256"` // of its content, decompressed
	Rows     int               `json:"rows"`   // samples to score
	BadRows  int               `json:"bad_rows"`
	Limit    int               `json:"limit,omitempty"`
	Where    []string          `json:"where,omitempty"`  // conditions that the rows fulfil
	Sample   int               `json:"sample,omitempty"` // so many rows were drawn by the run's seed
	Sheet    string            `json:"sheet,omitempty"`  // of a workbook
	Map      map[string]string `json:"map,omitempty"`
	Qrels    string            `json:"qrels,omitempty"`    // SHA-256 of the relevance judgements in a file of their own
	Complete bool              `json:"complete,omitempty"` // judged queries that the dataset lacks were added
	Turns    bool              `json:"turns,omitempty"`    // each turn of a conversation is a sample
}

// A Corpus is documents in which metrics looked for evidence, how they were cut and how passages were found.
type Corpus struct {
	Digest   string `json:"digest"` // of the documents: "sha256:" and 64 hex digits
	Words    int    `json:"passage_words"`
	Overlap  int    `json:"overlap"`
	Retrieve string `json:"retrieve"` // embed, bm25 or both
}

// A Part says which rows of a run a folder holds, where it does not hold all: those of some shards (package shard).
// Each line of its results begins with the row's number.
type Part struct {
	Shards []int `json:"shards"` // their numbers, from 1 on, in order
	Of     int   `json:"of"`     // into so many the rows were divided
	Rows   int   `json:"rows"`   // of those shards
}

// String names the shards: "shard 3 of 8", "shards 1, 3 and 4 of 8".
func (p *Part) String() string {
	return fmt.Sprintf("%s of %d", Shards(p.Shards), p.Of)
}

// Name is a short name for a folder of these shards, of other parts another: "3of8", "3shards-of8".
func (p *Part) Name() string {
	if len(p.Shards) == 1 {
		return fmt.Sprintf("%dof%d", p.Shards[0], p.Of)
	}
	return fmt.Sprintf("%dshards-of%d", len(p.Shards), p.Of)
}

// Shards names shards by their numbers: "shard 3", "shards 1, 3 and 4".
func Shards(numbers []int) string {
	if len(numbers) == 1 {
		return fmt.Sprint("shard ", numbers[0])
	}
	var b strings.Builder
	b.WriteString("shards")
	for i, n := range numbers {
		switch {
		case i > 0 && i == len(numbers)-1:
			b.WriteString(" and")
		case i > 0:
			b.WriteByte(',')
		}
		fmt.Fprint(&b, " ", n)
	}
	return b.String()
}

// A Metric is what a report says of a metric beside its numbers.
type Metric struct {
	Name          string  `json:"name"`
	Doc           string  `json:"doc"`
	Source        string  `json:"source"`
	Min           float64 `json:"min"`
	Max           float64 `json:"max"`
	LowerIsBetter bool    `json:"lower_is_better,omitempty"`
	Draws         int     `json:"draws,omitempty"` // how many times each sample is scored; absent: once
}

// A Budget says which metrics were asked about some of the rows only, and how many.
type Budget struct {
	Rows    int     `json:"rows,omitempty"`  // at most so many for each metric; 0: there is no such limit
	Share   float64 `json:"share,omitempty"` // the same as a share of the rows
	Width   float64 `json:"width,omitempty"` // until the interval is so narrow; 0: there is no such limit
	Metrics []Asked `json:"metrics"`
}

// Asked is a metric that is asked about some rows, and the cheap one, asked about all, whose scores help to draw them.
type Asked struct {
	Metric string `json:"metric"`
	Cheap  string `json:"cheap"`
}

// Calls counts what was asked of the models, over all attempts of a run.
type Calls struct {
	Cached   int64 `json:"cached"`   // answered by the cache
	Computed int64 `json:"computed"` // answered by a model
}

// Share is where v lies in the metric's range, from 0 to 1.
func (m Metric) Share(v float64) float64 {
	if m.Max <= m.Min {
		return 0
	}
	return min(max((v-m.Min)/(m.Max-m.Min), 0), 1)
}

// A Time is a time in UTC with whole seconds.
type Time struct{ time.Time }

// Now is the current Time.
func Now() Time { return Time{time.Now().UTC().Truncate(time.Second)} }

// Rows is the number of rows that have results once the run is finished.
func (c *Config) Rows() int {
	if c.Part != nil {
		return c.Part.Rows
	}
	return c.Dataset.Rows
}

// ID is a short name for the configuration: equal for equal results, whatever the dataset's path.
func (c Config) ID() string {
	c.Dataset.Path = ""
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // unreachable: a Config is plain data
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:4])
}

// Differs names the first thing in which c and d are not the same, for a message; "" if they are.
func (c Config) Differs(d Config) string {
	c.Dataset.Path, d.Dataset.Path = "", ""
	for _, part := range []struct {
		name string
		a, b any
	}{
		{"dataset", c.Dataset, d.Dataset},
		{"file of few-shot examples", c.Examples, d.Examples},
		{"criteria", c.Criteria, d.Criteria},
		{"trained judges", c.Judges, d.Judges},
		{"metrics", c.Metrics, d.Metrics},
		{"layout of the prompts", c.Layout, d.Layout},
		{"prompts", c.Prompts, d.Prompts},
		{"seed", c.Seed, d.Seed},
		{"choice of the verdicts with a reason (--reasons)", c.Reasons, d.Reasons},
		{"budget", c.Budget, d.Budget},
		{"corpus", c.Corpus, d.Corpus},
		{"count of tokens in the references", c.Frequencies, d.Frequencies},
		{"part of the rows (--shard)", c.Part, d.Part},
	} {
		if part.name == "layout of the prompts" {
			if models := c.Models().Differences(d.Models()); len(models) > 0 {
				return models[0].Role.Title()
			}
		}
		a, errA := json.Marshal(part.a)
		b, errB := json.Marshal(part.b)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			return part.name
		}
	}
	return ""
}

// Names lists the metrics of a run in their order.
func (m *Manifest) Names() []string {
	names := make([]string, len(m.Config.Metrics))
	for i, metric := range m.Config.Metrics {
		names[i] = metric.Name
	}
	return names
}

// Find returns what the manifest says of the metric with the given name.
func (m *Manifest) Find(name string) (Metric, error) {
	i := slices.IndexFunc(m.Config.Metrics, func(x Metric) bool { return x.Name == name })
	if i < 0 {
		return Metric{}, fmt.Errorf("the run has no metric %q (it has: %s)", name, strings.Join(m.Names(), ", "))
	}
	return m.Config.Metrics[i], nil
}
