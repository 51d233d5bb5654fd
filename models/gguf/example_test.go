package gguf_test

import (
	"bytes"
	"fmt"
	"io"
	"log"

	"github.com/assay-eval/assay/models/gguf"
)

// A file is written and its header read again.
func Example() {
	var file bytes.Buffer
	err := gguf.Write(&file, []gguf.Field{
		{Key: "general.architecture", Value: "llama"},
		{Key: "llama.context_length", Value: uint32(2048)},
	}, []gguf.TensorSource{{
		Name: "token_embd.weight", Type: gguf.F16, Shape: []int64{64, 1000},
		Write: func(w io.Writer) error {
			_, err := w.Write(make([]byte, 2*64*1000))
			return err
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	header, err := gguf.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(header.Info().Summary())
	for _, t := range header.Tensors {
		fmt.Println(t.Name, t.Type, t.Shape)
	}
	// Output:
	// llama 64.0K F16, context 2048
	// token_embd.weight F16 [64 1000]
}
