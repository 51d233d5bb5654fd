package dataset

import (
	"bufio"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

const (
	run = `# a comment
q1 Q0 d1 1 2.5 tag
q1	Q0	d2	9	1e1	tag more words

q1 Q0 d10 2 2.5 tag
  q2 Q0 d2 1 -3 tag
`
	judged = "q1 0 d1 1\nq1 0 d9 2\n# more\nq2 0 d2 0\nq2 1 d3 -1\n"
)

func TestTREC(t *testing.T) {
	want := []*metrics.Sample{
		{ID: "q1", ContextIDs: []string{"d2", "d10", "d1"}, Relevance: map[string]int{"d1": 1, "d9": 2}},
		{ID: "q2", ContextIDs: []string{"d2"}, Relevance: map[string]int{"d2": 0, "d3": -1}},
	}
	check := func(name, run, qrelsName, judged string) {
		t.Helper()
		got, bad, s, err := load(t, write(t, name, run), Options{Qrels: write(t, qrelsName, judged)})
		if err != nil || len(bad) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, bad %q, %+v", name, err, bad, got)
			return
		}
		if s.Filled[metrics.ContextIDs] != 2 || s.Filled[metrics.Relevance] != 2 || len(s.Qrels) != 64 ||
			s.Notes != nil {
			t.Errorf("%s: summary %+v", name, s)
		}
		if err := s.Need(metrics.ContextIDs | metrics.Relevance); err != nil {
			t.Error(err)
		}
	}
	// d1 and d10 have one score: the higher id comes first, by its bytes.
	check("a.run", run, "q", judged)
	check("a.trec", run, "q", judged)
	check("a.txt", run, "q", judged)
	check("results.test.gz", gzipped(t, run), "q.gz", gzipped(t, judged))
	check("a.run", "\ufeff"+strings.ReplaceAll(run, "\n", "\r\n"), "q",
		"\ufeff"+strings.ReplaceAll(judged, "\n", "\r\n"))
	check("a.run", strings.TrimSpace(run), "q", strings.TrimSpace(judged))
	check("a.run", run, "q.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td9\t2\nq2\td2\t0\nq2\td3\t-1\n")
}

// Judgements in a file of their own go to the rows of any dataset.
func TestQrels(t *testing.T) {
	rows := `{"id": "q1", "question": "?", "context_ids": ["d1"]}` + "\n" +
		`{"id": "q3", "question": "?", "context_ids": []}` + "\n"
	path, judgements := write(t, "d.jsonl", rows), write(t, "q", judged)
	got, _, s, err := load(t, path, Options{Qrels: judgements})
	if err != nil {
		t.Fatal(err)
	}
	q1 := &metrics.Sample{
		ID: "q1", Question: "?", ContextIDs: []string{"d1"}, Relevance: map[string]int{"d1": 1, "d9": 2},
	}
	q3 := &metrics.Sample{ID: "q3", Question: "?", ContextIDs: []string{}}
	if !reflect.DeepEqual(got, []*metrics.Sample{q1, q3}) {
		t.Errorf("%+v, %+v", got[0], got[1])
	}
	notes := strings.Join(s.Notes, "\n")
	if notes != "no judgements for 1 query, to which no measure of retrieval applies: q3\n"+
		"1 query judged and not in the dataset, left out (--complete scores them as if nothing had been retrieved): "+
		"q2" {
		t.Errorf("notes:\n%s", notes)
	}

	got, _, s, err = load(t, path, Options{Qrels: judgements, Complete: true})
	q2 := &metrics.Sample{ID: "q2", ContextIDs: []string{}, Relevance: map[string]int{"d2": 0, "d3": -1}}
	if err != nil || !reflect.DeepEqual(got, []*metrics.Sample{q1, q3, q2}) || s.Filled[metrics.ContextIDs] != 3 {
		t.Errorf("complete: %v, %d rows, %+v", err, len(got), s)
	}
	if len(s.Notes) != 2 || !strings.Contains(s.Notes[1], "scored as if nothing had been retrieved: q2") {
		t.Errorf("complete: notes %q", s.Notes)
	}

	// Up to a limit; what it keeps from being read is not missed.
	for limit, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 3} {
		got, _, s, err := load(t, path, Options{Qrels: judgements, Complete: true, Limit: limit})
		if err != nil || len(got) != want || limit < 3 && strings.Contains(strings.Join(s.Notes, ""), "q2") {
			t.Errorf("limit %d: %d rows, %v, notes %q", limit, len(got), err, s.Notes)
		}
	}

	var many strings.Builder
	for i := range 9 {
		fmt.Fprintf(&many, "m%d 0 d 1\n", i)
	}
	_, _, s, err = load(t, path, Options{Qrels: write(t, "q", judged+many.String())})
	if err != nil || !strings.HasSuffix(s.Notes[1], ": q2, m0, m1, m2, m3 and 5 more") ||
		!strings.HasPrefix(s.Notes[1], "10 queries judged") {
		t.Errorf("many queries that are absent: %v, %q", err, s.Notes)
	}
}

