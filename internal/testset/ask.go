// Package testset makes datasets out of documents: the answers of a plain RAG to questions that one has
// ([Answerer]), and questions with answers, good and bad, whose labels are known because of how they were made
// ([Maker]): the synthetic set of ARES and the pairs of WikiEval.
//
// What a model writes is checked as far as it can be without another model; what fails is dropped with its
// reason, and the reasons are counted. Work is kept in a [Journal], from which it goes on after an interruption.
package testset

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

//go:embed prompts/*.tmpl
var promptFiles embed.FS

// The data that the prompts are rendered with.
type (
	answerData struct {
		Question string
		Contexts []string
		History  []metrics.Turn
	}
	questionData struct {
		Title, Text string
		About       string // the part of the text that a further question is to be about
	}
	severalData  struct{ First, Second string }
	hopData      struct{ First, Second, Entity string }
	rewriteData  struct{ Type, Question, Text, Other string }
	rephraseData struct{ Question, Persona, Style string }
	groundedData struct{ Question, Text, Answer string }
)

// The prompts, each with an example of what its templates may use.
var (
	answerPrompt          = prompt("answer", answerExample, "<question>")
	closedBookPrompt      = prompt("answer_closed_book", answerExample, "<question>")
	standalonePrompt      = prompt("standalone", answerExample, "<question>")
	questionPrompt        = taught(prompt("question", questionExample, "<text>"), questionShot)
	questionSeveralPrompt = prompt("question_several", severalData{"<text>", "<question>"}, "<question>")
	groundedPrompt        = taught(prompt("grounded", groundedData{"<question>", "<text>", "<answer>"}, "<question>"),
		groundedShot)
	contradictionPrompt = taught(prompt("contradiction", groundedData{"<question>", "<text>", "<answer>"},
		"<question>"), contradictionShot)
	ungroundedPrompt     = prompt("ungrounded", groundedData{"<question>", "<text>", "<answer>"}, "<question>")
	claimPrompt          = prompt("claim", questionExample, "<text>")
	claimAnswerPrompt    = prompt("claim_answer", groundedData{"<question>", "<text>", "<answer>"}, "<question>")
	dialoguePrompt       = prompt("dialogue", questionExample, "<text>")
	dialogueReplyPrompt  = prompt("dialogue_reply", groundedData{"<question>", "<text>", "<answer>"}, "<question>")
	questionHopPrompt    = prompt("question_hop", hopData{"<text>", "<question>", "<entity>"}, "<entity>")
	outsidePrompt        = prompt("outside", questionData{Title: "<title>", Text: "<text>"}, "<text>")
	rewritePrompt        = prompt("rewrite", rewriteData{"complex", "<question>", "<text>", "<other>"}, "<question>")
	conversationalPrompt = prompt("conversational", groundedData{"<question>", "<text>", ""}, "<question>")
	rephrasePrompt       = prompt("rephrase", rephraseData{"<question>", "<persona>", "misspelled"}, "<question>")
	incompletePrompt     = prompt("incomplete", groundedData{"<question>", "<text>", "<answer>"}, "<question>")
)

// answerExample is a question within a conversation.
var answerExample = answerData{"<question>", []string{"<text>"}, []metrics.Turn{{Role: backend.User, Said: "<history>"}}}

// questionExample is a passage to ask about.
var questionExample = questionData{"<title>", "<text>", "<about>"}

// taught is a prompt that takes few-shot examples of the user's.
func taught(p *prompts.Prompt, shot func(*prompts.Shot) (any, string)) *prompts.Prompt {
	p.Example.Shot = shot
	return p
}

// questionShot shows the question that was asked about a text, unless the text is known not to help with it.
func questionShot(s *prompts.Shot) (any, string) {
	if metrics.Blank(s.Context) || s.Says("context_relevance") == "No" {
		return nil, ""
	}
	return questionData{Text: s.Context}, oneLine(s.Question)
}

// groundedShot shows an answer of which nothing bad is known.
func groundedShot(s *prompts.Shot) (any, string) {
	for _, dimension := range []string{"context_relevance", "faithfulness", "answer_relevance"} {
		if s.Says(dimension) == "No" {
			return nil, ""
		}
	}
	if metrics.Blank(s.Context) || metrics.Blank(s.Question) {
		return nil, ""
	}
	return groundedData{Question: s.Question, Text: s.Context}, oneLine(s.Answer)
}

