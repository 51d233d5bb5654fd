package backend

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestNamedRoles(t *testing.T) {
	check := func(r Role, title, article, label string) {
		t.Helper()
		if r.Title() != title || r.WithArticle() != article || r.Label() != label {
			t.Errorf("%s is %q, %q, %q", r, r.Title(), r.WithArticle(), r.Label())
		}
	}
	check(Judge, "judge", "a judge", "judge")
	check(Embedder, "embedding model", "an embedding model", "embeddings")
	check(Embedder.Named("a"), "embedding model a", "the embedding model a", "embeddings a")
	check(Judge.Named("a").Named("b"), "judge b", "the judge b", "judge b")
	if r := Encoder.Named("x.y"); r.Kind() != Encoder || r.Name() != "x.y" || r.Named("") != Encoder ||
		Encoder.Name() != "" {
		t.Error(r, r.Kind(), r.Name())
	}
	all := map[Role]int{"judge:b": 0, "other": 0, "encoder": 0, "embedder:z": 0, "judge": 0, "judge:a": 0, "": 0}
	want := []Role{"judge", "judge:a", "judge:b", "embedder:z", "encoder", "", "other"}
	if got := SortRoles(all); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"a", "MiniCheck-7B.q4_0", strings.Repeat("x", 64)} {
		if err := CheckRoleName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "7b", "-a", "a b", "a+b", "a@b", "a:b", "a/b", "a,b", "\u00e9t\u00e9", "a\n",
		strings.Repeat("x", 65), "jury", "majority", "draws"} {
		if err := CheckRoleName(name); err == nil || len(err.Error()) > 300 {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Models without names are written as they were before there were names, and those with names after them.
func TestNamedIdentityJSON(t *testing.T) {
	check := func(ids Identities, want string) {
		t.Helper()
		b, err := json.Marshal(ids.Fields())
		if err != nil || string(b) != want {
			t.Errorf("%s, %v", b, err)
		}
	}
	plain := Identity{Engine: "e", Name: "m", Digest: "sha256:1", Context: 9}
	check(Identities{Judge: plain}, `{"judge":{"engine":"e","name":"m","digest":"sha256:1","context":9}}`)
	check(Identities{Encoder.Named("b"): {Name: "n", Digest: "d"}, Encoder.Named("a"): {Name: "m", Digest: "c"}},
		`{"models":[{"role":"encoder","as":"a","name":"m","digest":"c"},`+
			`{"role":"encoder","as":"b","name":"n","digest":"d"}]}`)
}

func TestDifferencesOfNamed(t *testing.T) {
	a := Identities{Judge: {Name: "m", Digest: "1"}, Judge.Named("x"): {Name: "n", Digest: "2"}}
	b := Identities{Judge: {Name: "m", Digest: "1"}, Judge.Named("x"): {Name: "n", Digest: "3"},
		Encoder.Named("y"): {Name: "o", Digest: "4"}}
	got := a.Differences(b)
	if len(got) != 2 || got[0].Role != "judge:x" || got[0].In != Weights || got[1].Role != "encoder:y" ||
		got[1].In != Presence || got[1].AHas {
		t.Errorf("%+v", got)
	}
}
