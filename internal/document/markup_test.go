package document

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// said is the text of a document.
func said(ctx context.Context, kind Kind, text string) (string, error) {
	d, err := Read(ctx, kind, []byte(text), 1<<24)
	if err != nil {
		return "", err
	}
	return d.Text, nil
}

// Lines of code stay lines, whatever spans colour them.
func TestPreformatted(t *testing.T) {
	check := func(page, want string) {
		t.Helper()
		if got, err := said(t.Context(), HTML, page); err != nil || got != want {
			t.Errorf("%q: %q %v, want %q", page, got, err, want)
		}
	}
	check("<pre><span>a := 1</span>\n<span>b := 2</span>\n</pre><p>After.", "a := 1\nb := 2\n\nAfter.")
	check("<pre>if x {\n    <b>return</b>\n}\n</pre>", "if x {\n    return\n}")
	check("<p>Before.</p><pre>\none\n</pre>after", "Before.\n\none\n\nafter")
}

// The parser of Markdown takes time that grows with the square of how many blocks a line begins. Such a file is passed
// over, and what people write is not.
func TestNestedMarkdown(t *testing.T) {
	check := func(text string, want int) {
		t.Helper()
		if got := deepest([]byte(text)); got != want {
			t.Errorf("%.30q begins %d blocks, want %d", text, got, want)
		}
	}
	check("> - 1. text\n> > text", 3)
	check("1884 was a year. -5 > 3\n----\n**bold** 3.5", 0)
	check(">>>\n* a\n12) b", 3)
	check("", 0)
	for _, text := range []string{strings.Repeat(">", 1<<20), strings.Repeat("- ", 1<<17) + "x"} {
		if _, err := said(t.Context(), Markdown, text); err == nil ||
			!strings.Contains(err.Error(), "begin in one line") {
			t.Errorf("%.10q: %v", text, err)
		}
	}
	const nested = "> Said.\n> > Said before.\n\n- one\n  - two\n"
	if got, err := said(t.Context(), Markdown, nested); err != nil ||
		!strings.Contains(got, "Said before.") || !strings.Contains(got, "two") {
		t.Errorf("%q %v", got, err)
	}
}

// The parser itself ends with the context, and leaves no goroutine behind that would work on for hours.
func TestParserEnds(t *testing.T) {
	for _, text := range []string{strings.Repeat("![](", 100_000), strings.Repeat("[", 300_000),
		strings.Repeat("*a_ ", 100_000)} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		begun := time.Now()
		if _, err := said(ctx, Markdown, text); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%.4q: %v", text, err)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%.4q: the parser went on for %v", text, took)
		}
		cancel()
	}
	many := strings.Repeat("*a* ", mostMarks)
	if got, err := said(t.Context(), Markdown, many); err != nil || !strings.HasPrefix(got, "a a a ") ||
		!strings.HasSuffix(strings.TrimSpace(got), "*a* *a*") {
		t.Errorf("%.20q ... %v", got, err)
	}
}
