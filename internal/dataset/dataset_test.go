package dataset

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/klauspost/compress/zstd"
)

// write puts content into a file of the given name.
func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// load opens a file and reads it to its end. The second pass must say what the first one said.
func load(t testing.TB, path string, o Options) (samples []*metrics.Sample, bad []string, s Summary, err error) {
	t.Helper()
	r, err := Open(t.Context(), path, o)
	if err != nil {
		return nil, nil, Summary{}, err
	}
	defer r.Close()
	dir := filepath.Dir(path) + string(filepath.Separator)
	for sample, err := range r.Samples(t.Context()) {
		var row *RowError
		switch {
		case errors.As(err, &row):
			bad = append(bad, strings.TrimPrefix(err.Error(), dir))
		case err != nil:
			return samples, bad, r.Summary(), err
		default:
			samples = append(samples, sample)
		}
	}
	s = r.Summary()
	if len(samples) != s.Rows || len(bad) != s.Bad {
		t.Errorf("%s: the first pass counted %d and %d bad, the second %d and %d bad",
			path, s.Rows, s.Bad, len(samples), len(bad))
	}
	for i, e := range s.Errors {
		if got := strings.TrimPrefix(e.Error(), dir); got != bad[i] {
			t.Errorf("%s: the first pass says %q, the second %q", path, got, bad[i])
		}
	}
	return samples, bad, s, nil
}

// one reads a dataset that holds one sample.
func one(t testing.TB, name, content string) *metrics.Sample {
	t.Helper()
	samples, bad, _, err := load(t, write(t, name, content), Options{})
	if err != nil || len(bad) > 0 || len(samples) != 1 {
		t.Fatalf("%s: %d samples, bad: %q, %v", content, len(samples), bad, err)
	}
	return samples[0]
}

// The same two samples in every format must be the same samples.
func TestFormats(t *testing.T) {
	want := []*metrics.Sample{
		{ID: "a", Question: "Why, \"really\"?", Answer: "Because:\n1, 2", Contexts: []string{"one", "it's two"},
			References: []string{"so"}},
		{ID: "17", Question: "¿Qué?", Answer: "Ça 😀", Contexts: []string{"solo"}},
	}
	lines := `{"id": "a", "question": "Why, \"really\"?", "answer": "Because:\n1, 2", "contexts": ["one", "it's two"], "reference": "so"}
{"id": 17, "question": "¿Qué?", "answer": "Ça \ud83d\ude00", "contexts": "solo", "reference": null}
`
	array := "[" + strings.Replace(strings.TrimSpace(lines), "\n", ",\n ", 1) + "]"
	table := `id,question,answer,contexts,reference
a,"Why, ""really""?","Because:
1, 2","[""one"", ""it's two""]",so
17,¿Qué?,Ça 😀,solo,
`
	python := strings.Replace(table, `"[""one"", ""it's two""]"`, `"['one', ""it's two""]"`, 1)
	check := func(name, content string) {
		t.Helper()
		got, bad, s, err := load(t, write(t, name, content), Options{})
		if err != nil || len(bad) > 0 {
			t.Errorf("%s: %v, bad: %q", name, err, bad)
			return
		}
		if !reflect.DeepEqual(got, want) {
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			t.Errorf("%s:\n got %s\nwant %s", name, a, b)
		}
		if s.Rows != 2 || s.Filled[metrics.Question] != 2 || s.Filled[metrics.References] != 1 ||
			s.Filled[metrics.History] != 0 {
			t.Errorf("%s: summary %+v", name, s)
		}
	}
	check("d.jsonl", lines)
	check("d.ndjson", lines)
	check("d.json", lines)
	check("d.txt", lines)
	check("d.jsonl", "\ufeff"+strings.ReplaceAll(lines, "\n", "\r\n\r\n"))
	check("d.jsonl", strings.TrimSpace(lines))
	check("d.json", array)
	check("d.txt", "\n\t "+array+"\n\n")
	check("d.json", "\ufeff"+array)
	check("d.json", `{"name": "x", "n": 2, "config": {"results": [1]}, "results": `+array+`, "more": [1]}`)
	check("d.json", "{\"data\": "+array+"}\n")
	check("d.csv", table)
	check("d.CSV", "\ufeff"+table)
	check("d.csv", python)
	check("d.csv", strings.ReplaceAll(strings.ReplaceAll(table, "\n", "\r\n"), "Because:\r\n", "Because:\n"))
	check("d.tsv",
		strings.NewReplacer(",¿", "\t¿", "?,", "?\t", "😀,", "😀\t", "solo,", "solo\t", "a,\"", "a\t\"", "17,", "17\t",
			"\",\"", "\"\t\"", "]\",", "]\"\t", "id,question,answer,contexts,reference",
			"id\tquestion\tanswer\tcontexts\treference").Replace(table))
	check("d.jsonl.gz", gzipped(t, lines))
	check("d.csv.gz", gzipped(t, table))
	check("d.jsonl.gz", gzipped(t, lines[:20])+gzipped(t, lines[20:]))
	check("d.json.zst", zstded(t, array))
	check("d.jsonl", zstded(t, lines)) // a renamed file
}

