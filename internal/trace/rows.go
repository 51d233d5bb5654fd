package trace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// isLlamaIndex: a Response of a query engine.
func isLlamaIndex(r Record) bool { return r.has("response", "source_nodes") }

func llamaIndexRow(r Record, n *notes) (row Row) {
	v := r.any()
	row.put("id", text(pick(v, "id", "id_", "query_id")))
	question, history, _ := asked(pick(v, "question", "query", "query_str", "input"))
	if question == "" {
		n.say("a Response does not say what was asked: save the question beside it")
	}
	row.put("question", question)
	row.put("history", history)
	answer, _ := said(r["response"])
	row.put("answer", answer)
	docs, _ := documents(r["source_nodes"])
	row.putDocuments(docs, n)
	row.put("metadata", r["metadata"])
	row.rest(r, "id", "id_", "query_id", "question", "query", "query_str", "input", "response", "source_nodes", "metadata")
	return row
}

// rest adds the members that were not read, in the order of their names.
func (r *Row) rest(from Record, read ...string) {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if !slices.Contains(read, name) {
			r.put(name, from[name])
		}
	}
}

// isHaystack: what Pipeline.run of Haystack 2 returns, by the names of components.
func isHaystack(r Record) bool {
	for _, component := range r {
		o := object(component)
		_, replies := o["replies"].([]any)
		_, answers := o["answers"].([]any)
		docs, found := o["documents"].([]any)
		if replies || answers || found && len(docs) > 0 && at(docs[0], "content") != nil {
			return true
		}
	}
	return false
}

// haystackRow: components have names of the user's choice. Answers know their query and documents; without one, the
// replies are the answer, and the documents are those of a ranker, or else of a retriever.
func haystackRow(r Record, n *notes) (row Row) {
	var question, answer string
	var docs []document
	found, joins := false, 0
	names := slices.Sorted(maps.Keys(r))
	for _, name := range names {
		for _, a := range list(at(object(r[name]), "answers")) {
			if inner := at(a, "init_parameters"); inner != nil {
				a = inner
			}
			if answer == "" {
				answer, question = text(at(a, "data")), text(at(a, "query"))
				docs, found = documents(at(a, "documents"))
			}
		}
	}
	for _, name := range names {
		component := object(r[name])
		if replies := list(component["replies"]); answer == "" && len(replies) > 0 {
			answer, _ = said(replies[0])
		}
		if query := pick(component, "query", "question"); question == "" && query != nil {
			question = text(query)
		}
		if list, ok := documents(component["documents"]); ok && component["documents"] != nil && !found {
			docs = list
			joins++
		}
	}
	if joins > 1 {
		n.say("several components returned documents: the contexts are those of the last by name; save an AnswerBuilder's answers to have those that the model was shown")
	}
	question = orText(question, r, "question", "query")
	if question == "" {
		n.say("the result does not say what was asked: save an AnswerBuilder's answers, or the question beside it")
	}
	row.put("id", text(r["id"]))
	row.put("question", question)
	row.put("answer", answer)
	row.putDocuments(docs, n)
	for _, name := range names {
		if object(r[name]) == nil && !slices.Contains([]string{"id", "question", "query"}, name) {
			row.put(name, r[name])
		}
	}
	return row
}

// orText returns the text, or the first of a record's members that is one.
func orText(s string, r Record, names ...string) string {
	if s == "" {
		s, _ = pick(r.any(), names...).(string)
	}
	return s
}

// isLangChain: create_retrieval_chain and RetrievalQA, whose names for columns are known.
func isLangChain(r Record) bool {
	if docs := list(r["context"]); r.has("input", "answer") && len(docs) > 0 {
		return at(docs[0], "page_content") != nil
	}
	return r.has("query", "result", "source_documents")
}

// The files of these three tools have columns that are known as they stand.
func isDeepEval(r Record) bool   { return r.has("actualOutput", "metricsData") }
func isRAGChecker(r Record) bool { return r.has("query_id", "query", "gt_answer", "response") }
func isRagas(r Record) bool {
	return r.has("user_input") && (r.has("response") || r.has("retrieved_contexts"))
}

// isHarness: samples that lm-evaluation-harness logged with --log_samples.
func isHarness(r Record) bool {
	return r.has("doc", "arguments") && (r.has("resps") || r.has("filtered_resps"))
}

func harnessRow(r Record, n *notes) (row Row) {
	id := text(r["doc_id"])
	if filter := text(r["filter"]); filter != "" && filter != "none" {
		id += "/" + filter // each filter writes the sample once
	}
	row.put("id", id)
	row.put("group", text(r["doc_id"]))
	doc := object(r["doc"])
	question := orText("", doc, "question", "query", "input", "problem", "prompt", "instruction")
	if question == "" {
		n.say("the document has no member that is known as the question, which is the prompt then: name one with --map question=doc.MEMBER")
		question = promptOf(r["arguments"])
	}
	row.put("question", question)
	replies := list(r["filtered_resps"])
	if len(replies) == 0 {
		replies = list(r["resps"])
	}
	if len(replies) == 1 && len(list(replies[0])) > 0 {
		replies = list(replies[0]) // the repeats of one request
	}
	var answers []any
	for _, reply := range replies {
		if s, ok := reply.(string); ok {
			answers = append(answers, s)
		}
	}
	if likelihoods(r["arguments"]) {
		answers = nil
		n.say("the task compares likelihoods: there is no answer in words")
	}
	if len(answers) > 0 {
		row.put("answer", answers[0])
		row.put("other_answers", answers[1:])
	}
	row.put("reference_answers", texts(r["target"]))
	row.put("doc", doc)
	for _, name := range list(r["metrics"]) {
		row.put(text(name), r[text(name)])
	}
	return row
}

