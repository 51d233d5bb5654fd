package report

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/assay-eval/assay/backend"
)

// Two runs differ if anything in their configurations does, but for the path that the dataset had: each field is
// changed in turn. A new one cannot be forgotten.
func TestConfigDiffersInEveryField(t *testing.T) {
	var c Config
	fill(reflect.ValueOf(&c).Elem())
	var d Config
	fill(reflect.ValueOf(&d).Elem())
	n := 0
	eachValue(reflect.ValueOf(&c).Elem(), "Config", func(path string, set func(n int)) {
		n++
		if what := c.differs(d); what != "" {
			t.Fatalf("before %s was changed, %s differed", path, what)
		}
		set(2)
		defer set(1)
		what := c.differs(d)
		if (what == "") != (path == "Config.Dataset.Path") {
			t.Errorf("%s was changed, and %q is said to differ", path, what)
		}
	})
	if n < 25 {
		t.Errorf("only %d fields were changed", n)
	}
}

// Every role has a field in a manifest.
func TestEveryRoleInManifest(t *testing.T) {
	for _, role := range backend.Roles() {
		ids := backend.Identities{role: {Name: "m", Digest: "sha256:1"}}
		if got := ids.Fields().Models(); !reflect.DeepEqual(got, ids) {
			t.Errorf("%s: %v comes back as %v", role, ids, got)
		}
	}
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

// eachValue calls do for every plain value below v, with a function that gives it value number n.
func eachValue(v reflect.Value, path string, do func(path string, set func(n int))) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			eachValue(v.Field(i), path+"."+v.Type().Field(i).Name, do)
		}
	case reflect.Pointer:
		eachValue(v.Elem(), path, do)
	case reflect.Slice:
		eachValue(v.Index(0), path+"[0]", do)
	case reflect.Map:
		do(path, func(n int) { v.Set(reflect.ValueOf(map[string]string{"question": fmt.Sprint("value ", n)})) })
	default:
		do(path, func(n int) { set(v, n) })
	}
}