func gzipped(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstded(t testing.TB, s string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return string(z.EncodeAll([]byte(s), nil))
}

// The hash is of the content: compression does not change it.
func TestHash(t *testing.T) {
	content := "\ufeff{\"question\": \"q\"}\n\n{\"question\": \"r\"}\n"
	sum := sha256.Sum256([]byte(content))
	check := func(name, bytes string, o Options) {
		t.Helper()
		_, _, s, err := load(t, write(t, name, bytes), o)
		if err != nil || s.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: hash %s, %v, want %x", name, s.SHA256, err, sum)
		}
	}
	check("d.jsonl", content, Options{})
	check("d.jsonl", content, Options{Limit: 1})
	check("d.jsonl.gz", gzipped(t, content), Options{})
	check("d.jsonl.zst", zstded(t, content), Options{})
}

// Bad rows are passed over, each with its place and its reason.
func TestBadRows(t *testing.T) {
	check := func(name, content string, good int, want ...string) {
		t.Helper()
		samples, bad, _, err := load(t, write(t, name, content), Options{})
		if err != nil {
			t.Errorf("%q: %v", content, err)
			return
		}
		if len(samples) != good {
			t.Errorf("%q: %d samples, want %d", content, len(samples), good)
		}
		for i, w := range want {
			if i >= len(bad) || !strings.Contains(bad[i], w) {
				t.Errorf("%q:\nbad  %q\nwant %q", content, bad, want)
				return
			}
		}
		if len(bad) != len(want) {
			t.Errorf("%q: bad %q, want %q", content, bad, want)
		}
	}
	ok := `{"id": "ok", "question": "q"}` + "\n"
	check("d.jsonl", ok+"\nnot json\n{\"question\": \"r\"}\n", 2, "d.jsonl:3: not JSON: invalid character 'o'")
	check("d.jsonl", ok+`{"question": `+"\n", 1, "d.jsonl:2: not JSON: unexpected end")
	check("d.jsonl", ok+`["q"]`+"\n3\n\"x\"\nnull\n", 1,
		":2: want an object with a member for each column, have a list",
		":3: want an object with a member for each column, have a number",
		":4: want an object with a member for each column, have text",
		":5: want an object with a member for each column, have null")
	check("d.jsonl", ok+"[1\n", 1, ":2: not JSON: unexpected end")
	check("d.jsonl", ok+`{"question": "a"} {"question": "b"}`+"\n", 1, ":2: more text after the end of the object")
	check("d.jsonl", ok+`{"question": "a", "question": "b"}`+"\n", 1, `:2: the column "question" is there twice`)
	check("d.jsonl", ok+"{\"question\": \"a\xff\"}\n", 1, ":2: not UTF-8 (byte 16 of the row)")
	check("d.jsonl", ok+`{"question": "\ud83d"}`+"\n", 1, ":2: half a surrogate pair, \\ud83d (byte 15 of the row)")
	check("d.jsonl", ok+`{"question": "\\ud83d \ud83d\ude00\ud83d\ude00 \ude00"}`+"\n", 1,
		`:2: half a surrogate pair, \ude00 (byte 48`)
	check("d.jsonl", ok+`{"question": ["a", 1]}`+"\n", 1, "2: question: turn 2: want an object or text, have a number")
	check("d.jsonl", ok+`{"question": {"a": 1}}`+"\n", 1, "2: question: want text, have an object")
	check("d.jsonl", ok+`{"question": true}`+"\n", 1, "2: question: want text, have true")
	check("d.jsonl", ok+`{"contexts": ["a", null]}`+"\n", 1, "2: contexts: number 2 of the list: want text, have null")
	check("d.jsonl", ok+`{"contexts": ["a", {"title": "b"}]}`+"\n", 1,
		"number 2 of the list: want a member text, content")
	check("d.jsonl", ok+`{"contexts": [["a"]]}`+"\n", 1, "number 1 of the list: want text, have a list")
	check("d.jsonl", ok+`{"history": "so far"}`+"\n", 1, `2: history: want a list of turns: [{"role"`)
	check("d.jsonl", ok+`{"history": [{"role": "judge", "content": "x"}]}`+"\n", 1,
		`turn 1: unknown role "judge": it is one of user`)
	check("d.jsonl", ok+`{"history": [{"content": "x"}]}`+"\n", 1, "turn 1: no role")
	check("d.jsonl", ok+`{"history": [{"role": "user"}]}`+"\n", 1, "turn 1: no content")
	check("d.jsonl", ok+`{"history": [["a", "b"], ["c"]]}`+"\n", 1, "turn 2: want a pair of texts")
	check("d.jsonl", ok+`{"question": [{"role": "assistant", "content": "x"}]}`+"\n", 1,
		"in which the user says nothing")
	check("d.jsonl", ok+`{"question": ["a"], "history": ["b"]}`+"\n", 1, "a history beside it")
	check("d.jsonl", ok+`{"question": ["a", "b"], "answer": "c"}`+"\n", 1, "an answer beside it")
	check("d.jsonl", ok+"\n"+ok+ok, 1, `:3: the id "ok" is used twice: first on line 1`,
		`:4: the id "ok" is used twice: first on line 1`)
	check("d.jsonl", `{"question": "q"}`+"\n"+`{"id": "row-1"}`+"\n", 1, `:2: the id "row-1" is used twice`)
	if !raceEnabled { // which takes seconds over so many bytes, and one goroutine reads them
		check("d.jsonl", ok+"{\"question\": \""+strings.Repeat("x", maxRecord)+"\"}\n"+`{"question": "r"}`, 2,
			":2: the row is longer than 64 MiB")
	}

	check("d.json", "[\n"+ok+", 3,\n\n{\"question\": [,]}, {\"question\": \"[\\\"]\"}]", 2, ":3: want an object",
		":5: not JSON: invalid character ','")
	check("d.json", "["+ok+",,{}]", 2, ":2: not JSON: unexpected end")

	check("d.csv", "id,question\na,q\nb\nc,q,x\nd,r\n", 2, ":3: 1 values for 2 columns", ":4: 3 values for 2 columns")
	check("d.csv", "id,question\na,q\nb,\"q\" x\nc,r\n", 2, `:3: extraneous or missing " in quoted-field`)
	check("d.csv", "id,question\na,\"q\nq\"\n\nb,q\"q\nc,r\n", 2, `:5: bare " in non-quoted-field`)
	check("d.csv", "id,question\na,q\nb,\xff\n", 1, ":3: question: not UTF-8")
	check("d.csv", "id,contexts\na,\"['x' 'y']\"\nb,['x']\n", 1, ":2: contexts: looks like a list printed by Python")
}

