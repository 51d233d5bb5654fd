package desk

import (
	"bufio"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// A keyboard is the keys that a user presses.
type keyboard struct {
	terminal bool
	pressed  chan rune
	failed   error // why pressed was closed
}

// openKeys reads keys as they are pressed, or where there is no terminal the first character of each line.
func openKeys(in io.Reader) (k *keyboard, done func(), err error) {
	k = &keyboard{pressed: make(chan rune)}
	done = func() {}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		old, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return nil, nil, err
		}
		k.terminal = true
		done = func() { term.Restore(int(f.Fd()), old) }
	}
	go func() {
		defer close(k.pressed)
		k.failed = k.read(bufio.NewReader(in))
	}()
	return k, done, nil
}

func (k *keyboard) read(r *bufio.Reader) error {
	for {
		if k.terminal {
			key, _, err := r.ReadRune()
			if err == nil && key == escape {
				err = skipSequence(r)
				key = 0
			}
			if err != nil {
				return err
			}
			if key != 0 {
				k.pressed <- unicode.ToLower(key)
			}
			continue
		}
		line, err := r.ReadString('\n')
		if word := strings.ToLower(strings.TrimSpace(line)); word != "" {
			key, _ := utf8.DecodeRuneInString(word)
			k.pressed <- key
		}
		if err != nil {
			return err
		}
	}
}

const escape = 0x1b

// skipSequence reads the rest of what an arrow, Delete or a function key sends after an escape. There are digits in it,
// which label nothing.
func skipSequence(r *bufio.Reader) error {
	key, _, err := r.ReadRune()
	switch {
	case err != nil:
		return err
	case key < ' ':
		return r.UnreadRune() // Ctrl-C after a lone escape
	case key != '[' && key != 'O':
		return nil
	}
	for {
		key, _, err := r.ReadRune()
		if err != nil || key >= '@' && key <= '~' {
			return err
		}
	}
}
