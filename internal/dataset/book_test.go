package dataset

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const books = "../sheet/testdata/"

// The rows of a sheet are samples, as those of a CSV file would be.
func TestWorkbook(t *testing.T) {
	r, err := Open(t.Context(), books+"openpyxl.xlsx", Options{Where: []string{"right=true"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if s := r.Summary(); s.Format != "xlsx" || s.Rows != 2 || s.Bad != 0 {
		t.Errorf("%d rows of %s, %d bad", s.Rows, s.Format, s.Bad)
	}
	var ids []string
	for s, err := range r.Samples(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
		if s.ID == "a" && (s.Answer != "In  Oslo.\nBy the sea." || len(s.Contexts) != 2 || string(s.Extra["score"]) != `"0.25"` ||
			string(s.Extra["when"]) != `"2026-11-22"`) {
			t.Errorf("the first row is %+v", s)
		}
		if _, there := s.Extra["seen"]; s.ID == "c" && there {
			t.Error("an empty cell is something")
		}
	}
	if strings.Join(ids, " ") != "a c" {
		t.Errorf("rows %v", ids)
	}
}

func TestWorkbookErrors(t *testing.T) {
	dir := t.TempDir()
	content, err := os.ReadFile(books + "openpyxl.xlsx")
	if err != nil {
		t.Fatal(err)
	}
	csv, bare, damaged, other := filepath.Join(dir, "a.csv"), filepath.Join(dir, "bare"), filepath.Join(dir, "b.xlsx"), filepath.Join(dir, "c.zip")
	archive, err := os.Create(other)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if z := zip.NewWriter(archive); z.Close() != nil {
		t.Fatal("no archive")
	}
	for path, text := range map[string]string{csv: "id,answer\na,b\n", bare: string(content), damaged: string(content[:3000]),
		filepath.Join(dir, "old.xls"): "\xd0\xcf\x11\xe0 and so on"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, sheet, want string }{
		{books + "openpyxl.xlsx", "Row", `the workbook has no sheet "Row": it has "Rows", "Formulas"`},
		{books + "exceljs.xlsx", "Leer", "is empty"},
		{csv, "Rows", "has no sheets, being csv"},
		{damaged, "", "b.xlsx: zip: not a valid zip file"},
		{filepath.Join(dir, "old.xls"), "", "save it as .xlsx without one"},
		{other, "", "zip"},
	} {
		if _, err := Open(t.Context(), c.path, Options{Sheet: c.sheet}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, sheet %q: %v", c.path, c.sheet, err)
		}
	}
	r, err := Open(t.Context(), bare, Options{Sheet: "Formulas"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if s := r.Summary(); s.Rows != 1 || s.Bad != 1 || s.Errors[0].Line != 2 || !strings.Contains(s.Errors[0].Error(), "B2 holds a formula") {
		t.Errorf("a workbook without an ending: %+v", s)
	}
}