func TestBadTREC(t *testing.T) {
	check := func(run string, good int, want ...string) {
		t.Helper()
		samples, bad, _, err := load(t, write(t, "d.run", run), Options{Qrels: write(t, "q", "ok 0 d1 1\nb 0 d1 1\n")})
		if err != nil || len(samples) != good || len(bad) != len(want) {
			t.Errorf("%q: %v, %d samples, bad %q; want %d and %q", run, err, len(samples), bad, good, want)
			return
		}
		for i, w := range want {
			if !strings.Contains(bad[i], w) {
				t.Errorf("%q: bad %q, want %q", run, bad, want)
			}
		}
	}
	ok := "ok Q0 d1 1 2 t\n"
	check(ok+"b Q0 d1 1 2\nb Q0 d2 1 2 t\nc Q0 d1 1 2 t\n", 2,
		"d.run:2: want 6 fields, query Q0 passage rank score tag, have 5")
	check(ok+"b Q0 d2 1 2 t\nb Q0 d1 1 high t\nb\n", 1, `d.run:3: want a score as the fifth field, have "high"`)
	check(ok+"b Q0 d1 1 NaN t\n", 1, `have "NaN"`)
	check(ok+"b Q0 d1 1 1e999 t\n", 1, `have "1e999"`)
	check(ok+"b Q0 d1 1 -inf t\n", 1, `have "-inf"`)
	check(ok+"b Q0 d1 1 2 t\n\nb Q0 d2 1 2 t\nb Q0 d1 1 1 t\n", 1,
		`d.run:5: the passage "d1" was retrieved for query "b" before: on line 2`)
	check(ok+"b Q0 d\xff 1 2 t\n", 1, "d.run:2: not UTF-8")
	check(ok+"b Q0 d1 1 2 t\nok Q0 d2 2 1 t\n", 2,
		`d.run:3: the lines of query "ok" do not stand together: others began on line 1; sort the run by query`)
	if !raceEnabled {
		check(ok+"b Q0 d1 1 2 "+strings.Repeat("t", maxRecord)+"\nb Q0 d2 1 2 t\n", 2,
			"d.run:2: the row is longer than 64 MiB")
	}

	refuse := func(name, run, judged string, o Options, want string) {
		t.Helper()
		path := write(t, name, run)
		if judged != "" {
			o.Qrels = write(t, "q", judged)
		}
		_, _, _, err := load(t, path, o)
		text := strings.ReplaceAll(fmt.Sprint(err), path, name)
		if o.Qrels != "" {
			text = strings.ReplaceAll(text, o.Qrels, "q")
		}
		if err == nil || !strings.Contains(text, want) {
			t.Errorf("%.40q, %q: %v, want %q", run, judged, err, want)
		}
	}
	refuse("d.run", ok, "", Options{}, "d.run is a TREC run, which holds no judgements: name them with --qrels FILE")
	refuse("d.run", ok, "", Options{Complete: true}, "it needs --qrels FILE")
	refuse("d.run", ok, "\n# nothing\n", Options{}, "q is empty: it has no judgements")
	refuse("d.run", ok, "ok 0 d1 1\nok 0 d2\n", Options{}, "q:2: want 4 fields, query iteration passage grade, have 3")
	refuse("d.run", ok, "ok 0 d1 1 x\n", Options{}, "q:1: want 4 fields")
	refuse("d.run", ok, "query-id corpus-id score\nok 0 d1 1\n", Options{},
		"q:2: want 3 fields, query passage grade, have 4")
	refuse("d.run", ok, "ok 0 d1 1.5\n", Options{}, `q:1: want a whole number up to 127 as the grade, have "1.5"`)
	refuse("d.run", ok, "ok 0 d1 128\n", Options{}, `have "128"`)
	refuse("d.run", ok, "ok 0 d1 1\nok 0 d1 1\n", Options{},
		`q:2: the passage "d1" is judged for query "ok" a second time`)
	refuse("d.run", ok, "ok 0 d\xff 1\n", Options{}, "q:1: not UTF-8")
	refuse("d.run", ok, "\xff\xfeo\x00", Options{}, "q is UTF-16")
	refuse("d.run", ok, "301 0 d1 1\n", Options{},
		`no query of d.run is judged in q: are the ids the same? The one has "ok", the other "301"`)
	refuse("d.run", ok, "", Options{Qrels: "absent"}, "--qrels: no such dataset: q")
	refuse("d.run", "", "ok 0 d1 1\n", Options{}, "d.run is empty")
	refuse("d.txt", "ok QX d1 1 2 t\n", "ok 0 d1 1\n", Options{}, "cannot tell the format of d.txt")
	refuse("d.jsonl", `{"id": "ok", "relevance": {"d1": 1}}`, "ok 0 d1 1\n", Options{},
		"the row has judgements of its own, and q has some for its id too")
}

