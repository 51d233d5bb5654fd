package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/tokenize"
	"github.com/ollama/ollama/api"
	"github.com/rogpeppe/go-internal/testscript"
)

// newWordServer starts a server that speaks Ollama's protocol and answers the prompts of the three paper
// metrics, questions of a user's own that begin with "Does", yes/no questions, and those that make datasets, by
// comparing words; verdicts only by the schema that must come with their prompt. What it was shown the reply to among
// the messages before, it replies to so. The model strict wants all of the words to be the same, and moody where the
// seed is odd; mute writes nonsense. So does each where an answer contains BABBLE; SLOW makes it wait for a minute, or
// until the client gives up, and SLOWONCE does so the first time only. Asked to think first, it thinks what it would
// reply to; moody thinks strictly where the seed is odd, and is then for No. The model aloud thinks in its replies, and
// musing comes to no reply. The digest of moody is of the letter given.
func newWordServer(moody string) *httptest.Server {
	mux := http.NewServeMux()
	var held atomic.Bool // SLOWONCE made it wait
	reply := func(pattern string, v any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { json.NewEncoder(w).Encode(v) })
	}
	digest := func(c string) string { return strings.Repeat(c, 64) }
	reply("GET /api/version", map[string]string{"version": "0.17.4"})
	reply("GET /api/ps", api.ProcessResponse{})
	reply("GET /api/tags", api.ListResponse{Models: []api.ListModelResponse{
		{Name: "judge:latest", Model: "judge:latest", Digest: digest("a"), Size: 1000},
		{Name: "strict:latest", Model: "strict:latest", Digest: digest("c"), Size: 1000},
		{Name: "mute:latest", Model: "mute:latest", Digest: digest("e"), Size: 1000},
		{Name: "moody:latest", Model: "moody:latest", Digest: digest(moody), Size: 1000},
		{Name: "aloud:latest", Model: "aloud:latest", Digest: digest("1"), Size: 1000},
		{Name: "musing:latest", Model: "musing:latest", Digest: digest("2"), Size: 1000},
		{Name: "embedder:latest", Model: "embedder:latest", Digest: digest("b"), Size: 1000},
	}})
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, r *http.Request) {
		var req api.ShowRequest
		json.NewDecoder(r.Body).Decode(&req)
		show := map[string]any{"capabilities": []string{"completion"}, "template": "{{ .Messages }}",
			"model_info": map[string]any{
				"general.architecture": "llama", "llama.context_length": 2048,
				"tokenizer.ggml.tokens": []string{"</s>"}, "tokenizer.ggml.token_type": []int{3},
			}}
		if strings.HasPrefix(req.Model, "embedder") {
			show["capabilities"] = []string{"embedding"}
		}
		json.NewEncoder(w).Encode(show)
	})
	mux.HandleFunc("POST /api/embed", func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Input []string }
		json.NewDecoder(r.Body).Decode(&req)
		res := api.EmbedResponse{Embeddings: [][]float32{}}
		for _, text := range req.Input {
			res.Embeddings = append(res.Embeddings, backendtest.Vector(text))
		}
		json.NewEncoder(w).Encode(res)
	})
	mux.HandleFunc("POST /api/chat", func(w http.ResponseWriter, r *http.Request) {
		var req api.ChatRequest
		json.NewDecoder(r.Body).Decode(&req)
		res := api.ChatResponse{Model: req.Model, CreatedAt: time.Now(), Done: true, DoneReason: "stop"}
		res.Message = api.Message{Role: "assistant"}
		if n := len(req.Messages); n > 0 {
			last := req.Messages[n-1].Content
			if strings.Contains(last, "SLOW") && !(strings.Contains(last, "SLOWONCE") && held.Swap(true)) {
				select {
				case <-r.Context().Done():
					return
				case <-time.After(time.Minute):
				}
			}
			seed, _ := req.Options["seed"].(float64)
			strict := strings.HasPrefix(req.Model, "strict") || strings.HasPrefix(req.Model, "moody") && int(seed)%2 == 1
			const cue = "\n\nBefore you reply, think"
			thought := ""
			if strings.HasPrefix(last, "Now give the reply") {
				thought = req.Messages[n-2].Content
				last, _, _ = strings.Cut(req.Messages[n-3].Content, cue)
			}
			res.Message.Content = wordReply(req.Messages[0].Content, last, req.Format, strict)
			switch {
			case strings.Contains(last, cue) && strict:
				res.Message.Content = "Strictly, no word is like another."
			case strings.Contains(last, cue):
				res.Message.Content = "The words are counted. " + strings.Repeat("One more. ", 300)
			case strings.HasPrefix(thought, "Strictly") && res.Message.Content == "Yes":
				res.Message.Content = "No"
			case strings.HasPrefix(req.Model, "aloud") && len(req.Format) == 0: // a schema leaves no place for it
				res.Message.Content = "<think>\n1. No. I count.\n</think>\n\n" + res.Message.Content
			case strings.HasPrefix(req.Model, "musing") && len(req.Format) == 0:
				res.Message.Content = "<think>\nI count: 1. Yes"
			}
			for i, m := range req.Messages[:n-1] {
				if m.Content == last {
					res.Message.Content = req.Messages[i+1].Content // as it was shown
				}
			}
			if n > 1 && res.Message.Content == "" {
				http.Error(w, `{"error": "a prompt that the word server was not taught"}`, http.StatusBadRequest)
				return
			}
			if strings.HasPrefix(req.Model, "mute") {
				res.Message.Content = "?!"
			}
			if sure := (api.TokenLogprob{Token: res.Message.Content}); req.Logprobs {
				res.Logprobs = []api.Logprob{{TokenLogprob: sure,
					TopLogprobs: []api.TokenLogprob{sure, {Token: "?", Logprob: -1000}}}}
			}
			res.PromptEvalCount, res.EvalCount = len(tokenize.Words(last)), len(tokenize.Words(res.Message.Content))
		} else {
			res.DoneReason = "load"
		}
		json.NewEncoder(w).Encode(res)
	})
	return httptest.NewServer(mux)
}

