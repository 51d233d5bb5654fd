package remote

import (
	"bytes"
	"fmt"

	"github.com/assay-eval/assay/backend"
)

// BytesPerToken is more than a token of any vocabulary has on average: blanks and repeated signs come to some tens. A text
// of more bytes than that for each token of the context does not fit.
const BytesPerToken = 64

// A Model is one of a server, as requests to it are judged by.
type Model struct {
	Info     backend.Info
	Name     string    // the server's own
	Controls *Controls // nil: not known, or the server does not read them in texts
}

// Admit refuses what can be seen to be impossible before the server is asked.
func (m Model) Admit(req *backend.GenerateRequest) error {
	if !m.Info.Ops.Has(backend.CanGenerate) {
		return backend.Unsupported(m.Info, backend.CanGenerate)
	}
	if err := req.Check(); err != nil {
		return err
	}
	if needs := req.Needs(); !m.Info.Ops.Has(needs) {
		return backend.Unsupported(m.Info, needs)
	}
	if req.Schema != nil {
		if !m.Info.Ops.Has(backend.CanConstrain) {
			return backend.Unsupported(m.Info, backend.CanConstrain)
		}
		if !bytes.HasPrefix(bytes.TrimSpace(req.Schema), []byte("{")) {
			return fmt.Errorf("%w: the server takes no schema but a JSON object", backend.ErrInvalid)
		}
	}
	for i, message := range req.Messages {
		if mark := m.Controls.Find(message.Text); mark != "" {
			return m.ControlToken(i, mark)
		}
	}
	if req.MaxTokens >= m.Info.Context {
		return &backend.TooLongError{Limit: m.Info.Context}
	}
	return nil
}

// AdmitChoice is [Model.Admit] for first-token scoring. It returns the request for a reply of one token whose
// probabilities tell.
func (m Model) AdmitChoice(req *backend.ScoreRequest) (*backend.GenerateRequest, error) {
	if !m.Info.Ops.Has(backend.CanChoose) {
		return nil, backend.Unsupported(m.Info, backend.CanScore)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	first := &backend.GenerateRequest{Messages: req.Messages, Documents: req.Documents, Tokens: req.Tokens,
		Thought: req.Thought, MaxTokens: 1}
	if err := m.Admit(first); err != nil {
		return nil, err
	}
	for _, c := range req.Continuations {
		if len(c) >= BytesPerToken*m.Info.Context {
			return nil, &backend.TooLongError{Limit: m.Info.Context}
		}
	}
	return first, nil
}

// ControlToken refuses a message, by its index, with a text that the server would read as a control token.
func (m Model) ControlToken(message int, text string) error {
	return fmt.Errorf("%w: message %d contains %q, which the server would read as a control token of model %s",
		backend.ErrInvalid, message, text, m.Name)
}
