package cache

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// prompts are n prompts of about 4 kB, as metrics write them: a common beginning, and contexts.
func prompts(n int) []*backend.GenerateRequest {
	common := strings.Repeat("Decide whether the claim follows from the passage. ", 40)
	var reqs []*backend.GenerateRequest
	for i := range n {
		req := ask(fmt.Sprint("Passage ", i, ": ", strings.Repeat("the quick brown fox jumps over the lazy dog ", 45)))
		req.Messages = append([]backend.Message{{Role: backend.System, Text: common}}, req.Messages...)
		req.MaxTokens = 200
		reqs = append(reqs, req)
	}
	return reqs
}

// BenchmarkHit is a call that the file answers, its key's hashing included.
func BenchmarkHit(b *testing.B) {
	const n = 5000
	s := open(b)
	wrapped := Wrap(&backendtest.Fake{}, s, Use, nil)
	reqs := prompts(n)
	texts := make([]string, n)
	for i, req := range reqs {
		if _, err := wrapped.Generate(b.Context(), req); err != nil {
			b.Fatal(err)
		}
		texts[i] = fmt.Sprint("A sentence of middling length, the number of which is ", i)
	}
	if _, err := backend.Embed(b.Context(), wrapped, texts); err != nil {
		b.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	b.Run("generate", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i += 1237 {
			if _, err := wrapped.Generate(b.Context(), reqs[i%n]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("embed", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i += 1237 {
			if _, err := backend.Embed(b.Context(), wrapped, texts[i%n:i%n+1]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i += 1237 {
				if _, err := wrapped.Generate(b.Context(), reqs[i%n]); err != nil {
					b.Error(err)
				}
			}
		})
	})
	if st, err := s.Stats(b.Context()); err != nil || st.Misses != 2*n {
		b.Errorf("%+v, %v: something was asked again", st, err)
	}
}

// BenchmarkKey is the part of a hit that hashes the request.
func BenchmarkKey(b *testing.B) {
	req := prompts(1)[0]
	info := (&backendtest.Fake{}).Info()
	for b.Loop() {
		backend.GenerateKey(info, req)
	}
}

// BenchmarkMiss is what an answer costs besides the engine: looked up, packed and written.
func BenchmarkMiss(b *testing.B) {
	s := open(b)
	wrapped := Wrap(&backendtest.Fake{}, s, Use, nil)
	req := prompts(1)[0]
	b.ReportAllocs()
	for b.Loop() {
		req.Draw++
		if _, err := wrapped.Generate(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		b.Fatal(err)
	}
}
