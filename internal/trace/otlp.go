package trace

import (
	"strings"
)

// isOTLP: OTLP/JSON as the collector's file exporter writes it, a request a line, or the parts of one request.
func isOTLP(r Record) bool {
	return r.has("resourceSpans") || r.has("resourceLogs") || r.has("scopeSpans") || r.has("scopeLogs")
}

// otlpSpans reads spans and, as parts of spans, the events of OpenTelemetry GenAI in logs.
func otlpSpans(r Record) []span {
	resources := append(list(r["resourceSpans"]), list(r["resourceLogs"])...)
	if resources == nil {
		resources = []any{r.any()}
	}
	var spans []span
	for _, resource := range resources {
		for _, scope := range list(at(resource, "scopeSpans")) {
			for _, raw := range list(at(scope, "spans")) {
				spans = append(spans, otlpSpan(raw))
			}
		}
		for _, scope := range list(at(resource, "scopeLogs")) {
			for _, raw := range list(at(scope, "logRecords")) {
				if s := otlpLog(raw); !blank(s.in) || !blank(s.out) {
					spans = append(spans, s)
				}
			}
		}
	}
	return spans
}

func otlpSpan(raw any) span {
	s := span{trace: text(at(raw, "traceId")), id: text(at(raw, "spanId")), parent: text(at(raw, "parentSpanId")),
		name: text(at(raw, "name")), start: instant(at(raw, "startTimeUnixNano"))}
	s.attributes(keyValues(at(raw, "attributes")))
	for _, event := range list(at(raw, "events")) {
		s.event(text(at(event, "name")), keyValues(at(event, "attributes")))
	}
	if code := text(at(raw, "status", "code")); code == "2" || code == "STATUS_CODE_ERROR" {
		s.failed = text(at(raw, "status", "message"))
		if s.failed == "" {
			s.failed = "error"
		}
	}
	return s
}

// otlpLog reads a log record that is an event of a span.
func otlpLog(raw any) span {
	s := span{trace: text(at(raw, "traceId")), id: text(at(raw, "spanId")), fragment: true}
	attributes := keyValues(at(raw, "attributes"))
	name := text(at(raw, "eventName"))
	if name == "" {
		name = text(attributes["event.name"])
	}
	if body, ok := anyValue(at(raw, "body")).(map[string]any); ok {
		for key, value := range body {
			if _, taken := attributes[key]; !taken {
				attributes[key] = value
			}
		}
	}
	s.event(name, attributes)
	return s
}

// keyValues reads OTLP's attributes.
func keyValues(v any) map[string]any {
	object := map[string]any{}
	for _, kv := range list(v) {
		if key, ok := at(kv, "key").(string); ok {
			object[key] = anyValue(at(kv, "value"))
		}
	}
	return object
}

// anyValue reads OTLP's AnyValue.
func anyValue(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	for name, value := range object {
		switch name {
		case "stringValue", "boolValue", "intValue", "doubleValue", "bytesValue":
			return value
		case "arrayValue":
			items := []any{}
			for _, item := range list(at(value, "values")) {
				items = append(items, anyValue(item))
			}
			return items
		case "kvlistValue":
			return keyValues(at(value, "values"))
		}
	}
	return nil
}

// attributes reads a span's attributes, of whichever conventions they follow. Names with dots may be nested already.
func (s *span) attributes(flat map[string]any) {
	t := nest(flat)
	s.session = text(pick(t, "session"))
	if id := at(t, "session", "id"); id != nil {
		s.session = text(id)
	}
	switch {
	case at(t, "openinference", "span", "kind") != nil || at(t, "input", "value") != nil || at(t, "output", "value") != nil:
		s.openInference(t)
	case at(t, "mlflow", "spanType") != nil || at(t, "mlflow", "spanInputs") != nil:
		s.mlflow(t)
	case at(t, "traceloop") != nil:
		s.genAI(t)
		s.traceloop(t)
	case at(t, "gen_ai") != nil:
		s.genAI(t)
	}
}

