package dataset

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
)

const (
	asked   = "When does the library close on Fridays?"
	replied = "It closes at six."
	first1  = "On Fridays the library closes at six."
	second  = "The reading room is on the second floor."
)

// Every file in testdata/traces tells of the same question, in the form of another tool, and is read without a flag.
func TestTraces(t *testing.T) {
	both, ids := []string{first1, second}, []string{"c1", "c2"}
	called := []metrics.ToolCall{{Name: "opening_hours", Args: map[string]json.RawMessage{"day": json.RawMessage(`"Friday"`)}}}
	spoken := []metrics.Turn{{Role: "user", Said: "Hello."}, {Role: "assistant", Said: "Good day."}}
	const (
		otlp    = "OTLP spans"
		noDocs  = "no retrieval was recorded"
		idsOnly = "have ids and no text"
	)
	for file, want := range map[string]struct {
		format string
		sample metrics.Sample
		notes  []string
	}{
		"openinference.jsonl": {"OpenInference: OTLP spans (json", metrics.Sample{ID: "5b8efff798038103d269b633813fc60c", Group: "s1", Contexts: both,
			ContextIDs: ids, ToolCalls: called}, []string{"documents: 1"}},
		"openinference_pretty.json": {"OpenInference: OTLP spans (json", metrics.Sample{ID: "5b8efff798038103d269b633813fc60c", Group: "s1", Contexts: both,
			ContextIDs: ids, ToolCalls: called}, nil},
		"genai.jsonl": {otlp, metrics.Sample{ID: "5b8efff798038103d269b633813fc60c", Group: "s1", ContextIDs: ids, ToolCalls: called,
			History: spoken}, []string{idsOnly, "the root span has no input", "the root span has no output"}},
		"genai_events.jsonl": {otlp, metrics.Sample{ID: "5b8efff798038103d269b633813fc60c", History: []metrics.Turn{{Role: "system",
			Said: "Be short."}}}, []string{noDocs}},
		"openllmetry.jsonl": {otlp, metrics.Sample{ID: "5b8efff798038103d269b633813fc60c", Group: "s1", ToolCalls: called},
			[]string{noDocs}},
		"phoenix_spans.jsonl": {"OpenInference spans (Phoenix)", metrics.Sample{ID: "t1", Group: "s1", Contexts: both, ContextIDs: ids}, nil},
		"phoenix_api.json":    {"OpenInference spans (Phoenix)", metrics.Sample{ID: "t1", Group: "s1", Contexts: both, ContextIDs: ids}, nil},
		"phoenix_documents.jsonl": {"Phoenix retrieved documents", metrics.Sample{ID: "sp1", Contexts: both},
			[]string{"no output was recorded"}},
		"phoenix_qa.jsonl": {"Phoenix questions with contexts", metrics.Sample{ID: "sp0", Group: "t1",
			Contexts: []string{first1 + "\n\n" + second}}, []string{"joined to one text"}},
		"langfuse.jsonl":       {"Langfuse", metrics.Sample{ID: "t1", Group: "s1", Contexts: both, ContextIDs: ids, ToolCalls: called}, nil},
		"langfuse.csv":         {"Langfuse", metrics.Sample{ID: "t1", Group: "s1", Contexts: both, ContextIDs: ids, ToolCalls: called}, nil},
		"langfuse_traces.json": {"Langfuse", metrics.Sample{ID: "t1", Group: "s1"}, []string{noDocs}},
		"langsmith.jsonl": {"LangSmith runs", metrics.Sample{ID: "t1", Group: "s1", Contexts: both, ToolCalls: called, History: spoken},
			nil},
		"langsmith_strings.jsonl": {"LangSmith runs", metrics.Sample{ID: "t1", Group: "s1", Contexts: both, ToolCalls: called,
			History: spoken}, nil},
		"mlflow.json": {"MLflow traces", metrics.Sample{ID: "tr-1", Group: "s1", Contexts: both, ContextIDs: ids, ToolCalls: called}, nil},
		"mlflow_frame.jsonl": {"MLflow traces", metrics.Sample{ID: "tr-1", Group: "s1", Contexts: both, ContextIDs: ids,
			ToolCalls: called}, nil},
		"llamaindex.json":     {"LlamaIndex", metrics.Sample{ID: "row-1", Contexts: both, ContextIDs: ids}, nil},
		"haystack.json":       {"Haystack", metrics.Sample{ID: "row-1", Contexts: both, ContextIDs: ids}, nil},
		"haystack_bare.jsonl": {"Haystack", metrics.Sample{ID: "row-1", Contexts: both, ContextIDs: ids}, nil},
		"langchain.jsonl":     {"LangChain", metrics.Sample{ID: "row-1", Contexts: both, ContextIDs: ids}, nil},
		"lm_eval.jsonl": {"lm-evaluation-harness", metrics.Sample{ID: "7/strict-match", Group: "7", References: []string{"At six."}},
			[]string{"compares likelihoods"}},
		"inspect.json": {"Inspect log", metrics.Sample{ID: "1", Group: "1", References: []string{"At six."}, ToolCalls: called,
			History: []metrics.Turn{{Role: "system", Said: "Be short."}}}, []string{"--map contexts=metadata.MEMBER"}},
		"inspect.eval": {"Inspect log", metrics.Sample{ID: "1", Group: "1", References: []string{"At six."}, ToolCalls: called,
			History: []metrics.Turn{{Role: "system", Said: "Be short."}}}, []string{"--map contexts=metadata.MEMBER"}},
		// written by OpenTelemetry's own exporter for JavaScript with OpenInference's names of attributes
		"openinference_js.jsonl": {"OpenInference: OTLP spans (json", metrics.Sample{ID: "8da517853fe3e8517d74259ef586816e",
			Group: "s1", Contexts: both, ContextIDs: ids, ToolCalls: called}, nil},
		"promptfoo.json": {"promptfoo", metrics.Sample{ID: "test-0/prompt-0", Group: "test-0", Contexts: both[:1],
			References: []string{"At six."}}, nil},
		// written by promptfoo 0.123.1 itself, with its provider echo
		"promptfoo_cli.json": {"promptfoo", metrics.Sample{ID: "test-0/prompt-0", Group: "test-0", Contexts: both[:1],
			References: []string{replied}}, nil},
		"deepeval.json": {"DeepEval", metrics.Sample{ID: "row-1", Contexts: both, References: []string{"At six."},
			ReferenceContexts: both[:1], ToolCalls: called}, nil},
		"ragas.jsonl":     {"Ragas", metrics.Sample{ID: "row-1", Contexts: both, References: []string{"At six."}}, nil},
		"ragchecker.json": {"RAGChecker", metrics.Sample{ID: "q1", Contexts: both, ContextIDs: ids, References: []string{"At six."}}, nil},
	} {
		samples, bad, s, err := load(t, filepath.Join("testdata/traces", file), Options{})
		if err != nil || len(bad) > 0 || len(samples) == 0 {
			t.Errorf("%s: %v, bad %v, %d samples", file, err, bad, len(samples))
			continue
		}
		got := *samples[0]
		got.Extra = nil
		want.sample.Question = asked
		if file != "phoenix_documents.jsonl" {
			want.sample.Answer = replied
		}
		if !reflect.DeepEqual(got, want.sample) {
			t.Errorf("%s:\nhave %+v\nwant %+v", file, got, want.sample)
		}
		if !strings.Contains(s.Format, want.format) {
			t.Errorf("%s: format %q", file, s.Format)
		}
		for _, note := range want.notes {
			if !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, note) }) {
				t.Errorf("%s: no note on %q in %q", file, note, s.Notes)
			}
		}
		if len(want.notes) != len(s.Notes) {
			t.Errorf("%s: notes %q", file, s.Notes)
		}
	}
	files, err := os.ReadDir("testdata/traces")
	if err != nil || len(files) != 29 {
		t.Errorf("%d files, %v: each must be tested", len(files), err)
	}
}

// What promptfoo found wrong is a row like any other.
func TestPromptfooRows(t *testing.T) {
	samples, bad, _, err := load(t, "testdata/traces/promptfoo_cli.json", Options{})
	if err != nil || len(bad) > 0 || len(samples) != 2 {
		t.Fatalf("%d rows, bad %v: %v", len(samples), bad, err)
	}
	s := samples[1]
	if s.Question != "May dogs come in?" || s.Answer != "All dogs may." || len(s.Contexts) != 2 || s.References != nil ||
		string(s.Extra["success"]) != "false" || string(s.Extra["score"]) != "0" || !strings.Contains(string(s.Extra["metadata"]), `"dogs"`) {
		t.Errorf("the second row is %+v", s)
	}
}