// What makes a file unusable as a whole is an error of Open.
func TestBadFiles(t *testing.T) {
	ok := `{"id": "ok", "question": "q"}` + "\n"
	check := func(name, content string, o Options, want string) {
		t.Helper()
		path := write(t, name, content)
		_, _, _, err := load(t, path, o)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), path, name), want) {
			t.Errorf("%s %.60q: %v, want %q", name, content, err, want)
		}
	}
	check("d.jsonl", "", Options{}, "d.jsonl is empty")
	check("d.jsonl", "\ufeff\n \r\n", Options{}, "is empty")
	check("d.csv", "", Options{}, "is empty")
	check("d.csv", "question\n", Options{}, "is empty")
	check("d.json", "[ ]", Options{}, "is empty")
	check("d.jsonl", "x\ny\n", Options{}, "no usable row (2 bad): ")
	check("d.jsonl", "\xff\xfe{\x00", Options{}, "is UTF-16: save it as UTF-8")
	check("d.jsonl.gz", gzipped(t, strings.Repeat(ok, 100))[:40], Options{}, "d.jsonl.gz ends too soon")
	check("d.jsonl.gz", "\x1f\x8bxxxxxxxxxxxxxxxxxxxx", Options{}, "gzip: invalid header")
	check("d.jsonl.zst", zstded(t, strings.Repeat(ok, 100))[:20], Options{}, "ends too soon")
	check("d.parquet", "PAR1", Options{}, "ends too soon")
	check("d.jsonl", ok, Options{Format: "xml"}, `unknown dataset format "xml": it is one of jsonl, json, csv, tsv`)
	check("d.json", "["+ok, Options{}, "ends too soon")
	check("d.json", "["+ok+ok+"]", Options{}, `d.json:2: not JSON: want ',', have '{'`)
	check("d.json", "["+ok+",\n{\"question\": [}, {}]", Options{}, "d.json:3: not JSON: '}' where ']' must come first")
	check("d.json", "["+ok+",\n{\"question\": [\n", Options{}, "not JSON: the row that starts on line 3 has no end")
	check("d.json", "["+ok+",]", Options{}, "d.json:2: not JSON: a comma before the end")
	check("d.json", "["+ok+"] x", Options{}, `d.json:2: not JSON: 'x' after the end`)
	check("d.json", "17", Options{}, `want a JSON array of objects, have '1'`)
	check("d.json", "{\"a\":\n [1], \"b\": {\"results\": []}}", Options{}, "one object, without a list of rows in it")
	check("d.json", "{\"a\" [1]}", Options{}, "want ':', have '['")
	check("d.json", "{a: [1]}", Options{}, `want the name of a member, have "a"`)
	check("d.csv", "id,,x\n1,2,3\n", Options{}, "d.csv:1: column 2 has no name")
	check("d.csv", "id,a,id\n1,2,3\n", Options{}, `d.csv:1: the column "id" is there twice`)
	if !raceEnabled {
		check("d.csv", "id,a\n1,2\n2,\""+strings.Repeat("x", maxRecord+8192)+"\n", Options{},
			"d.csv:3: the row is longer than 64 MiB: is a closing quote missing?")
	}

	check("d.jsonl", ok+`{"question": "q", "query": "r"}`, Options{},
		`d.jsonl:2: the columns "question" and "query" could both be the question: choose with --map question=query`)
	check("d.jsonl", `{"answer": "q", "response": "r"}`, Options{},
		`the columns "answer" and "response" could both be the answer`)
	check("d.jsonl", ok, Options{Map: map[string]string{"answer": "reply"}},
		`d.jsonl has no column "reply" for --map answer=reply; its columns: id, question`)
	check("d.jsonl", `{"user_input": "q"}`, Options{Map: map[string]string{"answer": "reply"}},
		"its columns: user_input (read as question)")
	check("d.jsonl", ok, Options{Map: map[string]string{"reply": "answer"}},
		`unknown field "reply" in --map reply=answer: it is one of id, group, question`)
	var many strings.Builder
	for i := range maxColumns + 1 {
		fmt.Fprintf(&many, "{\"c%d\": 1}\n", i)
	}
	check("d.jsonl", many.String(), Options{}, "d.jsonl:4097: more than 4096 different columns")

	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "none.jsonl"), Options{}); err == nil ||
		!strings.Contains(err.Error(), "no such dataset") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Open(t.Context(), t.TempDir(), Options{}); err == nil ||
		!strings.Contains(err.Error(), "no dataset in the folder") {
		t.Errorf("a folder: %v", err)
	}
}

