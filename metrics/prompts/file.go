package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/tokenize"
)

// maxFile bounds a prompt file: it is far more than the instructions that fit in any model's context.
const maxFile = 1 << 20

// readPrompt reads and tries one prompt file.
func readPrompt(fsys fs.FS, file string, builtin []*Prompt) (*Prompt, error) {
	info, err := fs.Stat(fsys, file)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s: %d bytes are too many for a prompt", file, info.Size())
	}
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	p, err := Parse(file, string(text))
	if err != nil {
		return nil, err
	}
	if err := p.replace(builtin); err != nil {
		return nil, fmt.Errorf("%s: %v", file, err)
	}
	return p, nil
}

// Parse reads the text of a prompt file. Errors name the file and the line.
func Parse(file, text string) (*Prompt, error) {
	if err := backend.CheckText(text); err != nil {
		return nil, fmt.Errorf("%s: %v", file, err)
	}
	sum := sha256.Sum256([]byte(text))
	p := &Prompt{Name: strings.TrimSuffix(file, ".tmpl"), Digest: "sha256:" + hex.EncodeToString(sum[:]), Text: text,
		Layout: Classic}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	start := 0 // of the message being read: the number of its first line, 0 in the header
	for i := 0; i <= len(lines); i++ {
		if i < len(lines) && !strings.HasPrefix(lines[i], "--- ") {
			if start == 0 {
				if err := p.header(lines[i]); err != nil {
					return nil, fmt.Errorf("%s:%d: %v", file, i+1, err)
				}
			}
			continue
		}
		if start > 0 {
			if err := p.message(file, start, lines[start-1:i]); err != nil {
				return nil, err
			}
		}
		start = i + 1
	}
	switch {
	case p.Version == "" || p.MaxTokens == 0:
		return nil, fmt.Errorf("%s: the header needs version and max_tokens", file)
	case len(p.messages) == 0:
		return nil, fmt.Errorf("%s: no messages: each begins with a line such as \"--- user\"", file)
	case p.messages[len(p.messages)-1].role != backend.User:
		return nil, fmt.Errorf("%s: the last message must be the user's, for the judge to answer", file)
	}
	return p, nil
}

// header reads one line of the header.
func (p *Prompt) header(line string) error {
	if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
		return nil
	}
	field, value, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("%q is neither \"field: value\" nor a message's beginning such as \"--- user\"", line)
	}
	value = strings.TrimSpace(value)
	var err error
	switch field = strings.TrimSpace(field); field {
	case "version":
		p.Version = value
	case "max_tokens":
		p.MaxTokens, err = strconv.Atoi(value)
		if err == nil && p.MaxTokens <= 0 {
			err = errors.New("not positive")
		}
	case "temperature":
		p.Sampling.Temperature, err = parseWithin(value, 2)
	case "top_p":
		p.Sampling.TopP, err = parseWithin(value, 1)
	case "seed":
		p.Sampling.Seed, err = strconv.ParseUint(value, 10, 64)
	case "reply":
		if value != "json" && value != "text" {
			err = fmt.Errorf("%q is neither json nor text", value)
		}
		p.JSON = value == "json"
	case "stop":
		err = json.Unmarshal([]byte(value), &p.Stop)
	case "yes":
		p.YesWord, p.Yes, err = phrases(value)
	case "no":
		p.NoWord, p.No, err = phrases(value)
	case "nothing":
		_, p.Nothing, err = phrases(value)
	default:
		return fmt.Errorf("unknown field %q: want version, max_tokens, temperature, top_p, seed, reply, stop, yes, "+
			"no or nothing", field)
	}
	if err != nil {
		return fmt.Errorf("%s: %v", field, err)
	}
	return nil
}

// parseWithin reads a number in [0, limit].
func parseWithin(value string, limit float64) (float64, error) {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > limit {
		return 0, fmt.Errorf("%q is no number from 0 to %v", value, limit)
	}
	return x, nil
}

// phrases reads a list with commas: the first phrase as it stands, and all of them in normal form.
func phrases(value string) (first string, list []string, err error) {
	for phrase := range strings.SplitSeq(value, ",") {
		normal := tokenize.Normalize(phrase)
		if normal == "" {
			return "", nil, fmt.Errorf("%q holds an empty phrase", value)
		}
		list = append(list, normal)
	}
	first, _, _ = strings.Cut(value, ",")
	return strings.TrimSpace(first), list, nil
}

// message reads one message: lines are its own, the first one "--- role", at line number start.
func (p *Prompt) message(file string, start int, lines []string) error {
	role := backend.Speaker(strings.TrimSpace(strings.TrimPrefix(lines[0], "--- ")))
	switch {
	case role != backend.System && role != backend.User && role != backend.Assistant:
		return fmt.Errorf("%s:%d: unknown role %q: want system, user or assistant", file, start, role)
	case role == backend.System && len(p.messages) > 0:
		return fmt.Errorf("%s:%d: the system's message must be the first", file, start)
	}
	body := strings.TrimSpace(strings.Join(lines[1:], "\n"))
	if body == "" {
		return fmt.Errorf("%s:%d: the message is empty", file, start)
	}
	if !strings.Contains(body, "{{") {
		p.messages = append(p.messages, promptMessage{role: role, text: body})
		return nil
	}
	// Leading line breaks make the template's line numbers those of the file; render trims them.
	first := start
	for _, line := range lines[1:] {
		if strings.TrimSpace(line) != "" {
			break
		}
		first++
	}
	t, err := template.New(file).Funcs(promptFuncs()).Parse(strings.Repeat("\n", first) + body)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	p.messages = append(p.messages, promptMessage{role: role, body: t, text: body})
	return nil
}

// promptFuncs are the functions that templates may use beside those of text/template.
func promptFuncs() template.FuncMap {
	return template.FuncMap{
		"number":    func(i int) int { return i + 1 }, // of an item, from its index
		"sentences": numbered,
	}
}

// numbered has a line for each sentence of a text that holds a word, "R1. The ferry sails from May on." with the prefix
// R. A text without such a sentence is as it was.
func numbered(prefix, text string) string {
	var lines []string
	for _, s := range tokenize.Sentences(text) {
		if tokenize.HasWords(s.Text) {
			lines = append(lines, prefix+strconv.Itoa(len(lines)+1)+". "+s.Text)
		}
	}
	if lines == nil {
		return text
	}
	return strings.Join(lines, "\n")
}

// replace takes the example of the built-in prompt whose name p has, and renders p with it, to find fields that do not
// exist and those that the last message must show and does not.
func (p *Prompt) replace(builtin []*Prompt) error {
	i := slices.IndexFunc(builtin, func(b *Prompt) bool { return b.Name == p.Name })
	if i < 0 {
		return fmt.Errorf("nothing asks with a prompt of this name: there are %s", strings.Join(Names(builtin), ", "))
	}
	p.Example = builtin[i].Example
	messages, err := p.Render(p.Example.Data)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	for _, m := range messages {
		if m.Text == "" {
			return fmt.Errorf("the %s's message is empty once it is filled in", m.Role)
		}
	}
	last := messages[len(messages)-1].Text
	for field, want := range p.Example.Shown {
		if !strings.Contains(last, want) {
			return fmt.Errorf("the last message does not show %s", field)
		}
	}
	return nil
}
