package trace

import (
	"maps"
	"strings"
)

// isPhoenixSpan: Phoenix' data frame of spans, its API's spans, and what OpenTelemetry's console exporters write.
func isPhoenixSpan(r Record) bool {
	return r.has("context.trace_id", "context.span_id") && (r.has("span_kind") || r.has("attributes.openinference.span.kind")) ||
		at(r["context"], "trace_id") != nil && at(r["context"], "span_id") != nil && r.has("attributes")
}

func phoenixSpan(r Record) []span {
	t := nest(r.any())
	s := span{trace: text(at(t, "context", "trace_id")), id: text(at(t, "context", "span_id")), parent: text(at(t, "parent_id")),
		name: text(at(t, "name")), start: instant(at(t, "start_time"))}
	attributes := map[string]any{}
	maps.Copy(attributes, object(at(t, "attributes")))
	if _, told := attributes["openinference"]; !told && at(t, "span_kind") != nil {
		attributes["openinference"] = map[string]any{"span": map[string]any{"kind": at(t, "span_kind")}}
	}
	s.attributes(attributes)
	for _, event := range list(at(t, "events")) {
		s.event(text(at(event, "name")), object(at(event, "attributes")))
	}
	if text(at(t, "status_code")) == "ERROR" {
		if s.failed = text(at(t, "status_message")); s.failed == "" {
			s.failed = "error"
		}
	}
	return []span{s}
}

// isPhoenixDocument: the frame of get_retrieved_documents, a record a document.
func isPhoenixDocument(r Record) bool {
	return r.has("context.span_id", "document_position", "document")
}

func phoenixDocument(r Record) []span {
	id := text(r["context.span_id"])
	return []span{{trace: id, id: id, kind: retriever, in: r["input"], found: true, fragment: true,
		docs: []document{{text: text(r["document"])}}}}
}

// isPhoenixQA: the frame of get_qa_with_reference or get_input_output_context, a record a span.
func isPhoenixQA(r Record) bool {
	return r.has("context.span_id", "input", "output") && (r.has("context") || r.has("reference"))
}

// phoenixQA: the documents were joined by a blank line when the frame was made, and cannot be told apart for certain.
func phoenixQA(r Record, n *notes) (row Row) {
	question, history, _ := asked(r["input"])
	answer, _ := said(r["output"])
	row.put("id", text(r["context.span_id"]))
	row.put("group", text(r["context.trace_id"]))
	row.put("question", question)
	row.put("history", history)
	row.put("answer", answer)
	if context := text(pick(r.any(), "context", "reference")); context != "" {
		row.put("contexts", []any{context})
		n.say("the documents were joined to one text when the frame was made, which is one context")
	}
	row.put("metadata", open(r["metadata"]))
	return row
}

// isLangSmith: runs as LangSmith's bulk export and its API have them.
func isLangSmith(r Record) bool {
	return r.has("run_type") && (r.has("trace_id") || r.has("dotted_order"))
}

func langSmithSpan(r Record) []span {
	s := span{trace: text(r["trace_id"]), id: text(r["id"]), parent: text(r["parent_run_id"]), name: text(r["name"]),
		convention: "LangSmith", kind: kindOf(text(r["run_type"])), start: instant(r["start_time"]),
		in: r["inputs"], out: r["outputs"], session: text(pick(r.any(), "thread_id")), failed: text(r["error"])}
	if s.trace == "" { // the first part of the dotted order is the root
		root, _, _ := strings.Cut(text(r["dotted_order"]), ".")
		_, s.trace, _ = strings.Cut(root, "Z")
	}
	metadata := object(at(object(r["extra"]), "metadata"))
	if id := pick(metadata, "session_id", "thread_id", "conversation_id"); id != nil {
		s.session = text(id) // the column session_id is the project's
	}
	switch s.kind {
	case retriever:
		s.docs, s.found = documents(s.out)
	case tool:
		s.args = s.in
	}
	s.extra = map[string]any{"metadata": metadata, "tags": open(r["tags"]), "feedback": open(r["feedback_stats"])}
	return []span{s}
}

// isLangfuse: observations, or the older traces, as Langfuse exports them and as its API names them.
func isLangfuse(r Record) bool {
	v := r.any()
	observation := pick(v, "trace_id", "traceId") != nil && r.has("type") && r.has("input", "output") &&
		(r.has("parent_observation_id") || r.has("parentObservationId") || r.has("start_time") || r.has("startTime"))
	trace := r.has("id", "input", "output", "timestamp") && (r.has("session_id") || r.has("sessionId")) &&
		(r.has("release") || r.has("project_id") || r.has("projectId"))
	return observation || trace
}

