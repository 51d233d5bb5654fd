package view

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// exampleRuns makes two runs on the example dataset: faithfulness by words, as a judge's claims look, and three scores
// beside it. The second run's answers lack their last words.
func exampleRuns(t testing.TB, dir string) []string {
	t.Helper()
	data := filepath.Join("..", "..", "examples", "qa.jsonl")
	path, err := filepath.Abs(data)
	if err != nil {
		t.Fatal(err)
	}
	samples := samplesOf(t, path)
	var rows []string
	for _, s := range samples {
		other := *s
		if words := strings.Fields(s.Answer); len(words) > 8 {
			other.Answer = strings.Join(words[:len(words)*2/3], " ") + "."
		}
		line, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, string(line))
	}
	shorter := filepath.Join(dir, "shorter.jsonl")
	write(t, shorter, strings.Join(rows, "\n")+"\n")
	return []string{exampleRun(t, filepath.Join(dir, "longer-answers"), path), exampleRun(t, filepath.Join(dir, "shorter-answers"), shorter)}
}

func samplesOf(t testing.TB, path string) []*metrics.Sample {
	t.Helper()
	data, err := dataset.Open(t.Context(), path, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	var list []*metrics.Sample
	for s, err := range data.Samples(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// exampleRun writes a finished run on a dataset.
func exampleRun(t testing.TB, dir, path string) string {
	t.Helper()
	m := runstest.Manifest("faithfulness/claims", "answer_relevance/questions", "context_relevance/sentences", "answer_correctness/claims_f1")
	m.Config.Metrics[0].Doc = "share of the answer's statements that are supported by the contexts"
	data, err := dataset.Open(t.Context(), path, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.Config.Dataset = runs.Dataset{Path: path, SHA256: data.Summary().SHA256, Rows: data.Summary().Rows}
	data.Close()
	var results []metrics.Result
	for i, s := range samplesOf(t, path) {
		claims := metrics.Result{Sample: s.ID, Metric: m.Config.Metrics[0].Name, Calls: []string{strings.Repeat("ab", 32)}}
		score, ok := claimsByWords(s)
		switch {
		case i == 11:
			claims.Error, claims.Kind = "the reply is no list of verdicts, in 3 draws", metrics.BadReply
		case ok:
			claims.Score = &score
		default:
			claims.Error, claims.Kind = "no contexts", metrics.NotApplicable
		}
		results = append(results, claims)
		for _, other := range m.Config.Metrics[1:] {
			h := fnv.New32a()
			h.Write([]byte(other.Name + s.ID))
			h.Write([]byte(other.Name + s.ID))
			results = append(results, runstest.Scored(s.ID, other.Name, float64(20+h.Sum32()%80)/100))
		}
	}
	runstest.Write(t, dir, m, results...)
	return dir
}

// claimsByWords takes each sentence of the answer for a statement, which is supported if a sentence of a context has
// two thirds of its words.
func claimsByWords(s *metrics.Sample) (metrics.Score, bool) {
	var because []metrics.Finding
	n := 0
	for _, claim := range tokenize.Sentences(s.Answer) {
		best, reason := 0.0, ""
		for _, c := range s.Contexts {
			for _, sentence := range tokenize.Sentences(c) {
				has := strings.Join(tokenize.Words(sentence.Text), " ")
				hits, words := 0.0, tokenize.Words(claim.Text)
				for _, w := range words {
					if strings.Contains(has, w) {
						hits++
					}
				}
				if share := hits / float64(len(words)); share > best {
					best, reason = share, sentence.Text
				}
			}
		}
		ok := best > 0.66
		if ok {
			n++
		}
		because = append(because, metrics.Finding{Kind: "claim", Text: claim.Text, Verdict: &ok, Value: &best, Reason: reason})
	}
	if len(because) == 0 || len(s.Contexts) == 0 {
		return metrics.Score{}, false
	}
	return metrics.Portion(n, len(because), because), true
}

// exampleAnswer is an answer of a model that tries to be markup.
func exampleAnswer(_ context.Context, key string) (*cache.Entry, error) {
	if key != strings.Repeat("ab", 32) {
		return nil, errors.New("no answer with that key")
	}
	return &cache.Entry{Op: "score", Engine: "llama.cpp", Model: "judge",
		Request: json.RawMessage(`{"messages":[{"role":"user","text":"Is it so? <script>alert(1)</script>"}],"continuations":["yes","no"]}`),
		Answer:  json.RawMessage(`{"logprobs":[[-0.35667494],[-1.2039728]],"prompt_tokens":9}`)}, nil
}
