package parquet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"
)

// lines are rows for Write.
func lines(rows ...string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for _, row := range rows {
			if !yield(json.RawMessage(row), nil) {
				return
			}
		}
	}
}

// read reads a whole file and returns its rows as JSON objects, without the columns that are null, and the errors of
// single rows.
func read(b []byte, maxRow int) (rows []string, bad []string, err error) {
	f, err := Open(bytes.NewReader(b), int64(len(b)), maxRow)
	if err != nil {
		return nil, nil, err
	}
	for row, err := range f.Rows() {
		if err != nil {
			return rows, bad, err
		}
		if row.Err != nil {
			bad = append(bad, fmt.Sprintf("%d: %v", row.Number, row.Err))
			continue
		}
		var parts []string
		for _, field := range row.Fields {
			if field.Value != nil {
				parts = append(parts, string(appendText(nil, field.Name))+":"+string(field.Value))
			}
		}
		rows = append(rows, "{"+strings.Join(parts, ",")+"}")
	}
	return rows, bad, nil
}

// same compares rows as JSON.
func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d: %s", len(got), len(want), got)
	}
	for i := range got {
		var a, b any
		if err := errors.Join(json.Unmarshal([]byte(got[i]), &a), json.Unmarshal([]byte(want[i]), &b)); err != nil {
			t.Fatalf("%s: %v", got[i], err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("row %d:\n got %s\nwant %s", i+1, got[i], want[i])
		}
	}
}

func written(t testing.TB, maps []string, rows ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, lines(rows...), maps...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	check := func(rows ...string) {
		t.Helper()
		got, bad, err := read(written(t, []string{"relevance"}, rows...), 1<<20)
		if err != nil || len(bad) > 0 {
			t.Errorf("%v, bad %q", err, bad)
			return
		}
		same(t, got, rows...)
	}
	check(`{"id":"a","contexts":["x","","<&>\u0000é"]}`, `{"id":"b","contexts":[]}`, `{"id":"c"}`)
	check(`{"n":1,"f":1.5,"b":true,"mixed":1}`, `{"n":-9007199254740993,"f":2,"b":false,"mixed":"x"}`)
	check(`{"big":9007199254740993}`, `{"big":0.5}`) // neither kind of number holds both
	check(`{"big":123456789012345678901234567890}`)
	check(`{"history":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho","tools":[{"name":"f","args":{"x":[1,2]}}]}]}`,
		`{"history":[]}`, `{"history":[{"role":"user","content":""}]}`, `{}`, `{"history":[{}]}`)
	check(`{"human":{"a":{"b":1},"c":"x"}}`, `{"human":{}}`, `{"human":{"a":{}}}`, `{"id":1}`)
	check(`{"deep":[[["a"],[]],[],[["b","c"],["d"]]]}`, `{"deep":[[]]}`, `{"deep":[]}`)
	check(`{"gaps":["a",null,"b"]}`, `{"gaps":[null]}`)
	check(`{"gaps":[[null],null,[1]]}`)
	check(`{"relevance":{"p1":1,"p2":0}}`, `{"relevance":{}}`, `{}`, `{"relevance":{"p3":2}}`)
	check(`{"empty":{}}`, `{"empty":{}}`)
	check(`{"either":["a"]}`, `{"either":{"b":1}}`, `{"either":"c"}`)
	check(`{"a.b":1,"A":2,"a":3,"z":{"a.b":1}}`)

	got, _, err := read(written(t, nil, `{"id":"a","none":null,"in":{"none":null,"some":1}}`), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, `{"id":"a","in":{"some":1}}`)
	if want := `{"id":"a","in":{"some":1}}`; got[0] != want {
		t.Errorf("the order of the columns is lost: %s, want %s", got[0], want)
	}

	for _, bad := range [][]string{{`[1]`}, {`{"":1}`}, {`{}`}, {}} {
		if err := Write(io.Discard, lines(bad...)); err == nil {
			t.Errorf("%s was written", bad)
		}
	}
}

