package index

import (
	"database/sql"
	"testing"
)

// Whatever is typed is a query that SQLite understands.
func FuzzMatch(f *testing.F) {
	for _, typed := range []string{"a b", `"a b" -c answer:d*`, `"`, "-", "NEAR(a b)", "a:b:c", "灯台*", "{x} : y", "answer:", "\x00"} {
		f.Add(typed)
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		f.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE VIRTUAL TABLE words USING fts5(id, question, answer, contexts, reasons)"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		query := match(typed)
		if query == "" {
			return
		}
		var n int
		if err := db.QueryRow("SELECT count(*) FROM words WHERE words MATCH ?", query).Scan(&n); err != nil {
			t.Errorf("%q became %q: %v", typed, query, err)
		}
	})
}
