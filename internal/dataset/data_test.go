package dataset

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-eval/assay/metrics"
)

// The sample dataset is read by the tour, and its labels by whoever tries out agreement with people.
func TestExamples(t *testing.T) {
	samples, bad, s, err := load(t, "../../examples/qa.jsonl", Options{})
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	if s.Rows < 24 || s.Filled[metrics.References] != s.Rows || s.Filled[metrics.Contexts] > s.Rows-2 {
		t.Errorf("%d rows, %v", s.Rows, s.Filled)
	}
	if err := s.Need(metrics.Question | metrics.Answer | metrics.Contexts | metrics.References); err != nil {
		t.Error(err)
	}
	questions := map[string]string{}
	for _, sample := range samples {
		var human struct {
			Faithfulness     *int  `json:"faithfulness"`
			ContextRelevance *int  `json:"context_relevance"`
			AnswerRelevance  int   `json:"answer_relevance"`
			Correct          *bool `json:"correct"`
		}
		if err := json.Unmarshal(sample.Extra["human"], &human); err != nil {
			t.Errorf("%s: human: %v", sample.ID, err)
			continue
		}
		label := func(v *int) bool { return v != nil && *v >= 1 && *v <= 4 }
		hasContexts := sample.Fields().Has(metrics.Contexts)
		if label(human.Faithfulness) != hasContexts || label(human.ContextRelevance) != hasContexts ||
			!label(&human.AnswerRelevance) || human.Correct == nil {
			t.Errorf("%s: labels %s", sample.ID, sample.Extra["human"])
		}
		// Answers to one question are not independent, and must say so.
		if group, seen := questions[sample.Question]; seen && (group == "" || group != sample.Group) {
			t.Errorf("%s: group %q, but another answer to its question has %q", sample.ID, sample.Group, group)
		}
		questions[sample.Question] = sample.Group
	}
}

func TestExampleConversations(t *testing.T) {
	samples, bad, s, err := load(t, "../../examples/conversations.jsonl", Options{})
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	if err := s.Need(metrics.Question | metrics.Answer | metrics.History | metrics.References | metrics.ToolCalls |
		metrics.ReferenceToolCalls | metrics.ReferenceTopics); err != nil {
		t.Error(err)
	}
	for _, sample := range samples {
		var human struct {
			Goal    *bool `json:"goal"`
			OnTopic *bool `json:"on_topic"`
		}
		fields := sample.Fields()
		if err := json.Unmarshal(sample.Extra["human"], &human); err != nil ||
			(human.Goal != nil) != fields.Has(metrics.References) ||
			(human.OnTopic != nil) != fields.Has(metrics.ReferenceTopics) {
			t.Errorf("%s: labels %s, %v", sample.ID, sample.Extra["human"], err)
		}
		if fields.Has(metrics.ReferenceToolCalls) != fields.Has(metrics.ToolCalls) {
			t.Errorf("%s: calls %v, wanted %v", sample.ID, sample.ToolCalls, sample.ReferenceToolCalls)
		}
	}
}

// sharedData finds a file of the human-labelled data that development uses.
func sharedData(t *testing.T, name string) string {
	dir := os.Getenv("ASSAY_TEST_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s: set ASSAY_TEST_DATA to the folder of the development data", path)
	}
	return path
}

func TestSharedData(t *testing.T) {
	check := func(name string, rows int, need metrics.Field) {
		t.Run(name, func(t *testing.T) {
			_, bad, s, err := load(t, sharedData(t, name), Options{})
			if err != nil || len(bad) > 0 {
				t.Fatal(err, bad)
			}
			if s.Rows != rows {
				t.Errorf("%d rows, want %d", s.Rows, rows)
			}
			if err := s.Need(need); err != nil {
				t.Error(err)
			}
		})
	}
	qa := metrics.Question | metrics.Answer
	check("mtrag.dev.jsonl", 213, qa|metrics.Contexts|metrics.References|metrics.History)
	check("evouna-nq.dev.jsonl", 7479, qa|metrics.References)
	check("evouna-tq.dev.jsonl", 4615, qa|metrics.References)
	check("ares-databricks.dev.jsonl", 101, qa|metrics.Contexts)
	check("llmbar.dev.jsonl", 201, metrics.Question)
	check("train/ares-synthetic-nq_synthetic_queries.jsonl.gz", 3000, metrics.Question|metrics.Contexts)
}
