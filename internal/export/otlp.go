package export

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"strconv"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// OTLP writes the results of runs as OpenTelemetry's events gen_ai.evaluation.result (its semantic conventions for
// generative AI): log records in OTLP/JSON, a request a line, as its collector's file exporter and receiver have them.
// A sample whose id is that of a trace (32 hexadecimal digits) or a span (16), as those have that were read from traces,
// is tied to it; the id itself is in assay.sample.id. Metrics that are not applicable, or were not asked, have no event.
// It returns how many events there are.
func OTLP(ctx context.Context, w io.Writer, list ...*runs.Run) (n int, err error) {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, run := range list {
		at := run.Manifest.Started
		if f := run.Manifest.Finished; f != nil {
			at = *f
		}
		time := strconv.FormatInt(at.UnixNano(), 10)
		records := []otlpRecord{}
		flush := func() error {
			if len(records) == 0 {
				return nil
			}
			n += len(records)
			scope := otlpScopeLogs{Scope: otlpScope{Name: "assay"}, Records: records}
			resource := otlpResource{[]otlpAttribute{textOf("service.name", "assay"),
				textOf("service.version", run.Manifest.Tool), textOf("assay.run", run.Dir)}}
			records = []otlpRecord{}
			return out.Encode(otlpRequest{[]otlpResourceLogs{{resource, []otlpScopeLogs{scope}}}})
		}
		for r, err := range run.Results(ctx) {
			if err != nil {
				return n, err
			}
			if r.Kind == metrics.NotApplicable || r.Kind == metrics.NotAsked {
				continue
			}
			if records = append(records, recordOf(&r, time)); len(records) == 500 {
				if err := flush(); err != nil {
					return n, err
				}
			}
		}
		if err := flush(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// The parts of an ExportLogsServiceRequest that are used, by the names of the JSON mapping of protobuf.
type (
	otlpRequest struct {
		Resources []otlpResourceLogs `json:"resourceLogs"`
	}
	otlpResourceLogs struct {
		Resource otlpResource    `json:"resource"`
		Scopes   []otlpScopeLogs `json:"scopeLogs"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScopeLogs struct {
		Scope   otlpScope    `json:"scope"`
		Records []otlpRecord `json:"logRecords"`
	}
	otlpScope struct {
		Name string `json:"name"`
	}
	otlpRecord struct {
		Time       string          `json:"timeUnixNano"` // a whole number of 64 bits is a string there
		Severity   int             `json:"severityNumber"`
		Event      string          `json:"eventName"`
		TraceID    string          `json:"traceId,omitempty"`
		SpanID     string          `json:"spanId,omitempty"`
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string  `json:"stringValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
	}
)

func textOf(key, value string) otlpAttribute {
	return otlpAttribute{key, otlpValue{String: &value}}
}

// Severities of OpenTelemetry's data model for logs.
const (
	severityInfo  = 9
	severityError = 17
)

func recordOf(r *metrics.Result, time string) otlpRecord {
	rec := otlpRecord{Time: time, Severity: severityInfo, Event: "gen_ai.evaluation.result",
		Attributes: []otlpAttribute{textOf("gen_ai.evaluation.name", r.Metric), textOf("assay.sample.id", r.Sample)}}
	if id, err := hex.DecodeString(r.Sample); err == nil {
		switch len(id) {
		case 16:
			rec.TraceID = r.Sample
		case 8:
			rec.SpanID = r.Sample
		}
	}
	if r.Score == nil {
		rec.Severity = severityError
		rec.Attributes = append(rec.Attributes, textOf("error.type", string(r.Kind)),
			textOf("gen_ai.evaluation.explanation", r.Error))
		return rec
	}
	rec.Attributes = append(rec.Attributes, otlpAttribute{"gen_ai.evaluation.score.value", otlpValue{Double: &r.Score.Value}})
	if reason := reasonOf(r.Score); reason != "" {
		rec.Attributes = append(rec.Attributes, textOf("gen_ai.evaluation.explanation", reason))
	}
	return rec
}
