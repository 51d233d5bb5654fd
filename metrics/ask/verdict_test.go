package ask

import (
	"errors"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics/prompts"
)

// Pattern writes verdicts as a string: y, n, or - for none.
func pattern(verdicts []Verdict) string {
	var b strings.Builder
	for _, v := range verdicts {
		switch {
		case !v.Given:
			b.WriteByte('-')
		case v.Yes:
			b.WriteByte('y')
		default:
			b.WriteByte('n')
		}
	}
	return b.String()
}

func TestDecodeVerdicts(t *testing.T) {
	three := []string{"The tower is 90 metres tall.", "No one lives in the tower.", "Yes Tower is its name."}
	one := three[:1]
	for _, tt := range []struct {
		name       string
		statements []string
		reply      string
		want       string
	}{
		{"as shown", three, "1. The text gives the height. Verdict: Yes\n2. The text says nothing of it. Verdict: " +
			"No\n3. It does. Verdict: Yes", "yny"},
		{"bare", three, "1. Yes\n2. No\n3. yes", "yny"},
		{"brackets, bold, case", three, "1) **YES**\n2) *no*.\n3) `Yes`", "yny"},
		{"reasons after", three, "1. Yes, because the text says so.\n2. No - not mentioned.\n3. Yes (sentence 2)",
			"yny"},
		{"labels", three, "Statement 1: Supported: Yes\nStatement 2: Supported: No\nStatement 3: Verdict - yes", "yny"},
		{"words", three, "1. Supported\n2. Not supported\n3. True", "yny"},
		{"negation in a sentence", three, "1. The statement is supported by the text.\n2. It is not fully supported " +
			"by the text.\n3. Unsupported.", "ynn"},
		{"echo then verdict", three, "1. The tower is 90 metres tall. - Yes\n2. No one lives in the tower. - No\n3. " +
			"Yes Tower is its name: no", "ynn"},
		{"echo without verdict", three, "1. The tower is 90 metres tall.\n2. No one lives in the tower.\n3. Yes " +
			"Tower is its name. Yes", "--y"},
		{"blocks", three, "1. The tower is 90 metres tall.\nReason: it is stated.\nVerdict: Yes\n\n2. No one lives " +
			"in the tower.\nReason: no word of that.\n\nVerdict: No\n\n3.\nVerdict: Yes", "yny"},
		{"missing", three, "1. Yes\n3. No", "y-n"},
		{"extra", three, "1. Yes\n2. No\n3. Yes\n4. No\n5. No", "yny"},
		{"from zero", three, "0. Yes\n1. No\n2. Yes", "yny"},
		{"order only", three, "Yes\nNo\nYes", "yny"},
		{"order only, with preamble", three, "Here are the verdicts:\n- Yes\n- No\n- Yes", "yny"},
		{"too few in order", three, "Yes\nNo", "---"},
		{"too many in order", three, "Yes\nNo\nYes\nNo", "---"},
		{"numbers off, echoes right", three, "2. The tower is 90 metres tall: Yes\n3. No one lives in the tower: No",
			"yn-"},
		{"unnumbered echoes", three, "No one lives in the tower - No\nThe tower is 90 metres tall - Yes", "yn-"},
		{"contradiction", three, "1. Yes\n2. No\n1. No", "-n-"},
		{"repeated", three, "1. Yes\n2. No\n1. Yes\n2. No", "yn-"},
		{"trailing note", three, "1. Yes\n2. No\n3. Yes\n\nNote: the answer to the second might be yes", "yny"},
		{"both ends", three, "1. Yes, it might seem so, but the answer is rather no, so no\n2. No\n3. Yes", "-ny"},
		{"middle means nothing", three, "1. There is no mention of that here\n2. No\n3. Yes", "-ny"},
		{"fenced", three, "```\n1. Yes\n2. No\n3. Yes\n```", "yny"},
		{"JSON words", three, `["Yes", "No", "yes"]`, "yny"},
		{"JSON truth", three, `[true, false, 1]`, "yny"},
		{"JSON too few", three, `[true, false]`, "---"},
		{"JSON objects", three, "```json\n{\"verdicts\": [{\"statement\": \"No one lives in the tower.\", " +
			"\"reason\": \"none\", \"verdict\": 0},\n{\"statement\": \"The tower is 90 metres tall.\", \"verdict\": " +
			"1,},]}\n```", "yn-"},
		{"JSON by number", three, `{"1": "Yes", "2": "no", "3": true}`, "yny"},
		{"JSON as shown", three, `{"1": {"reason": "No, it is so.", "verdict": "Yes"}, "2": {"reason": "Yes Tower is ` +
			`its name.", "verdict": "No"}, "3": {"reason": "?", "verdict": "Yes"}}`, "yny"},
		{"JSON as shown, one missing", three, `{"1": {"reason": "It is so.", "verdict": "Yes"}, "3": {"reason": "It ` +
			`is not.", "verdict": "No"}}`, "y-n"},
		{"JSON numbers inside", three, `[{"id": 3, "verdict": "yes"}, {"id": 1, "verdict": "no"}]`, "n-y"},
		{"lost count", three, "1. The tower is 90 metres tall: Yes\n2. Yes Tower is its name: Yes\n3. No one lives " +
			"in the tower: No", "y--"},
		{"reason quotes another", three, "1. It says 80. Verdict: No\n2. All we learn is that the tower is 90 metres " +
			"tall. Verdict: No\n3. Verdict: Yes", "nny"},
		{"square brackets", three, "[1] Yes\n[2] No\n[3] Yes", "yny"},
		{"JSON with the statements", three, `{"statements": ["a", "b", "c"], "verdicts": ["yes", "no", "yes"]}`, "yny"},
		{"JSON by text", three, `{"The tower is 90 metres tall.": "Yes", "No one lives in the tower.": false, ` +
			`"more": "yes"}`, "yn-"},
		{"one, square bracket", one, "[1] No", "n"},
		{"one", one, "Yes", "y"},
		{"one, prose", one, "The text says that it is 80 metres tall.\nVerdict: No", "n"},
		{"one, other number", one, "3. No", "n"},
		{"one, goes on", one, "1. Yes\n2. No", "y"},
		{"one, JSON by number", one, `{"1": {"reason": "It is so.", "verdict": "Yes"}}`, "y"},
		{"one, quoted", one, `"No"`, "n"},
		{"one, echo", one, "The tower is 90 metres tall. Yes.", "y"},
		{"one, JSON", one, `{"verdict": "No", "reason": "not there"}`, "n"},
	} {
		got, err := DecodeVerdicts(Reply{Text: tt.reply}, tt.statements, VerdictWordsOf(&prompts.Prompt{}))
		if err != nil {
			got = make([]Verdict, len(tt.statements))
		}
		if pattern(got) != tt.want {
			t.Errorf("%s: got %s (%v), want %s", tt.name, pattern(got), err, tt.want)
		}
	}
}

func TestDecodeVerdictsOfNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "Sure!", "I cannot judge that.", "1.\n2.", "{}", "[]", "null"} {
		if got, err := DecodeVerdicts(Reply{Text: text}, []string{"a b c", "d e f"},
			VerdictWordsOf(&prompts.Prompt{})); !errors.Is(err, ErrNoVerdict) {
			t.Errorf("decodeVerdicts(%q) = %s, %v; want %v", text, pattern(got), err, ErrNoVerdict)
		}
	}
}

// The last entry of a cut reply may lack its verdict and yet hold a word that looks like one.
func TestDecodeVerdictsCut(t *testing.T) {
	check := func(text string, want string) {
		t.Helper()
		got, err := DecodeVerdicts(Reply{text, true}, []string{"a b c", "d e f"}[:len(want)],
			VerdictWordsOf(&prompts.Prompt{}))
		if err != nil {
			got = make([]Verdict, len(want))
		}
		if pattern(got) != want {
			t.Errorf("decodeVerdicts(%q) = %s, %v; want %s", text, pattern(got), err, want)
		}
	}
	check("1. Yes\n2. No", "y-")
	check("1. Yes\n2. The text says that no", "y-")
	check("1. Yes\n2. No, since the text s", "yn")
	check("1. The text is about a tower that no", "-")
	check("Verdict: Yes\nBecause the t", "y")
	check(mend(`{"1": {"reason": "So it is.", "verdict": "Yes"}, "2": {"reason": "It is", "verdict": "No`), "y-")
	check(mend(`{"1": {"reason": "So it is.", "verdict": "Yes"}, "2": {"reason": "No: a b c`), "y-")
	check(mend(`{"1": {"reason": "Yes: d e f`), "--")
}

// The words of a prompt in another language count beside the English ones.
func TestDecodeVerdictsInGerman(t *testing.T) {
	words := VerdictWordsOf(&prompts.Prompt{Yes: []string{"ja", "belegt"}, No: []string{"nein", "nicht belegt"}})
	got, err := DecodeVerdicts(Reply{Text: "1. Urteil: Ja\n2. Nicht belegt.\n3. No"}, []string{"a", "b", "c"}, words)
	if err != nil || pattern(got) != "ynn" {
		t.Errorf("got %s, %v; want ynn", pattern(got), err)
	}
}

// Statements that read the same are told apart by number only.
func TestDecodeVerdictsTwins(t *testing.T) {
	got, err := DecodeVerdicts(Reply{Text: "1. It is so: Yes\n2. It is so: No"}, []string{"It is so", "It is so"},
		VerdictWordsOf(&prompts.Prompt{}))
	if err != nil || pattern(got) != "yn" {
		t.Errorf("got %s, %v; want yn", pattern(got), err)
	}
}

func FuzzDecodeVerdicts(f *testing.F) {
	for _, s := range []string{"1. Yes\n2. No", "Yes", "[true]", `{"1":"no"}`, "1. the sky is blue - no", "0. Yes",
		"٢. No", "```\n", "Verdict:"} {
		f.Add(s, "the sky is blue", "no", false)
	}
	f.Fuzz(func(t *testing.T, text, first, second string, cut bool) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		got, err := DecodeVerdicts(Reply{text, cut}, []string{first, second}, VerdictWordsOf(&prompts.Prompt{}))
		if err == nil && (len(got) != 2 || !got[0].Given && !got[1].Given) {
			t.Errorf("decodeVerdicts(%q) = %+v without an error", text, got)
		}
	})
}