// promptOf is the first text among a request's arguments, in either form of them.
func promptOf(arguments any) string {
	if first := at(arguments, "gen_args_0"); first != nil {
		return text(at(first, "arg_0"))
	}
	if pairs := list(arguments); len(pairs) > 0 {
		if pair := list(pairs[0]); len(pair) > 0 {
			return text(pair[0])
		}
	}
	return ""
}

// likelihoods reports whether requests name a continuation, rather than settings of generation.
func likelihoods(arguments any) bool {
	second := at(arguments, "gen_args_0", "arg_1")
	if pairs := list(arguments); len(pairs) > 0 {
		if pair := list(pairs[0]); len(pair) > 1 {
			second = pair[1]
		}
	}
	_, continuation := second.(string)
	return continuation
}

// texts reads one text or a list of them.
func texts(v any) (list []any) {
	items, ok := v.([]any)
	if !ok {
		items = []any{v}
	}
	for _, item := range items {
		if s := text(item); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// isInspect: the samples of an Inspect log in JSON.
func isInspect(r Record) bool {
	return r.has("id", "epoch", "input", "target") && (r.has("output") || r.has("messages"))
}

func inspectRow(r Record, n *notes) (row Row) {
	r = attach(r.any(), object(r["attachments"])).(map[string]any)
	id := text(r["id"])
	if epoch := text(r["epoch"]); epoch != "" && epoch != "1" {
		id += "#" + epoch
	}
	row.put("id", id)
	row.put("group", text(r["id"])) // its epochs are not independent
	question, history, _ := asked(r["input"])
	row.put("question", question)
	row.put("history", history)
	answer := text(at(r["output"], "completion"))
	if answer == "" {
		answer, _ = said(list(at(r["output"], "choices")))
	}
	row.put("answer", answer)
	row.put("reference_answers", texts(r["target"]))
	var calls []any
	for _, m := range list(r["messages"]) {
		for _, c := range list(at(m, "tool_calls")) {
			calls = append(calls, callOf(c))
		}
	}
	row.put("tool_calls", calls)
	n.say("an Inspect log has no column for contexts: where the task keeps them, name them with --map contexts=metadata.MEMBER")
	for _, name := range []string{"metadata", "scores", "choices", "error"} {
		row.put(name, r[name])
	}
	return row
}

// attach puts attachments, which Inspect keeps beside the sample, in the places that name them.
func attach(v any, attachments map[string]any) any {
	switch v := v.(type) {
	case string:
		if name, ok := strings.CutPrefix(v, "attachment://"); ok && attachments[name] != nil {
			return attachments[name]
		}
	case map[string]any:
		attached := make(map[string]any, len(v))
		for key, value := range v {
			attached[key] = attach(value, attachments)
		}
		return attached
	case []any:
		attached := make([]any, len(v))
		for i := range v {
			attached[i] = attach(v[i], attachments)
		}
		return attached
	}
	return v
}

// isPromptfoo: the results that promptfoo eval -o writes as JSON.
func isPromptfoo(r Record) bool {
	return r.has("vars") && (r.has("response") || r.has("error")) && (r.has("testIdx") || r.has("provider") || r.has("gradingResult"))
}

func promptfooRow(r Record, n *notes) (row Row) {
	if r.has("testIdx", "promptIdx") {
		row.put("id", fmt.Sprintf("test-%s/prompt-%s", text(r["testIdx"]), text(r["promptIdx"])))
		row.put("group", "test-"+text(r["testIdx"]))
	} else {
		row.put("id", text(r["id"]))
	}
	vars := object(r["vars"])
	question, history, _ := asked(pick(vars, "question", "query", "user_input", "input", "message", "prompt"))
	if question == "" {
		question, history, _ = asked(at(r["prompt"], "raw"))
		n.say("no variable is known as the question, which is the prompt then: name one with --map question=vars.MEMBER")
	}
	row.put("question", question)
	row.put("history", history)
	answer, _ := said(at(r["response"], "output"))
	row.put("answer", answer)
	docs, _ := documents(pick(vars, "contexts", "context", "documents", "passages"))
	if s, ok := pick(vars, "contexts", "context", "documents", "passages").(string); ok && docs == nil {
		docs = []document{{text: s}}
	}
	row.putDocuments(docs, n)
	reference := texts(pick(vars, "reference", "expected", "ground_truth", "reference_answer", "expected_output", "expected_answer"))
	for _, assertion := range list(at(r["testCase"], "assert")) {
		switch text(at(assertion, "type")) {
		case "equals", "similar", "factuality", "model-graded-factuality":
			if len(reference) == 0 {
				reference = texts(at(assertion, "value"))
			}
		}
	}
	row.put("reference_answers", reference)
	for _, name := range []string{"vars", "provider", "score", "success", "error", "metadata"} {
		row.put(name, r[name])
	}
	return row
}