// openInference reads the attributes of OpenInference (spec/semantic_conventions.md).
func (s *span) openInference(t any) {
	s.convention = "OpenInference"
	if name := text(at(t, "openinference", "span", "kind")); name != "" {
		s.kind = kindOf(name)
	}
	s.in, s.out = at(t, "input", "value"), at(t, "output", "value")
	if s.kind == model {
		if m := list(at(t, "llm", "input_messages")); len(m) > 0 {
			s.in = m
		}
		if m := list(at(t, "llm", "output_messages")); len(m) > 0 {
			s.out = m
		}
	}
	if docs, ok := documents(at(t, "reranker", "output_documents")); ok {
		s.docs, s.found = docs, true
	} else if docs, ok := documents(at(t, "retrieval", "documents")); ok {
		s.docs, s.found = docs, true
	} else if s.kind == retriever || s.kind == reranker {
		s.docs, s.found = documents(s.out)
	}
	if s.kind == tool {
		if name := text(at(t, "tool", "name")); name != "" {
			s.name = name
		}
		s.args = pick(t, "input")
		s.args = at(s.args, "value")
		if blank(s.args) {
			s.args = at(t, "tool", "parameters")
		}
	}
	s.extra = map[string]any{"metadata": open(at(t, "metadata")), "tags": at(t, "tag", "tags"), "user": at(t, "user", "id"),
		"evaluations": pick(t, "evaluations", "trace")}
	if trace := object(s.extra["evaluations"]); trace != nil {
		s.extra["evaluations"] = trace["evaluations"]
	}
}

// genAI reads the attributes of OpenTelemetry's conventions for generative AI, and those of its forms up to 1.36 that
// stood among the attributes.
func (s *span) genAI(t any) {
	s.convention = "OpenTelemetry GenAI"
	g := at(t, "gen_ai")
	s.kind = kindOf(text(at(g, "operation", "name")))
	if id := text(at(g, "conversation", "id")); id != "" && s.session == "" {
		s.session = id
	}
	s.messages(list(at(g, "input", "messages")), list(at(g, "output", "messages")))
	if blank(s.in) {
		s.in = pick(g, "prompt")
	}
	if blank(s.out) {
		s.out = pick(g, "completion")
	}
	if s.kind == retriever || at(g, "retrieval") != nil {
		s.kind = retriever
		if query := at(g, "retrieval", "query", "text"); !blank(query) {
			s.in = query
		}
		s.docs, s.found = documents(at(g, "retrieval", "documents"))
	}
	if s.kind == tool {
		if name := text(at(g, "tool", "name")); name != "" {
			s.name = name
		}
		s.args = at(g, "tool", "call", "arguments")
	}
	if failed := text(at(t, "error", "type")); failed != "" {
		s.failed = failed
	}
}

// messages sets what a model was shown and what it replied.
func (s *span) messages(in, out []any) {
	if len(in) > 0 {
		s.in = in
	}
	if len(out) > 0 {
		s.out = out
	}
}

// traceloop reads what OpenLLMetry adds.
func (s *span) traceloop(t any) {
	s.convention = "OpenLLMetry"
	l := at(t, "traceloop")
	if name := text(at(l, "span", "kind")); name != "" && name != "workflow" && name != "task" {
		s.kind = kindOf(name)
	}
	if s.kind == tool {
		s.name, s.args = text(at(l, "entity", "name")), at(l, "entity", "input")
	}
	if in := at(l, "entity", "input"); !blank(in) {
		s.in = in
	}
	if out := at(l, "entity", "output"); !blank(out) {
		s.out = out
	}
	if id := text(at(l, "association", "properties", "session_id")); id != "" {
		s.session = id
	}
}

// event reads an event of OpenTelemetry GenAI: of the form up to 1.36 one for each message, later one for a call.
func (s *span) event(name string, attributes map[string]any) {
	if !strings.HasPrefix(name, "gen_ai.") {
		return
	}
	t := nest(attributes)
	role, isMessage := strings.CutSuffix(strings.TrimPrefix(name, "gen_ai."), ".message")
	switch {
	case name == "gen_ai.choice":
		m := object(at(t, "message"))
		if m == nil {
			m = map[string]any{"content": pick(t, "message", "content"), "tool_calls": open(at(t, "tool_calls"))}
		}
		out := map[string]any{"role": "assistant"}
		for key, value := range m {
			if !blank(value) {
				out[key] = open(value)
			}
		}
		s.out = joined(s.out, []any{out})
	case isMessage:
		m := map[string]any{"role": role, "content": open(at(t, "content")), "tool_calls": open(at(t, "tool_calls"))}
		s.in = joined(s.in, []any{m})
	case name == "gen_ai.client.inference.operation.details":
		g := at(t, "gen_ai")
		s.messages(list(at(g, "input", "messages")), list(at(g, "output", "messages")))
	case name == "gen_ai.content.prompt":
		s.in = joined(s.in, at(t, "gen_ai", "prompt"))
	case name == "gen_ai.content.completion":
		s.out = joined(s.out, at(t, "gen_ai", "completion"))
	}
}