// wordReply answers a prompt, which it knows by its system message, by comparing words. It returns nothing
// if it does not know the prompt, or if a schema is missing or not that of the prompt.
func wordReply(system, last string, schema []byte, strict bool) string {
	if strings.Contains(last, "BABBLE") {
		return "?!"
	}
	part := func(from, to string) string {
		_, text, _ := strings.Cut(last, from)
		if to != "" {
			text, _, _ = strings.Cut(text, to)
		}
		return strings.TrimSpace(text)
	}
	var b strings.Builder
	switch {
	case strings.Contains(system, "turn the sentences"):
		return sameReply(schema)
	case strings.Contains(system, "by the contexts that they were written from"):
		return rowReply(last, schema, strict)
	case strings.HasSuffix(last, "Answer Yes, No or Unknown."):
		switch same := shared(part("Statement:", "\n"), part("Text:", "\n\nStatement:")); {
		case same == 1:
			return "Yes"
		case same >= 0.6:
			return "No"
		}
		return "Unknown"
	case strings.Contains(system, "short statements"), strings.Contains(system, "claims to be a fact"):
		if !tokenize.HasWords(part("Answer:", "\nStatements:")) {
			return "No statements."
		}
		for i, s := range tokenize.Sentences(part("Answer:", "")) { // the last one has the word Statements
			fmt.Fprintf(&b, "%d. %s\n", i+1, s.Text)
		}
	case strings.Contains(system, "list of their numbers"):
		return numbersReply(part("Text:", "Question:"), part("Question:", "Numbers:"))
	case strings.Contains(system, "check a claim against a document"):
		if shared(part("Claim:", ""), part("Document:", "Claim:")) >= 0.7 {
			return "Yes"
		}
		return "No"
	case strings.Contains(system, "<evaluation_criteria>"):
		return "<feedback>The words were read.</feedback>\n<score>4</score>"
	case strings.Contains(system, "check statements"):
		return verdictReply(part("Text:", "Statements:"), part("Statements:", "Verdicts:"), schema, strict)
	case strings.Contains(system, "one word: Yes or No"):
		texts, question, _ := strings.Cut(strings.TrimSuffix(last, "\nYes or No?"), "\n\nDoes ")
		if shared(question, texts) >= 0.5 {
			return "Yes"
		}
		return "No"
	case strings.HasSuffix(last, "Answer Yes or No."):
		text, answer := part("Text:", "\n\nQuestion:"), part("Answer:", "\n")
		question := part("Question:", "\n")
		if statement := part("Statement:", "\n"); statement != "" {
			text, answer = part("Text:", "\n\nStatement:"), statement
		}
		for _, pair := range [][2]string{{answer, text}, {question, text}, {question, answer}} {
			if pair[0] != "" && pair[1] != "" {
				if shared(pair[0], pair[1]) >= 0.5 {
					return "Yes"
				}
				return "No"
			}
		}
	case strings.HasPrefix(system, "You compare two"): // the one that is more like the text, or else the question
		like := part("Text:", "\n\nQuestion:")
		if like == "" {
			like = part("Question:", "\n")
		}
		if shared(part("\nA:", "\nB:"), like) >= shared(part("\nB:", "\n\nCriterion:"), like) {
			return "A"
		}
		return "B"
	case strings.HasPrefix(system, "You grade by one criterion"):
		return strconv.Itoa(int(10 * shared(part("Answer:", "\n"), part("Text:", "\n\nQuestion:"))))
	case strings.Contains(system, "one number and nothing else"):
		return "4"
	case strings.Contains(system, "You write one question"):
		// One that holds the words of the text's first sentence, so that it finds the text.
		return "Is it so that " + strings.TrimRight(tokenize.Sentences(part("Text:", "Question:"))[0].Text, ".") + "?"
	case strings.HasPrefix(system, "You rewrite questions"):
		return "Besides, " + part("Question:", "\n")
	case strings.HasPrefix(system, "You make two messages"):
		return "First: It is about an island.\nThen: " + part("Question:", "")
	case strings.HasPrefix(system, "You write a question anew"):
		return "Pray, " + part("Question:", "\n")
	case strings.HasPrefix(system, "You write one claim"):
		return tokenize.Sentences(part("Text:", "\nClaim:"))[0].Text
	case strings.HasPrefix(system, "You write what somebody says"):
		return "I wonder about this: " + tokenize.Sentences(part("Text:", "\nTurn:"))[0].Text
	case strings.HasPrefix(system, "You check a claim"):
		return "Supported. " + closest(part("Claim:", ""), part("Text:", "\n\nCheck this"))
	case strings.HasPrefix(system, "You reply in a conversation"):
		return closest(part("Turn:", ""), part("Text:", "\n\nReply to"))
	case strings.Contains(system, "You answer a question with what the text says"):
		return closest(part("Question:", ""), part("Text:", "\n\nAnswer this"))
	case strings.Contains(system, "You are given a conversation and the question"):
		return strings.TrimSuffix(part("user: ", "\n"), "?") + ", " + part("Question:", "\n")
	case strings.Contains(system, "You answer questions from what you know"):
		return "That is so, as far as anybody knows."
	case strings.Contains(system, "You answer questions from the texts"):
		return closest(part("Question:", ""), part("Texts:", "\n\nAnswer this"))
	case strings.HasSuffix(last, "Answer the question in a few sentences, by the text."):
		return closest(part("Question:", "\n"), part("Text:", "\n\nQuestion:"))
	case strings.Contains(system, "You write wrong answers"):
		return "Nobody in Peru ever said that."
	case strings.Contains(system, "You answer questions in one or two"):
		return "Somebody in Peru said that."
	case strings.Contains(system, "You write poor answers"):
		return "It is so."
	case strings.Contains(system, "write the question"):
		return "What is it about " + part("Answer:", "Question:") + "?"
	case strings.Contains(system, "copy them word for word"):
		for _, s := range tokenize.Sentences(part("Text:", "Question:")) {
			if shared(part("Question:", ""), s.Text) >= 0.3 {
				fmt.Fprintf(&b, "- %s\n", s.Text)
			}
		}
		if b.Len() == 0 {
			return "Insufficient Information"
		}
	}
	return b.String()
}

