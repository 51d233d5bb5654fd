// Package testset makes datasets out of documents: the answers of a plain RAG to questions that one has
// ([Answerer]), and questions with answers, good and bad, whose labels are known because of how they were made
// ([Maker]): the synthetic set of ARES and the pairs of WikiEval.
//
// What a model writes is checked as far as it can be without another model; what fails is dropped with its
// reason, and the reasons are counted. Work is kept in a [Journal], from which it goes on after an interruption.
package testset

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// Prompts are the texts to ask with, by name.
type Prompts map[string]*prompts.Prompt

//go:embed prompts/*.tmpl
var promptFiles embed.FS

// The prompts, each with an example of what its templates may use.
type (
	answerData struct {
		Question string
		Contexts []string
	}
	questionData struct{ Title, Text string }
	severalData  struct{ First, Second string }
	groundedData struct{ Question, Text, Answer string }
)

func promptExamples() map[string]any {
	grounded := groundedData{"<question>", "<text>", "<answer>"}
	return map[string]any{
		"answer":           answerData{"<question>", []string{"<text>"}},
		"question":         questionData{"<title>", "<text>"},
		"question_several": severalData{"<text>", "<question>"},
		"grounded":         grounded,
		"contradiction":    grounded,
		"ungrounded":       grounded,
		"incomplete":       grounded,
	}
}

// LoadPrompts returns the built-in prompts; those that the root of own holds as NAME.tmpl take their places. Own
// may be nil.
func LoadPrompts(own fs.FS) (Prompts, error) {
	dir, err := fs.Sub(promptFiles, "prompts")
	if err != nil {
		return nil, err
	}
	prompts := Prompts{}
	for _, from := range []fs.FS{dir, own} {
		if from == nil {
			continue
		}
		files, err := fs.Glob(from, "*.tmpl")
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, errors.New("no prompts there: want files such as answer.tmpl")
		}
		for _, file := range files {
			p, err := readPrompt(from, file)
			if err != nil {
				return nil, err
			}
			prompts[p.Name] = p
		}
	}
	return prompts, nil
}

func readPrompt(from fs.FS, file string) (*prompts.Prompt, error) {
	text, err := fs.ReadFile(from, file)
	if err != nil {
		return nil, err
	}
	p, err := prompts.Parse(file, string(text))
	if err != nil {
		return nil, err
	}
	example, ok := promptExamples()[p.Name]
	if !ok {
		return nil, fmt.Errorf("%s: nothing uses a prompt of this name: there are %s", file,
			strings.Join(slices.Sorted(maps.Keys(promptExamples())), ", "))
	}
	messages, err := p.Render(example)
	if err != nil {
		return nil, fmt.Errorf("%s: %v", file, err)
	}
	want := "<question>"
	if p.Name == "question" {
		want = "<text>"
	}
	if last := messages[len(messages)-1].Text; !strings.Contains(last, want) {
		return nil, fmt.Errorf("%s: the last message does not show what it is about", file)
	}
	return p, nil
}

// Versions returns the version and digest of each prompt, for a record of what was asked.
func (ps Prompts) Versions() map[string]string {
	versions := make(map[string]string)
	for name, p := range ps {
		versions[name] = p.Version + " " + p.Digest
	}
	return versions
}

// A Writer is a model that writes, and what to ask it with.
type Writer struct {
	Model   backend.Backend
	Prompts Prompts
	Seed    uint64 // of everything that is drawn at random
}

// maxDraws is how often a reply is had before its row fails.
const maxDraws = 3

// A badReply is the reason why no reply was of use.
type badReply struct{ reason, reply string }

func (b *badReply) Error() string { return fmt.Sprintf("%s; the reply was %q", b.reason, b.reply) }

// Is makes errors.Is(err, metrics.ErrBadReply) true.
func (b *badReply) Is(target error) bool { return target == metrics.ErrBadReply }

// ask has the model reply to a prompt. A reply of which check says why it is of no use is asked for again as
// another draw, warmer each time; in the end the error is a *badReply. Errors of the model are returned as they are.
func (w *Writer) ask(ctx context.Context, prompt string, data any, check func(text string) string) (string, error) {
	p, ok := w.Prompts[prompt]
	if !ok {
		return "", fmt.Errorf("no prompt %q", prompt)
	}
	messages, err := p.Render(data)
	if err != nil {
		return "", fmt.Errorf("prompt %s: %v", p.Name, err)
	}
	for try := 0; ; try++ {
		sampling := p.Sampling
		if try > 0 {
			sampling.Temperature = max(sampling.Temperature, 0.35*float64(try))
			sampling.TopP = cmp.Or(sampling.TopP, 0.95)
		}
		if sampling.Temperature > 0 {
			sampling.Seed += w.Seed
		}
		g, err := w.Model.Generate(ctx, &backend.GenerateRequest{
			Messages: messages, Stop: p.Stop, MaxTokens: p.MaxTokens, Sampling: sampling, Draw: try, Once: true,
		})
		if err != nil {
			return "", fmt.Errorf("prompt %s: %w", p.Name, err)
		}
		text := strings.TrimSpace(strings.ToValidUTF8(g.Text, "\uFFFD"))
		reason := ""
		if g.Stop != backend.StopEnd {
			reason = "the reply was cut at its length limit, or repeated itself"
		} else if copies(messages, text) {
			reason = "the reply copies an example of the prompt"
		} else {
			reason = check(text)
		}
		if reason == "" {
			return text, nil
		}
		if try+1 == maxDraws {
			return "", &badReply{reason, bounded(text)}
		}
	}
}

// copies reports whether most of what a reply says, by its runs of four words, is what the model said in the
// prompt's examples and what the last message does not say: weak models take an example for the task.
func copies(messages []backend.Message, reply string) bool {
	last := len(messages) - 1
	examples, given := map[string]bool{}, map[string]bool{}
	for i, m := range messages[1:] {
		for _, run := range runs(m.Text) {
			if i+1 == last {
				given[run] = true
			} else {
				examples[run] = true
			}
		}
	}
	copied, all := 0, runs(reply)
	for _, run := range all {
		if examples[run] && !given[run] {
			copied++
		}
	}
	return 2*copied > len(all)
}

// runs are the runs of four words of a text.
func runs(text string) []string {
	var list []string
	for _, gram := range tokenize.NGrams(tokenize.Words(text), 4) {
		list = append(list, strings.Join(gram, " "))
	}
	return list
}

// fatal reports whether err ends the work as a whole, rather than one row of it.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrClosed) ||
		errors.Is(err, errors.ErrUnsupported)
}

// bounded cuts text to what a message may quote.
func bounded(text string) string {
	const limit = 200
	if len(text) <= limit {
		return text
	}
	end := limit
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
