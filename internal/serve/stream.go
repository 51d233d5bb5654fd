package serve

import (
	"net/http"

	"github.com/assay-eval/assay/backend/openai/wire"
)

// A stream is an answer in pieces, as server-sent events. Replies are whole before they are sent, so that a piece is one
// reply.
type stream []any

func (s stream) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range s {
		body, err := marshal(chunk)
		if err != nil {
			body, _ = marshal(wire.ErrorBody{Error: &wire.Error{Message: err.Error(), Type: "server_error"}})
		}
		w.Write(append(append([]byte("data: "), body...), "\n\n"...))
	}
	w.Write([]byte("data: [DONE]\n\n"))
}

// chatStream cuts an answer into chunks: of each reply, what it says and then why it ended.
func chatStream(answer *wire.ChatCompletion, o *wire.StreamOptions) stream {
	var s stream
	chunk := func(choices ...wire.ChunkChoice) wire.ChatChunk {
		return wire.ChatChunk{ID: answer.ID, Object: "chat.completion.chunk", Created: answer.Created, Model: answer.Model,
			Choices: append([]wire.ChunkChoice{}, choices...)}
	}
	for _, c := range answer.Choices {
		s = append(s,
			chunk(wire.ChunkChoice{Index: c.Index, Delta: wire.Delta{Role: "assistant", Content: string(c.Message.Content)}}),
			chunk(wire.ChunkChoice{Index: c.Index, FinishReason: &c.FinishReason}))
	}
	if o != nil && o.IncludeUsage {
		last := chunk()
		last.Usage = answer.Usage
		s = append(s, last)
	}
	return s
}
