// Command cut writes a language model in GGUF with its first layers only, and with another context length if that is
// wanted: it judges nothing, but counts the same tokens as the whole one, in a fraction of the time.
//
//	go run ./scripts/bench/cut IN.gguf OUT.gguf LAYERS [CONTEXT]
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/models/gguf"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("cut: ")
	if err := cut(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func cut(args []string) error {
	if len(args) != 3 && len(args) != 4 {
		return fmt.Errorf("usage: cut IN.gguf OUT.gguf LAYERS [CONTEXT]")
	}
	h, err := gguf.ReadFile(args[0])
	if err != nil {
		return err
	}
	layers, err := strconv.ParseUint(args[2], 10, 32)
	if err != nil {
		return err
	}
	arch, _ := h.String("general.architecture")
	numbers := map[string]string{arch + ".block_count": args[2]}
	if len(args) == 4 {
		numbers[arch+".context_length"] = args[3]
	}
	for i, f := range h.Fields {
		if text, ok := numbers[f.Key]; ok {
			n, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				return err
			}
			h.Fields[i].Value = uint32(n)
			delete(numbers, f.Key)
		}
	}
	for key := range numbers {
		return fmt.Errorf("%s has no field %s", args[0], key)
	}
	in, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer in.Close()
	var kept []gguf.TensorSource
	for _, t := range h.Tensors {
		if rest, ok := strings.CutPrefix(t.Name, "blk."); ok {
			number, _, _ := strings.Cut(rest, ".")
			if n, err := strconv.ParseUint(number, 10, 32); err != nil || n >= layers {
				continue
			}
		}
		kept = append(kept, gguf.TensorSource{Name: t.Name, Type: t.Type, Shape: t.Shape, Write: func(w io.Writer) error {
			_, err := io.Copy(w, io.NewSectionReader(in, h.Data+t.Offset, t.Bytes()))
			return err
		}})
	}
	out, err := os.Create(args[1])
	if err != nil {
		return err
	}
	defer out.Close()
	if err := gguf.Write(out, h.Fields, kept); err != nil {
		return err
	}
	return out.Close()
}