// rowReply answers a yes/no question in the row layout.
func rowReply(last string, schema []byte, strict bool) string {
	material, ask, _ := strings.Cut(last, "Yes or No: ")
	exchange, contexts, _ := strings.Cut(material, "\n\nContext ")
	contexts = "Context " + contexts
	for _, after := range []string{"\n\nStatements:\n", "\n\nCorrect answer:\n", "\n\nWhich sentences", "\n\nCopy from"} {
		contexts, _, _ = strings.Cut(contexts, after)
	}
	_, exchange, _ = strings.Cut(exchange, "Question: ")
	question, answer, _ := strings.Cut(exchange, "\nAnswer: ")
	question, _, _ = strings.Cut(question, "\n")
	answer, _, _ = strings.Cut(answer, "\n")
	if _, statements, listed := strings.Cut(last, "\n\nStatements:\n"); listed {
		statements = statements[:strings.LastIndex(statements, "\n")]
		return verdictReply(contexts, statements, schema, strict)
	}
	switch numbers := numbersReply(contexts, question); {
	case strings.Contains(last, "Which sentences"):
		return numbers
	case strings.Contains(last, "Copy from the contexts"):
		return copiesReply(contexts, numbers)
	}
	if _, number, named := strings.Cut(ask, "? Context "); named {
		_, contexts, _ = strings.Cut(contexts, "Context "+number+":\n")
		contexts, _, _ = strings.Cut(contexts, "\n\n")
	}
	yes := false
	switch {
	case strings.HasPrefix(ask, "do the contexts support this statement"):
		_, statement, _ := strings.Cut(ask, "Statement: ")
		yes = shared(statement, contexts) >= 0.5
	case strings.HasPrefix(ask, "do the contexts support everything"):
		yes = shared(answer, contexts) >= 0.5
	case strings.HasPrefix(ask, "does this context help"):
		yes = shared(question, contexts) >= 0.5
	case strings.HasPrefix(ask, "does the answer give what"):
		yes = shared(question, answer) >= 0.5
	case strings.HasPrefix(ask, "does the answer give all"):
		yes = shared(question, contexts) >= 0.5
	default:
		return ""
	}
	if yes {
		return "Yes"
	}
	return "No"
}

