package runs_test

import (
	"reflect"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
)

// Two runs differ if anything in their configurations does, but for the path that the dataset had: each field is
// changed in turn. A new one cannot be forgotten.
func TestConfigDiffersInEveryField(t *testing.T) {
	var c runs.Config
	runstest.Fill(&c)
	var d runs.Config
	runstest.Fill(&d)
	n := 0
	runstest.EachField(&c, func(path string, set func(n int)) {
		n++
		if what := c.Differs(d); what != "" {
			t.Fatalf("before %s was changed, %s differed", path, what)
		}
		set(2)
		defer set(1)
		what := c.Differs(d)
		if (what == "") != (path == "Dataset.Path") {
			t.Errorf("%s was changed, and %q is said to differ", path, what)
		}
	})
	if n < 25 {
		t.Errorf("only %d fields were changed", n)
	}
}

// Every role has a field in a manifest, and those with names a list.
func TestEveryRoleInManifest(t *testing.T) {
	for _, role := range backend.Roles() {
		ids := backend.Identities{role: {Name: "m", Digest: "sha256:1"}, role.Named("a"): {Name: "n", Digest: "sha256:2"},
			role.Named("b"): {Name: "n", Digest: "sha256:3"}}
		if got := ids.Fields().Models(); !reflect.DeepEqual(got, ids) {
			t.Errorf("%s: %v comes back as %v", role, ids, got)
		}
	}
}
