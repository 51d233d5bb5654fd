package trace

import "strings"

// Members in which applications put what was asked, and what was answered.
var (
	askedIn = []string{"question", "query", "user_input", "input", "prompt", "query_str", "str_or_query_bundle", "text",
		"message", "messages", "content", "kwargs", "inputs"}
	saidIn = []string{"answer", "response", "output", "result", "output_text", "text", "completion", "content", "generated_text",
		"reply", "replies", "message", "messages", "generations", "choices", "kwargs", "outputs"}
)

// A message is a turn that a model was shown, or its reply.
type message struct {
	role  string // user, assistant, system, tool
	said  string
	calls []any // of tools: {"name": ..., "args": {...}}
}

// asked reads the question from an input, and the turns before it. Plain is false where the input is an object of no known
// form: it is the question as JSON then.
func asked(v any) (question string, history []any, plain bool) {
	v = open(v)
	if turns := messages(v); turns != nil {
		last := -1
		for i, m := range turns {
			if m.role == "user" && m.said != "" {
				last = i
			}
		}
		if last < 0 {
			return "", nil, false
		}
		for _, m := range turns[:last] {
			if m.said != "" && m.role != "tool" {
				history = append(history, map[string]any{"role": m.role, "content": m.said})
			}
		}
		return turns[last].said, history, true
	}
	if inner, ok := inside(v, askedIn); ok {
		return asked(inner)
	}
	question = text(v)
	return question, nil, isText(v)
}

// said reads the answer from an output. Plain is as with asked.
func said(v any) (answer string, plain bool) {
	v = open(v)
	if turns := messages(v); turns != nil {
		for _, m := range turns {
			if m.role == "assistant" && m.said != "" {
				answer = m.said
			}
		}
		return answer, true
	}
	if inner, ok := inside(v, saidIn); ok {
		return said(inner)
	}
	return text(v), isText(v)
}

func isText(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// inside returns what an object or a list holds that is likely to have the words: a member of a known name, the only
// member, the only element.
func inside(v any, names []string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range names {
			if value, ok := v[name]; ok && !blank(value) {
				return value, true
			}
		}
		for _, value := range v {
			return value, len(v) == 1
		}
	case []any:
		if len(v) == 1 {
			return v[0], true
		}
	}
	return nil, false
}

// messages reads a list of messages in the forms of OpenAI, OpenTelemetry (parts), OpenInference and LangChain; nil if
// it is no such list.
func messages(v any) []message {
	items, ok := v.([]any)
	if !ok || len(items) == 0 {
		return nil
	}
	var turns []message
	for _, item := range items {
		m, ok := messageOf(item)
		if !ok {
			return nil
		}
		turns = append(turns, m)
	}
	return turns
}

func messageOf(v any) (message, bool) {
	if inner := at(v, "message"); inner != nil { // OpenInference; OpenAI's choices
		v = inner
	}
	if kwargs := at(v, "kwargs"); kwargs != nil && at(v, "lc") != nil { // LangChain's own serialisation
		kind := text(at(kwargs, "type"))
		if names := list(at(v, "id")); kind == "" && len(names) > 0 {
			kind = strings.TrimSuffix(strings.TrimSuffix(text(names[len(names)-1]), "Chunk"), "Message")
		}
		m, ok := messageOf(kwargs)
		m.role = role(kind)
		return m, ok || m.role != ""
	}
	if data := at(v, "data"); data != nil {
		m, _ := messageOf(data)
		m.role = role(text(at(v, "type")))
		return m, m.role != ""
	}
	m := message{role: role(text(pick(v, "role", "type")))}
	m.said = contentText(pick(v, "content", "contents", "parts"))
	for _, c := range list(at(v, "tool_calls")) {
		m.calls = append(m.calls, callOf(c))
	}
	for _, part := range list(at(v, "parts")) {
		if at(part, "type") == "tool_call" {
			m.calls = append(m.calls, callOf(part))
		}
	}
	return m, m.role != "" && at(v, "id_") == nil && at(v, "page_content") == nil
}