func langfuseSpan(r Record) []span {
	v := r.any()
	s := span{trace: text(pick(v, "trace_id", "traceId")), id: text(r["id"]), name: text(r["name"]), convention: "Langfuse",
		parent: text(pick(v, "parent_observation_id", "parentObservationId")), kind: kindOf(text(r["type"])),
		start: instant(pick(v, "start_time", "startTime", "timestamp")), in: open(r["input"]), out: open(r["output"]),
		session: text(pick(v, "session_id", "sessionId"))}
	switch {
	case s.trace == "": // a trace; its observations hang below it
		s.trace, s.id = s.id, "trace "+s.id
	case s.parent == "":
		s.parent = "trace " + s.trace
	}
	switch s.kind {
	case retriever, reranker:
		s.docs, s.found = documents(s.out)
	case tool:
		s.args = s.in
	}
	if r["level"] == "ERROR" {
		if s.failed = text(pick(v, "status_message", "statusMessage")); s.failed == "" {
			s.failed = "error"
		}
	}
	s.extra = map[string]any{"metadata": open(r["metadata"]), "tags": open(r["tags"]), "user": pick(v, "user_id", "userId")}
	return []span{s}
}

// isMLflow: traces as mlflow.Trace.to_dict has them, or the frame of search_traces.
func isMLflow(r Record) bool {
	return at(open(r["data"]), "spans") != nil && r.has("info") ||
		r.has("spans", "request", "response") && (r.has("trace_id") || r.has("request_id"))
}

func mlflowSpans(r Record) []span {
	info, data := object(r["info"]), object(r["data"])
	id := text(pick(info, "trace_id", "request_id"))
	if id == "" {
		id = text(pick(r.any(), "trace_id", "request_id"))
	}
	raw := list(data["spans"])
	if data == nil {
		raw = list(r["spans"])
	}
	metadata := pick(info, "trace_metadata", "request_metadata")
	if metadata == nil {
		metadata = open(pick(r.any(), "trace_metadata", "request_metadata"))
	}
	root := span{trace: id, id: "trace", in: open(pick(data, "request")), out: open(pick(data, "response")),
		convention: "MLflow", session: text(at(metadata, "mlflow.trace.session")),
		extra: map[string]any{"metadata": metadata, "tags": pick(info, "tags"), "user": at(metadata, "mlflow.trace.user")}}
	if data == nil {
		root.in, root.out = open(r["request"]), open(r["response"])
	}
	spans := []span{root}
	for _, v := range raw {
		s := span{trace: id, id: text(pick(v, "span_id")), parent: text(pick(v, "parent_id", "parent_span_id")),
			name: text(at(v, "name")), start: instant(pick(v, "start_time_unix_nano", "start_time_ns", "start_time"))}
		if context := at(v, "context"); context != nil && s.id == "" {
			s.id = text(at(context, "span_id"))
		}
		if s.parent == "" {
			s.parent = "trace"
		}
		s.attributes(object(at(v, "attributes")))
		if in := at(v, "inputs"); s.in == nil {
			s.in = in
		}
		if out := at(v, "outputs"); s.out == nil {
			s.out = out
		}
		if s.id == "trace" {
			s.id = ""
		}
		spans = append(spans, s)
	}
	if len(spans) > 1 && blank(root.in) && blank(root.out) { // then the first span of all is the root
		for i := range spans[1:] {
			if s := &spans[1+i]; s.parent == "trace" {
				s.parent = ""
				if s.session == "" {
					s.session = root.session
				}
				if s.extra == nil {
					s.extra = root.extra
				}
			}
		}
		spans = spans[1:]
	}
	return spans
}

// mlflow reads the attributes in which MLflow keeps JSON.
func (s *span) mlflow(t any) {
	s.convention = "MLflow"
	name := text(open(at(t, "mlflow", "spanType")))
	s.kind = kindOf(strings.Trim(name, `"`)) // a JSON string in a string
	s.in, s.out = quoted(at(t, "mlflow", "spanInputs")), quoted(at(t, "mlflow", "spanOutputs"))
	switch s.kind {
	case retriever, reranker:
		s.docs, s.found = documents(s.out)
	case tool:
		s.args = s.in
	}
}

// quoted reads JSON in a string; a JSON string in a string, too.
func quoted(v any) any {
	inner := open(v)
	if s, ok := inner.(string); ok && len(s) > 1 && s[0] == '"' {
		if l := list("[" + s + "]"); len(l) == 1 {
			return l[0]
		}
	}
	return inner
}
