package grammar_test

import (
	"fmt"

	"github.com/assay-eval/assay/backend/llama/grammar"
)

// A model that likes its last token best writes what the schema permits all the same.
func Example() {
	tokens := []string{"</s>", `"`, `yes`, `no`, `maybe`, ` `, `{"`, `":`, `label`, `}`}
	constrainer := grammar.New(grammar.Vocabulary{
		Size:  len(tokens),
		Piece: func(t int32) []byte { return []byte(tokens[t]) },
		Ends:  func(t int32) bool { return t == 0 },
	})
	c, err := constrainer.Constraint([]byte(`{
		"properties": {"label": {"enum": ["yes", "no", "unknown"]}}, "required": ["label"]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for !c.Ended() {
		for t := int32(len(tokens)) - 1; t >= 0; t-- {
			if c.Accept(t) {
				fmt.Print(tokens[t], "|")
				break
			}
		}
	}
	// Output: {"|label|":| |"|no|"|}|
}