// closest is the sentence of text that shares the largest part of its words with a question.
func closest(question, text string) string {
	best := "?!"
	for _, s := range tokenize.Sentences(text) {
		if shared(s.Text, question) > shared(best, question) {
			best = s.Text
		}
	}
	return best
}

// sameReply says of every sentence that a schema asks about that it is a statement.
func sameReply(schema []byte) string {
	var object struct{ Required []string }
	if json.Unmarshal(schema, &object) != nil {
		return ""
	}
	reply := map[string]string{}
	for _, number := range object.Required {
		reply[number] = "same"
	}
	b, err := json.Marshal(reply)
	if err != nil {
		return ""
	}
	return string(b)
}

// copiesReply copies the lines of the given numbers, or says that there are none.
func copiesReply(lines, numbers string) string {
	var list []string
	for line := range strings.Lines(lines) {
		number, text, _ := strings.Cut(strings.TrimSpace(line), ". ")
		if text != "" && slices.Contains(strings.Split(strings.Trim(numbers, "[]"), ", "), number) {
			list = append(list, text)
		}
	}
	if list == nil {
		return `"Insufficient Information"`
	}
	b, err := json.Marshal(list)
	if err != nil {
		return ""
	}
	return string(b)
}

// numbersReply lists the numbers of the lines that share words with a question.
func numbersReply(lines, question string) string {
	list := []string{}
	for line := range strings.Lines(lines) {
		number, text, _ := strings.Cut(strings.TrimSpace(line), ". ")
		if text != "" && shared(question, text) >= 0.3 {
			list = append(list, number)
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// verdictReply gives the verdicts on a numbered list of statements, one for each field of the schema.
func verdictReply(text, statements string, schema []byte, strict bool) string {
	var object struct{ Required []string }
	if json.Unmarshal(schema, &object) != nil {
		return ""
	}
	lines := strings.Split(statements, "\n")
	reply := map[string]any{}
	for i, line := range lines {
		number, claim, _ := strings.Cut(strings.TrimSpace(line), ". ")
		verdict := "No"
		if same := shared(claim, text); same == 1 || same >= 0.7 && !strict {
			verdict = "Yes"
		}
		if len(object.Required) != len(lines) || object.Required[i] != number {
			return ""
		}
		reply[number] = map[string]string{"reason": "The words were compared.", "verdict": verdict}
	}
	b, err := json.Marshal(reply)
	if err != nil {
		return ""
	}
	return string(b)
}

// shared is the share of the words of a that b has.
func shared(a, b string) float64 {
	words, in := tokenize.Words(tokenize.Normalize(a)), tokenize.Words(tokenize.Normalize(b))
	if len(words) == 0 {
		return 0
	}
	n := 0
	for _, w := range words {
		if slices.Contains(in, w) {
			n++
		}
	}
	return float64(n) / float64(len(words))
}

// scriptLines checks the number of lines of a file: lines FILE N.
func scriptLines(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := bytes.Count([]byte(ts.ReadFile(args[0])), []byte("\n")); (got == want) == neg {
		ts.Fatalf("%s has %d lines", args[0], got)
	}
}

// scriptSortLines sorts the lines of a file: sortlines FILE.
func scriptSortLines(ts *testscript.TestScript, neg bool, args []string) {
	lines := strings.SplitAfter(ts.ReadFile(args[0]), "\n")
	slices.Sort(lines)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(lines, "")), 0o666))
}

// scriptWaitLines waits until a file that another process writes has some lines: waitlines FILE N.
func scriptWaitLines(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && bytes.Count(b, []byte("\n")) >= want {
			return
		}
	}
	ts.Fatalf("%s does not get %d lines", args[0], want)
}
