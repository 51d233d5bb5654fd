package testset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// WikiEval as it was published, as data frames write it to a table: lists as Python prints them.
func TestPublished(t *testing.T) {
	const head = "question,answer,ungrounded_answer,poor_answer,context_v1,context_v2,source\n"
	read := func(content string) ([]Row, error) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "wikieval.csv")
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		rows, sum, err := Published(t.Context(), path)
		if err == nil && len(sum) != 64 {
			t.Errorf("the digest is %q", sum)
		}
		return rows, err
	}
	rows, err := read(head + "How?,By boat.,By bus.,Somehow.,\"['It is by boat.']\",\"['It is by boat.', 'It is \"\"old\"\".']\",x\n")
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	good, ungrounded, incomplete, padded := rows[0], rows[1], rows[2], rows[3]
	if good.ID != "w0001/good" || good.Sample.Answer != "By boat." || good.Contexts[0] != "It is by boat." ||
		good.OtherAnswers != nil || good.OtherContexts != nil ||
		ungrounded.Sample.Answer != "By bus." || ungrounded.OtherAnswers[0] != "By boat." || ungrounded.Worse != "faithfulness" ||
		incomplete.Sample.Answer != "Somehow." || incomplete.Worse != "answer_relevance" ||
		len(padded.Contexts) != 2 || padded.Contexts[1] != `It is "old".` || padded.OtherContexts[0][0] != "It is by boat." ||
		padded.Sample.Answer != "By boat." || padded.Worse != "context_relevance" {
		t.Errorf("%+v", rows)
	}
	for content, want := range map[string]string{
		head + "How?,By boat.,,Somehow.,['a'],['b'],x\n":        "row 1: one of its texts is empty",
		"question,answer,poor_answer\nHow?,By boat.,Somehow.\n": "it lacks ungrounded_answer, context_v1, context_v2",
	} {
		if _, err := read(content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}
