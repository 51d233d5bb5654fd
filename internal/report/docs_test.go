package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// The page on results states a format that others rely on: its examples must be of that format, and it
// must name every field there is.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	seen := map[string]int{}
	for _, block := range regexp.MustCompile("(?s)```jsonl? ([\\w.]+)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		name, text := block[1], block[2]
		parts := []string{text}
		if name == "metrics.Result" {
			parts = strings.Split(strings.TrimSpace(text), "\n")
		}
		for _, part := range parts {
			seen[name]++
			v := map[string]any{"metrics.Result": &metrics.Result{}, "Manifest": &runs.Manifest{},
				"JSON": &JSON{}}[name]
			d := json.NewDecoder(strings.NewReader(part))
			d.DisallowUnknownFields()
			if err := d.Decode(v); err != nil {
				t.Errorf("%s: %v in %s", name, err, part)
			}
			if r, ok := v.(*metrics.Result); ok {
				if err := check(*r, runs.Metric{Max: 1}); err != nil {
					t.Errorf("%s: %v", part, err)
				}
			}
		}
	}
	if seen["metrics.Result"] < 3 || seen["Manifest"] != 1 || seen["JSON"] != 1 {
		t.Errorf("examples found: %v", seen)
	}
	names := map[string]bool{}
	for _, v := range []any{metrics.Result{}, runs.Manifest{}, JSON{}} {
		fieldNames(reflect.TypeOf(v), names)
	}
	if len(names) < 40 {
		t.Fatalf("only %d fields found: %v", len(names), names)
	}
	for name := range names {
		if !strings.Contains(page, `"`+name+`"`) && !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not name the field %q", name)
		}
	}
	sources, err := filepath.Glob("../../metrics/*/*.go")
	if err != nil || len(sources) < 20 {
		t.Fatalf("%d sources of metrics, %v", len(sources), err)
	}
	kinds := 0
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`Kind: *"([a-z ]+)"`).FindAllStringSubmatch(string(text), -1) {
			kinds++
			if !strings.Contains(page, "`"+m[1]+"`") {
				t.Errorf("the page does not name the kind of finding %q", m[1])
			}
		}
	}
	if kinds < 30 {
		t.Errorf("only %d kinds of findings seen", kinds)
	}
	for _, kind := range []metrics.Kind{metrics.NotApplicable, metrics.BadReply, metrics.TooLong, metrics.Invalid,
		metrics.Failed} {
		if !strings.Contains(page, "`"+string(kind)+"`") {
			t.Errorf("the page does not name the kind %q", kind)
		}
	}
}

// fieldNames collects the JSON names of the fields of a type and of what it is made of.
func fieldNames(t reflect.Type, names map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		fieldNames(t.Elem(), names)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && f.IsExported() {
				names[name] = true
				fieldNames(f.Type, names)
			}
		}
	}
}
