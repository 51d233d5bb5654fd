package tokenizer_test

import (
	"fmt"
	"os"

	"github.com/assay-eval/assay/internal/tokenizer"
)

func ExampleParse() {
	data, err := os.ReadFile("testdata/wordpiece-uncased.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := tokenizer.Parse(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := t.Pair("Neither passage", "[SEP]")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Tokens)
	fmt.Println(e.IDs)
	fmt.Println(e.Types)
	fmt.Println(e.Pairs)
	// Output:
	// [[CLS] n ##either p ##ass ##ag ##e [SEP] [ s ##ep ] [SEP]]
	// [2 109 206 111 186 172 13 3 97 114 202 98 3]
	// [0 0 0 0 0 0 0 0 1 1 1 1 1]
	// [-1 0 0 0 0 0 0 -1 1 1 1 1 -1]
}