// An empty file is one for which nothing was retrieved, if all that is judged is to count.
func TestEmptyRun(t *testing.T) {
	samples, _, _, err := load(t, write(t, "d.run", ""), Options{Qrels: write(t, "q", judged), Complete: true})
	if err != nil || len(samples) != 2 || !samples[0].Fields().Has(metrics.ContextIDs) {
		t.Errorf("%v, %d samples", err, len(samples))
	}
}

func FuzzTREC(f *testing.F) {
	f.Add([]byte(run))
	f.Add([]byte("a Q0 b 1 1 t\na Q0 b 1 1 t\r\nb\n#\n\na Q0 c 1 nan t"))
	f.Add([]byte("a\xa0 Q0 \u2003b 1 0x1p-2 t\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzRows(t, b, func(r *bufio.Reader) (list []record) {
			for rec, err := range readTREC(r) {
				if err != nil {
					t.Fatal(err) // only reading can fail, and it does not here
				}
				list = append(list, rec)
			}
			return list
		})
	})
}

func FuzzQrels(f *testing.F) {
	f.Add([]byte(judged))
	f.Add([]byte("query-id\tcorpus-id\tscore\na\tb\t1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		q := &qrels{name: "q", grades: map[string]map[string]int{}}
		if q.read(t.Context(), bufio.NewReaderSize(strings.NewReader(string(b)), 16)) != nil {
			return
		}
		n := 0
		for _, query := range q.order {
			n += len(q.grades[query])
		}
		if n != q.n || len(q.order) != len(q.grades) {
			t.Fatalf("%q: %d judgements counted, %d kept; %d queries in order, %d kept",
				b, q.n, n, len(q.order), len(q.grades))
		}
	})
}

