package metrics

import (
	"errors"
	"fmt"
)

// EachWindow asks about texts: once where they fit in one prompt, else once for each of several windows (chunks)
// with overlap, as few as fit. It returns what was answered, in the order of the windows. Nothing of the texts is
// left out.
func EachWindow[T any](texts []string, ask func(text string) (T, error)) ([]T, error) {
	var answers []T
	_, err := NewPassage(texts).InWindows(true, func(text string) error {
		answer, err := ask(text)
		if err == nil {
			answers = append(answers, answer)
		}
		return err
	})
	return answers, err
}

// WindowName names window i, from 0, of n, for [Finding.Where]: "window 2 of 3"; "" where there is only one.
func WindowName(i, n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("window %d of %d", i+1, n)
}

// Best returns the index of the best element, the first of equal ones. The list must not be empty.
func Best[T any](list []T, better func(a, b T) bool) int {
	best := 0
	for i := range list {
		if better(list[i], list[best]) {
			best = i
		}
	}
	return best
}

// BestReference compares something with each of several references alone and returns the best comparison, the first of
// equal ones, and the place of its reference among them, from 0. Blank references do not count. One to which the
// comparison does not apply is passed over if there is another, and any other error is returned at once.
func BestReference[T any](references []string, better func(a, b T) bool,
	compare func(reference string) (T, error)) (best T, at int, err error) {
	refused := fmt.Errorf("%w: the sample has no reference", ErrNotApplicable)
	asked := false
	at = -1
	for i, reference := range references {
		if Blank(reference) {
			continue
		}
		got, err := compare(reference)
		switch {
		case errors.Is(err, ErrNotApplicable):
			if !asked {
				refused = err
			}
		case err != nil:
			var none T
			return none, -1, err
		case at < 0 || better(got, best):
			best, at = got, i
		}
		asked = true
	}
	if at < 0 {
		return best, -1, refused
	}
	return best, at, nil
}

// Higher orders scores for [Best] and [BestReference]: the higher value is better.
func Higher(a, b Score) bool { return a.Value > b.Value }

// Lower is Higher for metrics of which less is better.
func Lower(a, b Score) bool { return a.Value < b.Value }
