package retrieval

import (
	"errors"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
)

func TestContextCorrectness(t *testing.T) {
	// Relevant at ranks 2 and 4 of 4, of three that should have been retrieved.
	ids := &metrics.Sample{ContextIDs: []string{"x", "a", "y", "b"}, ReferenceContextIDs: []string{"a", "b", "c", "a"}}
	texts := &metrics.Sample{
		Contexts: []string{"The pier.", "A ferry costs 14 euros!", "It rains.", "It sails daily"},
		ReferenceContexts: []string{"a ferry costs 14 euros", "It  sails daily.", "The captain is Ann.",
			"a ferry costs 14 euros."},
	}
	for name, want := range map[string]string{
		"mrr": "0.5", "map": "0.5", "match": "1", "match@1": "0", "match@2": "1",
		"precision": "0.5", "precision@2": "0.5", "precision@3": "0.3333", "precision@40": "0.5",
		"recall": "0.6667", "recall@3": "0.3333", "recall@40": "0.6667",
	} {
		checkDigits(t, "context_correctness/"+name, ids, want)
		checkDigits(t, "context_correctness/text_"+name, texts, want)
	}
	checkDigits(t, "context_correctness", ids, "0.5") // the reciprocal rank, by id

	// unitxt's average precision is over what was rightly retrieved: 1 here, where retrieval/map has 1/3.
	one := &metrics.Sample{ContextIDs: []string{"a"}, ReferenceContextIDs: []string{"a", "b", "c"}}
	checkDigits(t, "context_correctness/map", one, "1.0")
	checkDigits(t, "retrieval/map", one, "0.3333")

	// What comes twice counts twice, but for recall, which unitxt would carry beyond 1.
	twice := &metrics.Sample{ContextIDs: []string{"a", "a", "x", "b"}, ReferenceContextIDs: []string{"a"}}
	for name, want := range map[string]string{"mrr": "1", "map": "1", "precision": "0.5", "recall": "1"} {
		checkDigits(t, "context_correctness/"+name, twice, want)
	}
	none := &metrics.Sample{ContextIDs: []string{"x"}, ReferenceContextIDs: []string{"a"}}
	nothing := &metrics.Sample{ContextIDs: []string{}, ReferenceContextIDs: []string{"a"}}
	for _, name := range []string{"mrr", "map", "match", "precision", "recall", "precision@5"} {
		checkDigits(t, "context_correctness/"+name, none, "0")
		checkDigits(t, "context_correctness/"+name, nothing, "0")
	}
	// Texts without words are compared as they are.
	checkDigits(t, "context_correctness/text_recall", &metrics.Sample{Contexts: []string{"!"},
		ReferenceContexts: []string{"?", "!"}}, "0.5")

	got, err := scoreAlone(t, "context_correctness/precision@2", ids)
	if err != nil || len(got.Because) != 3 || got.Because[1].Reason != "reference 1" || !*got.Because[1].Verdict ||
		*got.Because[0].Verdict ||
		got.Because[2].Text != "1 of 2 retrieved match one of 3 references" {
		t.Errorf("findings %+v, %v", got.Because, err)
	}
	if _, err := scoreAlone(t, "context_correctness", &metrics.Sample{ContextIDs: []string{"a"}}); !errors.Is(err,
		metrics.ErrNotApplicable) {
		t.Errorf("without references: %v", err)
	}
}

func TestContextMatchesByID(t *testing.T) {
	// The example in Ragas' own documentation.
	s := &metrics.Sample{ContextIDs: []string{"doc1", "doc2", "doc3"}, ReferenceContextIDs: []string{"doc1", "doc2",
		"doc4"}}
	checkDigits(t, "context_precision/ids", s, "0.667")
	checkDigits(t, "context_recall/ids", s, "0.667")
	s = &metrics.Sample{ContextIDs: []string{"a", "a", "b"}, ReferenceContextIDs: []string{"a", "c", "c",
		"d"}} // sets: two and three
	checkDigits(t, "context_precision/ids", s, "0.5")
	checkDigits(t, "context_recall/ids", s, "0.3333")

	s = &metrics.Sample{ContextIDs: []string{}, ReferenceContextIDs: []string{"a"}}
	checkDigits(t, "context_recall/ids", s, "0")
	if _, err := scoreAlone(t, "context_precision/ids", s); !errors.Is(err, metrics.ErrNotApplicable) {
		t.Errorf("the precision of nothing: %v", err)
	}
}

func TestContextMatchesByString(t *testing.T) {
	check := func(contexts, references, precision, recall string) {
		t.Helper()
		s := &metrics.Sample{Contexts: strings.Split(contexts, "|"), ReferenceContexts: strings.Split(references, "|")}
		checkDigits(t, "context_precision/string", s, precision)
		checkDigits(t, "context_recall/string", s, recall)
	}
	check("abcd", "abcd", "1", "1")
	check("abcd", "abxy", "1", "0") // two of four: enough for one, too little for the other
	check("abcd", "abcx", "1", "1")
	check("abcd", "axyz", "0", "0")
	check("wxyz|abcd", "abcd|efgh", "0.5", "0.5")
	check("abcd|wxyz|abce", "abcd", "0.8333", "1") // (1 + 2/3) / 2
	check("größe", "grosse", "1", "0")             // three edits of six characters
	check("éé", "éa", "1", "0")                    // a character is one, whatever its bytes
	check("ab", "abcde", "0", "0")                 // too short to be alike

	got, err := scoreAlone(t, "context_precision/string", &metrics.Sample{Contexts: []string{"abcd", "wxyz"},
		ReferenceContexts: []string{"abcx"}})
	if err != nil || len(got.Because) != 2 || got.Because[0].Value == nil || *got.Because[0].Value != 0.75 ||
		*got.Because[1].Verdict {
		t.Errorf("findings %+v, %v", got.Because, err)
	}
}

// Texts that would take minutes to compare are refused.
func TestContextStringsTooLong(t *testing.T) {
	long := strings.Repeat("abcdefgh", 1<<17)
	texts := []string{"x" + long, long + "y"}
	for _, m := range contextMatches() {
		if strings.HasSuffix(m.Name, "/string") {
			if _, err := m.Score(t.Context(), metrics.Models{},
				&metrics.Sample{Contexts: texts[:1], ReferenceContexts: texts[1:]}); !errors.Is(err,
				metrics.ErrNotApplicable) {
				t.Errorf("%s: %v", m.Name, err)
			}
		}
	}
}
