package document

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// table adds the rows of a CSV file, each a paragraph of its own that names its columns: "name: Ann; age: 41". Fields are
// apart by commas, semicolons or tabs, whichever the first line has most of.
func (w *Writer) table(b []byte) error {
	first, _, _ := bytes.Cut(b, []byte("\n"))
	r := csv.NewReader(bytes.NewReader(b))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	most := 0
	for _, c := range ",;\t" {
		if n := bytes.Count(first, []byte(string(c))); n > most {
			r.Comma, most = c, n
		}
	}
	record, err := r.Read()
	header := append([]string(nil), record...)
	for err == nil && w.err == nil {
		if record, err = r.Read(); err != nil {
			break
		}
		var fields []string
		for i, value := range record {
			if value = strings.Join(strings.Fields(value), " "); value == "" {
				continue
			}
			if i < len(header) && strings.TrimSpace(header[i]) != "" {
				value = strings.TrimSpace(header[i]) + ": " + value
			}
			fields = append(fields, value)
		}
		w.Paragraph(strings.Join(fields, "; "))
	}
	if err != io.EOF && err != nil {
		return fmt.Errorf("it is not readable as CSV: %v", err)
	}
	if w.body.Len() == 0 {
		w.Paragraph(strings.Join(header, "; ")) // a header alone
	}
	return nil
}

// notebook adds the cells of a Jupyter notebook: its Markdown, its code, and what the code printed as text.
func (w *Writer) notebook(ctx context.Context, b []byte) error {
	var book struct {
		Format   int `json:"nbformat"`
		Metadata struct {
			Title string `json:"title"`
		} `json:"metadata"`
		Cells []struct {
			Type    string `json:"cell_type"`
			Source  lines  `json:"source"`
			Outputs []struct {
				Type string `json:"output_type"`
				Text lines  `json:"text"`
				Data struct {
					Plain lines `json:"text/plain"`
				} `json:"data"`
			} `json:"outputs"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(b, &book); err != nil {
		return fmt.Errorf("it is not readable as a notebook: %v", err)
	}
	if book.Format < 4 {
		return errors.New("it is no notebook of format 4 or later: jupyter nbconvert --to notebook makes it one")
	}
	w.Title = book.Metadata.Title
	for i, cell := range book.Cells {
		switch cell.Type {
		case "markdown":
			if err := w.markdown(ctx, []byte(cell.Source)); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				w.Lost = append(w.Lost, fmt.Sprintf("cell %d: %v", i+1, err))
			}
		case "code", "raw":
			w.Paragraph(strings.Trim(string(cell.Source), "\n"))
		}
		for _, out := range cell.Outputs {
			text := strings.TrimSpace(string(out.Text + out.Data.Plain))
			if !strings.HasPrefix(text, "<") || !strings.HasSuffix(text, ">") { // <Figure size 640x480 with 1 Axes>
				w.Paragraph(strings.ToValidUTF8(text, "\uFFFD"))
			}
		}
	}
	return nil
}

// lines is a text that notebooks write as one string or as a list of lines.
type lines string

// UnmarshalJSON reads either form.
func (l *lines) UnmarshalJSON(b []byte) error {
	var list []string
	if err := json.Unmarshal(b, &list); err == nil {
		*l = lines(strings.Join(list, ""))
		return nil
	}
	return json.Unmarshal(b, (*string)(l))
}
