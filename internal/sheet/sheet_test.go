package sheet

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const mostRow = 1 << 20

// lines are the rows of a sheet, a line each.
func lines(b *Book, name string) (list []string, err error) {
	for row, err := range b.Rows(context.Background(), name, mostRow) {
		if err != nil {
			return list, err
		}
		var cells []string
		for _, c := range row.Cells {
			cells = append(cells, fmt.Sprintf("%s=%q", Letters(c.Column), c.Text))
		}
		if row.Err != nil {
			cells = append(cells, row.Err.Error())
		}
		list = append(list, fmt.Sprintf("%d %s", row.Number, strings.Join(cells, " ")))
	}
	return list, nil
}

func openFile(t *testing.T, name string) *Book {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	b, err := openBytes(content)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func openBytes(content []byte) (*Book, error) {
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, err
	}
	return Open(z)
}

func check(t *testing.T, b *Book, name string, want ...string) {
	t.Helper()
	got, err := lines(b, name)
	if err != nil {
		t.Fatal(err)
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("sheet %q has\n%s\nand not\n%s", name, g, w)
	}
}

// Files that Python's openpyxl 3.0.9 and npm's exceljs 4.4.0 wrote (testdata/README.md).
func TestOtherWriters(t *testing.T) {
	b := openFile(t, "openpyxl.xlsx")
	if got := fmt.Sprint(b.Sheets()); got != "[Rows Formulas]" {
		t.Errorf("sheets %s", got)
	}
	check(t, b, "",
		`1 A="id" B="question" C="answer" D="score" E="when" F="seen" G="right" H="contexts"`,
		`2 A="a" B="Where?" C="In  Oslo.\nBy the sea." D="0.25" E="2026-11-22" F="2026-11-22T09:30:00" G="true" `+
			`H="[\"Oslo lies by the sea.\", \"It rains.\"]"`,
		`3 A="7" B="\r & <b>?" C="äöü 😀" D="1e+21" E="09:30:05" F="1900-01-01T00:00:00" G="false"`,
		`5 A="c" B="Long?" C="12345678901234" D="-0.1" E="1900-03-01" G="true"`)
	check(t, b, "Notes", `1 A="hidden"`)
	check(t, b, "Formulas", `1 A="id" B="answer"`,
		`2 B2 holds a formula without its value: open the file in a spreadsheet and save it`, `3 A="y" B="two"`)
	check(t, openFile(t, "exceljs.xlsx"), "Rows",
		`1 A="id" B="question" C="answer" D="score" E="when" F="right"`,
		`2 A="a" B="Where?" C="In Oslo." D="0.30000000000000004" E="2026-11-22T09:30:00" F="true"`,
		`3 A="b" B="How?" C="ax" D="#DIV/0!" E="2026-11-22" F="false"`,
		`4 A="c" B="a link" C="2" D="3" F="true"`,
		`6 A="d" C="merged"`)
	check(t, openFile(t, "exceljs.xlsx"), "Leer")
	check(t, openFile(t, "exceljs-stream.xlsx"), "S", `1 A="id" B="answer"`, `2 A="a" B="xxxxxxxxxx ü"`)
	if _, err := lines(b, "Row"); err == nil || err.Error() != `the workbook has no sheet "Row": it has "Rows", "Formulas"` {
		t.Errorf("a sheet that is not there: %v", err)
	}
}

