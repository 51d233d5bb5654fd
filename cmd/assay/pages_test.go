package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics/all"
)

// README counts the methods there are.
func TestReadmeCounts(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%d methods, named `dimension/method`", len(all.All()))
	if !strings.Contains(string(text), want) {
		t.Errorf("README does not say %q", want)
	}
}

var (
	pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	fence    = regexp.MustCompile("(?ms)^```.*?^```$")
)

// Links between pages lead somewhere, to headings too.
func TestPageLinks(t *testing.T) {
	pages := []string{"../../README.md", "../../CONTRIBUTING.md", "../../examples/README.md"}
	more, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(more) < 10 {
		t.Fatalf("%d pages: %v", len(more), err)
	}
	links := 0
	for _, page := range append(pages, more...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pageLink.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.Join(filepath.Dir(page), file)
			if file == "" {
				target = page
			}
			to, err := os.ReadFile(target)
			if info, e := os.Stat(target); e == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if anchor != "" && !hasHeading(string(to), anchor) {
				t.Errorf("%s: %s has no heading #%s", page, file, anchor)
			}
		}
	}
	if links < 30 {
		t.Errorf("only %d links found", links)
	}
}

// hasHeading reports whether a page has a heading that an anchor names.
func hasHeading(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case strings.ContainsRune("`.,:;!?()'\"/@*", r):
				return -1
			}
			return r
		}, strings.ToLower(m[1]))
		if slug == anchor {
			return true
		}
	}
	return false
}
