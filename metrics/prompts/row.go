package prompts

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/assay-eval/assay/backend"
)

// A Layout says what stands before what in a prompt.
type Layout string

const (
	// Classic is the layout of a prompt that stands by itself: its own instruction and examples, then what it shows of
	// the sample, its question last. Prompts share a prefix with those of the same name.
	Classic Layout = "classic"

	// Row is the layout in which a sample is read once: all prompts about it are the same up to their question. First the
	// system's message and one worked example, a conversation in which every question is asked once and answered; then
	// the sample's material: contexts, history, question and answer, each once; then the prompt's own question and
	// nothing else. A context or a sentence is named by its number in the material. A reference, which most questions must
	// not see, is the first thing in those that need it, in the same words.
	//
	// The prompt of the row layout that has a name is made of two files of the folder row: shared.tmpl, which has the
	// system's message, the material of the worked example, and that of a sample as a template; and NAME.tmpl, which has
	// the header, the questions that it adds to the worked example, each with its reply, and last the question itself as a
	// template. The material is in the template's field .Row (metrics.Row); the question uses that or any other field of
	// the data that the metric gives. Together they are an ordinary prompt, whose text is [Prompt.Text].
	Row Layout = "row"
)

// Layouts are all of them, the default of the command line first.
func Layouts() []Layout { return []Layout{Row, Classic} }

// ParseLayout reads the name of a layout.
func ParseLayout(name string) (Layout, error) {
	if l := Layout(name); slices.Contains(Layouts(), l) {
		return l, nil
	}
	return "", fmt.Errorf("unknown layout %q: there are row and classic", name)
}

// In returns the set with the built-in prompts in a layout, as far as they have it: those that need all of a context's
// room, ask about something else than a sample, or must not see its question or answer have the classic one alone. The
// user's own stay as they are.
func (ps Set) In(l Layout) Set { return Set{ps.own, l} }

// Layout is that in which the set asks with what is built in.
func (ps Set) Layout() Layout {
	if ps.layout == Row {
		return Row
	}
	return Classic
}

// sharedFile is what all prompts of the row layout begin with.
const sharedFile = "row/shared.tmpl"

// A rowFile is a prompt file of the folder row, in parts.
type rowFile struct {
	*Prompt
	header string
}

// rowFiles are the files of the folder row by their names, the shared one and the questions. It panics if one is not
// valid, which is a bug.
var rowFiles = sync.OnceValue(func() map[string]rowFile {
	list, err := fs.Glob(files, "row/*.tmpl")
	if err != nil {
		panic(err)
	}
	all := make(map[string]rowFile)
	for _, file := range list {
		p := From(files, file, Example{})
		header, _, _ := strings.Cut(p.Text, "\n--- ")
		header = strings.Replace(header, "version: ", "version: row ", 1)
		all[file] = rowFile{p, header}
	}
	return all
})

// inRow is the form that a prompt has in the row layout, nil if it has none.
func inRow(p *Prompt) *Prompt {
	own, ok := rowFiles()["row/"+p.Name+".tmpl"]
	if !ok {
		return nil
	}
	shared := rowFiles()[sharedFile].messages // system, the worked example's material, a sample's
	var b strings.Builder
	b.WriteString(own.header)
	say := func(role backend.Speaker, text string) { fmt.Fprintf(&b, "\n--- %s\n%s", role, text) }
	say(shared[0].role, shared[0].text)
	for i, m := range workedExample() {
		if i == 0 {
			m.text = shared[1].text + "\n\n" + m.text
		}
		say(m.role, m.text)
	}
	question := own.messages[len(own.messages)-1]
	say(question.role, shared[2].text+"\n\n"+question.text+"\n")
	made, err := Parse(path.Base(p.Name)+".tmpl", b.String())
	if err != nil {
		panic(err)
	}
	made.Example, made.Layout = p.Example, Row
	return made
}

// workedExample is the conversation about the shared example: the questions of all files in the order of their names,
// each with its reply.
func workedExample() []promptMessage {
	var list []promptMessage
	var names []string
	for name := range rowFiles() {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if name != sharedFile {
			m := rowFiles()[name].messages
			list = append(list, m[:len(m)-1]...)
		}
	}
	return list
}
