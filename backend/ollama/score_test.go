package ollama

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/ollama/ollama/api"

	"github.com/assay-eval/assay/backend"
)

func TestBeginnings(t *testing.T) {
	tokens := func(pairs ...any) (top []api.TokenLogprob) {
		for i := 0; i < len(pairs); i += 2 {
			top = append(top, api.TokenLogprob{Token: pairs[i].(string), Logprob: math.Log(pairs[i+1].(float64))})
		}
		return top
	}
	check := func(top []api.TokenLogprob, continuations []string, want ...float64) {
		t.Helper()
		got, err := beginnings(top, continuations)
		if err != nil || len(got) != len(want) {
			t.Errorf("%q: %v, %v; want the logarithms of %v", continuations, got, err, want)
			return
		}
		for i := range want {
			if math.Abs(math.Exp(got[i])-want[i]) > 1e-12 {
				t.Errorf("%q: number %d has probability %v, want %v", continuations, i, math.Exp(got[i]), want[i])
			}
		}
	}
	yesNo := []string{"Yes", "No"}
	check(tokens("Yes", 0.5, "No", 0.25, "The", 0.125), yesNo, 0.5, 0.25)
	check(tokens(" Yes", 0.5, "Yes", 0.125, "N", 0.25), yesNo, 0.625, 0.25) // with and without the space; a part
	check(tokens("Yes", 0.5, "Not", 0.25, "\n", 0.125), yesNo, 0.5, 0.125)  // "Not" does not begin "No": the bound
	check(tokens("yes", 0.5, "No", 0.25), yesNo, 0.25, 0.25)                // nor does "yes" begin "Yes"
	check(tokens("A", 0.5, "B", 0.25), []string{"A", "B", "A"}, 0.5, 0.25, 0.5)
	check(tokens("A", 1.0), []string{" A and more"}, 1)

	refuse := func(top []api.TokenLogprob, continuations []string, w want) {
		t.Helper()
		_, err := beginnings(top, continuations)
		w.check(t, fmt.Sprintf("%q", continuations), err)
	}
	refuse(tokens("The", 0.5, "\n", 0.25), yesNo, want{
		says: `none of ["Yes" "No"] begins with one of the 2 most probable tokens`,
	})
	refuse(tokens("1", 0.5), []string{"1", "10"}, want{backend.ErrInvalid, `both begin with the token "1"`})
	refuse([]api.TokenLogprob{{Token: "Yes", Logprob: 2}}, yesNo, want{says: "the log-probability 2"})
	refuse([]api.TokenLogprob{{Token: "Yes", Logprob: math.NaN()}}, yesNo, want{says: "NaN"})
}

func TestScore(t *testing.T) {
	f := newFake(t)
	var sent api.ChatRequest
	reply := func(top string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			sent = api.ChatRequest{}
			json.NewDecoder(r.Body).Decode(&sent)
			fmt.Fprintf(w,
				`{"message":{"role":"assistant","content":"Yes"},"done":false,"logprobs":[{"token":"Yes","logprob":-0.5%s}]}
{"message":{"role":"assistant","content":""},"done":true,"done_reason":"length","prompt_eval_count":12,"eval_count":1}
`, top)
		}
	}
	e := f.open(t, "chat")
	f.on("/api/chat", reply(`,"top_logprobs":[{"token":"Yes","logprob":-0.5},{"token":"No","logprob":-1}]`))
	req := &backend.ScoreRequest{
		Messages: []backend.Message{{Role: backend.User, Text: "Well?"}}, Continuations: []string{"Yes", "No"},
	}
	s, err := e.Score(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if s.PromptTokens != 12 || len(s.LogProbs) != 2 || math.Abs(s.LogProbs[0][0]+0.5) > 1e-9 ||
		math.Abs(s.LogProbs[1][0]+1) > 1e-9 {
		t.Errorf("scores %+v", s)
	}
	if !sent.Logprobs || sent.TopLogprobs != 20 || sent.Options["num_predict"] != 1.0 ||
		sent.Options["temperature"] != 0.0 ||
		sent.Truncate == nil || *sent.Truncate {
		t.Errorf("sent %+v", sent)
	}

	check := func(handler http.HandlerFunc, w want) {
		t.Helper()
		f.on("/api/chat", handler)
		_, err := e.Score(t.Context(), req)
		w.check(t, "Score", err)
	}
	check(reply(""), want{says: "ollama gave no probabilities"})
	check(answer(200, fakeReply), want{says: "ollama gave no probabilities"})
	check(answer(500, `{"error":"the input length exceeds the context length"}`), want{backend.ErrPromptTooLong, ""})
	check(answer(503, `{"error":"server busy"}`), want{backend.ErrUnavailable, "busy"})
	check(dropped(`{"message":{`), want{backend.ErrUnavailable, ""})

	f.on("/api/chat", answer(200, fakeReply))
	f.on("/api/version", answer(200, `{"version":"0.12.10"}`))
	old := f.open(t, "chat")
	if old.Info().Ops.Has(backend.CanChoose) {
		t.Error("a server that tells no probabilities claims to choose")
	}
	if e.Info().Ops.Has(backend.CanScore) || strings.Contains(e.Info().Ops.String(), "score") {
		t.Error("the engine claims to score any text")
	}
}