// role writes the names of roles as we do; "" if it is none.
func role(name string) string {
	switch strings.ToLower(name) {
	case "user", "human":
		return "user"
	case "assistant", "ai", "model", "aimessagechunk":
		return "assistant"
	case "system", "developer":
		return "system"
	case "tool", "function":
		return "tool"
	}
	return ""
}

// contentText joins the texts of a message's content: a string, or parts.
func contentText(v any) string {
	parts, ok := v.([]any)
	if !ok {
		return text(v)
	}
	var texts []string
	for _, part := range parts {
		if s, ok := part.(string); ok {
			texts = append(texts, s)
			continue
		}
		if inner := at(part, "message_content"); inner != nil {
			part = inner
		}
		if s, ok := pick(part, "text", "content").(string); ok {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, "\n")
}

// callOf reads a call of a tool in a reply.
func callOf(v any) any {
	if inner := at(v, "tool_call"); inner != nil {
		v = inner
	}
	name, args := pick(v, "name", "function"), pick(v, "args", "arguments", "input")
	if f := object(at(v, "function")); f != nil {
		name, args = f["name"], f["arguments"]
	}
	return call(text(name), args)
}

// call is a call of a tool as datasets have it. Arguments that are no object are one, called input.
func call(name string, args any) any {
	c := map[string]any{"name": name}
	if o := object(args); o != nil {
		c["args"] = o
	} else if !blank(args) {
		c["args"] = map[string]any{"input": args}
	}
	return c
}

// A document is a passage that was retrieved.
type document struct{ id, text string }

// Members in which applications put documents.
var documentsIn = []string{"documents", "source_documents", "docs", "context", "contexts", "retrieved_contexts", "source_nodes",
	"nodes", "results", "chunks", "passages", "matches", "output"}

// documents reads a list of documents; ok is false if it is none. An empty list is one.
func documents(v any) (docs []document, ok bool) {
	v = open(v)
	if o, isObject := v.(map[string]any); isObject {
		for _, name := range documentsIn {
			if inner, there := o[name]; there {
				return documents(inner)
			}
		}
		return nil, false
	}
	items, ok := v.([]any)
	if !ok {
		return nil, false
	}
	for _, item := range items {
		d, ok := documentOf(item)
		if !ok {
			return nil, false
		}
		docs = append(docs, d)
	}
	return docs, true
}

func documentOf(v any) (document, bool) {
	if s, ok := v.(string); ok {
		return document{text: s}, true
	}
	for _, wrapper := range []string{"document", "node", "kwargs"} {
		if inner := object(at(v, wrapper)); inner != nil {
			v = inner
		}
	}
	if _, ok := v.(map[string]any); !ok {
		return document{}, false
	}
	d := document{
		id:   text(pick(v, "id", "id_", "doc_id", "document_id", "chunk_id", "node_id")),
		text: contentText(pick(v, "content", "text", "page_content", "pageContent", "doc_text", "document")),
	}
	if d.text == "" {
		d.text = text(at(v, "text_resource", "text"))
	}
	return d, d.id != "" || d.text != ""
}

// putDocuments fills the contexts of a row, or, where documents have no text, the ids alone.
func (r *Row) putDocuments(docs []document, n *notes) {
	var texts, ids []any
	for _, d := range docs {
		if d.text != "" {
			texts = append(texts, d.text)
		}
		if d.id != "" {
			ids = append(ids, d.id)
		}
	}
	switch {
	case len(docs) == 0:
		return
	case len(texts) == len(docs):
		r.put("contexts", texts)
	case len(texts) == 0:
		n.say("the documents have ids and no text, so there are no contexts; record the documents' content to have them")
	default:
		n.say("some documents have no text, so there are no contexts")
	}
	if len(ids) == len(docs) {
		r.put("context_ids", ids)
	}
}