// contradictionShot shows a wrong answer beside the right one.
func contradictionShot(s *prompts.Shot) (any, string) {
	data, right := groundedShot(s)
	if right == "" || metrics.Blank(s.Wrong) {
		return nil, ""
	}
	d := data.(groundedData)
	d.Answer = right
	return d, oneLine(s.Wrong)
}

// prompt is a built-in one, whose last message must show a part of the example.
func prompt(name string, data any, shown string) *prompts.Prompt {
	return prompts.From(promptFiles, "prompts/"+name+".tmpl", prompts.Example{
		Data: data, Shown: map[string]string{"what it is about": shown},
	})
}

// Prompts returns the built-in prompts, by name.
func Prompts() []*prompts.Prompt {
	return []*prompts.Prompt{answerPrompt, closedBookPrompt, claimPrompt, claimAnswerPrompt, contradictionPrompt,
		conversationalPrompt, dialoguePrompt, dialogueReplyPrompt, groundedPrompt, incompletePrompt, questionPrompt,
		questionSeveralPrompt, standalonePrompt, questionHopPrompt, outsidePrompt, rephrasePrompt, rewritePrompt, ungroundedPrompt}
}

// LoadPrompts reads the user's prompts of a folder; "" has none.
func LoadPrompts(dir string) (prompts.Set, error) {
	if dir == "" {
		return prompts.Set{}, nil
	}
	own, err := prompts.Load(os.DirFS(dir), Prompts())
	if err != nil {
		return own, fmt.Errorf("--prompts %s: %w", dir, err)
	}
	return own, nil
}

// Versions returns the version and digest of each prompt that is asked with own in place, for a record of it.
func Versions(own prompts.Set) map[string]string {
	versions := make(map[string]string)
	for _, p := range Prompts() {
		p = own.For(p)
		versions[p.Name] = p.Version + " " + p.Digest
	}
	return versions
}

// A Writer is a model that writes, and what to ask it with.
type Writer struct {
	Model   backend.Backend
	Prompts prompts.Set // the user's, in place of the built-in ones
	Seed    uint64      // of everything that is drawn at random
}

// A badReply is the reason why no reply was of use.
type badReply struct{ reason, reply string }

func (b *badReply) Error() string { return fmt.Sprintf("%s; the reply was %q", b.reason, b.reply) }

// Is makes errors.Is(err, metrics.ErrBadReply) true.
func (b *badReply) Is(target error) bool { return target == metrics.ErrBadReply }

// ask has the model reply to a prompt. A reply of which check says why it is of no use is asked for again as
// another draw; in the end the error is a *badReply. Errors of the model are returned as they are.
func (w *Writer) ask(ctx context.Context, p *prompts.Prompt, data any, check func(text string) string) (string, error) {
	messages, err := w.Prompts.For(p).Render(data)
	if err != nil {
		return "", fmt.Errorf("prompt %s: %v", p.Name, err)
	}
	m := metrics.Models{Roles: metrics.Roles{backend.Judge: w.Model}, Prompts: w.Prompts, Seed: w.Seed}
	var last *badReply
	reply, err := ask.Judge(ctx, m, ask.Query{Prompt: p, Data: data}, func(r ask.Reply) (string, error) {
		text := strings.TrimSpace(r.Text)
		reason := ""
		switch {
		case r.Cut:
			reason = metrics.ErrCut.Error()
		case copies(messages, text):
			reason = "the reply copies an example of the prompt"
		default:
			reason = check(text)
		}
		if reason != "" {
			last = &badReply{reason, metrics.Bounded(text)}
			return "", last
		}
		return text, nil
	})
	if errors.Is(err, metrics.ErrBadReply) {
		return "", last
	}
	return reply, err
}

// copies reports whether most of what a reply says, by its runs of four words, is what the model said in the
// prompt's examples and what the last message does not say: weak models take an example for the task.
func copies(messages []backend.Message, reply string) bool {
	last := len(messages) - 1
	examples, given := map[string]bool{}, map[string]bool{}
	for i, m := range messages[1:] {
		for _, run := range fours(m.Text) {
			if i+1 == last {
				given[run] = true
			} else {
				examples[run] = true
			}
		}
	}
	copied, all := 0, fours(reply)
	for _, run := range all {
		if examples[run] && !given[run] {
			copied++
		}
	}
	return 2*copied > len(all)
}

// fours are the runs of four words of a text.
func fours(text string) []string {
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
