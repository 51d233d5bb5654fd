package corpus

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

func TestBM25(t *testing.T) {
	// By hand, with lengths 3, 2, 1 and their mean 2:
	//	a: idf = ln(1 + 2.5/1.5); f = 2 in a text of 3: 2 * 2.2 / (2 + 1.2*(0.25 + 0.75*3/2))
	//	c: idf = ln(1 + 1.5/2.5); in a text of 2: 2.2 / (1 + 1.2); in a text of 1: 2.2 / (1 + 1.2*(0.25 + 0.75/2))
	b := NewBM25([]string{"a b a", "B c.", "c"})
	check := func(query string, k int, want ...Hit) {
		t.Helper()
		got := b.Search(query, k)
		if len(got) != len(want) {
			t.Fatalf("%q: %v, want %v", query, got, want)
		}
		for i := range want {
			if got[i].Index != want[i].Index || math.Abs(got[i].Score-want[i].Score) > 1e-6 {
				t.Errorf("%q: hit %d is %v, want %v", query, i, got[i], want[i])
			}
		}
	}
	check("A", 5, Hit{0, 1.1823689})
	check("c", 5, Hit{2, 0.5908618}, Hit{1, 0.4700036})
	check("c", 1, Hit{2, 0.5908618})
	check("c c", 1, Hit{2, 2 * 0.5908618})
	check("a c", 5, Hit{0, 1.1823689}, Hit{2, 0.5908618}, Hit{1, 0.4700036})
	check("nothing", 5)
	check("", 5)
	check("c", 0)
	if got := NewBM25(nil).Search("c", 3); len(got) != 0 {
		t.Errorf("nothing indexed: %v", got)
	}
}

func TestFuse(t *testing.T) {
	// 7 is first and second, 1 is second and third, 3 only first.
	got := Fuse(3, []Hit{{7, 9}, {1, 8}}, []Hit{{3, .2}, {7, .1}, {1, 0}})
	want := []Hit{{7, 1./61 + 1./62}, {1, 1./62 + 1./63}, {3, 1. / 61}}
	near := func(a, b Hit) bool { return a.Index == b.Index && math.Abs(a.Score-b.Score) < 1e-12 }
	if !slices.EqualFunc(got, want, near) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Fuse(5, []Hit{{2, 1}}, []Hit{{1, 1}}); got[0].Index != 1 {
		t.Errorf("of two that are equal, %d comes first", got[0].Index)
	}
}

