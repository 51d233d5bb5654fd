package judged

import (
	"errors"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
)

func TestDecodeQuestion(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		if got, err := decodeQuestion(ask.Reply{Text: text}); err != nil || got != want {
			t.Errorf("decodeQuestion(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	check("Who built it?", "Who built it?")
	check("Question: Who built it?", "Who built it?")
	check("**Question:** \"Who built it?\"", "Who built it?")
	check("1. Who built it?\n2. When?", "Who built it?")
	check("Sure! Here is the question:\n\nWho built it?", "Who built it?")
	check("Who built it? It was Mara Lind.", "Who built it?")
	check("Question: Who built it?\n\nThe possible answers are:\n1. Mara\n2. Lind", "Who built it?")
	check("谁建造了灯塔？", "谁建造了灯塔？")
	check("من بنى المنارة؟", "من بنى المنارة؟")
	check("Ποιος το έχτισε;", "Ποιος το έχτισε;")
	check("{\"question\": [\"Who built it?\"]}", "Who built it?")
	check("Tell me who built it", "Tell me who built it")

	refuse := func(r ask.Reply, want error) {
		t.Helper()
		if got, err := decodeQuestion(r); !errors.Is(err, want) {
			t.Errorf("decodeQuestion(%+v) = %q, %v; want %v", r, got, err, want)
		}
	}
	refuse(ask.Reply{}, errNoQuestion)
	refuse(ask.Reply{Text: "..."}, errNoQuestion)
	refuse(ask.Reply{Text: "It is old.\nIt is tall."}, errNoQuestion)
	refuse(ask.Reply{Text: "Who built the lighth", Cut: true}, metrics.ErrCut)
}

func FuzzDecodeQuestion(f *testing.F) {
	for _, s := range []string{"1. a\n2. b", "Question: a?", "[\"a?\",]", "{\"x\":[{\"text\":\"b?\"}]}", "```\n1)",
		"No.", "\xff1. "} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		text = strings.ToValidUTF8(text, "\uFFFD") // as ask does
		question, err := decodeQuestion(ask.Reply{Text: text, Cut: cut})
		if err == nil && strings.TrimSpace(question) == "" {
			t.Errorf("decodeQuestion(%q) is empty", text)
		}
	})
}
