package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// fuzzRows checks what holds for every reader: it ends, its lines do not go back or leave the text, and
// whatever it yields decodes into a sample or an error.
func fuzzRows(t *testing.T, b []byte, read func(*bufio.Reader) []record) {
	records := read(bufio.NewReaderSize(bytes.NewReader(b), 16))
	lines := bytes.Count(b, []byte("\n")) + 1
	last := 1
	cols, err := newColumns(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, rec := range records {
		if rec.line < last || rec.line > lines {
			t.Fatalf("record %d is on line %d, after one on line %d, of %d lines: %q", i, rec.line, last, lines, b)
		}
		last = rec.line
		if rec.err != nil || cols.see(rec) != nil {
			continue
		}
		s, err := cols.decode(rec, i+1)
		if (s == nil) == (err == nil) {
			t.Fatalf("sample %v with error %v", s, err)
		}
		if err != nil {
			continue
		}
		out, err := json.Marshal(s)
		if err != nil || s.ID == "" {
			t.Fatalf("%q: id %q, %v", b, s.ID, err)
		}
		for _, turn := range slices.Concat(s.History, s.Steps) {
			s.Contexts = append(s.Contexts, turn.Text())
		}
		for _, text := range append(s.Contexts, s.Question, s.Answer, s.ID) {
			if !utf8.ValidString(text) {
				t.Fatalf("not UTF-8 in %s", out)
			}
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"id": 1, "question": [{"role": "user", "content": "hi"}], "contexts": [{"text": "x", "id": "y"}]}` +
		"\n\n{}\r\n[]"))
	f.Add([]byte(`{"user_input": "q", "response": "\ud83d\ude00\\ud83d", "retrieved_contexts": ["a", 1.5], "chat_history": [["a", "b"], "c"]}`))
	f.Add([]byte("{\"a\": \"\\ud83d\"}\n\xff\n{\"a\":\\"))
	f.Add([]byte(`{"user_input": [{"type": "human", "content": "q"}, {"type": "ai", "content": "", "tool_calls": [{"name": "t", "args": {"x": [1e2, null]}}]},` +
		` {"type": "tool", "content": {"y": 1}}, {"type": "ai", "content": {"text": "a", "tool_calls": []}}], "reference_tool_calls": []}`))
	f.Add([]byte(`{"history": [{"role": "assistant", "content": [{"text": "a"}, "b"], "tool_calls": [{"id": "i", "function": {"name": "t", "arguments": "{}"}}]},` +
		` {"role": "tool", "tool_call_id": "i", "content": "r"}, {"role": "assistant", "function_call": {"name": "f"}}], "input": "q"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzRows(t, b, func(r *bufio.Reader) (list []record) {
			for rec, err := range readLines(r) {
				if err != nil {
					t.Fatal(err) // only reading can fail, and it does not here
				}
				list = append(list, rec)
			}
			return list
		})
	})
}

func FuzzArray(f *testing.F) {
	f.Add([]byte("[{\"id\": 1},\n {\"id\": \"]\\\"\"}]"))
	f.Add([]byte(`{"n": {"a": [1]}, "results": [{"query": "q"}, 3], "x": 1}`))
	f.Add([]byte("[{\"a\": [}, null]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzRows(t, b, func(r *bufio.Reader) (list []record) {
			for rec, err := range readArray(r) {
				if err == nil {
					list = append(list, rec)
				} else if rec.line < 1 || rec.line > bytes.Count(b, []byte("\n"))+1 {
					t.Fatalf("an error on line %d: %v", rec.line, err)
				}
			}
			return list
		})
		// Whatever is an array for encoding/json must be cut as it is cut there.
		var want []json.RawMessage
		if json.Unmarshal(b, &want) != nil || want == nil {
			return
		}
		s := &splitter{r: bufio.NewReader(bytes.NewReader(b)), line: 1}
		if err := s.enter(); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		for i, w := range want {
			got, _, err := s.element()
			if err != nil || !bytes.Equal(got, w) {
				t.Fatalf("%q: element %d is %q, %v, want %q", b, i, got, err, w)
			}
		}
	})
}

func FuzzTable(f *testing.F) {
	f.Add([]byte("id,question,contexts\n1,\"a\n\"\"b\",\"['x', \"\"y\"\"]\"\r\n2,b\n"))
	f.Add([]byte("question,history\nq,\"[[\"\"a\"\", \"\"b\"\"]]\"\n\nr,x\"y\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzRows(t, b, func(r *bufio.Reader) (list []record) {
			for rec, err := range readTable(r, ',') {
				if err == nil {
					list = append(list, rec)
				}
			}
			return list
		})
	})
}

// What Python prints must be read as what it was.
func FuzzPython(f *testing.F) {
	f.Add([]byte(`['a', "it's", 'tab\t', '\x07\u2028\U0001f600', '\\']`))
	f.Add([]byte(`['a' 'b']`))
	f.Add([]byte(`['`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !isPython(b) || !utf8.Valid(b) {
			return
		}
		out, err := fromPython(b)
		if err != nil {
			return
		}
		var texts []string
		if err := json.Unmarshal(out, &texts); err != nil {
			t.Fatalf("%q: %q: %v", b, out, err)
		}
		again, err := fromPython([]byte(printPython(texts)))
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q: %q printed and read again is %q, %v", b, out, again, err)
		}
	})
}

// printPython prints a list as Python does: double quotes only around what holds single ones.
func printPython(texts []string) string {
	var parts []string
	for _, s := range texts {
		q := strconv.Quote(s)
		q = q[1 : len(q)-1]
		for _, e := range []struct{ from, to string }{{`\a`, `\x07`}, {`\b`, `\x08`}, {`\f`, `\x0c`}, {`\v`, `\x0b`},
			{`\"`, `"`}} {
			q = replaceEscape(q, e.from, e.to)
		}
		switch {
		case !strings.Contains(s, "'"):
			q = "'" + q + "'"
		case !strings.Contains(s, `"`):
			q = `"` + q + `"`
		default:
			q = "'" + strings.ReplaceAll(q, "'", `\'`) + "'"
		}
		parts = append(parts, q)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// replaceEscape replaces an escape sequence, but not the end of an escaped backslash.
func replaceEscape(s, from, to string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], from):
			b.WriteString(to)
			i += len(from)
		case strings.HasPrefix(s[i:], `\\`):
			b.WriteString(`\\`)
			i += 2
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

func TestPython(t *testing.T) {
	check := func(printed string, want ...string) {
		t.Helper()
		got, _, err := cell{value: []byte(printed), text: true}.passages()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, %v, want %q", printed, got, err, want)
		}
	}
	check(`['a', "it's", 'say "x"', 'both \' and "']`, "a", "it's", `say "x"`, `both ' and "`)
	check(`['new\nline', '\x41\u00e9\U0001f600 é', '\\n', '']`, "new\nline", "Aé\U0001f600 é", `\n`, "")
	check(`["it's"]`, "it's")
	check(`["a", "b"]`, "a", "b") // JSON as well
	check(`[1] is a footnote`, "[1] is a footnote")
	check(`[]`)
	check(``)
}