func TestCut(t *testing.T) {
	check := func(text string, s Sizes, want ...string) {
		t.Helper()
		passages, _ := Cut([]Document{{ID: "d", Text: text}}, s)
		var got []string
		for _, p := range passages {
			got = append(got, p.Text)
			if text[p.Start:p.End] != p.Text {
				t.Errorf("%s: its place holds %q", p.ID, text[p.Start:p.End])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
	const text = "One two three four. Five six seven eight. Nine ten eleven twelve.\n\n" +
		"Thirteen fourteen fifteen sixteen."
	check(text, Sizes{10, 0}, "One two three four. Five six seven eight.",
		"Nine ten eleven twelve.\n\nThirteen fourteen fifteen sixteen.")
	check(text, Sizes{10, 1}, "One two three four. Five six seven eight.",
		"Five six seven eight. Nine ten eleven twelve.",
		"Nine ten eleven twelve.\n\nThirteen fourteen fifteen sixteen.")
	check(text, Sizes{4, 3}, "One two three four.", "Five six seven eight.", "Nine ten eleven twelve.",
		"Thirteen fourteen fifteen sixteen.")
	check(text, Sizes{100, 1}, text)
	check("One two three four five six seven eight nine ten. Crumb left.", Sizes{10, 0},
		"One two three four five six seven eight nine ten. Crumb left.")
	check(strings.Repeat("word ", 25), Sizes{10, 0}, strings.TrimSpace(strings.Repeat("word ", 10)),
		strings.TrimSpace(strings.Repeat("word ", 5)))
	check("... !", Sizes{10, 0})
}

func TestCutIDs(t *testing.T) {
	long := "One two three four five six seven eight. Nine ten eleven twelve thirteen fourteen."
	passages, repeated := Cut([]Document{
		{ID: "a.md", Text: "Short."}, {ID: "row", Text: "A whole row.", Row: true}, {ID: "rows", Text: long, Row: true},
		{ID: "z", Text: "short"},
	}, Sizes{10, 0})
	var ids []string
	for _, p := range passages {
		ids = append(ids, p.ID)
	}
	if want := []string{"a.md#1", "row", "rows#1", "rows#2"}; !slices.Equal(ids, want) || repeated != 1 {
		t.Errorf("%q and %d repeated, want %q and 1", ids, repeated, want)
	}
}

// FuzzCut: passages are pieces of their text, in order; every word of the text is in some passage; there is an end.
func FuzzCut(f *testing.F) {
	f.Add("One two. Three four five six seven eight nine ten eleven twelve. Thirteen.", 10, 1)
	f.Add(strings.Repeat("x ", 100)+"。", 10, 0)
	f.Add("a\n\nb\n\nc. d! e?", 11, 5)
	f.Fuzz(func(t *testing.T, text string, words, overlap int) {
		s := Sizes{words, overlap}
		if s.Check() != nil || len(text) > 1<<14 {
			t.Skip()
		}
		end, last := 0, -1
		for _, c := range cutOne(text, s) {
			if c.start <= last || c.start < 0 || c.end <= c.start || c.end > len(text) {
				t.Fatalf("passage %v after one that began at %d, in %d bytes", c, last, len(text))
			}
			if c.start > end && strings.TrimSpace(text[end:c.start]) != "" {
				t.Fatalf("%q is in no passage", text[end:c.start])
			}
			end, last = c.end, c.start
		}
		if strings.TrimSpace(text[end:]) != "" {
			t.Fatalf("%q is in no passage", text[end:])
		}
	})
}

func TestVectors(t *testing.T) {
	fake := &backendtest.Fake{About: backend.Info{Context: 12}}
	texts := []string{"red apples", strings.Repeat("grey stone walls. ", 5) + "green pears fall. " +
		strings.Repeat("grey stone walls. ", 5), "blue plums"}
	calls := 0
	v, err := Embed(context.Background(), fake, texts, func(n int) { calls = n })
	if err != nil {
		t.Fatal(err)
	}
	if calls != 3 || len(v.parts) < 5 {
		t.Errorf("%d texts told of, %d parts of three texts, one of which is too long", calls, len(v.parts))
	}
	for i, query := range []string{"red apples", "green pears fall", "blue plums"} {
		hits, err := v.Search(context.Background(), query, 2)
		if err != nil || len(hits) != 2 || hits[0].Index != i {
			t.Errorf("%q: %v, %v", query, hits, err)
		}
	}
	if hits, _ := v.Search(context.Background(), "blue plums", 1); math.Abs(hits[0].Score-1) > 1e-6 {
		t.Errorf("the cosine of a text with itself is %v", hits[0].Score)
	}

	// A line without any white space, such as a picture in base64, is cut too: one of them must not stop the rest.
	v, err = Embed(context.Background(), fake, []string{strings.Repeat("é!", 40), "blue plums"}, nil)
	if err != nil || len(v.parts) < 5 {
		t.Errorf("80 tokens in one word: %v", err)
	}
	// What does not fit in any size is an error, and no text without a vector.
	none := &backendtest.Fake{Before: func(context.Context, backendtest.Call) error { return backend.ErrPromptTooLong }}
	if _, err := Embed(context.Background(), none, texts, nil); !errors.Is(err, backend.ErrPromptTooLong) {
		t.Errorf("nothing fits: %v", err)
	}
	failing := &backendtest.Fake{
		Before: func(context.Context, backendtest.Call) error { return backend.ErrUnavailable },
	}
	if _, err := Embed(context.Background(), failing, texts, nil); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("no model: %v", err)
	}
}

func TestRetriever(t *testing.T) {
	passages, _ := Cut([]Document{
		{ID: "a", Title: "Heather", Text: "It grows on the moor."}, {ID: "b", Text: "Puffins dig burrows."},
		{ID: "c", Text: "Seals have pups."},
	}, Sizes{20, 0})
	for _, method := range []Method{ByEmbedding, ByWords, ByBoth} {
		r, err := NewRetriever(context.Background(), method, passages, &backendtest.Fake{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		// The title is what names it.
		hits, err := r.Search(context.Background(), "Where does heather grow?", 2)
		if err != nil || len(hits) == 0 || hits[0].Index != 0 {
			t.Errorf("%s: %v, %v", method, hits, err)
		}
	}
	if _, err := ParseMethod("magic"); err == nil {
		t.Error("a method that does not exist was taken")
	}
}