func TestPeers(t *testing.T) {
	want := &metrics.Sample{ID: "row-1", Question: "q", Answer: "a", Contexts: []string{"c"}, References: []string{"r"}}
	check := func(what, content string, want *metrics.Sample) {
		t.Helper()
		if got := one(t, "d.json", "["+content+"]"); !reflect.DeepEqual(got, want) {
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			t.Errorf("%s:\n got %s\nwant %s", what, a, b)
		}
	}
	check("Ragas", `{"user_input": "q", "response": "a", "retrieved_contexts": ["c"], "reference": "r"}`, want)
	check("Ragas before 0.2", `{"question": "q", "answer": "a", "contexts": ["c"], "ground_truth": "r"}`, want)
	check("DeepEval", `{"input": "q", "actualOutput": "a", "retrievalContext": ["c"], "expectedOutput": "r"}`, want)
	check("promptfoo", `{"query": "q", "output": "a", "context": "c", "reference": "r"}`, want)
	check("unitxt", `{"question": "q", "answer": "a", "contexts": ["c"], "reference_answers": ["r"]}`, want)
	check("TruLens", `{"query": "q", "output": "a", "context": ["c"], "expected_response": "r"}`, want)
	check("continuous-eval",
		`{"question": "q", "answer": "a", "retrieved_context": ["c"], "ground_truth_answers": ["r"]}`, want)
	check("LangChain",
		`{"query": "q", "response": "a", "source_documents": [{"page_content": "c", "metadata": {}}], "reference": "r"}`, want)
	check("spreadsheet", `{"User Input": "q", "Response": "a", "Retrieved-Contexts": ["c"], "Ground Truth": "r"}`, want)

	check("DeepEval with both contexts",
		`{"input": "q", "actual_output": "a", "context": ["i"], "retrieval_context": ["c"], "expected_output": "r"}`,
		&metrics.Sample{
			ID: "row-1", Question: "q", Answer: "a", Contexts: []string{"c"}, References: []string{"r"},
			ReferenceContexts: []string{"i"},
		})
	check("Ragas ids",
		`{"user_input": "q", "retrieved_context_ids": [1, "b"], "reference_context_ids": ["b"], "reference_contexts": ["x"]}`,
		&metrics.Sample{
			ID: "row-1", Question: "q", ContextIDs: []string{"1", "b"}, ReferenceContextIDs: []string{"b"},
			ReferenceContexts: []string{"x"},
		})
	checker := one(t, "d.json",
		`{"results": [{"query_id": 7, "query": "q", "gt_answer": "r", "response": "a", "retrieved_context": [{"doc_id": "d", "text": "c"}]}]}`)
	if !reflect.DeepEqual(checker, &metrics.Sample{
		ID: "7", Question: "q", Answer: "a", Contexts: []string{"c"}, ContextIDs: []string{"d"},
		References: []string{"r"},
	}) {
		t.Errorf("RAGChecker: %+v", checker)
	}
	both := one(t, "d.jsonl", `{"query_id": 7, "id": "x", "question": "q"}`)
	if both.ID != "x" || string(both.Extra["query_id"]) != "7" {
		t.Errorf("id beside query_id: %+v", both)
	}
	talk := &metrics.Sample{ID: "row-1", Question: "q", Answer: "a", History: []metrics.Turn{
		{Role: backend.User, Said: "hi"}, {Role: backend.Assistant, Said: "hello"}}}
	check("Ragas, many turns", `{"user_input": [{"type": "human", "content": "hi"}, {"type": "ai", "content": "hello"},
		{"type": "human", "content": "q"}, {"type": "ai", "content": "a"}]}`, talk)
	check("a conversation without reply",
		`{"input": [{"speaker": "user", "text": "hi"}, {"speaker": "agent", "text": "hello"},
		{"speaker": "user", "text": "q"}], "answer": "a"}`, talk)
	check("history of strings", `{"question": "q", "answer": "a", "history": ["hi", "hello"]}`, talk)
	check("history of pairs", `{"question": "q", "answer": "a", "chat_history": [["hi", "hello"]]}`, talk)
	check("history of messages",
		`{"question": "q", "answer": "a", "history": [{"role": "User", "content": "hi"}, {"from": "gpt", "value": "hello"}]}`, talk)
	check("no history", `{"question": "q", "history": null}`, &metrics.Sample{ID: "row-1", Question: "q"})
	check("one context object", `{"question": "q", "contexts": {"id": 3, "text": "c"}}`,
		&metrics.Sample{ID: "row-1", Question: "q", Contexts: []string{"c"}, ContextIDs: []string{"3"}})
	check("numbers", `{"question": "q", "answer": 12.50, "reference": [1, "2"]}`,
		&metrics.Sample{ID: "row-1", Question: "q", Answer: "12.50", References: []string{"1", "2"}})
	check("extra", `{"question": "q", "human": {"x": [1.0, "\u00e9"]}, "metadata": null, "Prompt": ""}`,
		&metrics.Sample{ID: "row-1", Question: "q",
			Extra: map[string]json.RawMessage{
				"human": json.RawMessage(`{"x": [1.0, "\u00e9"]}`), "metadata": json.RawMessage("null"),
				"Prompt": json.RawMessage(`""`),
			}})
}

