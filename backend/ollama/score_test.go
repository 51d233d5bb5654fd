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
