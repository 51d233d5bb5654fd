package gollama

import (
	"strings"

	"github.com/assay-eval/assay/backend"
)

// format names the plain format in Info.Engine: what render writes changes only with it.
const format = "plain chat 1"

// render returns a conversation in the plain format.
func render(messages []backend.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(heading(m.Role) + "\n" + m.Text + "\n\n")
	}
	b.WriteString(heading(backend.Assistant) + "\n")
	return b.String()
}

// heading is the line that a message starts with.
func heading(r backend.Speaker) string {
	switch r {
	case backend.System:
		return "### System:"
	case backend.User:
		return "### User:"
	}
	return "### Assistant:"
}

// turns are the strings with which a model goes on to the next message, and so ends its own.
func turns() []string {
	var list []string
	for _, r := range []backend.Speaker{backend.System, backend.User, backend.Assistant} {
		list = append(list, "\n"+heading(r))
	}
	return list
}