// Columns of unitxt's task of RAG end to end, of ARES and of LangChain, as their examples have them.
func TestColumnsOfSources(t *testing.T) {
	check := func(name, content string, want metrics.Sample) {
		t.Helper()
		if got := one(t, name, content); !reflect.DeepEqual(*got, want) {
			t.Errorf("%s\n\tgives %+v\n\twant  %+v", content, *got, want)
		}
	}
	check("unitxt.jsonl", `{"question": "Which is the largest city?", "question_id": 1, "reference_answers": ["Houston"], `+
		`"reference_context_ids": [1, 2], "prediction": {"answer": "Houston", "contexts": ["Houston is large."], `+
		`"context_ids": [2], "is_answerable": true}}`, metrics.Sample{ID: "1", Question: "Which is the largest city?",
		Answer: "Houston", Contexts: []string{"Houston is large."}, ContextIDs: []string{"2"},
		References: []string{"Houston"}, ReferenceContextIDs: []string{"1", "2"},
		Extra: map[string]json.RawMessage{"is_answerable": json.RawMessage("true")}})
	check("unitxt.csv", "question,contexts_id,ground_truths_context_ids,prediction\n"+
		`?,"[""a"", ""b""]","['b']","{""answer"": ""So.""}"`+"\n", metrics.Sample{ID: "row-1", Question: "?",
		Answer: "So.", ContextIDs: []string{"a", "b"}, ReferenceContextIDs: []string{"b"}})
	check("ares.tsv", "Query\tDocument\tAnswer\nHow?\tBy boat.\tA boat.\n", metrics.Sample{ID: "row-1",
		Question: "How?", Contexts: []string{"By boat."}, Answer: "A boat."})
	check("langchain.jsonl", `{"query": "How?", "result": "By boat.", "source_documents": [{"page_content": "A boat."}]}`,
		metrics.Sample{ID: "row-1", Question: "How?", Answer: "By boat.", Contexts: []string{"A boat."}})
	// Beside what means the same, they are columns like any other.
	check("other.jsonl", `{"question": "?", "result": "pass", "document": 7, "answer": "a", "contexts": ["c"], `+
		`"prediction": "yes"}`, metrics.Sample{ID: "row-1", Question: "?", Answer: "a", Contexts: []string{"c"},
		Extra: map[string]json.RawMessage{"result": json.RawMessage(`"pass"`), "document": json.RawMessage("7"),
			"prediction": json.RawMessage(`"yes"`)}})
	_, bad, _, _ := load(t, write(t, "twice.jsonl", `{"question": "?", "prediction": {"answer": "b"}, "answer": "a"}
{"question": "?", "prediction": {"answer": "b"}}
`), Options{})
	if len(bad) != 1 || !strings.Contains(bad[0], "its answer: a column beside it says it, too") {
		t.Errorf("an answer twice: %q", bad)
	}
}

