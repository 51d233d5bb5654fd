package labels

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

func TestParseRatings(t *testing.T) {
	check := func(raw string, first int, want ...Rating) {
		t.Helper()
		got, err := parseRatings(json.RawMessage(raw), first)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v %v, want %v", raw, got, err, want)
		}
	}
	fails := func(raw string) {
		t.Helper()
		if got, err := parseRatings(json.RawMessage(raw), 0); err == nil {
			t.Errorf("%s: %v, want an error", raw, got)
		}
	}
	check(`3`, 0, Rating{0, 3})
	check(`-0.5`, 0, Rating{0, -0.5})
	check(`true`, 0, Rating{0, 1})
	check(`"false"`, 0, Rating{0, 0})
	check(`" Yes "`, 2, Rating{2, 1})
	check(`"[[No]]"`, 0, Rating{0, 0}) // as ARES writes it
	check(`"4"`, 0, Rating{0, 4})
	check(`["4", 3, null, "NA", true]`, 0, Rating{0, 4}, Rating{1, 3}, Rating{4, 1})
	check(`"[1, 2]"`, 1, Rating{1, 1}, Rating{2, 2}) // a list in a cell of a table
	check(`null`, 0)
	check(`""`, 0)
	check(``, 0)
	check(`[]`, 0)
	fails(`"good"`)
	fails(`{"a": 1}`)
	fails(`[[1]]`)
	fails(`[1, "good"]`)
	fails(`"[1, "`)
	fails(`"Inf"`)
	fails(`1e999`)
}

func FuzzParseRatings(f *testing.F) {
	for _, s := range []string{`3`, `"[[Yes]]"`, `["4", null]`, `"[1, 2]"`, `{}`, `"[`, `tru`, `1e400`, `"nan"`} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, raw []byte, first int) {
		first = max(first, 0) % 1000
		list, err := parseRatings(raw, first)
		if err != nil && list != nil {
			t.Fatalf("%q: both %v and %v", raw, list, err)
		}
		last := first - 1
		for _, r := range list {
			if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || r.Rater <= last {
				t.Fatalf("%q: %v", raw, list)
			}
			last = r.Rater
		}
	})
}