// Every type that a column can have, in the two page formats, with and without dictionaries, and packed in every way.
func TestTypes(t *testing.T) {
	at := time.Date(2026, 11, 21, 15, 4, 5, 120_000_000, time.UTC)
	type inner struct {
		Role    string `parquet:"role"`
		Content string `parquet:"content,optional"`
	}
	type row struct {
		ID      string            `parquet:"id,dict"`
		Text    *string           `parquet:"text,optional"`
		Enum    string            `parquet:"enum,enum"`
		Raw     []byte            `parquet:"raw"`
		I32     int32             `parquet:"i32"`
		U64     uint64            `parquet:"u64"`
		F32     float32           `parquet:"f32"`
		F64     float64           `parquet:"f64"`
		Bool    bool              `parquet:"bool"`
		JSON    string            `parquet:"json,json"`
		UUID    [16]byte          `parquet:"uuid,uuid"`
		Price   int64             `parquet:"price,decimal(2:12)"`
		Day     int32             `parquet:"day,date"`
		At      time.Time         `parquet:"at,timestamp(microsecond)"`
		Bare    []string          `parquet:"bare"`
		List    []string          `parquet:"list,list"`
		Turns   []inner           `parquet:"turns,list"`
		Map     map[string]int64  `parquet:"map"`
		Numbers map[int32]float64 `parquet:"numbers"`
		Delta   string            `parquet:"delta,delta"`
		Lengths int64             `parquet:"lengths,delta"`
		Split   float32           `parquet:"split,split"`
	}
	text := "x"
	rows := []row{
		{"a", &text, "one", []byte("plain"), -1, 1 << 63, 0.1, 1e300, true, `{"a": [1, null]}`,
			[16]byte{0: 0x12, 15: 0x34}, -1205, 20778, at, []string{"p", "q"}, []string{"r"},
			[]inner{{"user", "hi"}, {"assistant", ""}}, map[string]int64{"k": 1}, map[int32]float64{7: 0.5},
			"same prefix 1", 5, 1.5},
		{"a", nil, "two", []byte{0xff}, 1, 0, 0, 0, false, `null`, [16]byte{}, 5, -1,
			at.Add(-100 * 365 * 24 * time.Hour), nil, nil, nil, nil, nil, "same prefix 2", -5, -1.5},
	}
	want := []string{
		`{"id":"a","text":"x","enum":"one","raw":"plain","i32":-1,"u64":9223372036854775808,"f32":0.1,"f64":1e300,"bool":true,"json":{"a":[1,null]},` +
			`"uuid":"12000000-0000-0000-0000-000000000034","price":-12.05,"day":"2026-11-21","at":"2026-11-21T15:04:05.12Z","bare":["p","q"],"list":["r"],` +
			`"turns":[{"role":"user","content":"hi"},{"role":"assistant"}],"map":{"k":1},"numbers":{"7":0.5},"delta":"same prefix 1","lengths":5,"split":1.5}`,
		`{"id":"a","enum":"two","raw":"/w==","i32":1,"u64":0,"f32":0,"f64":0,"bool":false,"uuid":"00000000-0000-0000-0000-000000000000","price":0.05,` +
			`"day":"1969-12-31","at":"1926-12-16T15:04:05.12Z","bare":[],"list":[],"turns":[],"map":{},"numbers":{},"delta":"same prefix 2","lengths":-5,"split":-1.5}`,
	}
	for _, version := range []int{1, 2} {
		for _, codec := range []pq.WriterOption{pq.Compression(&pq.Uncompressed), pq.Compression(&pq.Snappy),
			pq.Compression(&pq.Gzip),
			pq.Compression(&pq.Zstd), pq.Compression(&pq.Brotli), pq.Compression(&pq.Lz4Raw)} {
			var b bytes.Buffer
			w := pq.NewGenericWriter[row](&b, codec, pq.DataPageVersion(version), pq.MaxRowsPerRowGroup(7),
				pq.PageBufferSize(128))
			for range 10 {
				if _, err := w.Write(rows); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got, bad, err := read(b.Bytes(), 1<<20)
			if err != nil || len(bad) > 0 {
				t.Fatalf("pages of version %d, %v: %v, bad %q", version, codec, err, bad)
			}
			var all []string
			for range 10 {
				all = append(all, want...)
			}
			same(t, got, all...)
		}
	}
}

// Files that other programs wrote. What is in them, and how they were made, is in testdata/README.md.
func TestForeign(t *testing.T) {
	files, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		kind, _, _ := strings.Cut(filepath.Base(name), "-")
		wanted, err := os.ReadFile("testdata/" + kind + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, bad, err := read(b, 1<<20)
		if err != nil || len(bad) > 0 {
			t.Errorf("%s: %v, bad %q", name, err, bad)
			continue
		}
		same(t, got, strings.Split(strings.TrimSpace(string(wanted)), "\n")...)
	}
}

// A file that was cut off anywhere is an error that says so, and one with a wrong byte is read or is an error.
func TestDamaged(t *testing.T) {
	whole := written(t, nil, `{"id":"a","contexts":["x","y"],"n":1}`, `{"id":"b","contexts":["z"]}`)
	for n := range whole {
		if _, _, err := read(whole[:n], 1<<20); err == nil {
			t.Fatalf("%d bytes of %d were read", n, len(whole))
		}
	}
	if _, _, err := read(whole[:len(whole)-9], 1<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut off: %v", err)
	}
	for i := range whole {
		for _, x := range []byte{1, 0x80, 0xff} {
			b := bytes.Clone(whole)
			b[i] ^= x
			read(b, 1<<20) // must return
		}
	}
	check := func(b []byte, want string) {
		t.Helper()
		if _, _, err := read(b, 1<<20); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	check([]byte("PARE and more"), "encrypted")
	check([]byte(`{"id": "a", "x": 1}`), "not a Parquet file")
	huge := bytes.Clone(whole)
	huge[len(huge)-5] = 0x7f
	check(huge, "footer should be")
}

// A row that is longer than it may be is an error of its own.
func TestLongRow(t *testing.T) {
	long := strings.Repeat("x", 300)
	b := written(t, nil, `{"id":"a","c":["x"]}`, `{"id":"b","c":["`+long+`","`+long+`"]}`,
		`{"id":"c","c":[`+strings.Repeat(`"",`, 300)+`""]}`, `{"id":"d","c":["y"]}`)
	got, bad, err := read(b, 500)
	if err != nil || len(bad) != 2 || !strings.Contains(bad[0], "2: the row is longer") {
		t.Errorf("%v, bad %q", err, bad)
	}
	same(t, got, `{"id":"a","c":["x"]}`, `{"id":"d","c":["y"]}`)
}

func TestBadValue(t *testing.T) {
	type row struct {
		ID   string `parquet:"id"`
		JSON string `parquet:"json,json"`
	}
	var b bytes.Buffer
	w := pq.NewGenericWriter[row](&b)
	w.Write([]row{{"a", `{"a"`}, {"caf\xe9", `1`}, {"c", `1`}})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, bad, err := read(b.Bytes(), 1<<20)
	if err != nil || len(bad) != 2 || bad[0] != "1: json: not JSON, as the file says it is" ||
		bad[1] != "2: id: not UTF-8" {
		t.Errorf("%v, bad %q", err, bad)
	}
	same(t, got, `{"id":"c","json":1}`)
}

// FuzzRead: whatever a file holds, reading it ends with rows or an error, and each row is valid JSON.
func FuzzRead(f *testing.F) {
	f.Add(written(f, []string{"m"}, `{"id":"a","c":["x","y"],"n":1,"m":{"k":1.5}}`,
		`{"id":"b","c":[],"o":{"p":[{"q":true}]}}`))
	type row struct {
		A string  `parquet:"a,delta"`
		B int64   `parquet:"b,delta"`
		C string  `parquet:"c,dict"`
		D float32 `parquet:"d,split"`
	}
	for _, codec := range []pq.WriterOption{pq.Compression(&pq.Uncompressed), pq.Compression(&pq.Zstd),
		pq.Compression(&pq.Lz4Raw)} {
		for _, version := range []int{1, 2} {
			var b bytes.Buffer
			w := pq.NewGenericWriter[row](&b, codec, pq.DataPageVersion(version))
			w.Write([]row{{"abc", 1, "x", 1}, {"abd", 2, "x", 2}, {"abe", 4, "y", 3}})
			if err := w.Close(); err != nil {
				f.Fatal(err)
			}
			f.Add(b.Bytes())
		}
	}
	for _, name := range []string{"rows-arrow-rs-v2-brotli", "rows-duckdb-gzip", "types-duckdb-v2"} {
		b, err := os.ReadFile("testdata/" + name + ".parquet")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, h := range hostileFiles(f) {
		if b := h.file(f); len(b) < 1<<12 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		const most = 1 << 16
		rows, _, err := read(b, most)
		for _, row := range rows {
			if !json.Valid([]byte(row)) || len(row) > 4*most {
				t.Fatalf("%.200s (%v)", row, err)
			}
		}
	})
}

// FuzzWrite: rows come back as they were written.
func FuzzWrite(f *testing.F) {
	f.Add([]byte(`{"id":"a","c":["x",null],"m":{"k":1.5}}`), []byte(`{"id":1,"c":[],"o":{"p":[{"q":true}]}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if checkJSON(a) || checkJSON(b) {
			t.Skip()
		}
		var out bytes.Buffer
		if Write(&out, lines(string(a), string(b)), "m") != nil {
			t.Skip()
		}
		got, bad, err := read(out.Bytes(), 1<<20)
		if err != nil || len(bad) > 0 || len(got) != 2 {
			t.Fatalf("%s, %s: %v, bad %q, %d rows", a, b, err, bad, len(got))
		}
		var want, have [2]any
		for i, raw := range [][]byte{a, b} {
			if json.Unmarshal(raw, &want[i]) != nil {
				t.Skip()
			}
			if err := json.Unmarshal([]byte(got[i]), &have[i]); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(withoutNull(have[i]), withoutNull(want[i])) {
				t.Fatalf("%s came back as %s", raw, got[i])
			}
		}
	})
}

func checkJSON(b []byte) bool {
	return !json.Valid(b) || len(b) > 1<<12 || bytes.Contains(b, []byte(`\ud`)) || bytes.Contains(b, []byte(`\uD`)) ||
		strings.ToValidUTF8(string(b), "") != string(b)
}

// withoutNull is a value less the members that are null.
func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if v[name] = withoutNull(value); value == nil {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNull(v[i])
		}
	}
	return v
}