// ourName is the metric for a measure of trec_eval, "" for one that is not offered.
func ourName(measure string) string {
	if name, ok := map[string]string{
		"map": "map", "Rprec": "r_precision", "bpref": "bpref", "recip_rank": "mrr", "infAP": "infap",
		"11pt_avg": "iprec", "binG": "bin_g", "G": "g", "ndcg": "ndcg", "ndcg_rel": "ndcg_rel", "Rndcg": "r_ndcg",
		"set_P": "p", "set_relative_P": "relative_p", "set_recall": "recall", "set_map": "set_map", "set_F": "f",
		"rbp": "rbp@0.9", "rbp_resid": "rbp_residual@0.9", "gm_map": "log_map", "gm_bpref": "log_bpref",
	}[measure]; ok {
		return name
	}
	i := strings.LastIndexByte(measure, '_')
	if i < 0 {
		return ""
	}
	if name, ok := map[string]string{
		"P": "p", "recall": "recall", "ndcg_cut": "ndcg", "map_cut": "map", "relative_P": "relative_p",
		"success": "hit", "unj": "unjudged", "iprec_at_recall": "iprec", "Rprec_mult": "r_precision",
	}[measure[:i]]; ok {
		return name + "@" + measure[i+1:]
	}
	return ""
}

// What trec_eval prints of its own test data must come out of ours to the last digit, query by query and in the
// summary.
func TestTrecEval(t *testing.T) {
	samples, bad, s, err := load(t, sharedData(t, "trec_eval/results.test"), Options{
		Qrels: sharedData(t, "trec_eval/qrels.test"),
	})
	if err != nil || len(bad) > 0 || s.Notes != nil {
		t.Fatal(err, bad, s.Notes)
	}
	value := func(measure, query string) string {
		ms, err := all.Select([]string{"retrieval/" + ourName(measure)})
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		n := 0
		for _, sample := range samples {
			if query != "all" && sample.ID != query {
				continue
			}
			score, err := ms[0].Score(t.Context(), metrics.Models{}, sample)
			if err != nil {
				t.Fatal(err)
			}
			sum += score.Value
			n++
		}
		mean := sum / float64(n)
		if strings.HasPrefix(measure, "gm_") {
			mean = math.Exp(mean)
		}
		return fmt.Sprintf("%.4f", mean)
	}
	others := map[string]int{} // the measures not offered
	compare := func(file string, least int) {
		b, err := os.ReadFile(sharedData(t, "trec_eval/"+file))
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) != 3 {
				t.Fatalf("%s: %q", file, line)
			}
			if ourName(f[0]) == "" {
				others[f[0]]++
				continue
			}
			if got := value(f[0], f[1]); got != f[2] {
				t.Errorf("%s: %s of %s is %s, want %s", file, f[0], f[1], got, f[2])
			}
			compared++
		}
		if compared < least {
			t.Errorf("%s: only %d values compared, want %d", file, compared, least)
		}
		t.Logf("%s: %d values compared", file, compared)
	}
	compare("out.test", 25)
	compare("out.test.a", 92)
	compare("out.test.aq", 362)

	// The rest are counts, which have no range, and labels; of the counts, what the reader gives is checked.
	want := []string{"num_nonrel_judged_ret", "num_q", "num_rel", "num_rel_ret", "num_ret", "relstring",
		"runid", "utility"}
	if got := slices.Sorted(maps.Keys(others)); !slices.Equal(got, want) {
		t.Errorf("not offered: %q, want %q", got, want)
	}
	retrieved, relevant := 0, 0
	for _, sample := range samples {
		retrieved += len(sample.ContextIDs)
		for _, g := range sample.Relevance {
			relevant += g
		}
	}
	if len(samples) != 3 || retrieved != 1500 || relevant != 561 {
		t.Errorf("%d queries, %d passages, %d relevant ones; want 3, 1500 and 561", len(samples), retrieved, relevant)
	}
}
