// Package runstest makes small runs for tests, and changes a run's configuration field by field.
package runstest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// Manifest is that of a run of five rows with metrics of the names, from 0 to 1.
func Manifest(names ...string) runs.Manifest {
	m := runs.Manifest{Tool: "assay test", Started: runs.Now()}
	m.Config.Dataset = runs.Dataset{Path: "a.jsonl", SHA256: "00", Rows: 5}
	for _, name := range names {
		m.Config.Metrics = append(m.Config.Metrics, runs.Metric{Name: name, Max: 1})
	}
	return m
}

// Write writes a finished run to a folder.
func Write(t testing.TB, dir string, m runs.Manifest, results ...metrics.Result) {
	t.Helper()
	w, err := runs.Create(dir, m, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(runs.Calls{}, true); err != nil {
		t.Fatal(err)
	}
}

// Scored is a result with a score, of a sample that is in no group.
func Scored(sample, metric string, value float64) metrics.Result {
	return metrics.Result{Sample: sample, Metric: metric, Score: &metrics.Score{Value: value}}
}

// Fill gives every field of a configuration a value, and every list and map one element.
func Fill(c *runs.Config) { fill(reflect.ValueOf(c).Elem()) }

// EachField calls do for every plain value in a configuration that was filled, with its path and a function that gives
// it value number n: [Fill] gave it number 1.
func EachField(c *runs.Config, do func(path string, set func(n int))) {
	each(reflect.ValueOf(c).Elem(), "", do)
}

// fill gives every field of v a value, and every list and map one element.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"question": "value 1"}))
	default:
		set(v, 1)
	}
}

// set gives a plain value number n.
func set(v reflect.Value, n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("value ", n))
	case reflect.Int:
		v.SetInt(int64(n))
	case reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Float64:
		v.SetFloat(float64(n))
	case reflect.Bool:
		v.SetBool(n == 1)
	default:
		panic("no value for " + v.Type().String())
	}
}

// each calls do for every plain value below v, with a function that gives it value number n.
func each(v reflect.Value, path string, do func(path string, set func(n int))) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			each(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), do)
		}
	case reflect.Pointer:
		each(v.Elem(), path, do)
	case reflect.Slice:
		each(v.Index(0), path+"[0]", do)
	case reflect.Map:
		do(path, func(n int) { v.Set(reflect.ValueOf(map[string]string{"question": fmt.Sprint("value ", n)})) })
	default:
		do(path, func(n int) { set(v, n) })
	}
}
