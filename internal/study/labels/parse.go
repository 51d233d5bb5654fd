package labels

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/metrics"
)

// objectOf decodes an object, also one that is the text of a cell; nil if it is none.
func objectOf(raw json.RawMessage) map[string]json.RawMessage {
	if text, ok := textOf(raw); ok {
		raw = json.RawMessage(text)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}

// textOf decodes JSON text, or a number as it is written.
func textOf(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	var text string
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return "", false
	case json.Unmarshal(raw, &text) == nil:
		return text, true
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return string(raw), true
	}
	return "", false
}

// peersOf are the scores in the column peers.
func peersOf(sample *metrics.Sample) map[string]float64 {
	scores := map[string]float64{}
	for name, raw := range objectOf(sample.Extra["peers"]) {
		if list, err := parseRatings(raw, 0); err == nil && len(list) == 1 {
			scores[name] = list[0].Value
		}
	}
	return scores
}

// parseRatings decodes a label or a list of labels. What is missing (null, "", "NA") is left out; in a list it keeps
// its rater's place.
func parseRatings(raw json.RawMessage, first int) ([]Rating, error) {
	raw = bytes.TrimSpace(raw)
	if text, ok := textOf(raw); ok && strings.HasPrefix(strings.TrimSpace(text), "[") &&
		!strings.HasPrefix(text, "[[") {
		raw = json.RawMessage(text) // a list in a cell of a table
	}
	values := []json.RawMessage{raw}
	if len(raw) > 0 && raw[0] == '[' {
		if err := json.Unmarshal(raw, &values); err != nil {
			return nil, fmt.Errorf("%.40s is no list of labels", raw)
		}
	}
	var list []Rating
	for i, value := range values {
		v, ok, err := parseLabel(value)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, Rating{first + i, v})
		}
	}
	return list, nil
}

// parseLabel decodes one label; ok is false if it is missing.
func parseLabel(raw json.RawMessage) (v float64, ok bool, err error) {
	var truth bool
	if json.Unmarshal(raw, &truth) == nil && len(raw) > 0 && (raw[0] == 't' || raw[0] == 'f') {
		return boolean(truth), true, nil
	}
	text, isText := textOf(raw)
	if !isText && len(raw) > 0 && !bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return 0, false, fmt.Errorf("%.40s is neither a number nor true or false", raw)
	}
	switch word := strings.ToLower(strings.Trim(text, " []")); word {
	case "", "na", "n/a", "null", "none", "nan":
		return 0, false, nil
	case "yes", "true":
		return 1, true, nil
	case "no", "false":
		return 0, true, nil
	default:
		if v, err = strconv.ParseFloat(word, 64); err != nil || v-v != 0 {
			return 0, false, fmt.Errorf("%.40q is neither a number nor true or false", text)
		}
		return v, true, nil
	}
}

// boolean is 1 for true and 0 for false.
func boolean(truth bool) float64 {
	if truth {
		return 1
	}
	return 0
}
