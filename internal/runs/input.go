package runs

import "fmt"

// An InputError is the user's to mend: what was asked for is not in what was given, or cannot be had from it.
type InputError struct {
	Err  error
	Hint string // what to do instead; "" where Err says it all
}

// Inputf is an InputError without a hint.
func Inputf(format string, args ...any) *InputError {
	return &InputError{Err: fmt.Errorf(format, args...)}
}

// WithHint is e with advice.
func (e *InputError) WithHint(format string, args ...any) *InputError {
	return &InputError{e.Err, fmt.Sprintf(format, args...)}
}

func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the error without the advice.
func (e *InputError) Unwrap() error { return e.Err }