// workbookOf is a workbook with one sheet; more are further files, or others in the place of its own.
func workbookOf(sheetData string, more map[string]string) []byte {
	files := map[string]string{
		"[Content_Types].xml": `<Types/>`,
		"xl/workbook.xml":     `<workbook><sheets><sheet name="S" sheetId="1" r:id="r1" xmlns:r="x"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Type="http://x/worksheet" Target="sheet.xml"/>` +
			`<Relationship Id="r2" Type="http://x/sharedStrings" Target="/xl/strings.xml"/>` +
			`<Relationship Id="r3" Type="http://x/styles" Target="styles.xml"/></Relationships>`,
		"xl/strings.xml": `<sst><si><t>zero</t></si><si><r><t xml:space="preserve">o </t></r><rPh><t>spoken</t></rPh><r><t>ne</t></r></si></sst>`,
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd\.mm\.yyyy"/></numFmts>` +
			`<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
		"xl/sheet.xml": `<worksheet><sheetData>` + sheetData + `</sheetData></worksheet>`,
	}
	for name, text := range more {
		files[name] = text
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			panic(err) // unreachable: it is in memory
		}
	}
	if err := z.Close(); err != nil {
		panic(err) // unreachable, too
	}
	return out.Bytes()
}

func TestCells(t *testing.T) {
	for in, want := range map[string]string{
		`<row><c t="s"><v>1</v></c><c t="s"><v> 0 </v></c></row>`:                                 `1 A="o ne" B="zero"`,
		`<row r="7"><c r="C7"><v>5</v></c><c><v>-0</v></c><c/></row>`:                             `7 C="5" D="0"`,
		`<row><c><v>0.1</v></c><c><v>1E-7</v></c><c><v>1234567890123456</v></c></row>`:            `1 A="0.1" B="1e-07" C="1234567890123456"`,
		`<row><c s="1"><v>45982</v></c><c s="2"><v>45982.25</v></c><c s="1"><v>-3</v></c></row>`:  `1 A="2025-11-21" B="2025-11-21T06:00:00" C="-3"`,
		`<row><c s="1"><v>1</v></c><c s="1"><v>61</v></c><c s="9"><v>1</v></c></row>`:             `1 A="1900-01-01" B="1900-03-01" C="1"`,
		`<row><c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c><c t="d"><v>2026-01-02</v></c></row>`:  `1 A="true" B="#N/A" C="2026-01-02"`,
		`<row><c t="inlineStr"><is><t>in</t></is></c><c t="str"><f>x</f><v>_x0041_</v></c></row>`: `1 A="in" B="A"`,
		`<row><c t="str"><f>x</f><v></v></c></row>`:                                               ``,
		`<row r="3"/><row><c><v>1</v></c></row>`:                                                  `4 A="1"`,
		`<row><c t="s"><v>2</v></c></row><row><c><v>1</v></c></row>`:                              "1 A1 names a shared text \"2\", of which there are 2\n2 A=\"1\"",
		`<row><c t="b"><v>yes</v></c></row>`:                                                      `1 A1 is neither true nor false, but "yes"`,
		`<row><c><v>NaN</v></c></row>`:                                                            `1 A1 is no number, but "NaN"`,
		`<row><c t="z"><v>1</v></c></row>`:                                                        `1 A1 is of an unknown type, "z"`,
	} {
		b, err := openBytes(workbookOf(in, nil))
		if err != nil {
			t.Fatal(err)
		}
		got, err := lines(b, "")
		if err != nil || strings.Join(got, "\n") != want {
			t.Errorf("%s is\n%s, %v\nand not\n%s", in, strings.Join(got, "\n"), err, want)
		}
	}
}

func TestDatesSince1904(t *testing.T) {
	b, err := openBytes(workbookOf(`<row><c s="1"><v>0</v></c></row>`, map[string]string{"xl/workbook.xml": `<workbook>` +
		`<workbookPr date1904="1"/><sheets><sheet name="S" sheetId="1" r:id="r1" xmlns:r="x"/></sheets></workbook>`}))
	if err != nil {
		t.Fatal(err)
	}
	check(t, b, "S", `1 A="1904-01-01"`)
}

func TestFormats(t *testing.T) {
	for code, want := range map[string]kind{
		"General": plain, "0.00": plain, `0" d"`: plain, `#,##0;[Red]-#,##0`: plain, `[h]:mm`: plain, `[mm]:ss`: plain, "@": plain,
		"yyyy-mm-dd": day, `[$-407]d. mmmm yyyy`: day, "mmm": day, `dd/mm/yy;@`: day, `"0"yyyy`: day,
		"hh:mm": clock, "h:mm AM/PM": clock, "ss.000": clock, "d/m/yy hh:mm": both, `yyyy\-mm\-dd\ hh:mm`: both, "": plain, "[": plain,
	} {
		if got := kindOf(code); got != want {
			t.Errorf("%q shows %d, not %d", code, got, want)
		}
	}
}