// Rivals of the contexts are lists of passages, or lone texts.
func TestOtherContexts(t *testing.T) {
	check := func(name, content string, want [][]string) {
		t.Helper()
		if got := one(t, name, content).OtherContexts; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", content, got, want)
		}
	}
	check("x.jsonl", `{"question": "?", "other_contexts": [["a", {"text": "b"}], "c"]}`, [][]string{{"a", "b"}, {"c"}})
	check("x.jsonl", `{"question": "?", "other_contexts": "a"}`, [][]string{{"a"}})
	check("x.jsonl", `{"question": "?", "other_contexts": null}`, nil)
	check("x.csv", "question,other_contexts\n?,\"[[\"\"a\"\"], [\"\"b\"\"]]\"\n", [][]string{{"a"}, {"b"}})
}

func TestMap(t *testing.T) {
	path := write(t, "d.csv", "frage,answer,response,soll\nq,gold,mine,\"[\"\"r\"\"]\"\n")
	samples, _, s, err := load(t, path, Options{Map: map[string]string{
		"question": "frage", "answer": "response", "reference_answers": "answer", "reference_contexts": "answer"}})
	if err != nil {
		t.Fatal(err)
	}
	want := &metrics.Sample{ID: "row-1", Question: "q", Answer: "mine", References: []string{"gold"},
		ReferenceContexts: []string{"gold"}, Extra: map[string]json.RawMessage{"soll": json.RawMessage(`"[\"r\"]"`)}}
	if !reflect.DeepEqual(samples[0], want) {
		t.Errorf("got  %+v\nwant %+v", samples[0], want)
	}
	wantColumns := []Column{{"frage", []string{"question"}},
		{"answer", []string{"reference_answers", "reference_contexts"}},
		{"response", []string{"answer"}}, {"soll", nil}}
	if !reflect.DeepEqual(s.Columns, wantColumns) {
		t.Errorf("columns %v, want %v", s.Columns, wantColumns)
	}
}

