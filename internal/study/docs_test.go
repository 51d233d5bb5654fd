package study

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// The page on statistics states formats that others rely on: its examples must be of them, and it must name every
// field there is.
func TestStatisticsDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/statistics.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	types := map[string]any{"comparison": &Comparison{}, "agreement": &Agreement{}, "preferences": &Preferences{},
		"ppiResult": &PPI{}, "ranked": &Ranking{}, "calibrated": &Calibrated{}, "components": &ComponentScores{}, "wikiEval": &WikiEvalAgreement{}}
	seen := 0
	for _, block := range regexp.MustCompile("(?s)```json (\\w+)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		d := json.NewDecoder(strings.NewReader(block[2]))
		d.DisallowUnknownFields()
		if err := d.Decode(types[block[1]]); err != nil {
			t.Errorf("%s: %v", block[1], err)
		}
		seen++
	}
	if seen != len(types) {
		t.Errorf("%d examples, want %d", seen, len(types))
	}
	fields := 0
	var check func(reflect.Type)
	check = func(v reflect.Type) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			check(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				f := v.Field(i)
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name == "-" || name == "" && !f.Anonymous {
					continue
				}
				if name != "" {
					fields++
				}
				if !strings.Contains(page, `"`+name+`"`) && !f.Anonymous {
					t.Errorf("the page does not name the field %q", name)
				}
				check(f.Type)
			}
		}
	}
	for _, v := range types {
		check(reflect.TypeOf(v))
	}
	if fields < 60 {
		t.Errorf("only %d fields found", fields)
	}
}