// A damaged or hostile workbook is refused with a reason, in little time and space.
func TestHostile(t *testing.T) {
	deep := strings.Repeat("<a>", 100_000)
	long := strings.Repeat("x", 3<<20)
	many := strings.Repeat(`<c t="s"><v>0</v></c>`, 1000)
	for name, c := range map[string]struct {
		data string
		more map[string]string
		want string
	}{
		"no sheets":       {"", map[string]string{"xl/workbook.xml": "<workbook/>"}, "no sheet that is shown"},
		"no workbook":     {"", map[string]string{"_rels/.rels": `<R><Relationship Id="a" Type="x/officeDocument" Target="absent.xml"/></R>`}, "absent.xml: it is not there"},
		"no sheet file":   {"", map[string]string{"xl/_rels/workbook.xml.rels": `<R><Relationship Id="r1" Type="x/worksheet" Target="no.xml"/></R>`}, "no.xml: it is not there"},
		"cut off":         {"", map[string]string{"xl/sheet.xml": "<worksheet><row><c><v>1"}, "unexpected EOF"},
		"no XML":          {"", map[string]string{"xl/sheet.xml": "\x00\x01"}, "XML"},
		"deep":            {deep, nil, "nest too deeply"},
		"deep strings":    {"", map[string]string{"xl/strings.xml": "<sst><si>" + deep}, "nest too deeply"},
		"deep cell":       {"<row><c>" + deep, nil, "nest too deeply"},
		"a row too long":  {`<row>` + many + `</row>`, map[string]string{"xl/strings.xml": "<sst><si><t>" + long + "</t></si></sst>"}, "row is longer than 1 MiB"},
		"backwards":       {`<row r="5"/><row r="4"/>`, nil, `after row 5 comes a row "4"`},
		"cells backwards": {`<row><c r="B1"/><c r="A1"/></row>`, nil, "stands behind one after it"},
		"far column":      {`<row><c r="XFE1"/></row>`, nil, "beyond the last"},
		"no reference":    {`<row><c r="1A"/></row>`, nil, "none of a cell"},
		"far row":         {`<row r="99999999999"/>`, nil, "comes a row"},
		"encoding":        {"", map[string]string{"xl/sheet.xml": `<?xml version="1.0" encoding="latin1"?><a/>`}, "not UTF-8"},
		"entities":        {"", map[string]string{"xl/sheet.xml": `<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`}, "entity"},
	} {
		b, err := openBytes(workbookOf(c.data, c.more))
		var got []string
		if err == nil {
			got, err = lines(b, "")
		}
		said := fmt.Sprint(strings.Join(got, "\n"), err)
		if !strings.Contains(said, c.want) {
			t.Errorf("%s: %.300s", name, said)
		}
	}
}

// A text of a gigabyte that is packed into a megabyte is given up where it is too long.
func TestBomb(t *testing.T) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range map[string]string{"xl/workbook.xml": `<workbook><sheets><sheet name="S" r:id="r1" xmlns:r="x"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<R><Relationship Id="r1" Type="x/worksheet" Target="sheet.xml"/></R>`} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(text))
	}
	w, err := z.Create("xl/sheet.xml")
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(`<worksheet><sheetData><row><c t="inlineStr"><is><t>`))
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range 80 {
		w.Write(block)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := openBytes(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lines(b, ""); err == nil || !strings.Contains(err.Error(), "too long") && !strings.Contains(err.Error(), "more than") {
		t.Errorf("80 MiB in a cell: %v", err)
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{"a_x000A_b": "a\nb", "_x005F_x000A_": "_x000A_", "_xZZZZ_": "_xZZZZ_", "_x12": "_x12", "_xD800_": "_xD800_", "x": "x"} {
		if got := unescape(in); got != want {
			t.Errorf("%q is %q, not %q", in, got, want)
		}
	}
}

func FuzzBook(f *testing.F) {
	for _, name := range []string{"openpyxl.xlsx", "exceljs.xlsx", "exceljs-stream.xlsx"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		b, err := openBytes(content)
		if err != nil {
			return
		}
		for _, name := range append(b.Sheets(), "") {
			if list, err := lines(b, name); err == nil && len(list) == 0 && name != "" {
				continue
			}
		}
	})
}

// Sheets, shared texts and formats as they come, without the archive around them, which a fuzzer does not get through.
func FuzzSheet(f *testing.F) {
	f.Add(`<row r="2"><c r="B2" t="s" s="1"><v>1</v></c></row>`, `<sst><si><t>a_x000A_</t></si></sst>`, `yyyy\-mm "x" [h]`, 45000.5)
	f.Add(`<row><c t="inlineStr"><is><r><t>x</t></r></is></c><c><f>1</f></c><c t="e"><v>#N/A</v></c></row>`, `<sst/>`, `[`, -1.0)
	f.Fuzz(func(t *testing.T, data, shared, code string, v float64) {
		for _, since04 := range []bool{false, true} {
			if text, ok := kindOf(code).format(v, since04); ok {
				if _, err := time.Parse("2006-01-02", text[:min(10, len(text))]); err != nil && len(text) != len("15:04:05") {
					t.Errorf("%v by %q is %q", v, code, text)
				}
			}
		}
		b, err := openBytes(workbookOf(data, map[string]string{"xl/strings.xml": shared}))
		if err != nil {
			return
		}
		last := 0
		for row, err := range b.Rows(t.Context(), "", mostRow) {
			if err != nil {
				return
			}
			if row.Number <= last || (len(row.Cells) > 0) == (row.Err != nil) {
				t.Errorf("row %d after %d: %d cells, %v", row.Number, last, len(row.Cells), row.Err)
			}
			last = row.Number
			for i, c := range row.Cells {
				if i > 0 && c.Column <= row.Cells[i-1].Column || c.Column >= mostColumns || c.Text == "" {
					t.Errorf("row %d: cell %d is %q in column %d", row.Number, i, c.Text, c.Column)
				}
			}
		}
	})
}