func TestNeed(t *testing.T) {
	check := func(content string, need metrics.Field, want string) {
		t.Helper()
		path := write(t, "d.jsonl", content)
		_, _, s, err := load(t, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := s.Need(need); err != nil {
			got = strings.ReplaceAll(err.Error(), path, "d.jsonl")
		}
		if got != want {
			t.Errorf("%s needs %v:\n got %s\nwant %s", content, need, got, want)
		}
	}
	check(`{"question": "q", "answer": "a"}`, metrics.Question|metrics.Answer, "")
	check(`{"query": "q", "docs": ["c"], "id": 1}`, metrics.Question|metrics.Contexts,
		"d.jsonl has no column for the contexts; its columns: query (read as question), docs, id; name one with "+
			"--map contexts=COLUMN")
	check(`{"question": "q", "retrieved_contexts": [" "]}`, metrics.Contexts,
		`the column "retrieved_contexts" of d.jsonl, which holds the contexts, is empty in every row`)
}

func TestLimit(t *testing.T) {
	content := "{\"id\": 1}\nx\n{\"id\": 2}\n{\"id\": 2}\n{\"id\": 3}\n{\"id\": 4}\ny\n"
	check := func(limit, rows, bad int) {
		t.Helper()
		samples, _, s, err := load(t, write(t, "d.jsonl", content), Options{Limit: limit})
		if err != nil || len(samples) != rows || s.Bad != bad {
			t.Errorf("limit %d: %d rows, %d bad, %v, want %d and %d", limit, len(samples), s.Bad, err, rows, bad)
		}
	}
	check(0, 4, 3)
	check(1, 1, 0)
	check(2, 2, 1)
	check(3, 3, 2)
	check(9, 4, 3)
}

func TestChangedFile(t *testing.T) {
	path := write(t, "d.jsonl", "{\"id\": 1}\n")
	r, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.WriteFile(path, []byte("{\"id\": 1}\n{\"id\": 2}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range r.Samples(t.Context()) {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "changed while it was being read") {
		t.Errorf("a file that changed: %v", last)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, write(t, "d.jsonl", "{\"id\": 1}\n"), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// What can be read only once is copied, and the copy removed.
func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	s, err := spool(t.Context(), "standard input", strings.NewReader("{\"id\": \"a\"}\n{\"id\": \"b\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	cols, err := newColumns(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &Reader{source: &bundle{name: s.name, files: []*source{s}}, columns: cols, repeats: map[int]place{}}
	if err := r.scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		n := 0
		for _, err := range r.Samples(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 2 {
			t.Errorf("%d samples, want 2", n)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// watchHeap reads all samples and returns the largest heap seen on the way.
func watchHeap(t *testing.T, r *Reader) (peak uint64) {
	n := 0
	for _, err := range r.Samples(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%1000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}
	return peak
}

// Memory must not grow with the file: the rows here take 85 MB, one after the other.
func TestFlatMemory(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("reads 85 MB twice; not with -short, nor under the race detector, which takes memory of its own")
	}
	path := filepath.Join(t.TempDir(), "d.jsonl.zst")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	filler := strings.Repeat("all work and no play ", 200)
	for i := range 20_000 {
		fmt.Fprintf(z, `{"id": "sample-%d", "question": "q", "contexts": ["%s"]}`+"\n", i, filler)
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	peak := watchHeap(t, r)
	if s := r.Summary(); s.Rows != 20_000 || s.Bad != 0 {
		t.Errorf("%d rows, %d bad", s.Rows, s.Bad)
	}
	if peak > 24<<20 {
		t.Errorf("%d MiB in use while reading, want at most 24", peak>>20)
	}
}

// What agents did, rivals, grades and rubrics, in the forms in which others write them.
func TestFurtherColumns(t *testing.T) {
	check := func(row string, want metrics.Sample) {
		t.Helper()
		want.ID = "x"
		got := one(t, "d.jsonl", `{"id": "x", `+row+`}`)
		if !reflect.DeepEqual(*got, want) {
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			t.Errorf("%s:\n got %s\nwant %s", row, a, b)
		}
	}
	args := map[string]json.RawMessage{"city": json.RawMessage(`"Oslo"`), "days": json.RawMessage(`2`)}
	calls := []metrics.ToolCall{{Name: "weather", Args: args}, {Name: "done"}}
	check(`"tool_calls": [{"name": "weather", "args": {"city": "Oslo", "days": 2}}, {"name": "done"}]`, metrics.Sample{
		ToolCalls: calls,
	})
	check(`"tools_called": [{"name": "weather", "input_parameters": {"city": "Oslo", "days": 2}}, {"name": "done", "input_parameters": null}]`,
		metrics.Sample{ToolCalls: calls})
	check(`"expected_tools": [{"type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\", \"days\": 2}"}}, {"name": "done"}]`,
		metrics.Sample{ReferenceToolCalls: calls})
	check(`"answer_a": "yes", "answer_b": "no"`, metrics.Sample{Answer: "yes", OtherAnswers: []string{"no"}})
	check(`"response": "yes", "multi_responses": ["no", "perhaps"]`, metrics.Sample{
		Answer: "yes", OtherAnswers: []string{"no", "perhaps"},
	})
	check(`"relevance": {"d1": 2, "d2": 0}`, metrics.Sample{Relevance: map[string]int{"d1": 2, "d2": 0}})
	check(`"rubrics": {"1": "wrong", "5": "right"}, "reference_topics": ["music", "art"]`,
		metrics.Sample{
			Rubrics: map[string]string{"1": "wrong", "5": "right"}, ReferenceTopics: []string{"music", "art"},
		})
	check(`"rubrics": null, "tool_calls": null, "relevance": null`, metrics.Sample{})
	yes, no := true, false
	for text, want := range map[string]*bool{`true`: &yes, `false`: &no, `1`: &yes, `0`: &no, `"ANSWERABLE"`: &yes,
		`["UNANSWERABLE"]`: &no, `"Partial"`: &yes, `"CONVERSATIONAL"`: nil, `null`: nil} {
		check(`"is_answerable_label": `+text, metrics.Sample{Answerable: want})
	}
	facts := []metrics.Nugget{{Text: "it sails", Vital: true}, {Text: "it is blue"}}
	check(`"nuggets": [{"text": "it sails", "importance": "vital", "assignment": "support"},`+
		`{"text": "it is blue", "importance": "okay"}]`, metrics.Sample{Nuggets: facts})
	check(`"nuggets": {"qid": "7", "nuggets": [{"text": "it sails", "vital": true}, {"text": "it is blue", "vital": false}]}`,
		metrics.Sample{Nuggets: facts})
	check(`"expected_facts": ["it sails"]`, metrics.Sample{Nuggets: facts[:1]})
	check(`"expected_facts": "it sails"`, metrics.Sample{Nuggets: facts[:1]})
	check(`"nuggets": []`, metrics.Sample{})
	check(`"subtopics": {"d1": ["price"], "d2": []}`,
		metrics.Sample{Aspects: map[string][]string{"d1": {"price"}, "d2": {}}})
	check(`"aspects": ["price"]`, metrics.Sample{Extra: map[string]json.RawMessage{"aspects": json.RawMessage(`["price"]`)}})

	got := one(t, "d.csv",
		"id,tool_calls,relevance,rubrics\nx,\"[{\"\"name\"\": \"\"done\"\"}]\",\"{\"\"d1\"\": 1}\",\n")
	if want := (metrics.Sample{
		ID: "x", ToolCalls: calls[1:], Relevance: map[string]int{"d1": 1},
	}); !reflect.DeepEqual(*got, want) {
		t.Errorf("from CSV: %+v", got)
	}

	refuse := func(row, want string) {
		t.Helper()
		_, bad, _, err := load(t, write(t, "d.jsonl", `{"id": "y"}`+"\n"+`{"id": "x", `+row+`}`), Options{})
		if err != nil || len(bad) != 1 || !strings.Contains(bad[0], want) {
			t.Errorf("%s: %q, %v; want a bad row that says %q", row, bad, err, want)
		}
	}
	refuse(`"relevance": {"d1": "high"}`, `want an object such as {"passage-7": 2}`)
	refuse(`"relevance": {"d1": 1, "d2": null}`, `"d2" has no value`)
	refuse(`"relevance": [1, 2]`, `want an object such as`)
	refuse(`"rubrics": "be kind"`, `want an object such as`)
	refuse(`"answerable": "perhaps"`, `want true or false`)
	refuse(`"answerable": [true, false]`, `want true or false, have a list`)
	refuse(`"nuggets": [{"text": "a"}, {"importance": "vital"}]`, `number 2 of the list: want a member text`)
	refuse(`"nuggets": [{"text": "a", "importance": "huge"}]`, `want vital or okay as the importance, have "huge"`)
	refuse(`"nuggets": ["a", " "]`, `number 2 of the list: want a text`)
	refuse(`"tool_calls": [{"args": {}}]`, "call 1: no name")
	refuse(`"tool_calls": [{"name": "a"}, "b"]`, "call 2: want an object with a name, have text")
	refuse(`"tool_calls": [{"name": "a", "args": [1]}]`, "args: want an object")
	refuse(`"tool_calls": "a"`, "want a list of calls")
}
